#include "coz/supervisor/target/live_target.h"

#include <stdio.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "coz/supervisor/target/cpu_quota.h"
#include "coz/testing/zeroed_control.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace coz::supervisor {
namespace {

using ::testing::Pair;
using ::testing::UnorderedElementsAre;

class LiveTargetTest : public ::testing::Test {
 protected:
  LiveTargetTest() : control_(testing::ZeroedControl()), target_(control_.get()) {}

  void PushSample(experiment::UnitId unit, uint64_t weight = 1) {
    shared::PushSample(control_->ring, unit, weight);
  }
  void AddPoint(shared::PointKind kind, const char* name) {
    shared::PointSlot& slot = control_->points[points_++];
    slot.kind = kind;
    snprintf(slot.name, sizeof(slot.name), "%s", name);
    slot.state = shared::PointState::kReady;
  }
  // A thread of this process, which the kernel shows as running.
  shared::ThreadSlot& AddThread() {
    shared::ThreadSlot& slot = control_->threads[control_->threads_high_water++];
    slot.pid = getpid();
    slot.tid = getpid();
    slot.state = shared::ThreadState::kRunning;
    return slot;
  }

  testing::OwnedControl control_;
  LiveTarget target_;
  uint32_t points_ = 0;
};

TEST_F(LiveTargetTest, CountsSamplesPerUnit) {
  PushSample(3);
  PushSample(3, 4);
  PushSample(9);
  target_.Poll();
  EXPECT_THAT(target_.TakeUnitSamples(), UnorderedElementsAre(Pair(3, 5), Pair(9, 1)));
  EXPECT_THAT(target_.TakeUnitSamples(), UnorderedElementsAre());
  EXPECT_THAT(target_.unit_samples(), UnorderedElementsAre(Pair(3, 5), Pair(9, 1)));
}

TEST_F(LiveTargetTest, TellsWhereThreadsSpinOfUnitsThatItKnows) {
  PushSample(3);
  target_.Poll();
  shared::AddSpinning(control_->spinning_units, 3, 2);
  shared::AddSpinning(control_->spinning_units, 9, 5);
  EXPECT_THAT(target_.SpinningUnits(), UnorderedElementsAre(Pair(3, 2)));
}

TEST_F(LiveTargetTest, GivenUnitIsSetCountedApartAndNeverDrawn) {
  target_.SpeedUpAlways(7, 500);
  EXPECT_EQ(shared::Selection::Unpack(control_->given).unit, 7u);
  EXPECT_EQ(shared::Selection::Unpack(control_->given).delay_per_sample_ns, 500u);
  for (int i = 0; i < 50; ++i) PushSample(7);
  PushSample(3);
  Random random(1, 0);
  EXPECT_EQ(target_.RandomSampledUnit(random), 3u);
  EXPECT_EQ(target_.unit_samples().at(7), 50u);
  // What the selected unit has imposed is what is left when the given one's share is taken off.
  AddThread().ledger.imposed_ns = 10000;
  control_->samples.given = 4;
  EXPECT_EQ(target_.Read().imposed_ns, 8000u);
}

TEST_F(LiveTargetTest, PausesHoldTheirCpusWhereAQuotaIsUsedUp) {
  const std::string root = ::testing::TempDir() + "/quota";
  const auto write = [&root](const std::string& path, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(root + path).parent_path());
    std::ofstream(root + path) << text;
  };
  write("/proc/self/cgroup", "0::/app\n");
  write("/proc/self/mountinfo", "41 31 0:38 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
  write("/sys/fs/cgroup/app/cpu.max", "50000 100000\n");
  LiveTarget target(control_.get(), CpuQuota(0, root));
  EXPECT_EQ(target.quota_cpus(), 0.5);
  EXPECT_EQ(target.Read().quota.periods, 0u);
  EXPECT_EQ(control_->ledger.cpus_are_shared, 0u);
  write("/sys/fs/cgroup/app/cpu.stat", "nr_periods 9\nnr_throttled 9\n");
  AddThread().ledger.pause_cpu_ns = 70;
  experiment::TargetSnapshot snapshot;
  while (control_->ledger.cpus_are_shared == 0) snapshot = target.Read();  // it judges each second
  EXPECT_EQ(snapshot.quota.throttled_periods, 9u);
  EXPECT_EQ(snapshot.pause_cpu_ns, 70u);
}

TEST_F(LiveTargetTest, PausesHoldTheirCpusBesideOtherProgramsUnlessWaitsAreUnits) {
  for (const uint32_t waits_are_units : {0, 1}) {
    control_->waits_are_units = waits_are_units;
    target_.SetBeside(1.5);
    target_.Read();
    EXPECT_EQ(control_->ledger.cpus_are_shared, 1 - waits_are_units);
  }
}

TEST_F(LiveTargetTest, ReadsWhatTheSamplerMissed) {
  control_->counters.lost_samples = 3;
  control_->counters.lost_periods = 4;
  control_->counters.unsampled_ns = 500;
  const experiment::TargetSnapshot snapshot = target_.Read();
  EXPECT_EQ(snapshot.lost_samples, 3u);
  EXPECT_EQ(snapshot.lost_periods, 4u);
  EXPECT_EQ(snapshot.unsampled_ns, 500u);
}

TEST_F(LiveTargetTest, SamplesOfCpuTimersStandForSeveralPeriods) {
  control_->sampling_period_ns = 800'000;
  control_->sampler_status.source = sampler::SamplingSource::kPerfSigtrap;
  EXPECT_EQ(target_.Read().periods_per_sample, 1);
  control_->sampler_status.source = sampler::SamplingSource::kCpuTimer;
  EXPECT_EQ(target_.Read().periods_per_sample, 5);
  control_->sampling_period_ns = 10'000'000;
  EXPECT_EQ(target_.Read().periods_per_sample, 1);
}

TEST_F(LiveTargetTest, WaitsForASampleThatIsBeingWritten) {
  control_->ring.next = 1;  // taken, not stored
  target_.Poll();
  EXPECT_THAT(target_.TakeUnitSamples(), UnorderedElementsAre());
  control_->ring.entries[0] = shared::EncodeSample(0, 5, 1);
  target_.Poll();
  EXPECT_THAT(target_.TakeUnitSamples(), UnorderedElementsAre(Pair(5, 1)));
}

TEST_F(LiveTargetTest, CountsWhatTheRingHasLost) {
  for (uint32_t i = 0; i < shared::kSampleRingEntries + 10; ++i) PushSample(i < 10 ? 1 : 2);
  target_.Poll();
  EXPECT_EQ(target_.samples_lost_in_ring(), 10u);
  EXPECT_THAT(target_.TakeUnitSamples(), UnorderedElementsAre(Pair(2, shared::kSampleRingEntries)));
}

TEST_F(LiveTargetTest, DrawsFromTheSamplesSinceTheLastDraw) {
  Random random(1);
  EXPECT_EQ(target_.RandomSampledUnit(random), std::nullopt);
  PushSample(7);
  EXPECT_EQ(target_.RandomSampledUnit(random), std::optional<experiment::UnitId>(7));
  EXPECT_EQ(target_.RandomSampledUnit(random), std::nullopt);
}

TEST_F(LiveTargetTest, SumsVisitsOverThreadsAndOldInterface) {
  AddPoint(shared::PointKind::kThroughput, "requests");
  AddThread().visits[0] = 5;
  AddThread().visits[0] = 7;
  control_->threads[1].state = shared::ThreadState::kFree;  // its visits still count
  control_->points[0].shared.count = 100;
  EXPECT_EQ(target_.Read().points.at(0).visits, 112u);
}

TEST_F(LiveTargetTest, MakesOnePointOfBeginAndEnd) {
  AddPoint(shared::PointKind::kEnd, "order");
  AddPoint(shared::PointKind::kThroughput, "order");
  AddPoint(shared::PointKind::kBegin, "order");
  shared::ThreadSlot& thread = AddThread();
  thread.visits[0] = 3;
  thread.visits[1] = 10;
  thread.visits[2] = 4;
  const experiment::TargetSnapshot snapshot = target_.Read();
  ASSERT_EQ(target_.points().size(), 2u);
  EXPECT_TRUE(target_.points()[0].is_latency);
  EXPECT_EQ(snapshot.points[0].departures, 3u);
  EXPECT_EQ(snapshot.points[0].arrivals, 4u);
  EXPECT_EQ(snapshot.points[1].visits, 10u);
}

TEST_F(LiveTargetTest, WhoWasUnderWayAtAnAttachIsSoUntilHisEnd) {
  target_.FollowBegunBefore();
  AddPoint(shared::PointKind::kBegin, "order");
  AddPoint(shared::PointKind::kEnd, "order");
  shared::ThreadSlot& one = AddThread();
  shared::ThreadSlot& other = AddThread();
  control_->points[1].timed_cell = 1;
  one.timed[0].visits = 1;  // an end without a begin
  other.visits[0] = 1;
  EXPECT_EQ(target_.Read().points.at(0).begun_before, 1u) << "the threads are never idle together";
  other.visits[0] = 2;
  EXPECT_EQ(target_.Read().points.at(0).begun_before, 0u) << "requests go from thread to thread";
}

TEST_F(LiveTargetTest, NobodyIsUnderWayBeforeTheProgramStarts) {
  AddPoint(shared::PointKind::kBegin, "order");
  AddPoint(shared::PointKind::kEnd, "order");
  AddThread().visits[1] = 1;
  EXPECT_EQ(target_.Read().points.at(0).begun_before, 0u);
}

TEST_F(LiveTargetTest, TellsWhatRunningThreadsOwe) {
  control_->ledger.global_delay_ns = 1000;
  AddThread().ledger.local_delay_ns = 400;
  AddThread().ledger.local_delay_ns = 1500;  // excess
  shared::ThreadSlot& blocked = AddThread();
  blocked.ledger.blocked = 1;  // will be credited
  experiment::TargetSnapshot snapshot = target_.Read();
  EXPECT_EQ(snapshot.owed_ns, 600u);
  EXPECT_EQ(snapshot.max_owed_ns, 600u);
  EXPECT_FALSE(target_.Settled());
  control_->threads[0].ledger.local_delay_ns = 1000;
  EXPECT_TRUE(target_.Settled());
}

TEST_F(LiveTargetTest, TellsWhatSleepersOweThatHaveRun) {
  control_->ledger.global_delay_ns = 1000;
  target_.Select(1, 100, 0);
  shared::ThreadSlot& sleeper = AddThread();
  sleeper.ledger.blocked = delay::kBlockedByClock;
  sleeper.ledger.local_delay_ns = 1000;
  control_->ledger.global_delay_ns = 3000;
  EXPECT_EQ(target_.Read().max_owed_asleep_ns, 0u) << "it has slept since";
  sleeper.ledger.local_delay_ns = 1800;
  const experiment::TargetSnapshot snapshot = target_.Read();
  EXPECT_EQ(snapshot.max_owed_asleep_ns, 1200u);
  EXPECT_EQ(snapshot.max_owed_ns, 0u);
  EXPECT_TRUE(target_.Settled());
}

TEST_F(LiveTargetTest, CollectsDebtsOfTwoExperimentsAndNoMore) {
  target_.Select(1, 100, 0);
  control_->ledger.global_delay_ns = 1000;
  target_.Select(1, 100, 0);
  control_->ledger.global_delay_ns = 3000;
  EXPECT_EQ(control_->ledger.forgiven_below_ns.load(), 0u);
  target_.Select(1, 100, 0);
  EXPECT_EQ(control_->ledger.forgiven_below_ns.load(), 1000u);
}

TEST_F(LiveTargetTest, SelectsUnitAndDelayTogether) {
  target_.Select(0, 250000, 77);
  const auto selection = shared::Selection::Unpack(control_->ledger.selection);
  EXPECT_EQ(selection.unit, 0u);
  EXPECT_EQ(selection.delay_per_sample_ns, 250000u);
  EXPECT_EQ(control_->selection_deadline_ns.load(), 77u);
  target_.StopDelays();
  EXPECT_EQ(shared::Selection::Unpack(control_->ledger.selection).unit, shared::kNoUnit);
}

TEST_F(LiveTargetTest, PlacesAreChargedWithDelaysToo) {
  LiveTarget::Point point;
  point.name = "arrive,mark:out";
  point.is_latency = true;
  point.counted_by = "hardware breakpoint";
  point.end_mark = "out";
  const auto none = [] { return uint64_t{0}; };
  EXPECT_EQ(target_.AddPoint(point, none, none), 0u);
  point.name = "arrive,depart";
  point.end_mark = "";
  EXPECT_EQ(target_.AddPoint(point, none, none), 1u);
  ASSERT_EQ(control_->charged_pairs_used, 1u) << "the mark is not there yet";
  EXPECT_EQ(control_->charged_pairs[0].begin, shared::kAtPlaces);
  EXPECT_EQ(control_->charged_pairs[0].end, shared::kAtPlaces);
  EXPECT_EQ(control_->charged_pairs[0].point, 1u);
  AddPoint(shared::PointKind::kThroughput, "out");
  target_.Poll();
  ASSERT_EQ(control_->charged_pairs_used, 2u);
  EXPECT_EQ(control_->charged_pairs[1].begin, shared::kAtPlaces);
  EXPECT_EQ(control_->charged_pairs[1].end, 0u);
  EXPECT_EQ(control_->charged_pairs[1].point, 0u);
}

TEST_F(LiveTargetTest, CallsHaveTimesAndAreNeverUnderWay) {
  LiveTarget::Point point;
  point.name = "api:libz.so:deflate";
  point.is_latency = true;
  point.counted_by = "jumps to stubs";
  ASSERT_EQ(target_.AddCalls(point, [] { return CallLatencySums{3, 700}; }), 0u);
  const experiment::PointCounts counts = target_.Read().points.at(0);
  EXPECT_EQ(counts.arrivals, 3u);
  EXPECT_EQ(counts.departures, 3u);
  EXPECT_EQ(counts.timed_arrivals, 3u);
  EXPECT_EQ(counts.timed_departures, 3u);
  EXPECT_EQ(counts.departure_time_sum_ns - counts.arrival_time_sum_ns, 700u);
  // A pair that comes later may be charged, and this one is not.
  const auto none = [] { return uint64_t{0}; };
  EXPECT_EQ(target_.AddPoint(point, none, none), 1u);
  ASSERT_EQ(control_->charged_pairs_used, 1u);
  EXPECT_EQ(control_->charged_pairs[0].point, 1u);
}

TEST_F(LiveTargetTest, PairsWithoutTimesAreChargedWithDelays) {
  LiveTarget::Point of_marks;
  of_marks.name = "mark:in,mark:out";
  of_marks.is_latency = true;
  of_marks.begin_mark = "in";
  of_marks.end_mark = "out";
  const auto none = [] { return uint64_t{0}; };
  target_.AddPoint(of_marks, none, none);
  AddPoint(shared::PointKind::kThroughput, "in");
  target_.Poll();
  EXPECT_EQ(control_->charged_pairs_used, 0u) << "one end is not there yet";
  AddPoint(shared::PointKind::kThroughput, "out");
  AddPoint(shared::PointKind::kBegin, "original");
  AddPoint(shared::PointKind::kEnd, "original");
  target_.Poll();
  ASSERT_EQ(control_->charged_pairs_used, 2u);
  EXPECT_EQ(control_->charged_pairs[0].begin, 0u);
  EXPECT_EQ(control_->charged_pairs[0].end, 1u);
  EXPECT_EQ(control_->charged_pairs[1].begin, 2u);
  EXPECT_EQ(control_->charged_pairs[1].end, 3u);
  control_->charged_pairs[0].delay_ns = 10;
  control_->charged_pairs[0].delay_in_flight_ns = 20;
  const experiment::TargetSnapshot read = target_.Read();
  EXPECT_EQ(read.points[0].charged_delay_ns, 10u);
  EXPECT_EQ(read.points[0].charged_in_flight_ns, 20u);
}

TEST_F(LiveTargetTest, ANameWithoutAnEndIsNoLongerThanItsRoom) {
  AddPoint(shared::PointKind::kThroughput, "");
  memset(&control_->points[0].name[0], 'a', sizeof(control_->points[0].name));
  control_->points[0].shared.count = 0x6161616161616161;
  target_.Poll();
  const std::string name(shared::kPointNameBytes, 'a');
  ASSERT_EQ(target_.points().size(), 1u);
  EXPECT_EQ(target_.points()[0].name, name);
  EXPECT_EQ(target_.Marks(), std::vector<std::string>{name});
  EXPECT_EQ(target_.VisitsOfMark(name), 0x6161616161616161u);
}

TEST_F(LiveTargetTest, AKindThatIsNoneMakesNoPoint) {
  AddPoint(static_cast<shared::PointKind>(77), "requests");
  EXPECT_TRUE(target_.Read().points.empty());
}

}  // namespace
}  // namespace coz::supervisor
