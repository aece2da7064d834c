// Progress points that the source does not mark: what is counted, and what is said of those that
// cannot be.

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "coz/points/visit_counter.h"
#include "coz/report/wording/repeat_command.h"
#include "coz/testing/capabilities.h"
#include "coz/testing/coz_run.h"
#include "coz/testing/whole_run.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace coz {
namespace {

using ::coz::testing::CommandResult;
using ::coz::testing::Coz;
using ::coz::testing::FindPoint;
using ::coz::testing::LineWith;
using ::coz::testing::Puppet;
using ::coz::testing::SamplesInRun;
using ::coz::testing::VisitsInRun;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::Not;

std::string MissingBreakpoints() {
  const absl::Status status = points::CheckBreakpoints();
  return status.ok() ? "" : absl::StrCat("required breakpoints, actual: ", status.message());
}

class ProgressTest : public testing::CozRunTest {
 protected:
  // What a run that asked for probes lacks of them.
  static std::string MissingProbes(const CommandResult& result) {
    const bool refused =
        result.status == 125 && absl::StrContains(result.errors, "probes need root");
    return refused ? "required uprobes, actual: " + result.errors : "";
  }
  void ExpectRefused(const std::vector<std::string>& coz_options, const std::string& part,
                     const std::string& program = "busy") {
    const CommandResult result = Run(coz_options, {Puppet(program), "1"});
    EXPECT_EQ(result.status, 125);
    EXPECT_EQ(result.output, "") << "the program was started";
    EXPECT_THAT(result.errors, HasSubstr(part));
    EXPECT_EQ(std::count(result.errors.begin(), result.errors.end(), '\n'), 1) << result.errors;
  }
};

TEST_F(ProgressTest, BreakpointCountsEveryCallInEveryThread) {
  COZ_REQUIRE_CAPABILITY(MissingBreakpoints());
  const CommandResult result =
      Run({"--progress=spin", "--progress-source=breakpoint"}, {Puppet("busy"), "1"});
  EXPECT_EQ(result.status, 0) << result.errors;
  const profile::Profile profile = Profile();
  EXPECT_GE(profile.experiment_size(), 2);
  // Each call of spin() is followed by a visit to the mark.
  EXPECT_GT(VisitsInRun(profile, "spin"), 100u);
  EXPECT_EQ(VisitsInRun(profile, "spin"), VisitsInRun(profile, "work"));
  const profile::ProgressPoint& point = FindPoint(profile, "spin");
  EXPECT_EQ(point.kind(), profile::PROGRESS_POINT_KIND_BREAKPOINT);
  EXPECT_EQ(point.counted_by(), "hardware breakpoint");
  EXPECT_GT(point.visit_cost_ns(), 0u);
  EXPECT_GE(point.breakpoint_slowdown(), 1);
  EXPECT_THAT(result.errors, HasSubstr("counted by hardware breakpoint"));
}

// The compiler has left no other code of copy_input(), which main() calls.
TEST_F(ProgressTest, CallThatWasInlinedIsCountedOnce) {
  const CommandResult result =
      Run({"--progress=copy_input", "--progress=work"}, {Puppet("busy"), "1"});
  EXPECT_EQ(result.status, 0) << result.errors;
  EXPECT_EQ(VisitsInRun(Profile(), "copy_input"), 1u);
}

// A signal often comes while the kernel handles the visit. Its handler runs before the instruction
// that was stopped at. The visit is counted once if all handlers, the sampler's too, hand the
// resume flag back. The second case shows that the first would tell.
TEST_F(ProgressTest, BreakpointCountIsExactWhereSignalsComeWithVisits) {
  COZ_REQUIRE_CAPABILITY(MissingBreakpoints());
  for (const std::string flag : {"keep", "clear"}) {
    // Each in a file of its own: a run without experiments leaves an earlier profile where it is.
    const std::string profile = flag + ".pb";
    const CommandResult result = Run({"--progress=visit", "--progress-source=breakpoint",
                                      "--sampling-period=0.1", "-o", profile},
                                     {Puppet("interrupted"), flag});
    ASSERT_EQ(result.status, 0) << result.errors;
    uint64_t visits = 0;
    uint64_t interrupted = 0;
    std::istringstream(result.output) >> visits >> interrupted;
    ASSERT_GE(interrupted, 100u) << "of " << visits << " visits";
    EXPECT_EQ(VisitsInRun(Profile(profile), "visit"), visits + (flag == "clear" ? interrupted : 0))
        << flag;
  }
}

TEST_F(ProgressTest, SaysEarlyThatCountingIsTooDear) {
  COZ_REQUIRE_CAPABILITY(MissingBreakpoints());
  // A thousand calls for each order.
  const CommandResult often =
      Run({"--progress=hash_item", "--progress-source=breakpoint"}, {Puppet("shop"), "3"});
  EXPECT_EQ(often.output, "served\n");
  EXPECT_THAT(often.errors, HasSubstr("coz: counting 'hash_item' takes "));
  EXPECT_THAT(often.errors, HasSubstr("--progress-sampled=FILE:LINE"));
  const CommandResult seldom =
      Run({"--progress=serve_order", "--progress-source=breakpoint"}, {Puppet("shop"), "3"});
  EXPECT_THAT(seldom.errors, Not(HasSubstr("counting 'serve_order' takes")));
}

TEST_F(ProgressTest, SaysThatProbesAreTooDearToo) {
  const CommandResult result =
      Run({"--progress=hash_item", "--progress-source=uprobe"}, {Puppet("shop"), "3"});
  COZ_REQUIRE_CAPABILITY(MissingProbes(result));
  EXPECT_THAT(result.errors, HasSubstr("coz: counting 'hash_item' takes "));
  EXPECT_GT(FindPoint(Profile(), "hash_item").visit_cost_ns(), 0u);
}

// hash_item() does nothing but call another function. CPU timers sample time in the kernel for
// every user.
TEST_F(ProgressTest, WhatCountingCostsIsNotTheFunctionsOwn) {
  COZ_REQUIRE_CAPABILITY(MissingBreakpoints());
  Run({"--unit=function", "--progress=hash_item", "--fixed-speedup=0", "--sampler=cpu-timer",
       "--progress-source=breakpoint"},
      {Puppet("shop"), "3"});
  const profile::Profile profile = Profile();
  const double own_ns = static_cast<double>(SamplesInRun(profile)["hash_item"]) *
                        static_cast<double>(profile.session(0).sampling_period_ns());
  const double cost_ns = static_cast<double>(FindPoint(profile, "hash_item").visit_cost_ns());
  EXPECT_LT(own_ns, static_cast<double>(VisitsInRun(profile, "hash_item")) * cost_ns / 4);
}

// hash_item() runs for a tenth of the time that a probe takes. With the probe's time it would have
// 0.6 of all samples.
TEST_F(ProgressTest, WhatAProbeCostsIsNotTheFunctionsOwn) {
  const CommandResult result = Run({"--unit=function", "--progress=hash_item", "--fixed-speedup=0",
                                    "--sampler=cpu-timer", "--progress-source=uprobe"},
                                   {Puppet("shop"), "3"});
  COZ_REQUIRE_CAPABILITY(MissingProbes(result));
  const profile::Profile profile = Profile();
  const double all = static_cast<double>(profile.session_end(0).total_samples());
  EXPECT_LT(static_cast<double>(SamplesInRun(profile)["hash_item"]), all / 5);
}

TEST_F(ProgressTest, ProgramWithoutMarksIsProfiledByALine) {
  COZ_REQUIRE_CAPABILITY(MissingBreakpoints());
  Run({"--progress=" + LineWith("busy.c", "atomic_load(&visit)) COZ")},
      {Puppet("busy"), "1", "never"});
  EXPECT_GE(Profile().experiment_size(), 2);
}

TEST_F(ProgressTest, ProbeCountsEveryCallInEveryThread) {
  const CommandResult result =
      Run({"--progress=spin", "--progress-source=uprobe"}, {Puppet("busy"), "1"});
  COZ_REQUIRE_CAPABILITY(MissingProbes(result));
  const profile::Profile profile = Profile();
  EXPECT_EQ(VisitsInRun(profile, "spin"), VisitsInRun(profile, "work"));
  EXPECT_EQ(FindPoint(profile, "spin").counted_by(), "probe (uprobe)");
}

TEST_F(ProgressTest, FunctionOfALibraryIsCountedWhenItIsOpened) {
  COZ_REQUIRE_CAPABILITY(MissingBreakpoints());
  Run({"--progress=libplugin*!plugin_work"}, {Puppet("host"), Puppet("libplugin.so"), "1"});
  const profile::Profile profile = Profile();
  // The library is found some time after it was opened.
  EXPECT_GT(VisitsInRun(profile, "libplugin*!plugin_work"), 100u);
  EXPECT_LE(VisitsInRun(profile, "libplugin*!plugin_work"), VisitsInRun(profile, "work"));
}

TEST_F(ProgressTest, FunctionOfALibraryIsCountedWhereverItIsOpenedAgain) {
  COZ_REQUIRE_CAPABILITY(MissingBreakpoints());
  const std::string library = Puppet("libplugin.so");
  const CommandResult result = Run({"--progress=libplugin*!plugin_work"},
                                   {Puppet("reopener"), library, library, "8", "300", "elsewhere"});
  ASSERT_EQ(result.output, "0\n") << "it was opened where it had been";
  const profile::Profile profile = Profile();
  // Each time it is found within some 50 of its 300 ms. The first time alone would be an eighth.
  EXPECT_GT(VisitsInRun(profile, "libplugin*!plugin_work"), VisitsInRun(profile, "work") / 2);
  EXPECT_LE(VisitsInRun(profile, "libplugin*!plugin_work"), VisitsInRun(profile, "work"));
}

// A library that only children open, after fork.
class LateLibraryTest : public ProgressTest {
 protected:
  static constexpr char kPoint[] = "libplugin.so!plugin_work";

  // All visits were counted but those of the first twentieth of a second or so, and nothing else
  // was.
  void ExpectCounted(const std::vector<std::string>& openers, const std::string& output) {
    std::vector<std::string> command = {Puppet("openers"), "wait", "600"};
    command.insert(command.end(), openers.begin(), openers.end());
    const CommandResult result =
        Run({absl::StrCat("--progress=", kPoint), "--progress-source=breakpoint"}, command);
    EXPECT_EQ(result.status, 0) << result.errors;
    ASSERT_EQ(result.output, output);
    const profile::Profile profile = Profile();
    EXPECT_GT(VisitsInRun(profile, kPoint), VisitsInRun(profile, "work") / 2);
    EXPECT_LE(VisitsInRun(profile, kPoint), VisitsInRun(profile, "work"));
  }

  const std::string library_ = Puppet("libplugin.so");
};

TEST_F(LateLibraryTest, IsFoundWhereOneChildOpensIt) {
  COZ_REQUIRE_CAPABILITY(MissingBreakpoints());
  ExpectCounted({"0", library_}, "same\n");
}

TEST_F(LateLibraryTest, IsFoundWhereChildrenOpenItAtOneAddress) {
  COZ_REQUIRE_CAPABILITY(MissingBreakpoints());
  ExpectCounted({"0", library_, "0", library_}, "same\nsame\n");
}

TEST_F(LateLibraryTest, IsFoundWhereEachChildHasItElsewhere) {
  COZ_REQUIRE_CAPABILITY(MissingBreakpoints());
  ExpectCounted({"0", library_, "1", library_, "2", library_}, "same\napart\napart\n");
}

TEST_F(LateLibraryTest, IsNotTakenForAnotherThatLiesWhereASiblingHasIt) {
  COZ_REQUIRE_CAPABILITY(MissingBreakpoints());
  const std::string copy = Path("libcopy.so");
  std::filesystem::copy(library_, copy);
  ExpectCounted({"0", library_, "0", copy}, "same\nsame\n");
}

TEST_F(LateLibraryTest, IsFoundInADaemonWhoseParentHasEnded) {
  COZ_REQUIRE_CAPABILITY(MissingBreakpoints());
  Run({absl::StrCat("--progress=", kPoint), "--progress-source=breakpoint", "--daemon"},
      {Puppet("openers"), "leave", "600", "0", library_});
  const profile::Profile profile = Profile();
  EXPECT_GT(VisitsInRun(profile, kPoint), VisitsInRun(profile, "work") / 2);
  EXPECT_LE(VisitsInRun(profile, kPoint), VisitsInRun(profile, "work"));
}

TEST_F(LateLibraryTest, SaysWhereItCannotBeCounted) {
  COZ_REQUIRE_CAPABILITY(MissingBreakpoints());
  // Four breakpoints are in each child; the second would need another.
  const CommandResult result =
      Run({absl::StrCat("--progress=", kPoint), "--progress=main", "--progress=libc.so*!dlopen",
           "--progress=libc.so*!dladdr", "--progress-source=breakpoint"},
          {Puppet("openers"), "wait", "300", "0", library_, "1", library_});
  ASSERT_EQ(result.output, "same\napart\n");
  EXPECT_THAT(result.errors,
              HasSubstr("'libplugin.so!plugin_work' is not counted in all processes"));
}

TEST_F(ProgressTest, NoBinaryIsCozItself) {
  COZ_REQUIRE_CAPABILITY(MissingBreakpoints());
  const CommandResult result = Run({"--progress=libcoz*!work"}, {Puppet("busy"), "1"});
  EXPECT_THAT(result.errors, HasSubstr("no program loaded a binary libcoz*"));
}

TEST_F(ProgressTest, SaysWithinSecondsWhatIsNotFoundYet) {
  COZ_REQUIRE_CAPABILITY(MissingBreakpoints());
  const std::string errors =
      Run({"--progress=libplugin*!plugin_wrok"}, {Puppet("host"), Puppet("libplugin.so"), "6"})
          .errors;
  EXPECT_THAT(errors, HasSubstr("'libplugin*!plugin_wrok' is not counted so far: no function of "
                                "libplugin.so is called plugin_wrok"));
  EXPECT_THAT(errors, HasSubstr("; coz goes on looking"));
  EXPECT_THAT(errors, Not(HasSubstr("the program has libplugin")));
}

TEST_F(ProgressTest, NamesThatAreMadeWhileTheProgramRunsAreKept) {
  EXPECT_EQ(Run({}, {Puppet("names_at_run"), "4", "300"}).status, 0);
  const profile::Profile profile = Profile();
  EXPECT_EQ(VisitsInRun(profile, "stage-7"), 1200u);
  for (const profile::ProgressPoint& point : profile.progress_point()) {
    EXPECT_THAT(point.name(), AnyOf("stage-7", "order-7"));
  }
}

TEST_F(ProgressTest, SaysAtTheEndWhatWasNeverFound) {
  COZ_REQUIRE_CAPABILITY(MissingBreakpoints());
  EXPECT_THAT(Run({"--progress=libnothing.so!f"}, {Puppet("busy"), "0.3"}).errors,
              HasSubstr("no program loaded a binary libnothing.so"));
  EXPECT_THAT(
      Run({"--progress=libplugin*!plugin_wrok"}, {Puppet("host"), Puppet("libplugin.so"), "0.3"})
          .errors,
      HasSubstr("the closest are: plugin_work"));
}

TEST_F(ProgressTest, SamplesInALineAreProgress) {
  const std::string line = LineWith("busy.c", "i < 100000");
  Run({"--progress-sampled=" + line}, {Puppet("busy"), "1", "never"});
  const profile::Profile profile = Profile();
  EXPECT_GE(profile.experiment_size(), 2);
  EXPECT_EQ(FindPoint(profile, line).kind(), profile::PROGRESS_POINT_KIND_SAMPLED);
}

TEST_F(ProgressTest, PlacesAreInTheProfile) {
  COZ_REQUIRE_CAPABILITY(MissingBreakpoints());
  Run({"--progress=libc.so*!fputs", "--latency=spin,mark:work", "--progress-source=breakpoint"},
      {Puppet("busy"), "0.1"});
  const profile::Profile profile = Profile();
  EXPECT_THAT(report::RepeatCommand(profile.session(0)),
              HasSubstr("--progress='libc.so*!fputs' --latency=spin,mark:work "
                        "--progress-source=breakpoint "));
}

TEST_F(ProgressTest, LatencyIsMeasuredBetweenAnyTwoPlaces) {
  COZ_REQUIRE_CAPABILITY(MissingBreakpoints());
  const CommandResult result = Run({"--latency=spin,mark:work"}, {Puppet("busy"), "1"});
  const profile::Profile profile = Profile();
  EXPECT_EQ(FindPoint(profile, "spin,mark:work").kind(), profile::PROGRESS_POINT_KIND_LATENCY);
  double in_flight = 0;
  for (const profile::Experiment& experiment : profile.experiment()) {
    for (const profile::PointCounts& counts : experiment.point()) {
      in_flight = std::max(in_flight, counts.in_flight_average());
    }
  }
  // Two threads are nearly always between the two places.
  EXPECT_GT(in_flight, 1.0) << result.errors;
  EXPECT_LT(in_flight, 2.5);
}

TEST_F(ProgressTest, NumberedRequestsHaveADistributionAndAnExactMean) {
  const CommandResult result = Run({"--fixed-speedup=0"}, {Puppet("orders"), "1"});
  const profile::Profile profile = Profile();
  ASSERT_GE(profile.experiment_size(), 2);
  for (const profile::Experiment& experiment : profile.experiment()) {
    ASSERT_EQ(experiment.point_size(), 1);
    const profile::PointCounts& counts = experiment.point(0);
    uint64_t requests = 0;
    for (const uint64_t n : counts.latency_requests()) requests += n;
    EXPECT_NEAR(static_cast<double>(requests), static_cast<double>(counts.departures()), 2);
    // One order is under way all the time, and another most of it.
    EXPECT_GT(counts.in_flight_average(), 1.5);
    EXPECT_LE(counts.in_flight_average(), 2.01);
  }
  EXPECT_THAT(result.errors, HasSubstr("p99"));
  EXPECT_THAT(result.errors, HasSubstr("arrivals and"));
}

// Bad input: one sentence, before the program starts.

TEST_F(ProgressTest, SaysWhatElseThereIs) {
  ExpectRefused({"--progress=spinn"}, "the closest are: spin");
  ExpectRefused({"--progress=busy.c:1"}, "the nearest lines with code are busy.c:");
  ExpectRefused({"--progress=bussy.c:20"}, "the closest are: busy.c");
  ExpectRefused({"--progress=busy.c:0"}, "write FILE:LINE");
  ExpectRefused({"--latency=spin"}, "write --latency=BEGIN,END");
  ExpectRefused({"--latency=spin,spinn"}, "--latency='spinn'");
  ExpectRefused({"--progress-sampled=spin"}, "write --progress-sampled=FILE:LINE");
  ExpectRefused({"--progress-sampled=busy.c:1"}, "no code of the program belongs to this line");
}

TEST_F(ProgressTest, RefusesAFifthBreakpoint) {
  COZ_REQUIRE_CAPABILITY(MissingBreakpoints());
  ExpectRefused({"--progress-source=breakpoint", "--progress=spin", "--progress=work",
                 "--progress=main", "--progress=libc.so*!fputs", "--progress=libc.so*!puts"},
                "a thread has only 4 hardware breakpoints");
}

TEST_F(ProgressTest, SaysHowToPermitBreakpoints) {
  const CommandResult result = testing::RunCommand(
      {Puppet("without_perf"), absl::StrCat(EACCES), Coz(), "run", "--progress=spin",
       "--progress-source=breakpoint", "---", Puppet("busy"), "1"},
      options_);
  EXPECT_EQ(result.status, 125);
  EXPECT_EQ(result.output, "");
  EXPECT_THAT(result.errors, HasSubstr("kernel.perf_event_paranoid"));
}

}  // namespace
}  // namespace coz
