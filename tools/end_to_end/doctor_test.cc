// coz doctor: of this machine, of programs and of profiles.
#include <sys/stat.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "coz/supervisor/calibration/calibration.h"
#include "coz/testing/coz_run.h"
#include "coz/testing/run_command.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace coz {
namespace {

using ::coz::testing::CommandResult;
using ::coz::testing::Coz;
using ::coz::testing::Puppet;
using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::ordered_json;

class DoctorTest : public ::coz::testing::CozRunTest {
 protected:
  CommandResult Doctor(const std::vector<std::string>& words) {
    std::vector<std::string> command = {Coz(), "doctor"};
    command.insert(command.end(), words.begin(), words.end());
    return testing::RunCommand(command, options_);
  }
  // The grade of a subject, or "".
  static std::string Grade(const Json& report, const std::string& subject) {
    for (const Json& group : report["groups"]) {
      for (const Json& finding : group["findings"]) {
        if (finding["subject"] == subject) return finding["grade"];
      }
    }
    return "";
  }
};

TEST_F(DoctorTest, LooksAtTheMachine) {
  const CommandResult result = Doctor({});
  EXPECT_THAT(result.output, HasSubstr("This machine\n"));
  for (const char* subject : {"kernel", "permission", "sampling", "idle CPUs", "quota"}) {
    EXPECT_THAT(result.output, HasSubstr(subject));
  }
  EXPECT_EQ(result.errors, "");
}

TEST_F(DoctorTest, LooksAtAProgramAndDoesNotRunIt) {
  const CommandResult result = Doctor({"--json", Puppet("busy"), "--no-such-option"});
  EXPECT_EQ(result.errors, "");
  const Json report = Json::parse(result.output, nullptr, false);
  ASSERT_TRUE(report.is_object()) << result.output;
  EXPECT_EQ(Grade(report, "file"), "ok");
  EXPECT_EQ(Grade(report, "debug info"), "ok");
  EXPECT_EQ(Grade(report, "points"), "ok");
  EXPECT_NE(Grade(report, "kernel"), "");
}

TEST_F(DoctorTest, ProgramThatCannotBeProfiledIsAProblem) {
  const CommandResult result = Doctor({Puppet("busy_stripped")});
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.output, HasSubstr("problem  debug info"));
  EXPECT_THAT(result.output, HasSubstr("→ build with -g"));
  EXPECT_THAT(result.output, Not(HasSubstr("Nothing stands in the way")));
}

TEST_F(DoctorTest, WhatIsNotThereIsReportedAsAShellDoes) {
  const CommandResult result = Doctor({"no-such-program"});
  EXPECT_EQ(result.status, 127);
  EXPECT_THAT(result.errors, HasSubstr("no-such-program"));
}

TEST_F(DoctorTest, DoesNotWaitForAPipe) {
  ASSERT_EQ(mkfifo(Path("pipe").c_str(), 0700), 0);
  options_.limit_s = 10;
  const CommandResult result = Doctor({"./pipe"});
  EXPECT_EQ(result.status, 126);
  EXPECT_THAT(result.errors, HasSubstr("cannot run ./pipe: it is a pipe, socket or device; look"));
}

TEST_F(DoctorTest, ProfileWithoutVisitsSaysWhatToDo) {
  Run({}, {Puppet("busy"), "0.3", "never"});
  const CommandResult result = Doctor({"profile.pb"});
  EXPECT_EQ(result.status, 1) << result.errors;
  EXPECT_THAT(result.output, HasSubstr("The profile profile.pb\n"));
  EXPECT_THAT(result.output, HasSubstr("problem  figures  there are none: no progress point "));
  EXPECT_THAT(result.output, Not(HasSubstr("This machine")));
}

TEST_F(DoctorTest, WordsBehindAProfileAreOptions) {
  Run({}, {Puppet("busy"), "0.3", "never"});
  const CommandResult json = Doctor({"profile.pb", "--json"});
  EXPECT_TRUE(Json::parse(json.output, nullptr, false).is_object()) << json.output;
  const CommandResult unknown = Doctor({"profile.pb", "--nix"});
  EXPECT_EQ(unknown.status, 2);
  EXPECT_THAT(unknown.errors, HasSubstr("no use for --nix behind the profile profile.pb"));
}

TEST_F(DoctorTest, ProfileThatIsNotThereIsNoProgram) {
  const CommandResult result = Doctor({"missing.pb"});
  EXPECT_EQ(result.status, 125);
  EXPECT_THAT(result.errors, HasSubstr("missing.pb"));
  EXPECT_THAT(result.errors, Not(HasSubstr("$PATH")));
}

TEST_F(DoctorTest, ReportAndRunAgreeOnWhatWasNotVisited) {
  Run({}, {Puppet("busy"), "0.5", "never"});
  EXPECT_THAT(Doctor({"profile.pb"}).output, HasSubstr("no progress point was visited"));
}

TEST_F(DoctorTest, ShortProfileSaysHowMuchLonger) {
  Run({}, {Puppet("busy"), "1"});
  const CommandResult result = Doctor({"--json", "profile.pb"});
  const Json report = Json::parse(result.output, nullptr, false);
  ASSERT_TRUE(report.is_object()) << result.output << result.errors;
  EXPECT_EQ(report["has_problem"], false);
  EXPECT_EQ(result.status, 0);
}

// How exact it is depends on what else runs; that it ends with figures, or says why not, does not.
TEST_F(DoctorTest, SelftestComparesPredictionsWithKnownAnswers) {
  options_.environment.push_back("XDG_STATE_HOME=" + Path("state"));
  const CommandResult result =
      testing::RunCommand({Coz(), "selftest", "--seconds=9", "--json"}, options_);
  if (result.status != 0) {
    EXPECT_THAT(result.errors, HasSubstr("gave no figure"));
    return;
  }
  const Json report = Json::parse(result.output, nullptr, false);
  ASSERT_TRUE(report.is_object()) << result.output << result.errors;
  EXPECT_EQ(report["schema"], "coz-selftest");
  ASSERT_FALSE(report["figures"].empty());
  double worst = 0;
  for (const Json& figure : report["figures"]) {
    const double known = figure["known"];
    const double error = figure["predicted"]["value"].get<double>() - known;
    EXPECT_LE(known, 0.375) << figure;
    worst = std::max(worst, std::fabs(error));
  }
  EXPECT_NEAR(report["worst_error"].get<double>(), worst, 1e-9);
}

TEST_F(DoctorTest, LaterProfilesCarryWhatTheSelftestFound) {
  options_.environment.push_back("XDG_STATE_HOME=" + Path("state"));
  ASSERT_TRUE(supervisor::WriteCalibration(Path("state/coz/calibration.json"),
                                           supervisor::CalibrationOf({0.01, 0.03}, 86400))
                  .ok());
  Run({}, {Puppet("busy"), "1"});
  EXPECT_EQ(Profile().session(0).machine().calibration().figures(), 2u);
  const CommandResult report = testing::RunCommand({Coz(), "report"}, options_);
  EXPECT_THAT(report.output,
              HasSubstr("predictions were off by 2.0 points on average, 3.0 at worst, in "));
}

}  // namespace
}  // namespace coz
