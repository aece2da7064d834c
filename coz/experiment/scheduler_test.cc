#include "coz/experiment/scheduler.h"

#include <algorithm>
#include <map>

#include "coz/base/clock.h"
#include "coz/experiment/testing/fake_target.h"
#include "gtest/gtest.h"

namespace coz::experiment {
namespace {

class SchedulerTest : public ::testing::Test {
 protected:
  SchedulerTest() {
    options_.seed = 1;
    target_.program = {{1000}};
  }

  Scheduler& Make() {
    EXPECT_TRUE(options_.Check().ok()) << options_.Check();
    scheduler_.emplace(options_, &target_, &sink_);
    return *scheduler_;
  }
  void RunFor(uint64_t duration_ns) {
    if (!scheduler_.has_value()) Make();
    StepUntil(*scheduler_, target_, target_.NowNs() + duration_ns);
  }
  bool HasTaint(const ExperimentRecord& record, TaintKind kind) {
    return std::any_of(record.taints.begin(), record.taints.end(),
                       [kind](const Taint& taint) { return taint.kind == kind; });
  }

  SchedulerOptions options_;
  FakeTarget target_;
  FakeSink sink_;
  std::optional<Scheduler> scheduler_;
};

TEST_F(SchedulerTest, SpeedupsAreAQuarterBaselinesAndElseUniform) {
  options_.min_experiment_ns = 20 * kNsPerMs;
  options_.look_ns = 20 * kNsPerMs;
  RunFor(300 * kNsPerSecond);
  std::map<int, double> counts;
  for (const FakeSink::Start& start : sink_.starts) {
    ++counts[static_cast<int>(std::lround(start.virtual_speedup * 100))];
  }
  ASSERT_EQ(counts.size(), 21u);
  const double total = static_cast<double>(sink_.starts.size());
  ASSERT_GT(total, 5000);
  double chi_square = 0;
  for (const auto& [percent, count] : counts) {
    EXPECT_EQ(percent % 5, 0);
    const double expected = total * (percent == 0 ? 0.25 : 0.75 / 20);
    chi_square += (count - expected) * (count - expected) / expected;
  }
  EXPECT_LT(chi_square, 45.3);  // 20 degrees of freedom, 1 in 1000
}

TEST_F(SchedulerTest, UnitsAreDrawnByTheirSharesOfSamplesThroughoutTheRun) {
  target_.unit_shares = {0.7, 0.2, 0.1};
  options_.min_experiment_ns = 20 * kNsPerMs;
  RunFor(300 * kNsPerSecond);
  const size_t total = sink_.starts.size();
  for (const size_t begin : {size_t{0}, total / 2}) {  // an early result drops no unit later
    std::vector<double> counts(3);
    for (size_t i = begin; i < begin + total / 2; ++i) ++counts[sink_.starts[i].unit];
    EXPECT_NEAR(counts[0] / (total / 2.0), 0.7, 0.03);
    EXPECT_NEAR(counts[2] / (total / 2.0), 0.1, 0.03);
  }
}

TEST_F(SchedulerTest, SameSeedRepeatsTheRun) {
  target_.unit_shares = {0.5, 0.5};
  RunFor(60 * kNsPerSecond);
  FakeTarget target;
  target.program = target_.program;
  target.unit_shares = target_.unit_shares;
  FakeSink sink;
  Scheduler scheduler(options_, &target, &sink);
  StepUntil(scheduler, target, 60 * kNsPerSecond);
  ASSERT_EQ(sink.records.size(), sink_.records.size());
  for (size_t i = 0; i < sink.records.size(); ++i) {
    EXPECT_EQ(sink.records[i].unit, sink_.records[i].unit);
    EXPECT_EQ(sink.records[i].virtual_speedup, sink_.records[i].virtual_speedup);
    EXPECT_EQ(sink.records[i].elapsed_ns, sink_.records[i].elapsed_ns);
    EXPECT_EQ(sink.records[i].points[0].visits, sink_.records[i].points[0].visits);
  }
  EXPECT_EQ(scheduler.seed(), 1u);
}

TEST_F(SchedulerTest, OtherSeedsGiveOtherRunsAndTheDrawnSeedIsTold) {
  options_.seed.reset();
  options_.min_experiment_ns = 20 * kNsPerMs;
  RunFor(10 * kNsPerSecond);
  const std::vector<FakeSink::Start> starts = sink_.starts;
  sink_ = FakeSink();
  target_ = FakeTarget();
  target_.program = {{1000}};
  options_.seed = scheduler_->seed();
  Make();
  RunFor(10 * kNsPerSecond);
  ASSERT_EQ(starts.size(), sink_.starts.size());
  for (size_t i = 0; i < starts.size(); ++i) {
    EXPECT_EQ(starts[i].virtual_speedup, sink_.starts[i].virtual_speedup);
  }
  options_.seed = *options_.seed + 1;
  sink_ = FakeSink();
  target_ = FakeTarget();
  target_.program = {{1000}};
  Make();
  RunFor(10 * kNsPerSecond);
  size_t equal = 0;
  for (size_t i = 0; i < std::min(starts.size(), sink_.starts.size()); ++i) {
    equal += starts[i].virtual_speedup == sink_.starts[i].virtual_speedup;
  }
  EXPECT_LT(equal, starts.size() / 2);
}

TEST_F(SchedulerTest, NothingIsSelectedBeforeTheFirstVisit) {
  target_.program = {{1000, 3 * kNsPerSecond}};
  RunFor(5 * kNsPerSecond);
  ASSERT_FALSE(target_.selections.empty());
  EXPECT_GE(target_.selections[0].at_ns, 3 * kNsPerSecond);
  EXPECT_LT(target_.selections[0].at_ns, 3 * kNsPerSecond + 50 * kNsPerMs);
}

TEST_F(SchedulerTest, NoProgressIsSaidOnceAndTheWaitGoesOn) {
  target_.program = {{1000, 25 * kNsPerSecond}};
  RunFor(24 * kNsPerSecond);
  EXPECT_TRUE(scheduler_->waiting_for_progress());
  ASSERT_EQ(sink_.no_progress_ns.size(), 1u);
  EXPECT_NEAR(static_cast<double>(sink_.no_progress_ns[0]), 10e9, 1e7);
  RunFor(5 * kNsPerSecond);
  EXPECT_FALSE(sink_.starts.empty());
  EXPECT_EQ(sink_.no_progress_ns.size(), 1u);
}

TEST_F(SchedulerTest, TwentySecondsHoldAboutFortyExperiments) {
  RunFor(20 * kNsPerSecond);
  EXPECT_GE(sink_.records.size(), 24u);  // the only unit takes all the time, so many are stretched
  target_.unit_shares = {0.2, 0.2, 0.2, 0.2, 0.2};
  sink_ = FakeSink();
  RunFor(20 * kNsPerSecond);
  EXPECT_GE(sink_.records.size(), 36u);
  for (const ExperimentRecord& record : sink_.records) {
    EXPECT_GE(record.elapsed_ns, 500 * kNsPerMs);
  }
}

TEST_F(SchedulerTest, DelayIsTakenOffTheDurationSoThatAnIdleLineShowsNoEffect) {
  // The program progresses only while it is not paused: the unit does not matter to it.
  target_.unit_shares = {0.4, 0.6};
  options_.fixed_units = {0};
  RunFor(60 * kNsPerSecond);
  ASSERT_GT(sink_.records.size(), 50u);
  for (const ExperimentRecord& record : sink_.records) {
    EXPECT_EQ(record.effective_duration_ns,
              static_cast<int64_t>(record.elapsed_ns - record.inserted_delay_ns));
    const double period_ms = static_cast<double>(record.effective_duration_ns) / 1e6 /
                             static_cast<double>(record.points[0].visits);
    EXPECT_NEAR(period_ms, 1, 0.01);
    EXPECT_NEAR(record.achieved_virtual_speedup, record.virtual_speedup, 1e-6);
    EXPECT_NEAR(
        static_cast<double>(record.inserted_delay_ns) / static_cast<double>(record.elapsed_ns),
        0.4 * record.virtual_speedup, 0.01);
  }
}

TEST_F(SchedulerTest, AnExperimentThatIsMostlyDelayIsStretchedUpToTwice) {
  options_.fixed_units = {0};
  options_.fixed_speedups = {1};
  options_.baseline_probability = 0;
  RunFor(3 * kNsPerSecond);
  ASSERT_FALSE(sink_.records.empty());
  EXPECT_NEAR(static_cast<double>(sink_.records[0].elapsed_ns), 1e9, 1e7);
  // That there were no visits was due to the delays and tells nothing of the program.
  EXPECT_EQ(scheduler_->experiment_length_ns(), options_.min_experiment_ns);
  target_.unit_shares = {0.6, 0.4};  // 0.4 of the time is effective: 625 ms for half of 500
  RunFor(3 * kNsPerSecond);
  EXPECT_NEAR(static_cast<double>(sink_.records.back().elapsed_ns), 6.25e8, 3e7);
}

TEST_F(SchedulerTest, FewVisitsDoubleTheLengthForTheRestOfTheRun) {
  target_.program = {{3}};
  target_.unit_shares = {0.1, 0.9};
  options_.fixed_units = {0};
  options_.fixed_speedups = {0};
  RunFor(20 * kNsPerSecond);
  ASSERT_GE(sink_.records.size(), 5u);
  EXPECT_EQ(scheduler_->experiment_length_ns(), 2 * kNsPerSecond);
  for (const ExperimentRecord& record : sink_.records) {
    EXPECT_GE(record.points[0].visits, 5u);
    EXPECT_TRUE(record.taints.empty());
  }
  target_.program = {{1000}};
  RunFor(20 * kNsPerSecond);
  EXPECT_NEAR(static_cast<double>(sink_.records.back().elapsed_ns), 2e9, 1e7);
}

TEST_F(SchedulerTest, LengthIsBoundedAndTheExperimentThenTainted) {
  target_.program = {{0.3}};
  options_.fixed_speedups = {0};
  RunFor(60 * kNsPerSecond);
  EXPECT_EQ(scheduler_->experiment_length_ns(), options_.max_experiment_ns);
  ASSERT_GE(sink_.records.size(), 5u);
  for (const ExperimentRecord& record : sink_.records) {
    EXPECT_TRUE(HasTaint(record, TaintKind::kTooFewVisits));
    EXPECT_TRUE(IsValid(record));
  }
}

TEST_F(SchedulerTest, APointVisitedOnceSilencesAndLengthensNothing) {
  target_.program = {{1000}, {1000, 0, 0}, {0}};  // the second: in the first millisecond only
  options_.fixed_speedups = {0};
  RunFor(20 * kNsPerSecond);
  EXPECT_EQ(target_.Read().points[1].visits, 1u);
  EXPECT_GE(sink_.records.size(), 36u);
  EXPECT_EQ(scheduler_->experiment_length_ns(), options_.min_experiment_ns);
  for (const ExperimentRecord& record : sink_.records) EXPECT_TRUE(record.taints.empty());
}

TEST_F(SchedulerTest, APauseBetweenPhasesLengthensOnlyTheExperimentInProgress) {
  options_.fixed_speedups = {0};
  RunFor(2 * kNsPerSecond);
  target_.program = {{0}};
  RunFor(3 * kNsPerSecond);
  target_.program = {{1000}};
  RunFor(10 * kNsPerSecond);
  EXPECT_EQ(scheduler_->experiment_length_ns(), options_.min_experiment_ns);
  EXPECT_NEAR(static_cast<double>(sink_.records.back().elapsed_ns), 5e8, 1e7);
}

TEST_F(SchedulerTest, CountersAreReadWhenDebtsArePaid) {
  target_.settle_ns = 2 * kNsPerMs + 100 * kNsPerUs;
  RunFor(5 * kNsPerSecond);
  ASSERT_FALSE(sink_.records.empty());
  for (const ExperimentRecord& record : sink_.records) {
    EXPECT_TRUE(record.settled);
    EXPECT_GE(record.drain_ns, target_.settle_ns);
    EXPECT_LE(record.drain_ns, target_.settle_ns + options_.drain_look_ns);
  }
  for (size_t i = 1; i < target_.selections.size(); ++i) {
    EXPECT_GE(target_.selections[i].at_ns,
              target_.stops_ns[i - 1] + target_.settle_ns + options_.cooloff_ns);
  }
}

TEST_F(SchedulerTest, ADrainThatDoesNotEndIsGivenUpAndTheDebtRecorded) {
  target_.never_settles = true;
  target_.counters.owed_ns = target_.counters.max_owed_ns = 40 * kNsPerMs;
  target_.unit_shares = {0.1, 0.9};
  options_.fixed_speedups = {0.5};
  RunFor(5 * kNsPerSecond);
  ASSERT_FALSE(sink_.records.empty());
  for (const ExperimentRecord& record : sink_.records) {
    EXPECT_FALSE(record.settled);
    EXPECT_NEAR(static_cast<double>(record.drain_ns), 47e6, 1e5);  // 2 P, the debt, 5 ms
    EXPECT_EQ(record.max_owed_at_end_ns, 40 * kNsPerMs);
    EXPECT_TRUE(HasTaint(record, TaintKind::kDelayOwed));
  }
}

TEST_F(SchedulerTest, TheDeadlineIsKeptAheadAndNoFurtherThanTheLease) {
  options_.fixed_speedups = {0};
  Make();
  for (uint64_t next_ns = 0; target_.NowNs() < 5 * kNsPerSecond; target_.AdvanceTo(next_ns)) {
    next_ns = scheduler_->Step();
    if (target_.selections.size() == target_.stops_ns.size()) continue;
    EXPECT_GT(target_.last_deadline_ns, next_ns);
    EXPECT_LE(target_.last_deadline_ns, target_.NowNs() + options_.lease_ns);
  }
}

TEST_F(SchedulerTest, AStepAfterTheDeadlineTaintsTheExperiment) {
  RunFor(100 * kNsPerMs);
  target_.AdvanceTo(3 * kNsPerSecond);  // the supervisor is stopped meanwhile
  RunFor(3 * kNsPerSecond);
  ASSERT_GE(sink_.records.size(), 2u);
  EXPECT_TRUE(HasTaint(sink_.records[0], TaintKind::kSupervisorLate));
  EXPECT_FALSE(IsValid(sink_.records[0]));
  EXPECT_FALSE(HasTaint(sink_.records[1], TaintKind::kSupervisorLate));
}

TEST_F(SchedulerTest, AnInterruptionInvalidatesOnlyItsExperiment) {
  RunFor(100 * kNsPerMs);
  ++target_.counters.interruptions;
  RunFor(4 * kNsPerSecond);
  ASSERT_GE(sink_.records.size(), 2u);
  EXPECT_TRUE(HasTaint(sink_.records[0], TaintKind::kInterrupted));
  EXPECT_FALSE(IsValid(sink_.records[0]));
  EXPECT_TRUE(IsValid(sink_.records[1]));
}

TEST_F(SchedulerTest, FocusGetsItsShareAndLeavesEveryUnitItsChance) {
  target_.unit_shares = {0.8, 0.1, 0.1};
  options_.min_experiment_ns = 20 * kNsPerMs;
  Make().Focus({{1, 3.0}, {2, 1.0}});
  RunFor(100 * kNsPerSecond);
  std::vector<double> counts(3);
  for (const FakeSink::Start& start : sink_.starts) ++counts[start.unit];
  const double total = static_cast<double>(sink_.starts.size());
  // Half by samples, half by focus.
  EXPECT_NEAR(counts[0] / total, 0.4, 0.03);
  EXPECT_NEAR(counts[1] / total, 0.05 + 0.375, 0.03);
  EXPECT_NEAR(counts[2] / total, 0.05 + 0.125, 0.03);
  // Baselines keep their share within the focus too.
  double baselines = 0;
  for (const FakeSink::Start& start : sink_.starts) {
    baselines += start.unit == 1 && start.virtual_speedup == 0 ? 1 : 0;
  }
  EXPECT_NEAR(baselines / counts[1], 0.25, 0.01);
}

TEST_F(SchedulerTest, AnEmptyFocusChangesNoChoice) {
  target_.unit_shares = {0.5, 0.5};
  RunFor(30 * kNsPerSecond);
  FakeTarget target;
  target.program = target_.program;
  target.unit_shares = target_.unit_shares;
  FakeSink sink;
  Scheduler again(options_, &target, &sink);
  again.Focus({{1, 1.0}});
  again.Focus({});
  StepUntil(again, target, 30 * kNsPerSecond);
  ASSERT_EQ(sink.starts.size(), sink_.starts.size());
  for (size_t i = 0; i < sink.starts.size(); ++i) {
    EXPECT_EQ(sink.starts[i].unit, sink_.starts[i].unit);
  }
}

TEST_F(SchedulerTest, OnlyTheFixedUnitIsSelected) {
  target_.unit_shares = {0.9, 0.05, 0.05};
  options_.fixed_units = {2};
  RunFor(10 * kNsPerSecond);
  ASSERT_GT(sink_.starts.size(), 10u);
  for (const FakeSink::Start& start : sink_.starts) EXPECT_EQ(start.unit, 2u);
}

TEST_F(SchedulerTest, ZeroInAListLeavesBaselinesTheirShare) {
  options_.min_experiment_ns = 20 * kNsPerMs;
  options_.fixed_units = {1};
  options_.fixed_speedups = {0};
  for (int percent = 10; percent <= 50; percent += 5) {
    options_.fixed_speedups.push_back(percent / 100.0);
  }
  RunFor(60 * kNsPerSecond);
  std::map<double, double> shares;
  for (const FakeSink::Start& start : sink_.starts) {
    shares[start.virtual_speedup] += 1.0 / static_cast<double>(sink_.starts.size());
  }
  ASSERT_EQ(shares.size(), 10u);
  EXPECT_NEAR(shares[0], 0.25, 0.01);  // not a tenth
  EXPECT_NEAR(shares[0.5], 0.75 / 9, 0.01);
}

TEST_F(SchedulerTest, ZeroInAShortListHasItsPartOfIt) {
  options_.min_experiment_ns = 20 * kNsPerMs;
  options_.fixed_units = {1};
  options_.fixed_speedups = {0, 0.75};
  RunFor(60 * kNsPerSecond);
  double baselines = 0;
  for (const FakeSink::Start& start : sink_.starts) {
    baselines += start.virtual_speedup == 0 ? 1.0 / static_cast<double>(sink_.starts.size()) : 0;
  }
  EXPECT_NEAR(baselines, 0.5, 0.01);
}

TEST_F(SchedulerTest, ListOfZeroAloneIsAllBaselines) {
  options_.min_experiment_ns = 20 * kNsPerMs;
  options_.fixed_speedups = {0};
  RunFor(5 * kNsPerSecond);
  ASSERT_FALSE(sink_.starts.empty());
  for (const FakeSink::Start& start : sink_.starts) EXPECT_EQ(start.virtual_speedup, 0);
}

TEST_F(SchedulerTest, FixedSpeedupsKeepTheirBaseline) {
  options_.fixed_speedups = {0.3, 0.7};
  options_.min_experiment_ns = 20 * kNsPerMs;
  RunFor(60 * kNsPerSecond);
  std::map<double, double> shares;
  for (const FakeSink::Start& start : sink_.starts) {
    shares[start.virtual_speedup] += 1.0 / static_cast<double>(sink_.starts.size());
  }
  ASSERT_EQ(shares.size(), 3u);
  EXPECT_NEAR(shares[0], 0.25, 0.04);
  EXPECT_NEAR(shares[0.3], 0.375, 0.04);
  EXPECT_EQ(target_.selections[0].delay_per_sample_ns,
            static_cast<uint64_t>(std::llround(sink_.starts[0].virtual_speedup * 1e6)));
}

TEST_F(SchedulerTest, StopDrainsAndKeepsALongEnoughExperiment) {
  target_.program = {{3}};  // one of 2 s
  target_.settle_ns = kNsPerMs;
  RunFor(1900 * kNsPerMs);
  ASSERT_TRUE(sink_.records.empty());
  scheduler_->Stop();
  EXPECT_EQ(target_.stops_ns.size(), 1u);
  EXPECT_FALSE(scheduler_->done());
  RunFor(kNsPerSecond);
  EXPECT_TRUE(scheduler_->done());
  ASSERT_EQ(sink_.records.size(), 1u);
  EXPECT_TRUE(sink_.records[0].settled);
  EXPECT_FALSE(HasTaint(sink_.records[0], TaintKind::kTargetEnded));
}

TEST_F(SchedulerTest, TheLeadInHasDelaysAndIsNotMeasured) {
  options_.fixed_speedups = {0.5};
  options_.baseline_probability = 0;
  RunFor(2 * kNsPerSecond);
  ASSERT_GE(sink_.records.size(), 2u);
  for (size_t i = 0; i < sink_.records.size(); ++i) {
    const ExperimentRecord& record = sink_.records[i];
    EXPECT_EQ(record.start_ns, target_.selections[i].at_ns + options_.lead_in_ns);
    EXPECT_EQ(sink_.starts[i].start_ns, record.start_ns);
    // All of its delays, and none of the lead-in's, belong to it.
    EXPECT_EQ(record.inserted_delay_ns, record.selected_samples * record.delay_per_sample_ns);
  }
}

TEST_F(SchedulerTest, StartAfreshGivesUpTheExperimentAndGoesOnWithAnother) {
  options_.lead_in_ns = 20 * kNsPerMs;
  RunFor(300 * kNsPerMs);
  ASSERT_EQ(sink_.starts.size(), 1u);
  scheduler_->StartAfresh();
  EXPECT_EQ(sink_.dropped, 1);
  EXPECT_FALSE(scheduler_->done());
  const uint64_t changed_ns = target_.NowNs();
  RunFor(2 * kNsPerSecond);
  ASSERT_GE(sink_.records.size(), 2u);
  EXPECT_GE(sink_.records[0].start_ns, changed_ns);
  EXPECT_EQ(sink_.records[0].index, 0u);
}

TEST_F(SchedulerTest, StartAfreshKeepsAnExperimentThatIsTheWholeRun) {
  options_.end_to_end = true;
  RunFor(kNsPerSecond);
  scheduler_->StartAfresh();
  EXPECT_EQ(sink_.dropped, 0);
  RunFor(kNsPerSecond);
  scheduler_->Finish();
  ASSERT_EQ(sink_.records.size(), 1u);
  EXPECT_GE(sink_.records[0].elapsed_ns, 2 * kNsPerSecond);
}

TEST_F(SchedulerTest, StopInTheLeadInEndsItsDelays) {
  options_.lead_in_ns = kNsPerSecond;
  RunFor(500 * kNsPerMs);
  ASSERT_EQ(target_.selections.size(), 1u);
  EXPECT_TRUE(sink_.starts.empty());
  scheduler_->Stop();
  EXPECT_TRUE(scheduler_->done());
  EXPECT_EQ(target_.stops_ns.size(), 1u);
}

TEST_F(SchedulerTest, StopDropsAShortExperimentAndEndsItsDelays) {
  RunFor(300 * kNsPerMs);
  ASSERT_EQ(sink_.starts.size(), 1u);
  scheduler_->Stop();
  EXPECT_TRUE(scheduler_->done());
  EXPECT_EQ(sink_.dropped, 1);
  EXPECT_EQ(target_.stops_ns.size(), 1u);
  EXPECT_EQ(scheduler_->Step(), std::numeric_limits<uint64_t>::max());
}

TEST_F(SchedulerTest, FinishKeepsALongEnoughExperimentWithoutADrain) {
  target_.program = {{3}};
  target_.never_settles = true;
  RunFor(1900 * kNsPerMs);
  scheduler_->Finish();
  EXPECT_TRUE(scheduler_->done());
  ASSERT_EQ(sink_.records.size(), 1u);
  EXPECT_TRUE(HasTaint(sink_.records[0], TaintKind::kTargetEnded));
  EXPECT_FALSE(sink_.records[0].settled);
  scheduler_->Finish();
  EXPECT_EQ(sink_.records.size(), 1u);
}

TEST_F(SchedulerTest, EndToEndIsOneExperimentOverTheWholeRun) {
  options_.end_to_end = true;
  options_.fixed_units = {1};
  options_.fixed_speedups = {0.5};
  options_.baseline_probability = 0;
  target_.program = {};
  target_.unit_shares = {0.6, 0.4};
  RunFor(30 * kNsPerSecond);
  EXPECT_TRUE(sink_.records.empty());
  scheduler_->Finish();
  ASSERT_EQ(sink_.records.size(), 1u);
  EXPECT_EQ(target_.selections.size(), 1u);
  const ExperimentRecord& record = sink_.records[0];
  EXPECT_EQ(record.start_ns, 0u);
  EXPECT_EQ(record.elapsed_ns, 30 * kNsPerSecond);
  EXPECT_EQ(record.selected_after_ns, 0u);
  EXPECT_NEAR(static_cast<double>(record.inserted_delay_ns), 30e9 * 0.4 * 0.5, 1e7);
  EXPECT_TRUE(record.taints.empty());
}

TEST_F(SchedulerTest, EndToEndDrawsItsUnitEarlyAndSaysWhen) {
  options_.end_to_end = true;
  target_.program = {};
  RunFor(2 * kNsPerSecond);
  scheduler_->Finish();
  ASSERT_EQ(sink_.records.size(), 1u);
  EXPECT_EQ(sink_.records[0].elapsed_ns, 2 * kNsPerSecond);
  EXPECT_NEAR(static_cast<double>(sink_.records[0].selected_after_ns), 1e8, 5e6);
}

TEST(SchedulerOptionsTest, ImpossibleOptionsAreNamed) {
  SchedulerOptions options;
  options.fixed_speedups = {1.5};
  EXPECT_EQ(options.Check().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(options.Check().message().find("150 %"), std::string::npos);
  options.fixed_speedups = {0, 1};
  EXPECT_TRUE(options.Check().ok());
  options.min_experiment_ns = options.max_experiment_ns + 1;
  EXPECT_FALSE(options.Check().ok());
}

TEST_F(SchedulerTest, OneInEightExperimentsIsFollowedByAStretchWithoutSamples) {
  target_.may_suspend = true;
  target_.bare_rate = 1.25;
  RunFor(120 * kNsPerSecond);
  ASSERT_GT(sink_.records.size(), 150u);
  EXPECT_NEAR(static_cast<double>(sink_.bare.size()), static_cast<double>(sink_.records.size()) / 8,
              1.5);
  EXPECT_EQ(sink_.bare_starts_ns.size(), sink_.bare.size());
  for (size_t i = 0; i < sink_.bare.size(); ++i) {
    const ExperimentRecord& bare = sink_.bare[i];
    EXPECT_EQ(bare.start_ns, sink_.bare_starts_ns[i]);
    EXPECT_EQ(bare.elapsed_ns, options_.min_experiment_ns / 4);
    EXPECT_EQ(bare.total_samples, 0u);
    EXPECT_EQ(bare.inserted_delay_ns, 0u);
    EXPECT_NEAR(static_cast<double>(bare.points[0].visits), 1.25 * 125, 2);
  }
  // They are no experiments: all of these are there, and sampled.
  for (size_t i = 0; i < sink_.records.size(); ++i) {
    EXPECT_EQ(sink_.records[i].index, i);
    EXPECT_GT(sink_.records[i].total_samples, 0u);
  }
  EXPECT_FALSE(target_.suspended());
}

TEST_F(SchedulerTest, BareStretchesComeAtAnyPlaceAmongExperiments) {
  target_.may_suspend = true;
  options_.min_experiment_ns = 20 * kNsPerMs;
  options_.min_visits = 1;
  RunFor(120 * kNsPerSecond);
  std::vector<int> places(8);
  size_t before = 0;
  for (const ExperimentRecord& bare : sink_.bare) {
    while (before < sink_.records.size() && sink_.records[before].start_ns < bare.start_ns)
      ++before;
    ++places[before % 8];
  }
  for (const int times : places) EXPECT_GT(times, 0);
}

TEST_F(SchedulerTest, ABareStretchOfFewVisitsLastsForAnExperiment) {
  target_.may_suspend = true;
  target_.program = {{60}};
  RunFor(20 * kNsPerSecond);
  ASSERT_FALSE(sink_.bare.empty());
  for (const ExperimentRecord& bare : sink_.bare) {
    EXPECT_GE(bare.points[0].visits, 25u);
    EXPECT_GT(bare.elapsed_ns, 400 * kNsPerMs);
    EXPECT_LE(bare.elapsed_ns, options_.min_experiment_ns + 2 * options_.look_ns);
  }
}

TEST_F(SchedulerTest, ATargetThatCannotBeSuspendedIsAskedOnce) {
  RunFor(120 * kNsPerSecond);
  EXPECT_EQ(target_.suspensions, 1);
  EXPECT_EQ(target_.resumptions, 0);
  EXPECT_TRUE(sink_.bare.empty());
}

TEST_F(SchedulerTest, NoBareStretchWhereTheExperimentIsTheWholeRun) {
  target_.may_suspend = true;
  options_.end_to_end = true;
  RunFor(20 * kNsPerSecond);
  EXPECT_EQ(target_.suspensions, 0);
}

// However the profile ends in a bare stretch, sampling goes on, and what was measured is not kept.
TEST_F(SchedulerTest, AnEndInABareStretchResumesSampling) {
  target_.may_suspend = true;
  for (int way = 0; way < 3; ++way) {
    target_.AdvanceTo(target_.NowNs() + kNsPerMs);
    Make();
    while (!target_.suspended()) RunFor(kNsPerMs);
    if (way > 0) RunFor(100 * kNsPerMs);  // past the lead-in
    ASSERT_TRUE(target_.suspended());
    const size_t kept = sink_.bare.size() + sink_.records.size();
    if (way == 0) scheduler_->Stop();
    if (way == 1) scheduler_->Finish();
    if (way == 2) scheduler_->StartAfresh();
    EXPECT_FALSE(target_.suspended()) << way;
    EXPECT_EQ(sink_.bare.size() + sink_.records.size(), kept) << way;
    EXPECT_EQ(scheduler_->done(), way < 2);
  }
  RunFor(20 * kNsPerSecond);
  EXPECT_GT(sink_.records.back().start_ns + 2 * kNsPerSecond, target_.NowNs());
}

}  // namespace
}  // namespace coz::experiment
