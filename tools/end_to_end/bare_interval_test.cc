// coz run now and then suspends sampling in every process and resumes it. The program does not
// notice.
#include <string>

#include "absl/strings/str_cat.h"
#include "coz/testing/capabilities.h"
#include "coz/testing/coz_run.h"
#include "coz/testing/run_command.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace coz {
namespace {

using ::coz::testing::CommandResult;
using ::coz::testing::Puppet;
using ::coz::testing::RunfilePath;
using ::testing::HasSubstr;
using ::testing::Not;

class BareIntervalTest : public ::coz::testing::CozRunTest {
 protected:
  // The shortest allowed: one bare interval for eight of them, about every 0.7 s.
  BareIntervalTest() { experiment_seconds_ = "0.05"; }

  // Beside other programs a family switches so often that coz by itself goes over to CPU timers,
  // which it does not suspend.
  void RunFamily(const std::vector<std::string>& arguments) {
    std::vector<std::string> program = {RunfilePath("coz/testing/puppets/family")};
    program.insert(program.end(), arguments.begin(), arguments.end());
    const CommandResult result = Run({"--sampler=perf-sigtrap"}, program);
    EXPECT_EQ(result.status, 0) << result.errors;
    EXPECT_THAT(result.output, HasSubstr("ok\n")) << result.errors;
    EXPECT_THAT(result.errors, Not(HasSubstr("is false"))) << "a process found something wrong";
  }
};

TEST_F(BareIntervalTest, NoSampleComesInItAndAllDoAfterwards) {
  const CommandResult result = Run({}, {Puppet("busy"), "4"});
  EXPECT_EQ(result.status, 0) << result.errors;
  EXPECT_EQ(result.output, "hello\nbye\n");
  const profile::Profile profile = Profile();
  ASSERT_GE(profile.bare_interval_size(), 3);
  uint64_t samples = 0;
  uint64_t elapsed_ns = 0;
  for (const profile::BareInterval& bare : profile.bare_interval()) {
    EXPECT_EQ(bare.session(), profile.session(0).id());
    ASSERT_EQ(bare.point_size(), 1);
    EXPECT_GT(bare.point(0).visits(), 0u);
    EXPECT_EQ(bare.taint_size(), 0);
    samples += bare.total_samples();
    elapsed_ns += bare.elapsed_ns();
  }
  EXPECT_LE(samples * profile.session(0).sampling_period_ns() * 20, elapsed_ns);
  // Experiments are as well sampled as ever.
  const profile::BareInterval& first = profile.bare_interval(0);
  for (const profile::Experiment& experiment : profile.experiment()) {
    if (experiment.start_ns() < first.start_ns()) continue;
    EXPECT_GT(experiment.total_samples(), 0u) << experiment.index();
  }
  // The report says what sampling takes.
  const CommandResult report = testing::RunCommand({testing::Coz(), "report", "--json"}, options_);
  EXPECT_THAT(report.output, HasSubstr("\"sampling_slowdown\""));
  EXPECT_THAT(report.output, HasSubstr("\"bare_intervals\"")) << "not null";
}

TEST_F(BareIntervalTest, ProcessesThatComeAndGoAreLeftInPeace) {
  RunFamily({"bomb", "250"});
  RunFamily({"workers", "3", "3"});
  EXPECT_GT(Profile().bare_interval_size(), 0);
  RunFamily({"relay", "3"});
  EXPECT_GT(Profile().bare_interval_size(), 0);
}

TEST_F(BareIntervalTest, ExecsMeanwhileAreLeftInPeace) {
  RunFamily({"chain", "20", "3"});
  RunFamily({"spawn", "3"});
  RunFamily({"killed", "3"});
}

TEST_F(BareIntervalTest, ThereIsNoneWhereSamplesAreNotSuspended) {
  for (const char* option : {"--sampler=cpu-timer", "--sampler=perf-setsig"}) {
    Run({option}, {Puppet("busy"), "2"});
    EXPECT_EQ(Profile().bare_interval_size(), 0) << option;
    EXPECT_GT(Profile().experiment_size(), 8) << option;
  }
}

// A given unit is sped up by its samples.
TEST_F(BareIntervalTest, ThereIsNoneWhereALineIsGiven) {
  const std::string line = testing::LineWith("busy.c", "i < 100000");
  const CommandResult result = Run({absl::StrCat("--given=", line, "=50%")}, {Puppet("busy"), "2"});
  EXPECT_EQ(result.status, 0) << result.errors;
  EXPECT_EQ(Profile().bare_interval_size(), 0);
}

}  // namespace
}  // namespace coz
