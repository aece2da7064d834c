// `coz points`: which functions are offered as progress points, and what is said where none can be.
#include <signal.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "coz/points/visit_counter.h"
#include "coz/testing/capabilities.h"
#include "coz/testing/run_command.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace coz {
namespace {

using ::coz::testing::CommandResult;
using ::coz::testing::RunfilePath;
using ::testing::HasSubstr;
using ::testing::Not;

std::string Puppet(const std::string& name) { return RunfilePath("coz/testing/puppets/" + name); }

std::string MissingBreakpoints() {
  const absl::Status status = points::CheckBreakpoints();
  return status.ok() ? "" : absl::StrCat("required breakpoints, actual: ", status.message());
}

CommandResult Points(std::vector<std::string> arguments, std::vector<std::string> launcher = {}) {
  launcher.push_back(RunfilePath("tools/coz"));
  launcher.push_back("points");
  launcher.insert(launcher.end(), arguments.begin(), arguments.end());
  return testing::RunCommand(launcher);
}

void ExpectRefused(const CommandResult& result, const std::string& part, int status = 125) {
  EXPECT_EQ(result.status, status);
  EXPECT_EQ(result.output, "") << "the program was started";
  EXPECT_THAT(result.errors, HasSubstr(part));
  EXPECT_EQ(std::count(result.errors.begin(), result.errors.end(), '\n'), 1) << result.errors;
}

TEST(PointsTest, UnitOfWorkIsTheBestCandidate) {
  COZ_REQUIRE_CAPABILITY(MissingBreakpoints());
  const CommandResult result = Points({"--duration=4", "---", Puppet("shop"), "5"});
  EXPECT_EQ(result.status, 0);
  EXPECT_EQ(result.output, "served\n") << "the program was not left to run to its end";
  // Its rows: the first names the function that the work is done in, with its line.
  const size_t first = result.errors.find("--progress ");
  ASSERT_NE(first, std::string::npos) << result.errors;
  EXPECT_TRUE(absl::StartsWith(result.errors.substr(first), "--progress serve_order "))
      << result.errors;
  EXPECT_THAT(result.errors, HasSubstr("shop.c:"));
  // Too short for samples, but called by what samples show.
  EXPECT_THAT(result.errors, HasSubstr("--progress close_order "));
  for (const char* unfit : {"prepare_shelf", "audit", "main"}) {
    EXPECT_THAT(result.errors, Not(HasSubstr(absl::StrCat("--progress ", unfit, " "))));
  }
  // A thousand calls for each order: too many for breakpoints, but not for changed code.
  EXPECT_THAT(result.errors, HasSubstr(" --progress hash_item "));
  EXPECT_THAT(result.errors, Not(HasSubstr("estimates")));
  EXPECT_THAT(result.errors, HasSubstr("at no steady rate"));
}

// The first column of the row that names the function: "~1234", "56.7".
double RateIn(const std::string& table, const std::string& function) {
  std::istringstream lines(table);
  for (std::string line; std::getline(lines, line);) {
    if (!absl::StrContains(line, " " + function + " ")) continue;
    const size_t digit = line.find_first_of("0123456789");
    return digit == std::string::npos ? 0 : atof(line.c_str() + digit);
  }
  return 0;
}

// A thousand calls for each order, and an order that is not served to its end.
TEST(PointsTest, RatesOfOneTimeAreAllExact) {
  COZ_REQUIRE_CAPABILITY(MissingBreakpoints());
  const CommandResult result = Points({"--duration=4", "--stop", "---", Puppet("shop"), "60"});
  const double orders = RateIn(result.errors, "serve_order");
  ASSERT_GT(orders, 0) << result.errors;
  EXPECT_NEAR(RateIn(result.errors, "hash_item") / orders, 1000, 50) << result.errors;
}

// While a breakpoint counts hash_item, the program does nothing else. The count is a tenth of the
// truth, so coz compares it with the orders that were served meanwhile.
TEST(PointsTest, RateOfWhatIsDearToCountIsToldByWhatCallsIt) {
  COZ_REQUIRE_CAPABILITY(MissingBreakpoints());
  const CommandResult result = Points(
      {"--duration=12", "--progress-source=breakpoint", "--stop", "---", Puppet("shop"), "60"});
  const double orders = RateIn(result.errors, "serve_order");
  ASSERT_GT(orders, 0) << result.errors;
  EXPECT_NEAR(RateIn(result.errors, "hash_item") / orders, 1000, 400) << result.errors;
  EXPECT_THAT(result.errors, HasSubstr("~"));
}

TEST(PointsTest, ProbesInTheSourceAreListed) {
  COZ_REQUIRE_CAPABILITY(MissingBreakpoints());
  const CommandResult result = Points({"--duration=1", "--stop", "---", Puppet("asked")});
  EXPECT_THAT(result.errors, HasSubstr("has 1 probe, which do as points"));
  EXPECT_THAT(result.errors, HasSubstr("--progress usdt:asked:turned"));
}

TEST(PointsTest, StopEndsTheProgramAndIsNoFailure) {
  COZ_REQUIRE_CAPABILITY(MissingBreakpoints());
  const CommandResult result = Points({"--duration=1", "--stop", "---", Puppet("shop"), "600"});
  EXPECT_EQ(result.status, 0) << result.errors;
  EXPECT_EQ(result.output, "");
  EXPECT_THAT(result.errors, HasSubstr("ending the program"));
}

TEST(PointsTest, ProgramThatEndsEarlierEndsCozAlike) {
  COZ_REQUIRE_CAPABILITY(MissingBreakpoints());
  const CommandResult result = Points({"---", Puppet("busy"), "0.3", "status", "3"});
  EXPECT_EQ(result.status, 3) << result.errors;
  EXPECT_EQ(result.output, "hello\nbye\n");
  EXPECT_THAT(result.errors, Not(HasSubstr("runs on")));
}

// Breakpoints whose reason a hypervisor has lost. A program that traps by itself ends as without
// coz.
TEST(PointsTest, LostBreakpointsDoNotEndTheProgram) {
  COZ_REQUIRE_CAPABILITY(MissingBreakpoints());
  const CommandResult lost = Points({"--duration=1", "---", Puppet("busy"), "1", "lost"});
  EXPECT_EQ(lost.status, 0) << lost.errors;
  EXPECT_EQ(lost.output, "hello\nbye\n");
  // Some hypervisors report `int1` at the instruction: it ends the program as without coz.
  // Elsewhere it looks like a lost breakpoint.
  const CommandResult int1 = Points({"--duration=1", "---", Puppet("busy"), "1", "int1"});
  EXPECT_TRUE(int1.signal == SIGTRAP || int1.output == "hello\nbye\n") << int1.errors;
  const CommandResult own = Points({"--duration=1", "---", Puppet("busy"), "1", "int3"});
  EXPECT_EQ(own.signal, SIGTRAP) << own.errors;
  EXPECT_EQ(own.output, "hello\n");
}

// Bad input: one sentence, before the program starts.

TEST(PointsTest, SaysWhyAProgramCannotBeCounted) {
  ExpectRefused(Points({}), "coz points --- PROGRAM ARGUMENTS", 2);
  ExpectRefused(Points({"---", "no-such-program"}), "no folder of $PATH", 127);
  ExpectRefused(Points({"---", Puppet("busy_static"), "1"}), "is statically linked");
  ExpectRefused(Points({"---", Puppet("busy_stripped"), "1"}), "has no symbols (stripped)");
}

TEST(PointsTest, SaysHowToPermitBreakpoints) {
  ExpectRefused(
      Points({"---", Puppet("busy"), "1"}, {Puppet("without_perf"), absl::StrCat(EACCES)}),
      "kernel.perf_event_paranoid");
}

}  // namespace
}  // namespace coz
