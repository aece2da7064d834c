// Pairs of every kind say throughput and latency, get a figure for a speedup, and warn when
// requests pile up.
#include <map>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "coz/report/format/profile_reader.h"
#include "coz/testing/capabilities.h"
#include "coz/testing/run_command.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace coz {
namespace {

using ::coz::testing::CommandResult;
using ::coz::testing::RunfilePath;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::ValuesIn;

struct PairKind {
  const char* name;  // of the test
  const char* program;
  const char* option;  // that makes the pair; "" where the program marks it
  const char* source;  // of counts
  const char* point;
  bool has_quantiles;
};

const PairKind kKinds[] = {
    {"Marks", "backlog", "", "", "marked", false},
    {"NumberedMarks", "backlog", "", "", "numbered", true},
    {"MarksOfTheOriginal", "backlog_original", "", "", "marked", false},
    {"MarksOfOtherNames", "backlog", "--latency=mark:in,mark:out", "", "mark:in,mark:out", false},
    {"Breakpoints", "backlog", "--latency=arrive,depart", "breakpoint", "arrive,depart", false},
    {"Probes", "backlog", "--latency=arrive,depart", "uprobe", "arrive,depart", false},
};

class LatencyTest : public ::testing::TestWithParam<PairKind> {
 protected:
  LatencyTest() { options_.folder = testing::TemporaryFolder(); }

  CommandResult Run(const std::string& seconds, const std::string& arrivals,
                    const std::string& speedups) {
    std::vector<std::string> arguments = {RunfilePath("tools/coz"),
                                          "run",
                                          "--experiment-length=0.1",
                                          "--unit=function",
                                          "--fixed-unit=serve",
                                          "--fixed-speedup=" + speedups,
                                          "--seed=1"};
    if (*GetParam().option != '\0') arguments.emplace_back(GetParam().option);
    if (*GetParam().source != '\0') {
      arguments.push_back(absl::StrCat("--progress-source=", GetParam().source));
    }
    const std::string program =
        RunfilePath(absl::StrCat("coz/testing/puppets/", GetParam().program));
    arguments.insert(arguments.end(), {"---", program, seconds, arrivals});
    return testing::RunCommand(arguments, options_);
  }
  // Empty where the machine lets pairs be counted so.
  std::string Missing(const CommandResult& result) const {
    const bool is_counted = *GetParam().source != '\0';
    return is_counted && result.status == 125 ? "required counted places, actual: " + result.errors
                                              : "";
  }
  nlohmann::json Point() const {
    const CommandResult result =
        testing::RunCommand({RunfilePath("tools/coz"), "report", "--json"}, options_);
    const nlohmann::json report = nlohmann::json::parse(result.output);
    for (const nlohmann::json& point : report["points"]) {
      if (point["name"] == GetParam().point && point["kind"] == "latency") return point;
    }
    ADD_FAILURE() << "no pair " << GetParam().point << "\n" << result.errors;
    return {};
  }

  testing::CommandOptions options_;
};

TEST_P(LatencyTest, ThroughputAndLatencyAreShown) {
  const CommandResult result = Run("4", "1", "0,50,60,70,80,90");
  COZ_REQUIRE_CAPABILITY(Missing(result));
  EXPECT_THAT(result.errors, HasSubstr("arrivals and"));
  EXPECT_THAT(result.errors, Not(HasSubstr("outrun")));
  const nlohmann::json point = Point();
  const nlohmann::json& latency = point["latency"];
  EXPECT_EQ(latency["stable"], true);
  EXPECT_GT(latency["arrivals_per_second"].get<double>(), 0);
  EXPECT_GT(latency["departures_per_second"].get<double>(), 0);
  // One request is under way all the time.
  EXPECT_NEAR(latency["in_flight"].get<double>(), 1, 0.1);
  EXPECT_GT(latency["mean_ns"].get<double>(), 1e6);
  EXPECT_EQ(latency["p99_ns"].is_number(), GetParam().has_quantiles);
  // Its sign is a matter of statistics: coz/report/analysis/analysis_test.cc. Where other programs
  // have the CPUs, it is not known.
  const nlohmann::json& lines = point["lines"];
  const nlohmann::json& unknown = point["set_aside"];
  ASSERT_EQ(lines.size() + unknown.size(), 1u) << result.errors;
  if (lines.empty()) {
    EXPECT_EQ(unknown[0]["reason"], "not_known");
  } else {
    EXPECT_TRUE(lines[0]["slope"]["value"].is_number());
  }
}

TEST_P(LatencyTest, WarnsWhenRequestsPileUp) {
  // Experiments at 0 % alone: a second has room for few, and the warning is about those.
  const CommandResult result = Run("1", "2", "0");
  COZ_REQUIRE_CAPABILITY(Missing(result));
  EXPECT_THAT(result.errors, HasSubstr("arrivals outrun departures"));
  EXPECT_EQ(Point()["latency"]["stable"], false);
}

struct PairByLooks {
  const char* name;  // of the test
  const char* program;
  const char* pair;  // for --latency, unless the program marks it
  bool is_marked;
  const char* timed;  // pair of the same requests
  const char* source = "";
  int programs = 1;
  const char* between = "";  // programs, for the shell
};

const PairByLooks kPairsByLooks[] = {
    {"MarksOfTheOriginal", "backlog_original", "marked", true, "timed"},
    {"MarksOfOtherNames", "backlog", "mark:in,mark:out", false, "marked"},
    {"Breakpoints", "backlog", "arrive,depart", false, "marked"},
    {"BreakpointAndMark", "backlog", "arrive,mark:out", false, "marked"},
    {"Probes", "backlog", "arrive,depart", false, "marked", "uprobe"},
    {"ProbesInSeveralPrograms", "backlog", "arrive,depart", false, "marked", "uprobe", 3, "&&"},
    {"BreakpointsInProgramsInTurn", "backlog", "arrive,depart", false, "marked", "breakpoint", 3,
     "&&"},
    {"BreakpointsInProgramsAtATime", "backlog", "arrive,depart", false, "marked", "breakpoint", 2,
     "&"},
};

// One request is under way for half of the time, and delay is inserted in just that half. The times
// of the same requests are known and give the exact mean.
class LatencyByLooksTest : public ::testing::TestWithParam<PairByLooks> {};

TEST_P(LatencyByLooksTest, MeanIsThatByTimesThoughDelayComesWhileRequestsAreServed) {
  const std::string pair = GetParam().pair;
  testing::CommandOptions options;
  options.folder = testing::TemporaryFolder();
  std::vector<std::string> arguments = {RunfilePath("tools/coz"), "run",
                                        "--unit=function",        "--fixed-unit=serve",
                                        "--fixed-speedup=75",     "--seed=1"};
  if (!GetParam().is_marked) arguments.push_back("--latency=" + pair);
  if (*GetParam().source != '\0') {
    arguments.push_back(absl::StrCat("--progress-source=", GetParam().source));
  }
  const std::string program = RunfilePath(absl::StrCat("coz/testing/puppets/", GetParam().program));
  if (GetParam().programs > 1) {
    const bool in_turn = GetParam().between == std::string("&&");
    const std::string call = absl::StrCat("'", program, "' ", in_turn ? 9 / GetParam().programs : 8,
                                          " 1 1 ", GetParam().between, " ");
    std::string calls;
    for (int i = 0; i < GetParam().programs; ++i) calls += call;
    arguments.insert(arguments.end(), {"--follow=all", "---", "sh", "-c", calls + "wait"});
  } else {
    arguments.insert(arguments.end(), {"---", program, "8", "1", "1"});
  }
  const CommandResult result = testing::RunCommand(arguments, options);
  // Of a launcher's programs it is known when they run.
  const bool refused =
      result.status == 125 || absl::StrContains(result.errors, "coz: probes need root");
  COZ_REQUIRE_CAPABILITY(refused ? "required counted places, actual: " + result.errors : "");
  ASSERT_EQ(result.status, 0) << result.errors;
  EXPECT_THAT(result.errors, Not(HasSubstr("come out too small")));
  const absl::StatusOr<report::ReadResult> read =
      report::ReadProfile(options.folder + "/profile.pb");
  ASSERT_TRUE(read.ok()) << read.status();
  const profile::Profile& profile = read->profile;
  std::map<uint32_t, std::string> names;
  for (const auto& point : profile.progress_point()) names[point.id()] = point.name();
  double by_looks = 0;
  double by_times = 0;
  for (const profile::Experiment& experiment : profile.experiment()) {
    for (const profile::PointCounts& counts : experiment.point()) {
      const std::string& name = names[counts.point()];
      if (name == pair) {
        by_looks += counts.in_flight_average();
        EXPECT_FALSE(counts.in_flight_by_times());
        EXPECT_FALSE(counts.in_flight_evened_out());
      }
      if (name == GetParam().timed) {
        by_times += counts.in_flight_average();
        EXPECT_TRUE(counts.in_flight_by_times());
      }
    }
  }
  ASSERT_GT(by_times, 0);
  RecordProperty("by_looks_of_by_times", std::to_string(by_looks / by_times));
  // It takes a fifth of the effective time, and would be half of it, were delays left out wherever
  // they come.
  EXPECT_NEAR(by_looks / by_times, 1, 0.3);
}

INSTANTIATE_TEST_SUITE_P(Pairs, LatencyByLooksTest, ValuesIn(kPairsByLooks),
                         [](const auto& test) { return std::string(test.param.name); });

INSTANTIATE_TEST_SUITE_P(Kinds, LatencyTest, ValuesIn(kKinds),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace coz
