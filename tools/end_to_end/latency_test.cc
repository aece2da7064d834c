// Pairs of every kind say throughput and latency, get a figure for a speedup, and warn when
// requests pile up.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

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

// The pair whose requests have numbers.
constexpr char kNumbered[] = "numbered";

struct PairKind {
  const char* name;  // of the test
  const char* program;
  const char* option;  // that makes a pair; "" where the program marks all
  const char* source;  // of counts
  std::vector<std::string> pairs;
};

std::vector<PairKind> Kinds() {
  const std::vector<std::string> marks = {"marked", kNumbered, "mark:in,mark:out"};
  const std::vector<std::string> calls = {"arrive,depart"};
  return {
      {"Marks", "backlog", "--latency=mark:in,mark:out", "", marks},
      {"MarksOfTheOriginal", "backlog_original", "", "", {"marked"}},
      {"Breakpoints", "backlog", "--latency=arrive,depart", "breakpoint", calls},
      {"Probes", "backlog", "--latency=arrive,depart", "uprobe", calls},
  };
}

// What the report in `text` says of a pair.
std::string SectionOf(const std::string& pair, const std::string& text) {
  const size_t begin = text.find(absl::StrCat("\nProgress point ", pair, " (latency)"));
  if (begin == std::string::npos) return "";
  return text.substr(begin, text.find("\n\n", begin) - begin);
}

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
  nlohmann::json Report() const {
    return nlohmann::json::parse(
        testing::RunCommand({RunfilePath("tools/coz"), "report", "--json"}, options_).output);
  }
  static nlohmann::json Point(const nlohmann::json& report, const std::string& name) {
    for (const nlohmann::json& point : report["points"]) {
      if (point["name"] == name && point["kind"] == "latency") return point;
    }
    ADD_FAILURE() << "no pair " << name;
    return {};
  }

  testing::CommandOptions options_;
};

TEST_P(LatencyTest, ThroughputAndLatencyAreShown) {
  const CommandResult result = Run("4", "1", "0,50,60,70,80,90");
  COZ_REQUIRE_CAPABILITY(Missing(result));
  EXPECT_THAT(result.errors, Not(HasSubstr("outrun")));
  const nlohmann::json report = Report();
  for (const std::string& name : GetParam().pairs) {
    SCOPED_TRACE(name);
    EXPECT_THAT(SectionOf(name, result.errors), HasSubstr("arrivals and"));
    const nlohmann::json point = Point(report, name);
    const nlohmann::json& latency = point["latency"];
    EXPECT_EQ(latency["stable"], true);
    EXPECT_GT(latency["arrivals_per_second"].get<double>(), 0);
    EXPECT_GT(latency["departures_per_second"].get<double>(), 0);
    // One request is under way all the time.
    EXPECT_NEAR(latency["in_flight"].get<double>(), 1, 0.1);
    EXPECT_GT(latency["mean_ns"].get<double>(), 1e6);
    EXPECT_EQ(latency["p99_ns"].is_number(), name == kNumbered);
    // Its sign is a matter of statistics: coz/report/analysis/analysis_test.cc. Where other
    // programs have the CPUs, it is not known.
    const nlohmann::json& lines = point["lines"];
    const nlohmann::json& unknown = point["set_aside"];
    ASSERT_EQ(lines.size() + unknown.size(), 1u) << result.errors;
    if (lines.empty()) {
      EXPECT_EQ(unknown[0]["reason"], "not_known");
    } else {
      EXPECT_TRUE(lines[0]["slope"]["value"].is_number());
    }
  }
}

TEST_P(LatencyTest, WarnsWhenRequestsPileUp) {
  // Experiments at 0 % alone: a second has room for few, and the warning is about those.
  const CommandResult result = Run("1", "2", "0");
  COZ_REQUIRE_CAPABILITY(Missing(result));
  const nlohmann::json report = Report();
  for (const std::string& name : GetParam().pairs) {
    EXPECT_THAT(SectionOf(name, result.errors), HasSubstr("arrivals outrun departures"));
    EXPECT_EQ(Point(report, name)["latency"]["stable"], false) << name;
  }
}

struct PairByLooks {
  const char* name;  // of the test
  const char* program;
  std::vector<std::string> pairs;  // for --latency, unless the program marks them
  bool is_marked;
  const char* timed;  // pair of the same requests
  const char* source = "";
  int programs = 1;
  const char* between = "";  // programs, for the shell
};

std::vector<PairByLooks> PairsByLooks() {
  const std::vector<std::string> calls = {"arrive,depart"};
  const std::vector<std::string> calls_and_mark = {"arrive,depart", "arrive,mark:out"};
  return {
      {"MarksOfTheOriginal", "backlog_original", {"marked"}, true, "timed"},
      {"MarksOfOtherNames", "backlog", {"mark:in,mark:out"}, false, "marked"},
      {"Breakpoints", "backlog", calls_and_mark, false, "marked"},
      {"Probes", "backlog", calls, false, "marked", "uprobe"},
      {"ProbesInSeveralPrograms", "backlog", calls, false, "marked", "uprobe", 3, "&&"},
      {"BreakpointsInProgramsInTurn", "backlog", calls, false, "marked", "breakpoint", 3, "&&"},
      {"BreakpointsInProgramsAtATime", "backlog", calls, false, "marked", "breakpoint", 2, "&"},
  };
}

// One request is under way for half of the time, and delay is inserted in just that half. The times
// of the same requests are known and give the exact mean.
class LatencyByLooksTest : public ::testing::TestWithParam<PairByLooks> {
 protected:
  static constexpr int kSeconds = 5;  // of a program: some ten experiments
};

TEST_P(LatencyByLooksTest, MeanIsThatByTimesThoughDelayComesWhileRequestsAreServed) {
  testing::CommandOptions options;
  options.folder = testing::TemporaryFolder();
  std::vector<std::string> arguments = {RunfilePath("tools/coz"), "run",
                                        "--unit=function",        "--fixed-unit=serve",
                                        "--fixed-speedup=75",     "--seed=1"};
  for (const std::string& pair : GetParam().pairs) {
    if (!GetParam().is_marked) arguments.push_back("--latency=" + pair);
  }
  if (*GetParam().source != '\0') {
    arguments.push_back(absl::StrCat("--progress-source=", GetParam().source));
  }
  const std::string program = RunfilePath(absl::StrCat("coz/testing/puppets/", GetParam().program));
  if (GetParam().programs > 1) {
    // Of a launcher's programs it is known when they run, of another before it starts.
    std::vector<std::string> alone = arguments;
    alone.insert(alone.end(), {"---", program, "0", "1", "1"});
    const CommandResult first = testing::RunCommand(alone, options);
    COZ_REQUIRE_CAPABILITY(first.status == 125 ? "required counted places, actual: " + first.errors
                                               : "");
    const bool in_turn = GetParam().between == std::string("&&");
    const std::string call =
        absl::StrCat("'", program, "' ", in_turn ? 9 / GetParam().programs : kSeconds, " 1 1 ",
                     GetParam().between, " ");
    std::string calls;
    for (int i = 0; i < GetParam().programs; ++i) calls += call;
    arguments.insert(arguments.end(), {"--follow=all", "---", "sh", "-c", calls + "wait"});
  } else {
    arguments.insert(arguments.end(), {"---", program, absl::StrCat(kSeconds), "1", "1"});
  }
  const CommandResult result = testing::RunCommand(arguments, options);
  COZ_REQUIRE_CAPABILITY(result.status == 125 ? "required counted places, actual: " + result.errors
                                              : "");
  ASSERT_EQ(result.status, 0) << result.errors;
  EXPECT_THAT(result.errors, Not(HasSubstr("come out too small")));
  const absl::StatusOr<report::ReadResult> read =
      report::ReadProfile(options.folder + "/profile.pb");
  ASSERT_TRUE(read.ok()) << read.status();
  const profile::Profile& profile = read->profile;
  std::map<uint32_t, std::string> names;
  for (const auto& point : profile.progress_point()) names[point.id()] = point.name();
  std::map<std::string, double> by_looks;
  for (const std::string& pair : GetParam().pairs) by_looks[pair] = 0;
  double by_times = 0;
  for (const profile::Experiment& experiment : profile.experiment()) {
    for (const profile::PointCounts& counts : experiment.point()) {
      const std::string& name = names[counts.point()];
      const auto pair = by_looks.find(name);
      if (pair != by_looks.end()) {
        pair->second += counts.in_flight_average();
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
  for (const auto& [pair, sum] : by_looks) {
    std::printf("%s: by looks %.3f of that by times\n", pair.c_str(), sum / by_times);
    // It takes a fifth of the effective time, and would be half of it, were delays left out
    // wherever they come.
    EXPECT_NEAR(sum / by_times, 1, 0.3) << pair;
  }
}

INSTANTIATE_TEST_SUITE_P(Pairs, LatencyByLooksTest, ValuesIn(PairsByLooks()),
                         [](const auto& test) { return std::string(test.param.name); });

INSTANTIATE_TEST_SUITE_P(Kinds, LatencyTest, ValuesIn(Kinds()),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace coz
