#include "coz/report/exchange/export_coz.h"

#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "coz/report/format/profile.pb.h"
#include "coz/report/testing/synthetic_profile.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace coz::report {
namespace {

using report_testing::SyntheticOptions;
using report_testing::SyntheticProfile;

profile::Profile Made(profile::ProgressPointKind kind = profile::PROGRESS_POINT_KIND_THROUGHPUT) {
  SyntheticOptions options;
  options.kind = kind;
  SyntheticProfile made(options, {{"/src/a.cc", 7, "A()", 0.5, 0.5, {}}});
  for (int i = 0; i <= 20; ++i) made.AddExperiment(0, i * 0.05);
  made.End();
  return made.profile();
}

std::vector<std::string> Lines(const profile::Profile& profile, CozFormat format) {
  std::ostringstream out;
  ExportCoz(profile, BuildExperimentTable(profile), format, out);
  std::vector<std::string> lines = absl::StrSplit(out.str(), '\n');
  EXPECT_EQ(lines.back(), "");
  lines.pop_back();
  return lines;
}

std::set<std::string> Keys(const nlohmann::json& record) {
  std::set<std::string> keys;
  for (const auto& [key, value] : record.items()) keys.insert(key);
  return keys;
}

using Strings = std::set<std::string>;

TEST(ExportCozTest, JsonRecordsHaveTheOriginalsFields) {
  const std::map<std::string, Strings> fields = {
      {"startup", {"type", "time"}},
      {"experiment", {"type", "selected", "speedup", "duration", "selected_samples"}},
      {"throughput-point", {"type", "name", "delta"}},
      {"latency-point", {"type", "name", "arrivals", "departures", "difference"}},
      {"runtime", {"type", "time"}},
      {"samples", {"type", "location", "count"}}};
  Strings seen;
  for (auto kind :
       {profile::PROGRESS_POINT_KIND_THROUGHPUT, profile::PROGRESS_POINT_KIND_LATENCY}) {
    for (const std::string& line : Lines(Made(kind), CozFormat::kJsonLines)) {
      const nlohmann::json record = nlohmann::json::parse(line);
      ASSERT_EQ(fields.count(record["type"]), 1u) << line;
      EXPECT_EQ(Keys(record), fields.at(record["type"])) << line;
      seen.insert(record["type"].get<std::string>());
    }
  }
  EXPECT_EQ(seen.size(), fields.size());
}

TEST(ExportCozTest, PointsFollowTheirExperimentAndCarryItsFigures) {
  const profile::Profile made = Made();
  const auto lines = Lines(made, CozFormat::kJsonLines);
  ASSERT_EQ(lines.size(), 1u + 21 * 2 + 1 + 1);
  for (size_t i = 0; i < 21; ++i) {
    const profile::Experiment& truth = made.experiment(static_cast<int>(i));
    const auto experiment = nlohmann::json::parse(lines[1 + 2 * i]);
    const auto point = nlohmann::json::parse(lines[2 + 2 * i]);
    EXPECT_EQ(experiment["selected"], "/src/a.cc:7");
    EXPECT_EQ(experiment["duration"], truth.effective_duration_ns());
    EXPECT_EQ(experiment["selected_samples"], truth.selected_samples());
    EXPECT_EQ(point["delta"], truth.point(0).visits());
  }
}

TEST(ExportCozTest, SpeedupsAreShortNumbersForTheViewersKeys) {
  Strings speedups;
  for (const std::string& line : Lines(Made(), CozFormat::kJsonLines)) {
    const auto at = line.find("\"speedup\":");
    if (at != std::string::npos)
      speedups.insert(line.substr(at + 10, line.find(',', at) - at - 10));
  }
  EXPECT_EQ(speedups.size(), 21u);
  EXPECT_EQ(speedups.count("0.15"), 1u);
  EXPECT_EQ(speedups.count("0.0"), 1u);
}

TEST(ExportCozTest, TextRecordsParseAsTheViewerDoes) {
  double duration = 0;
  int points = 0;
  for (const std::string& line :
       Lines(Made(profile::PROGRESS_POINT_KIND_LATENCY), CozFormat::kText)) {
    const std::vector<std::string> parts = absl::StrSplit(line, '\t');
    std::map<std::string, std::string> record;
    for (size_t i = 1; i < parts.size(); ++i) {
      const std::pair<std::string, std::string> field =
          absl::StrSplit(parts[i], absl::MaxSplits('=', 1));
      record.insert(field);
    }
    if (parts[0] == "experiment") {
      EXPECT_EQ(record.count("selected-samples"), 1u);
      ASSERT_TRUE(absl::SimpleAtod(record["duration"], &duration));
    } else if (parts[0] == "latency-point") {
      int64_t difference;
      EXPECT_TRUE(absl::SimpleAtoi(record["difference"], &difference)) << line;
      ++points;
    }
  }
  EXPECT_GT(duration, 0);
  EXPECT_EQ(points, 21);
}

TEST(ExportCozTest, TaintedExperimentsAndUnseenPointsAreLeftOut) {
  profile::Profile made = Made();
  made.mutable_experiment(3)->mutable_validity()->add_taint()->set_reason(
      profile::Taint::CUT_SHORT);
  made.mutable_experiment(4)->mutable_point(0)->set_visits(0);
  EXPECT_EQ(Lines(made, CozFormat::kJsonLines).size(), 1u + 21 * 2 - 2 - 1 + 2);
}

TEST(ExportCozTest, NamesAreQuotedWhateverTheyHold) {
  profile::Profile made = Made();
  made.mutable_unit(0)->set_file("/src/\"q\"\\\xff\t.cc");
  for (const std::string& line : Lines(made, CozFormat::kJsonLines)) {
    EXPECT_TRUE(nlohmann::json::accept(line)) << line;
  }
  for (const std::string& line : Lines(made, CozFormat::kText)) {
    EXPECT_EQ(line.find("\t.cc"), std::string::npos);
  }
}

}  // namespace
}  // namespace coz::report
