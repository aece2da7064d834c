// Profiles of programs whose answer is known in closed form. Large: on request only, --config=perf,
// on an idle machine.
//
// A closed form knows nothing of CPUs that halt. In a virtual machine a paused thread and those it
// wakes then come back late, and the stage that waits seems to hurt. So coz keeps idle CPUs awake
// where it may.
#include <string>

#include "absl/strings/match.h"
#include "coz/report/analysis/analysis.h"
#include "coz/report/analysis/experiment_table.h"
#include "coz/report/format/profile_reader.h"
#include "coz/supervisor/target/awake_cpus.h"
#include "coz/testing/capabilities.h"
#include "coz/testing/run_command.h"
#include "gtest/gtest.h"

namespace coz {
namespace {

using ::coz::testing::RunfilePath;

// The slope of the one line or function that a profile has of `function`, with its interval.
report::Estimate SlopeOf(const std::string& function, const std::vector<std::string>& program,
                         const std::vector<std::string>& coz_options = {}) {
  testing::CommandOptions options;
  options.folder = testing::TemporaryFolder();
  std::vector<std::string> arguments = {RunfilePath("tools/coz"), "run"};
  arguments.insert(arguments.end(), coz_options.begin(), coz_options.end());
  if (supervisor::KeepCpusAwake().ok()) arguments.emplace_back("--awake");
  arguments.emplace_back("---");
  arguments.insert(arguments.end(), program.begin(), program.end());
  const testing::CommandResult result = testing::RunCommand(arguments, options);
  EXPECT_EQ(result.status, 0) << result.errors;
  const absl::StatusOr<report::ReadResult> read =
      report::ReadProfile(options.folder + "/profile.pb");
  EXPECT_TRUE(read.ok()) << read.status();
  if (!read.ok()) return {};
  const report::ExperimentTable table = report::BuildExperimentTable(read->profile);
  const report::Analysis analysis = report::Analyze(read->profile, table);
  EXPECT_EQ(analysis.points.size(), 1u);
  for (const report::PointAnalysis& point : analysis.points) {
    for (const report::LineAnalysis& line : point.lines) {
      if (absl::EndsWith(table.units[line.unit].function, function)) return line.slope;
    }
  }
  ADD_FAILURE() << "no slope of " << function << "\n" << result.errors;
  return {};
}

TEST(KnownAnswerTest, AllOfTheWorkHasSlopeOne) {
  COZ_REQUIRE_CAPABILITY(testing::MissingPerfEvents());
  const report::Estimate slope = SlopeOf("spin", {RunfilePath("coz/testing/puppets/busy"), "15"});
  EXPECT_NEAR(slope.value, 1, 0.05) << slope.low << " to " << slope.high;
}

TEST(KnownAnswerTest, TheStageThatWaitsHasSlopeNought) {
  COZ_REQUIRE_CAPABILITY(testing::MissingPerfEvents());
  const report::Estimate slope = SlopeOf("Compress", {RunfilePath("examples/pipeline"), "25"},
                                         {"--unit=function", "--fixed-unit=Compress"});
  EXPECT_NEAR(slope.value, 0, 0.05) << slope.low << " to " << slope.high;
}

// Once decoding and checking take a quarter of their time, 0.25 ms an item, compressing is the
// bottleneck. An item then takes 0.7 - 0.7 s ms, down to 0.25. Without --given, faster compressing
// gains nothing.
TEST(KnownAnswerTest, WhatIsGivenMakesTheOtherStageTheBottleneck) {
  COZ_REQUIRE_CAPABILITY(testing::MissingPerfEvents());
  const report::Estimate slope =
      SlopeOf("Compress", {RunfilePath("examples/pipeline"), "25"},
              {"--unit=function", "--group=first=Decode", "--group=first=Check",
               "--given=first=75%", "--fixed-unit=Compress", "--fixed-speedup=10-60"});
  EXPECT_NEAR(slope.value, 1, 0.07) << slope.low << " to " << slope.high;
}

// Once compressing takes half of its time, 0.35 ms, it is never the bottleneck. An item takes 1 -
// 0.6 s ms. Without --given it cannot take less than 0.7.
TEST(KnownAnswerTest, WhatIsGivenLiftsTheLimitOfTheBottleneck) {
  COZ_REQUIRE_CAPABILITY(testing::MissingPerfEvents());
  const report::Estimate slope = SlopeOf(
      "Decode", {RunfilePath("examples/pipeline"), "25"},
      {"--unit=function", "--given=Compress=50%", "--fixed-unit=Decode", "--fixed-speedup=10-90"});
  EXPECT_NEAR(slope.value, 0.6, 0.05) << slope.low << " to " << slope.high;
}

// Parent and child work by turns, 7:3.
void ExpectSharesAsSlopes(const std::string& by) {
  const std::vector<std::string> program = {RunfilePath("coz/testing/puppets/family"), by, "30"};
  const report::Estimate parent = SlopeOf("parents_work", program);
  EXPECT_NEAR(parent.value, 0.7, 0.07) << parent.low << " to " << parent.high;
  const report::Estimate child = SlopeOf("childs_work", program);
  EXPECT_NEAR(child.value, 0.3, 0.07) << child.low << " to " << child.high;
}

TEST(KnownAnswerTest, TurnsOfTwoProcessesOverPipesHaveTheirSharesAsSlopes) {
  COZ_REQUIRE_CAPABILITY(testing::MissingPerfEvents());
  ExpectSharesAsSlopes("relay");
}

TEST(KnownAnswerTest, TurnsOfTwoProcessesBySharedLocksHaveTheirSharesAsSlopes) {
  COZ_REQUIRE_CAPABILITY(testing::MissingPerfEvents());
  ExpectSharesAsSlopes("shared");  // a semaphore and a condition variable
}

}  // namespace
}  // namespace coz
