// Exports read back, and imports of what the original writes.
#include <cmath>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "coz/report/exchange/export_coz.h"
#include "coz/report/exchange/export_csv.h"
#include "coz/report/exchange/export_jsonl.h"
#include "coz/report/exchange/export_pprof.h"
#include "coz/report/exchange/export_speedscope.h"
#include "coz/report/exchange/import_coz.h"
#include "coz/report/testing/synthetic_profile.h"
#include "gmock/gmock.h"
#include "google/protobuf/io/gzip_stream.h"
#include "google/protobuf/io/zero_copy_stream_impl.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace coz::report {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

std::unique_ptr<const AnalyzedProfile> Example(int experiments = 400) {
  report_testing::SyntheticLine fast;
  fast.line = 10;
  fast.function = "Work(int, \"x\")";
  fast.share = 0.5;
  fast.slope = 0.6;
  report_testing::SyntheticLine idle;
  idle.line = 20;
  idle.share = 0.3;
  report_testing::SyntheticProfile synthetic({}, {fast, idle});
  synthetic.AddRandomExperiments(experiments);
  synthetic.End();
  return AnalyzeWhole(synthetic.profile());
}

std::string TextOf(const pprof::Profile& profile, int64_t index) {
  return profile.string_table(static_cast<int>(index));
}

TEST(ExportPprofTest, IsGzipAndReadsBack) {
  const auto whole = Example();
  std::stringstream file;
  ASSERT_TRUE(ExportPprof(*whole, file).ok());
  EXPECT_THAT(file.str(), StartsWith("\x1f\x8b"));
  google::protobuf::io::IstreamInputStream stream(&file);
  google::protobuf::io::GzipInputStream gzip(&stream);
  pprof::Profile read;
  ASSERT_TRUE(read.ParseFromZeroCopyStream(&gzip));
  EXPECT_EQ(read.SerializeAsString(), PprofOf(*whole).SerializeAsString());
}

// protobuf itself only complains about what is written; readers refuse it.
TEST(ExportTest, PathsInLatin1BecomeUtf8) {
  report_testing::SyntheticLine line;
  line.file =
      "/src/Pr\xfc"
      "fstand/a.cc";
  line.share = 0.5;
  line.slope = 0.6;
  report_testing::SyntheticProfile synthetic({}, {line});
  synthetic.AddRandomExperiments(100);
  synthetic.End();
  const auto whole = AnalyzeWhole(synthetic.profile());
  const std::string shown =
      "/src/Pr\xEF\xBF\xBD"
      "fstand/a.cc";
  EXPECT_THAT(PprofOf(*whole).string_table(), ::testing::Contains(shown));
  std::ostringstream csv;
  ExportCsv(*whole, csv);
  EXPECT_THAT(csv.str(), HasSubstr("," + shown + ","));
  std::ostringstream text;
  ExportCoz(whole->profile, whole->table, CozFormat::kText, text);
  EXPECT_THAT(text.str(), HasSubstr("selected=" + shown + ":"));
}

TEST(ExportPprofTest, EverySampleHasAValueOfEveryType) {
  const auto whole = Example();
  const pprof::Profile profile = PprofOf(*whole);
  EXPECT_EQ(profile.string_table(0), "");
  ASSERT_EQ(profile.sample_type_size(), 3);
  EXPECT_EQ(TextOf(profile, profile.sample_type(1).type()), "cpu");
  EXPECT_EQ(TextOf(profile, profile.sample_type(2).type()), "slope:requests");
  int64_t samples = 0;
  for (const pprof::Sample& sample : profile.sample()) {
    ASSERT_EQ(sample.value_size(), 3);
    EXPECT_EQ(sample.value(1), sample.value(0) * profile.period());
    samples += sample.value(0);
  }
  EXPECT_EQ(static_cast<uint64_t>(samples), whole->table.samples);
}

TEST(ExportPprofTest, SlopeOfTheFastLineIsInPermille) {
  const auto whole = Example();
  const pprof::Profile profile = PprofOf(*whole);
  int found = 0;
  for (const pprof::Sample& sample : profile.sample()) {
    const pprof::Location& location = profile.location(static_cast<int>(sample.location_id(0)) - 1);
    ASSERT_EQ(location.id(), sample.location_id(0));
    if (location.line(0).line() != 10) continue;
    ++found;
    EXPECT_NEAR(static_cast<double>(sample.value(2)), 600, 100);
    ASSERT_EQ(sample.label_size(), 1);
    EXPECT_EQ(TextOf(profile, sample.label(0).key()), "verdict:requests");
    EXPECT_EQ(TextOf(profile, sample.label(0).str()), "faster");
  }
  EXPECT_EQ(found, 1);
}

TEST(ExportCsvTest, HasARowForEachSpeedupAndQuotesNames) {
  const auto whole = Example();
  std::ostringstream out;
  ExportCsv(*whole, out);
  const std::vector<std::string> lines = absl::StrSplit(out.str(), "\r\n");
  EXPECT_THAT(lines[0], StartsWith("point,point_kind,unit_kind,file,line,function,"));
  size_t expected = 2;  // the head, and nothing after the last line's end
  for (const LineAnalysis& line : whole->analysis.points[0].lines) expected += line.speedups.size();
  expected += whole->analysis.points[0].set_aside.size();
  EXPECT_EQ(lines.size(), expected);
  EXPECT_THAT(out.str(), HasSubstr("\"Work(int, \"\"x\"\")\""));
}

TEST(ExportCsvTest, NamesAreNoFormulasAndVisitsAreWhole) {
  report_testing::SyntheticOptions options;
  options.kind = profile::PROGRESS_POINT_KIND_LATENCY;
  options.point = "=order";
  report_testing::SyntheticProfile made(options, {{"/src/a.cc", 5, "A()", 0.5, 0.5, {}}});
  for (int i = 0; i < 4; ++i) made.AddExperiment(0, 0);
  for (int i = 1; i <= 10; ++i) made.AddExperiment(0, 0.1 * i);
  for (profile::Experiment& experiment : *made.profile().mutable_experiment()) {
    experiment.mutable_point(0)->set_arrivals(experiment.point(0).departures() + 1);
  }
  std::ostringstream out;
  ExportCsv(*AnalyzeWhole(made.profile()), out);
  const std::vector<std::string> rows = absl::StrSplit(out.str(), "\r\n", absl::SkipEmpty());
  ASSERT_GT(rows.size(), 4u);
  constexpr size_t kVisits = 16;
  for (size_t i = 1; i < rows.size(); ++i) {
    EXPECT_THAT(rows[i], StartsWith("\"'=order\","));
    const std::vector<std::string> cells = absl::StrSplit(rows[i], ',');
    EXPECT_EQ(cells.at(kVisits).find('.'), std::string::npos) << rows[i];
  }
}

TEST(ExportCsvTest, SetAsideLineHasItsReason) {
  const auto whole = Example(3);
  std::ostringstream out;
  ExportCsv(*whole, out);
  EXPECT_THAT(out.str(), HasSubstr("set_aside:"));
}

std::vector<nlohmann::json> JsonLinesOf(const profile::Profile& profile) {
  std::ostringstream out;
  JsonLinesExporter exporter(&out);
  exporter.Add(profile);
  std::vector<nlohmann::json> rows;
  for (absl::string_view line : absl::StrSplit(out.str(), '\n', absl::SkipEmpty())) {
    rows.push_back(nlohmann::json::parse(line));
  }
  return rows;
}

TEST(ExportJsonLinesTest, HasTheFiguresOfEachExperimentOnce) {
  profile::Profile profile = Example(40)->profile;
  ASSERT_EQ(profile.experiment_size(), 40);
  profile.mutable_session(0)->mutable_machine()->set_host("h1");
  profile.mutable_experiment(5)->set_pooled(70);
  profile.mutable_experiment(5)->mutable_validity()->set_imposed_ns(71);
  profile.mutable_experiment(5)->mutable_validity()->set_pause_cpu_ns(72);
  *profile.add_experiment() = profile.experiment(3);  // as in a profile that was added twice
  const std::vector<nlohmann::json> rows = JsonLinesOf(profile);
  ASSERT_EQ(rows.size(), 40u);
  for (size_t i = 0; i < rows.size(); ++i) {
    const nlohmann::json& row = rows[i];
    const profile::Experiment& experiment = profile.experiment(static_cast<int>(i));
    EXPECT_EQ(row["session"], "0000000000001234");
    EXPECT_EQ(row["host"], "h1");
    EXPECT_EQ(row["experiment"], experiment.index());
    EXPECT_EQ(row["experiments"], i == 5 ? 70 : 1);
    EXPECT_EQ(row["virtual_speedup"], experiment.virtual_speedup());
    EXPECT_EQ(row["imposed_delay_ns"], experiment.validity().imposed_ns());
    EXPECT_EQ(row["pause_cpu_ns"], experiment.validity().pause_cpu_ns());
    EXPECT_EQ(row["effective_duration_ns"], experiment.effective_duration_ns());
    EXPECT_EQ(row["point"], "requests");
    EXPECT_EQ(row["visits"], experiment.point(0).visits());
    EXPECT_EQ(row["arrivals"], nullptr);
    EXPECT_EQ(row["valid"], true);
    EXPECT_EQ(row["file"], "/src/app/work.cc");
    EXPECT_TRUE(row["line"] == 10 || row["line"] == 20);
  }
}

TEST(ExportJsonLinesTest, AllLinesHaveTheSameFields) {
  profile::Profile profile = Example(3)->profile;
  profile.mutable_experiment(0)->clear_point();
  profile.mutable_experiment(1)->set_achieved_virtual_speedup(std::nan(""));
  profile::Validity* validity = profile.mutable_experiment(2)->mutable_validity();
  validity->add_taint()->set_reason(profile::Taint::OVERCOMMITTED);
  validity->add_taint()->set_reason(profile::Taint::CUT_SHORT);
  profile::PointCounts* pair = profile.mutable_experiment(2)->add_point();
  pair->set_point(99);
  pair->set_arrivals(5);
  profile::ProgressPoint* point = profile.add_progress_point();
  point->set_session(0x1234);
  point->set_id(99);
  point->set_name("a \"pair\"\xff");
  point->set_kind(profile::PROGRESS_POINT_KIND_LATENCY);
  const std::vector<nlohmann::json> rows = JsonLinesOf(profile);
  ASSERT_EQ(rows.size(), 4u);
  for (const nlohmann::json& row : rows) {
    EXPECT_EQ(row.size(), rows[0].size());
    for (const auto& [field, value] : rows[0].items()) EXPECT_TRUE(row.contains(field)) << field;
  }
  EXPECT_EQ(rows[0]["point"], nullptr);
  EXPECT_EQ(rows[1]["achieved_virtual_speedup"], nullptr);
  EXPECT_EQ(rows[2]["valid"], false);
  EXPECT_EQ(rows[2]["taints"], "overcommitted,cut_short");
  EXPECT_EQ(rows[3]["point_kind"], "latency");
  EXPECT_EQ(rows[3]["arrivals"], 5);
  EXPECT_EQ(rows[3]["visits"], nullptr);
}

TEST(ExportSpeedscopeTest, WeightsAddUpAndFramesExist) {
  const auto whole = Example();
  std::ostringstream out;
  ExportSpeedscope(*whole, out);
  const nlohmann::json file = nlohmann::json::parse(out.str());
  const size_t frames = file["shared"]["frames"].size();
  ASSERT_EQ(file["profiles"].size(), 2u);
  for (const nlohmann::json& profile : file["profiles"]) {
    ASSERT_EQ(profile["samples"].size(), profile["weights"].size());
    int64_t sum = 0;
    for (const nlohmann::json& weight : profile["weights"]) sum += weight.get<int64_t>();
    EXPECT_EQ(sum, profile["endValue"].get<int64_t>());
    for (const nlohmann::json& stack : profile["samples"]) {
      for (const nlohmann::json& frame : stack) EXPECT_LT(frame.get<size_t>(), frames);
    }
  }
}

TEST(ExportSpeedscopeTest, FramesShowNoFolderThatAllAreInAndNoAnonymousNamespace) {
  report_testing::SyntheticProfile made(
      {}, {{"/home/me/src/a.cc", 10, "(anonymous namespace)::Work()", 0.4, 0.6, {}},
           {"/home/me/src/lib/b.cc", 20, "Other()", 0.2, 0, {}}});
  made.AddRandomExperiments(60);
  std::ostringstream out;
  ExportSpeedscope(*AnalyzeWhole(made.profile()), out);
  const nlohmann::json frames = nlohmann::json::parse(out.str())["shared"]["frames"];
  std::vector<std::string> names;
  for (const nlohmann::json& frame : frames) names.push_back(frame["name"]);
  EXPECT_THAT(names, ::testing::IsSupersetOf({"a.cc", "Work()", "a.cc:10", "lib/b.cc:20"}));
  EXPECT_EQ(frames[0]["file"], "/home/me/src/a.cc");
}

class ImportTest : public ::testing::TestWithParam<CozFormat> {};

// A profile, as the original would have written it, gives the figures of the profile.
TEST_P(ImportTest, ReadsWhatTheOriginalsViewerReads) {
  const auto whole = Example();
  std::stringstream file;
  ExportCoz(whole->profile, whole->table, GetParam(), file);
  const absl::StatusOr<ImportResult> imported = ImportCoz(file, "x.coz");
  ASSERT_TRUE(imported.ok()) << imported.status();
  EXPECT_EQ(imported->skipped_lines, 0u) << imported->first_skipped;
  const auto again = AnalyzeWhole(imported->profile);
  EXPECT_EQ(again->table.experiments.size(), whole->table.experiments.size());
  ASSERT_EQ(again->analysis.points.size(), 1u);
  const LineAnalysis& before = whole->analysis.points[0].lines[0];
  const LineAnalysis& after = again->analysis.points[0].lines[0];
  EXPECT_EQ(again->table.units[after.unit].Name(), whole->table.units[before.unit].Name());
  EXPECT_NEAR(after.slope.value, before.slope.value, 0.05);
  EXPECT_EQ(after.verdict, Verdict::kFaster);
  // Counts of samples are cumulative in the file, and not added up twice.
  EXPECT_EQ(again->table.units[after.unit].samples, whole->table.units[before.unit].samples);
}

INSTANTIATE_TEST_SUITE_P(BothFormats, ImportTest,
                         ::testing::Values(CozFormat::kText, CozFormat::kJsonLines));

absl::StatusOr<ImportResult> Import(const std::string& text) {
  std::istringstream in(text);
  return ImportCoz(in, "x.coz");
}

constexpr char kOldText[] =
    "startup\ttime=1415880321185373496\n"
    "experiment\tselected=a.c:3\tspeedup=0.25\tduration=1000\tselected-samples=7\n"
    "progress-point\tname=a.c:9\ttype=source\tdelta=86\n"
    "samples\tlocation=a.c:3\tcount=8\n"
    "samples\tlocation=a.c:3\tcount=20\n"
    "runtime\ttime=9000\n";

TEST(ImportCozTest, ReadsTheOldestText) {
  const auto imported = Import(kOldText);
  ASSERT_TRUE(imported.ok()) << imported.status();
  const profile::Profile& profile = imported->profile;
  ASSERT_EQ(profile.experiment_size(), 1);
  EXPECT_EQ(profile.experiment(0).virtual_speedup(), 0.25);
  EXPECT_EQ(profile.experiment(0).point(0).visits(), 86u);
  EXPECT_EQ(profile.unit(0).file(), "a.c");
  EXPECT_EQ(profile.unit(0).line(), 3u);
  EXPECT_EQ(profile.session(0).start_unix_ns(), 1415880321185373496u);
  EXPECT_EQ(profile.session_end(0).run_time_ns(), 9000u);
  EXPECT_EQ(BuildExperimentTable(profile).units[0].samples, 20u);
}

TEST(ImportCozTest, EachStartupIsASessionAndTheSameTextTheSameSession) {
  const auto twice = Import(std::string(kOldText) + kOldText);
  ASSERT_TRUE(twice.ok());
  ASSERT_EQ(twice->profile.session_size(), 2);
  EXPECT_EQ(twice->profile.session(0).id(), twice->profile.session(1).id());
  EXPECT_EQ(BuildExperimentTable(twice->profile).duplicates, 1u);
}

TEST(ImportCozTest, SkipsWhatMakesNoSense) {
  const auto imported = Import(std::string(kOldText) +
                               "experiment\tselected=a.c:3\tspeedup=7\tduration=1000\n"
                               "progress-point\tname=p\tdelta=1\n"
                               "experiment\tselected=a.c:3\tspeedup=0.5\tduration=-4\n"
                               "{\"type\":\"what\"}\n"
                               "experi");
  ASSERT_TRUE(imported.ok()) << imported.status();
  EXPECT_EQ(imported->profile.experiment_size(), 1);
  EXPECT_EQ(imported->skipped_lines, 5u);
  EXPECT_THAT(imported->first_skipped, HasSubstr("x.coz:7: an experiment whose speedup"));
}

// The original, like coz, makes one experiment of a run with --end-to-end, which ends once.
TEST(ImportCozTest, RunsThatEndOnceCount) {
  std::string text;
  for (int run = 0; run < 40; ++run) {
    const int step = run % 4;
    absl::StrAppend(&text, "startup\ttime=", 1000 + run,
                    "\nexperiment\tselected=a.c:3\tspeedup=", 0.25 * step,
                    "\tduration=", 1000000 * (100 - 10 * step) + run,
                    "\tselected-samples=50\nthroughput-point\tname=end-to-end\tdelta=1\n",
                    "samples\tlocation=a.c:3\tcount=50\nruntime\ttime=100000000\n");
  }
  const auto imported = Import(text);
  ASSERT_TRUE(imported.ok()) << imported.status();
  EXPECT_EQ(imported->profile.progress_point(0).kind(), profile::PROGRESS_POINT_KIND_END_TO_END);
  const auto whole = AnalyzeWhole(imported->profile);
  ASSERT_EQ(whole->analysis.points.size(), 1u);
  ASSERT_EQ(whole->analysis.points[0].lines.size(), 1u);
  EXPECT_NEAR(whole->analysis.points[0].lines[0].slope.value, 0.4, 0.01);
}

TEST(ImportCozTest, DifferencesOfCountersThatWereNeverInitializedAreSkipped) {
  const auto with_difference = [](const std::string& difference) {
    return Import(absl::StrCat(kOldText,
                               "experiment\tselected=a.c:3\tspeedup=0\tduration=1000\n"
                               "latency-point\tname=job\tarrivals=10\tdepartures=10\tdifference=",
                               difference, "\n"));
  };
  for (const char* difference : {"10565693685661277411", "inf", "nan", "5e12"}) {
    const auto imported = with_difference(difference);
    ASSERT_TRUE(imported.ok()) << imported.status();
    EXPECT_EQ(imported->skipped_lines, 1u) << difference;
    EXPECT_THAT(imported->first_skipped, HasSubstr("no number of things under way"));
    EXPECT_EQ(imported->profile.experiment(1).point_size(), 0) << difference;
  }
  for (const auto& [difference, average] : std::vector<std::pair<const char*, double>>{
           {"3", 3}, {"-2", 0}, {"18446744073709551614", 0}}) {
    const auto imported = with_difference(difference);
    ASSERT_TRUE(imported.ok()) << imported.status();
    EXPECT_EQ(imported->skipped_lines, 0u) << difference;
    EXPECT_EQ(imported->profile.experiment(1).point(0).in_flight_average(), average) << difference;
  }
}

TEST(ImportCozTest, SaysThatOtherFilesAreNone) {
  for (const std::string text :
       {"", "hello\nworld\n", "\x0a\x12\x34\x56", "[[[[[[[[[[[[[", "startup\ttime=1\n"}) {
    const auto imported = Import(text);
    ASSERT_FALSE(imported.ok()) << text;
    EXPECT_THAT(std::string(imported.status().message()), HasSubstr("x.coz"));
    EXPECT_THAT(std::string(imported.status().message()), HasSubstr("coz report x.coz"));
  }
}

}  // namespace
}  // namespace coz::report
