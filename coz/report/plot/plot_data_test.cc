#include "coz/report/plot/plot_data.h"

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "coz/report/analysis/experiment_table.h"
#include "coz/report/plot/plot_page.h"
#include "coz/report/plot/testing/sample_profile.h"
#include "coz/report/testing/synthetic_profile.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace coz::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

nlohmann::json DataOf(const profile::Profile& profile) {
  const ExperimentTable table = BuildExperimentTable(profile);
  return BuildPlotData(profile, table, Analyze(profile, table), {}, {});
}

TEST(PlotDataTest, EveryLineIsShownOrSetAsideAtEveryPoint) {
  const nlohmann::json data = DataOf(report_testing::SampleProfile(20));
  EXPECT_EQ(data["points"].size(), 2u);
  EXPECT_EQ(data["lines"].size() + data["aside"].size(), 40u);
  EXPECT_EQ(data["units"].size(), 20u);
  EXPECT_EQ(data["folder"], "/home/me/server/src/");
  for (const nlohmann::json& line : data["lines"]) {
    EXPECT_LT(line["u"].get<size_t>(), data["units"].size());
    EXPECT_EQ(line["c"][0], nlohmann::json({0.0, 0.0, 0.0, 0.0}));
    EXPECT_NE(line["t"], "");
  }
}

TEST(PlotDataTest, PathsAreATreeToo) {
  profile::Profile profile = report_testing::SampleProfile(3);
  EXPECT_TRUE(DataOf(profile)["paths"].empty());
  const char* const kNames[] = {"log < main", "helper < serve", "helper < log"};
  for (profile::Unit& unit : *profile.mutable_unit()) {
    unit.set_kind(profile::UNIT_KIND_PATH);
    unit.set_function(kNames[unit.id() % 3]);
  }
  const nlohmann::json data = DataOf(profile);
  const nlohmann::json& paths = data["paths"];
  ASSERT_EQ(paths.size(), 5u);
  EXPECT_EQ(paths[0][2], "helper");
  EXPECT_EQ(paths[0][4], -1);
  EXPECT_EQ(paths[1][0], 1);
  EXPECT_EQ(paths[1][1], "caller");
  const nlohmann::json& unit = data["units"][paths[1][4].get<size_t>()];
  EXPECT_EQ(unit[2], "helper < " + paths[1][2].get<std::string>());
  EXPECT_EQ(unit[3], paths[1][3]);
}

TEST(PlotDataTest, UnitsOfThreadGroupsSayTheirGroup) {
  profile::Profile profile = report_testing::SampleProfile(1);
  EXPECT_EQ(DataOf(profile)["units"][0].size(), 5u);
  profile.mutable_unit(0)->set_thread_group("io");
  EXPECT_EQ(DataOf(profile)["units"][0][5], "io");
}

TEST(PlotDataTest, SmallLinesHaveTheirLimit) {
  report_testing::SyntheticLine hot;
  hot.share = 0.5;
  report_testing::SyntheticLine small;
  small.line = 20;
  small.share = 0.01;
  report_testing::SyntheticProfile made({}, {hot, small});
  for (int i = 0; i < 40; ++i) made.AddExperiment(0, i % 4 * 0.25);
  const nlohmann::json data = DataOf(made.profile());
  ASSERT_EQ(data["aside"].size(), 1u);
  EXPECT_THAT(data["aside"][0]["h"], ::testing::StartsWith("at most 0."));
  EXPECT_LT(data["aside"][0]["m"].get<double>(), 0.04);
  EXPECT_TRUE(data["lines"][0]["m"].is_null());
}

TEST(PlotDataTest, LinesThatWereNotTriedAreSetAside) {
  report_testing::SyntheticLine tried;
  report_testing::SyntheticLine open;
  open.line = 20;
  open.share = 0.5;
  std::vector<report_testing::SyntheticLine> lines = {tried, open};
  for (uint32_t i = 30; i < 230; ++i) {
    lines.emplace_back();
    lines.back().line = i;
    lines.back().share = 0.001;
  }
  report_testing::SyntheticProfile made({}, lines);
  for (int i = 0; i < 20; ++i) made.AddExperiment(0, 0.5);
  const nlohmann::json data = DataOf(made.profile());
  ASSERT_EQ(data["aside"].size(), 2u);
  EXPECT_THAT(data["aside"][0]["t"], ::testing::StartsWith("Set aside: no experiment yet, about "));
  EXPECT_THAT(data["points"][0]["untried"], HasSubstr("200 lines, each with less than 0.5 %"));
}

TEST(PlotDataTest, WithoutExperimentsItSaysThatNothingWasMeasured) {
  profile::Profile profile = report_testing::SampleProfile(3);
  profile::SampleCounts* counts = profile.add_sample_counts();
  counts->set_session(profile.session(0).id());
  counts->set_elapsed_ns(1'000'000'000);
  counts->add_unit_id(1);
  counts->add_unit_samples(100);
  for (const profile::ProgressPoint& point : profile.progress_point()) {
    profile::PointCounts* visits = counts->add_point();
    visits->set_point(point.id());
    visits->set_visits(50);
  }
  profile.clear_experiment();
  const nlohmann::json data = DataOf(profile);
  EXPECT_EQ(data["nothing"]["what"], "No experiment was finished");
  EXPECT_THAT(data["nothing"]["remedy"].get<std::string>(), HasSubstr("20 s or more"));
  EXPECT_TRUE(data["aside"].empty());
}

TEST(PlotDataTest, CommandsAndKindsOfPointsAreInWords) {
  profile::Profile profile = report_testing::SampleProfile(3);
  profile.mutable_progress_point(0)->set_kind(profile::PROGRESS_POINT_KIND_BREAKPOINT);
  profile.mutable_session(0)->clear_command();
  profile.mutable_session(0)->add_command("server");
  nlohmann::json data = DataOf(profile);
  EXPECT_EQ(data["points"][0]["kind"], "breakpoint");
  EXPECT_EQ(data["points"][0]["kind_word"], "place");
  EXPECT_EQ(data["look_closer"], "coz run --fixed-line FIXED_UNIT --- server");
  for (profile::Session& session : *profile.mutable_session()) {
    session.mutable_options()->set_attached_pid(4711);
  }
  EXPECT_EQ(DataOf(profile)["look_closer"], "coz attach --fixed-line FIXED_UNIT 4711");
  profile.mutable_session(0)->mutable_options()->add_progress("Serve *");
  profile.mutable_session(0)->mutable_options()->set_unit_kind(profile::UNIT_KIND_FUNCTION);
  EXPECT_EQ(DataOf(profile)["look_closer"],
            "coz attach --unit=function --progress='Serve *' --fixed-line FIXED_UNIT 4711");
}

TEST(PlotDataTest, PairsHaveThroughputAndLatency) {
  profile::Profile profile = report_testing::SampleProfile(3);
  profile.mutable_progress_point(0)->set_counted_by("hardware breakpoint");
  profile.mutable_progress_point(0)->set_visit_cost_ns(900'000'000);
  profile.mutable_progress_point(0)->set_breakpoint_slowdown(12.6);
  for (profile::Experiment& experiment : *profile.mutable_experiment()) {
    profile::PointCounts* counts = experiment.mutable_point(1);
    counts->add_latency_from_ns(2'000'000);
    counts->add_latency_to_ns(2'100'000);
    counts->add_latency_requests(100);
  }
  const nlohmann::json data = DataOf(profile);
  ASSERT_EQ(data["points"].size(), 2u);
  EXPECT_EQ(data["points"][0]["counted_by"], "hardware breakpoint");
  EXPECT_EQ(data["points"][0]["kind_word"], "throughput");
  EXPECT_EQ(data["points"][0]["visit_cost_ns"], 900'000'000);
  EXPECT_THAT(data["points"][0]["cost"].get<std::string>(),
              HasSubstr("counting takes 900000.0 us"));
  EXPECT_THAT(data["points"][0]["beside"].get<std::string>(), HasSubstr("13 times slower"));
  EXPECT_EQ(data["points"][1]["cost"], "");
  EXPECT_EQ(data["points"][1]["beside"], "");
  EXPECT_TRUE(data["points"][0]["latency"].is_null());
  const nlohmann::json& latency = data["points"][1]["latency"];
  EXPECT_NEAR(latency["p50"].get<double>(), 2.05, 0.001);
  EXPECT_NEAR(latency["p99"].get<double>(), 2.099, 0.001);
  EXPECT_GT(latency["mean"].get<double>(), 0);
  EXPECT_GT(latency["in"].get<double>(), 0);
  EXPECT_GT(latency["under_way"].get<double>(), 0);
  EXPECT_EQ(latency["stable"], true);
}

TEST(PlotDataTest, PointsSayWhatSamplingTakes) {
  for (const double share : {0.09, 0.01}) {
    report_testing::SyntheticOptions options;
    options.noise = 0.002;
    options.bare_share = share;
    report_testing::SyntheticProfile made(options, {{"/src/a.cc", 1, "Work()", 0.5, 0.5, {}}});
    for (int i = 0; i < 20; ++i) {
      made.AddRandomExperiments(8);
      made.AddBareInterval();
    }
    const std::string sentence = DataOf(made.profile())["points"][0]["sampling"];
    EXPECT_EQ(sentence.find("being sampled takes 9 %"), share > 0.02 ? 0 : std::string::npos)
        << sentence;
  }
}

TEST(PlotDataTest, ThreadsAreThereWithTheirCountsAndTimes) {
  profile::Profile profile = report_testing::SampleProfile(3);
  profile.clear_thread();
  profile.clear_thread_counter();
  EXPECT_EQ(DataOf(profile)["threads"], nullptr);
  profile::ThreadCounter* counter = profile.add_thread_counter();
  counter->set_session(profile.session(0).id());
  counter->set_id(1);
  counter->set_name("Compact");
  for (const char* name : {"writer", "cleaner"}) {
    profile::Thread* thread = profile.add_thread();
    thread->set_session(profile.session(0).id());
    thread->set_name(name);
    thread->set_threads(1);
    thread->set_start_ns(500'000'000);
    thread->set_samples(name[0] == 'w' ? 30 : 10);
    thread->add_counter(1);
    thread->add_visits(name[0] == 'w' ? 2000 : 5);
  }
  const nlohmann::json threads = DataOf(profile)["threads"];
  ASSERT_EQ(threads["rows"].size(), 3u);
  EXPECT_EQ(threads["rows"][0], nlohmann::json({"writer", "1", "30", "75.0 %", "0.0 %", "0.00 s",
                                                "0.50 s", "runs on", ""}));
  EXPECT_EQ(threads["rows"][2][0], "all");
  EXPECT_EQ(threads["more"], 0);
  EXPECT_EQ(threads["names"], nlohmann::json({"writer", "cleaner"}));
  ASSERT_EQ(threads["tables"].size(), 1u) << "no call has a time";
  EXPECT_EQ(threads["tables"][0]["rows"],
            nlohmann::json::array({{"Compact", "2,005", "2,000", "5"}}));
}

TEST(PlotDataTest, NoTextEndsTheDataElement) {
  profile::Profile profile = report_testing::SampleProfile(1);
  profile.mutable_progress_point(0)->set_name("</script><!--<script>&");
  profile.mutable_unit(0)->set_file("\xff\xfe</SCRIPT>");
  const std::string page = PlotPage(DataOf(profile));
  const size_t data = page.find("id=\"data\">");
  const std::string json = page.substr(data + 10, page.find("</script>", data) - data - 10);
  EXPECT_THAT(json, Not(HasSubstr("<")));
  EXPECT_EQ(nlohmann::json::parse(json)["points"][0]["name"], "</script><!--<script>&");
}

TEST(PlotDataTest, OfManySessionsTheFirstAreListed) {
  profile::Profile profile = report_testing::SampleProfile(1);
  const profile::Session first = profile.session(0);
  for (uint64_t id = 101; id < 200; ++id) {
    *profile.add_session() = first;
    profile.mutable_session(profile.session_size() - 1)->set_id(id);
  }
  const nlohmann::json data = DataOf(profile);
  EXPECT_EQ(data["sessions"].size(), 20);
  EXPECT_EQ(data["more_sessions"], profile.session_size() - 20);
}

TEST(PlotDataTest, SessionSaysWhatReallySampled) {
  profile::Profile profile = report_testing::SampleProfile(1);
  profile.mutable_session(0)->set_fallback_reason("time in the kernel is not sampled");
  profile::SourceChange* change = profile.add_source_change();
  change->set_session(profile.session(0).id());
  change->set_sampling_source(profile::SAMPLING_SOURCE_CPU_TIMER);
  const nlohmann::json session = DataOf(profile)["sessions"][0];
  EXPECT_THAT(session["sampling"].get<std::string>(), HasSubstr("on by cpu timer"));
  EXPECT_EQ(session["fallback"], "");
}

TEST(PlotDataTest, DamagedProfilesNeverCrash) {
  const std::string bytes = report_testing::SampleProfile(2).SerializeAsString();
  std::mt19937_64 random(7);
  for (int round = 0; round < 200; ++round) {
    std::string damaged = bytes;
    for (int flips = 0; flips <= round % 20; ++flips) {
      damaged[random() % damaged.size()] = static_cast<char>(random());
    }
    const absl::StatusOr<ReadResult> read = ParseProfile(damaged, "damaged");
    if (!read.ok()) continue;
    EXPECT_THAT(PlotPage(DataOf(read->profile)), HasSubstr("</html>"));
  }
}

}  // namespace
}  // namespace coz::report
