// Controls: whether delays take their own time of a program, or a clock makes up for them.
#include <string>

#include "coz/report/format/profile.pb.h"
#include "coz/testing/coz_run.h"
#include "coz/testing/run_command.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace coz {
namespace {

using ::coz::testing::CommandResult;
using ::coz::testing::Puppet;
using ::testing::HasSubstr;
using ::testing::Not;

class ControlsTest : public ::coz::testing::CozRunTest {
 protected:
  // Each has 40 ticks, and every ninth is a control.
  ControlsTest() { experiment_seconds_ = "0.2"; }

  // The delay factor of "tick".
  nlohmann::json FactorOf(const std::string& how) {
    const CommandResult run = Run({}, {Puppet("ticks"), "14", how});
    EXPECT_EQ(run.status, 0) << run.errors;
    const profile::Profile profile = Profile();
    EXPECT_GE(profile.control_size(), 4);
    for (const profile::Experiment& control : profile.control()) {
      EXPECT_EQ(control.session(), profile.session(0).id());
      EXPECT_GT(control.inserted_delay_ns(), 0u);
      EXPECT_GT(control.total_samples(), 0u);
    }
    const CommandResult report =
        testing::RunCommand({testing::Coz(), "report", "--json"}, options_);
    text_ = testing::RunCommand({testing::Coz(), "report"}, options_).output;
    return nlohmann::json::parse(report.output).at("points").at(0).at("delay_factor");
  }

  std::string text_;
};

TEST_F(ControlsTest, AClockThatSetsThePaceIsSeen) {
  const nlohmann::json factor = FactorOf("clock");
  ASSERT_FALSE(factor.is_null());
  EXPECT_TRUE(factor.at("paced_from_outside").get<bool>()) << factor;
  EXPECT_THAT(text_, HasSubstr("sets that rate, and faster code does not raise it"));
  EXPECT_THAT(text_, Not(HasSubstr("worth it")));
}

TEST_F(ControlsTest, AProgramAtItsOwnPaceLosesItsDelays) {
  const nlohmann::json factor = FactorOf("free");
  ASSERT_FALSE(factor.is_null());
  EXPECT_FALSE(factor.at("paced_from_outside").get<bool>()) << factor;
  EXPECT_GT(factor.at("used").get<double>(), 0.5) << factor;
  EXPECT_THAT(text_, Not(HasSubstr("does not raise it")));
  EXPECT_THAT(text_, HasSubstr("worth it"));
}

}  // namespace
}  // namespace coz
