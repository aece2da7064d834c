// coz run on programs that are built with a sanitizer: each does and finds the same as without coz.
#include <string>

#include "absl/status/statusor.h"
#include "coz/report/format/profile_reader.h"
#include "coz/testing/run_command.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace coz {
namespace {

using ::coz::testing::CommandResult;
using ::coz::testing::RunfilePath;
using ::testing::HasSubstr;
using ::testing::Not;

class SanitizedTest : public ::testing::TestWithParam<const char*> {
 protected:
  SanitizedTest() : folder_(testing::TemporaryFolder()) {}

  std::string Puppet() const {
    return RunfilePath(std::string("coz/testing/puppets/sanitized_") + GetParam());
  }
  bool IsAddress() const { return std::string(GetParam()) == "address"; }

  // With --follow=all the program may be one without debug information.
  CommandResult Profile(const std::vector<std::string>& program) {
    testing::CommandOptions options;
    options.folder = folder_;
    std::vector<std::string> command = {
        RunfilePath("tools/coz"), "run",          "--experiment-length=0.1",
        "--sampling-period=0.1",  "--follow=all", "---"};
    command.insert(command.end(), program.begin(), program.end());
    return testing::RunCommand(command, options);
  }

  void ExpectWorksAndIsProfiled(const CommandResult& result) {
    EXPECT_EQ(result.status, 0) << result.errors;
    EXPECT_THAT(result.output, HasSubstr("ok\n"));
    EXPECT_THAT(result.errors, Not(HasSubstr("Sanitizer")));
    const absl::StatusOr<report::ReadResult> read = report::ReadProfile(folder_ + "/profile.pb");
    ASSERT_TRUE(read.ok()) << read.status();
    uint64_t visits = 0;
    for (const profile::Experiment& experiment : read->profile.experiment()) {
      for (const profile::PointCounts& counts : experiment.point()) visits += counts.visits();
    }
    EXPECT_GT(visits, 0u) << result.errors;
  }

  const std::string folder_;
};

TEST_P(SanitizedTest, RunsAndIsProfiled) { ExpectWorksAndIsProfiled(Profile({Puppet(), "work"})); }

TEST_P(SanitizedTest, StartsItselfAndOthers) {
  const CommandResult result = Profile({Puppet(), "spawn"});
  ExpectWorksAndIsProfiled(result);
  EXPECT_THAT(result.output, HasSubstr("ok\nok\n")) << "both by posix_spawnp and by execvp";
}

TEST_P(SanitizedTest, IsStartedByAProgramWithout) {
  ExpectWorksAndIsProfiled(Profile({"/bin/sh", "-c", Puppet() + " work; exit $?"}));
}

TEST_P(SanitizedTest, FindsTheMistakeThatItFindsWithoutUs) {
  testing::CommandOptions bare_options;
  bare_options.folder = folder_;
  const CommandResult bare = testing::RunCommand({Puppet(), "mistake"}, bare_options);
  const CommandResult profiled = Profile({Puppet(), "mistake"});
  const char* const mistake = IsAddress() ? "heap-buffer-overflow" : "data race";
  EXPECT_THAT(bare.errors, HasSubstr(mistake));
  EXPECT_THAT(profiled.errors, HasSubstr(mistake));
  EXPECT_NE(bare.status, 0);
  EXPECT_EQ(profiled.status, bare.status);
}

INSTANTIATE_TEST_SUITE_P(Sanitizers, SanitizedTest, ::testing::Values("address", "thread"),
                         [](const auto& sanitizer) { return std::string(sanitizer.param); });

}  // namespace
}  // namespace coz
