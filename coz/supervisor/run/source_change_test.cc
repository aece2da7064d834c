// Runs in which perf events are said to be too dear for a program.
#include <filesystem>
#include <string>

#include "coz/base/clock.h"
#include "coz/base/random.h"
#include "coz/experiment/options.h"
#include "coz/report/analysis/session_facts.h"
#include "coz/supervisor/run/run_profile.h"
#include "coz/supervisor/target/cpu_clock.h"
#include "coz/testing/capabilities.h"
#include "coz/testing/cpu_clocks_lock.h"
#include "coz/testing/process_state.h"
#include "coz/testing/resident.h"
#include "coz/testing/run_command.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace coz::supervisor {
namespace {

using ::testing::HasSubstr;

class SourceChangeTest : public ::testing::Test {
 protected:
  SourceChangeTest() {
    options_.command = {testing::RunfilePath("coz/testing/puppets/family"), "relay", "3"};
    options_.runtime_library = testing::RunfilePath("coz/runtime/libcoz.so");
    options_.output = testing::TemporaryFolder() + "/profile.pb";
    options_.min_experiment_ns = 100 * kNsPerMs;
    // Some hundred switches a second.
    options_.switch_cost_ns = 20 * kNsPerMs;
    options_.clock_cost = ClockCost{20 * kNsPerMs, 0};
  }

  void SetUp() override { COZ_REQUIRE_CAPABILITY(testing::MissingPerfEvents()); }

  profile::Profile Run() {
    const absl::StatusOr<RunResult> result = RunProfile(options_);
    EXPECT_TRUE(result.ok()) << result.status();
    if (!result.ok()) return {};
    EXPECT_EQ(result->exit.status, 0);
    EXPECT_EQ(result->exit.signal, 0);
    return result->profile;
  }

  // In `profile` a round has as many samples after the change as by perf events.
  void ExpectRoundsAsBefore(const profile::Profile& profile);

  testing::CpuClocksLock lock_;
  RunOptions options_;
};

// A round is always the same work, however busy the machine is.
struct SamplesOfRounds {
  double samples = 0;
  double rounds = 0;

  void Add(const profile::Experiment& experiment) {
    samples += static_cast<double>(experiment.total_samples());
    rounds += static_cast<double>(experiment.point(0).visits());
  }
  double PerRound() const { return samples / rounds; }
};

// The change may come before the first experiment has ended. So another run says what perf events
// sample in a round.
void SourceChangeTest::ExpectRoundsAsBefore(const profile::Profile& profile) {
  const uint64_t change_ns = profile.source_change(0).at_ns();
  SamplesOfRounds after;
  for (const profile::Experiment& experiment : profile.experiment()) {
    const uint64_t end_ns = experiment.start_ns() + experiment.elapsed_ns();
    EXPECT_TRUE(end_ns <= change_ns || experiment.start_ns() >= change_ns);
    if (experiment.start_ns() >= change_ns) after.Add(experiment);
  }
  ASSERT_GT(after.rounds, 0);
  options_.sampling_source = sampler::SamplingSource::kPerfSigtrap;
  SamplesOfRounds by_perf_events;
  const profile::Profile kept = Run();
  for (const profile::Experiment& experiment : kept.experiment()) by_perf_events.Add(experiment);
  ASSERT_GT(by_perf_events.rounds, 0);
  EXPECT_NEAR(after.PerRound() / by_perf_events.PerRound(), 1, 0.3);
}

TEST_F(SourceChangeTest, SamplesAndExperimentsGoOnWithCpuTimers) {
  const profile::Profile profile = Run();
  ASSERT_EQ(profile.source_change_size(), 1);
  const profile::SourceChange& change = profile.source_change(0);
  EXPECT_EQ(change.session(), profile.session(0).id());
  EXPECT_EQ(profile.session(0).sampling_source(), profile::SAMPLING_SOURCE_PERF_SIGTRAP);
  EXPECT_EQ(change.sampling_source(), profile::SAMPLING_SOURCE_CPU_TIMER);
  EXPECT_EQ(change.switch_cost_ns(), *options_.switch_cost_ns);
  EXPECT_GT(change.switches_per_second(), 10);
  EXPECT_THAT(report::DescribeSourceChange(change), HasSubstr("on samples come from CPU timers"));
  ExpectRoundsAsBefore(profile);
}

TEST_F(SourceChangeTest, ClocksOfTheCpusGoOnWhereTheyCostLittle) {
  if (const auto clock = CpuClock::Open(kNsPerMs); !clock.ok()) GTEST_SKIP() << clock.status();
  options_.clock_cost = ClockCost{1, 0};
  const profile::Profile profile = Run();
  ASSERT_EQ(profile.source_change_size(), 1);
  const profile::SourceChange& change = profile.source_change(0);
  EXPECT_EQ(change.sampling_source(), profile::SAMPLING_SOURCE_CPU_CLOCK);
  EXPECT_THAT(report::DescribeSourceChange(change), HasSubstr("come from a clock of each CPU"));
  ExpectRoundsAsBefore(profile);
}

TEST_F(SourceChangeTest, ClocksTakeOverWhereThreadsComeAndGo) {
  if (const auto clock = CpuClock::Open(kNsPerMs); !clock.ok()) GTEST_SKIP() << clock.status();
  options_.command = {testing::RunfilePath("coz/testing/puppets/family"), "threads", "2"};
  options_.clock_cost = ClockCost{1, 0};
  const profile::Profile profile = Run();
  ASSERT_EQ(profile.source_change_size(), 1);
  const profile::SourceChange& change = profile.source_change(0);
  EXPECT_EQ(change.sampling_source(), profile::SAMPLING_SOURCE_CPU_CLOCK);
  EXPECT_GT(change.threads_per_second(), 10);
  EXPECT_THAT(report::DescribeSourceChange(change), HasSubstr("are made for each thread"));
  ExpectRoundsAsBefore(profile);
}

TEST_F(SourceChangeTest, NewThreadsAreNoReasonForTimers) {
  options_.command = {testing::RunfilePath("coz/testing/puppets/family"), "threads", "1"};
  EXPECT_EQ(Run().source_change_size(), 0);
}

TEST_F(SourceChangeTest, ASourceThatWasAskedForIsKept) {
  options_.sampling_source = sampler::SamplingSource::kPerfSigtrap;
  EXPECT_EQ(Run().source_change_size(), 0);
}

TEST_F(SourceChangeTest, OneProcessKeepsItsEvent) {
  options_.command = {testing::RunfilePath("coz/testing/puppets/family"), "work", "1"};
  EXPECT_EQ(Run().source_change_size(), 0);
}

// A process and its children, which coz attaches to.
class AttachedSourceChangeTest : public SourceChangeTest {
 protected:
  void ExpectChangeTo(profile::SamplingSource source);

  uint64_t duration_ns_ = 3 * kNsPerSecond;
  profile::Profile profile_;
};

void AttachedSourceChangeTest::ExpectChangeTo(profile::SamplingSource source) {
  const std::string residents = testing::RunfilePath("coz/testing/puppets/residents");
  testing::Resident resident({residents, "2"});
  ASSERT_THAT(resident.Line(), HasSubstr("ready "));
  options_.command.clear();
  options_.runtime_library = std::filesystem::canonical(options_.runtime_library);
  options_.attach_pid = resident.pid();
  options_.attach_tree = true;
  options_.duration_ns = duration_ns_;
  const std::string before = testing::StateFromOutside(resident.pid(), residents);
  const absl::StatusOr<RunResult> result = RunProfile(options_);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_TRUE(result->left.ok()) << result->left;
  profile_ = result->profile;
  ASSERT_EQ(profile_.source_change_size(), 1);
  EXPECT_EQ(profile_.source_change(0).sampling_source(), source);
  uint64_t samples_after = 0;
  for (const profile::Experiment& experiment : profile_.experiment()) {
    if (experiment.start_ns() >= profile_.source_change(0).at_ns()) {
      samples_after += experiment.total_samples();
    }
  }
  EXPECT_GT(samples_after, 0u);
  EXPECT_EQ(testing::StateFromOutside(resident.pid(), residents), before);
  int status = -1;
  EXPECT_EQ(resident.End(&status), "right\n");
}

TEST_F(AttachedSourceChangeTest, GoOverToCpuTimers) {
  ExpectChangeTo(profile::SAMPLING_SOURCE_CPU_TIMER);
}

TEST_F(AttachedSourceChangeTest, GoOverToClocksOfTheCpus) {
  if (const auto clock = CpuClock::Open(kNsPerMs); !clock.ok()) GTEST_SKIP() << clock.status();
  options_.clock_cost = ClockCost{1, 0};
  ExpectChangeTo(profile::SAMPLING_SOURCE_CPU_CLOCK);
}

// Events that are suspended would stay so. The run begins with a bare interval of a quarter of an
// experiment, and the events are found too dear within 0.6 s.
TEST_F(AttachedSourceChangeTest, AwaitTheEndOfABareInterval) {
  if (const auto clock = CpuClock::Open(kNsPerMs); !clock.ok()) GTEST_SKIP() << clock.status();
  options_.clock_cost = ClockCost{1, 0};
  options_.min_experiment_ns = 2 * kNsPerSecond;
  duration_ns_ = 5 * kNsPerSecond;
  constexpr uint64_t kStreamOfBareIntervals = 4;
  const uint64_t intervals = experiment::SchedulerOptions().experiments_per_bare_interval;
  options_.seed = 1;
  while (Random(*options_.seed, kStreamOfBareIntervals).Below(intervals) != 0) ++*options_.seed;
  ExpectChangeTo(profile::SAMPLING_SOURCE_CPU_CLOCK);
  ASSERT_GT(profile_.bare_interval_size(), 0);
  const profile::BareInterval& bare = profile_.bare_interval(0);
  EXPECT_LE(bare.start_ns() + bare.elapsed_ns(), profile_.source_change(0).at_ns());
}

}  // namespace
}  // namespace coz::supervisor
