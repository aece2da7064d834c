#include "coz/report/json/report_json.h"

#include <cmath>
#include <limits>
#include <string>

#include "coz/report/analysis/analysis.h"
#include "coz/report/analysis/experiment_table.h"
#include "coz/report/format/profile.pb.h"
#include "coz/report/testing/synthetic_profile.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace coz::report {
namespace {

using Json = nlohmann::ordered_json;
using report_testing::SyntheticProfile;

SyntheticProfile TwoLines() {
  SyntheticProfile made({}, {{"/src/app/a.cc", 5, "A<int>()", 0.5, 0.5, {}},
                             {"/src/app/rare.cc", 6, "B()", 0.02, 0, {}}});
  for (int i = 0; i < 4; ++i) made.AddExperiment(0, 0);
  for (int i = 1; i <= 10; ++i) made.AddExperiment(0, 0.1 * i);
  made.AddExperiment(1, 0.5);
  made.End();
  return made;
}

Json JsonOf(const profile::Profile& profile) {
  const ExperimentTable table = BuildExperimentTable(profile);
  return ReportJson(profile, table, Analyze(profile, table), {"a note"});
}

TEST(ReportJsonTest, OwnWaitsHaveTheirShareWhereItIsKnown) {
  profile::Profile profile = TwoLines().profile();
  EXPECT_EQ(JsonOf(profile)["own_waits"], Json::array());
  profile.mutable_session(0)->mutable_options()->set_unit_kind(profile::UNIT_KIND_WAIT);
  profile::OwnWait* wait = profile.mutable_session_end(0)->add_own_wait();
  wait->set_file("/src/app/a.cc");
  wait->set_line(9);
  wait->set_function("Lock()");
  wait->set_thread_group("io");
  wait->set_waited_ns(5000);
  Json expected = {
      {"name", "/src/app/a.cc:9@io"}, {"file", "/src/app/a.cc"}, {"line", 9},
      {"function", "Lock()"},         {"waited_ns", 5000},       {"time_share", nullptr},
      {"thread_group", "io"}};
  EXPECT_EQ(JsonOf(profile)["own_waits"], Json::array({expected}));
  profile::Thread* thread = profile.add_thread();
  thread->set_session(profile.session(0).id());
  thread->set_threads(1);
  thread->set_end_ns(20'000);
  expected["time_share"] = 0.25;
  EXPECT_EQ(JsonOf(profile)["own_waits"], Json::array({expected}));
}

TEST(ReportJsonTest, LinesPointToUnitsAndHoldTheirFigures) {
  const Json json = JsonOf(TwoLines().profile());
  EXPECT_EQ(json["schema"], "coz-report");
  EXPECT_EQ(json["schema_version"], kReportJsonSchemaVersion);
  EXPECT_EQ(json["notes"], Json::array({"a note"}));
  ASSERT_EQ(json["points"].size(), 1u);
  const Json& point = json["points"][0];
  EXPECT_EQ(point["name"], "requests");
  EXPECT_EQ(point["kind"], "throughput");
  const Json& line = point["lines"].at(0);
  EXPECT_EQ(json["units"][line["unit"].get<size_t>()]["name"], "/src/app/a.cc:5");
  EXPECT_EQ(line["verdict"], "faster");
  EXPECT_EQ(line["verdict_word"], "worth it");
  EXPECT_NEAR(line["slope"]["value"].get<double>(), 0.5, 0.05);
  EXPECT_LT(line["slope"]["low"].get<double>(), line["slope"]["high"].get<double>());
  EXPECT_LT(line["q_value"].get<double>(), 0.05);
  ASSERT_EQ(line["speedups"].size(), 10u);
  EXPECT_EQ(line["speedups"][4]["virtual_speedup"], 0.5);
  EXPECT_NEAR(line["speedups"][4]["achieved_virtual_speedup"].get<double>(), 0.5, 1e-9);
  EXPECT_EQ(line["curve"]["points"].size(), 21u);
  EXPECT_TRUE(line["curve"]["bend"].is_null());
  EXPECT_NE(line["verdict_sentence"].get<std::string>().find("speeds `requests` up"),
            std::string::npos);
  EXPECT_EQ(point["set_aside"][0]["reason"], "few_speedups");
  EXPECT_EQ(point["set_aside"][0]["missing_speedups"], 2);
}

TEST(ReportJsonTest, PointThatWasAddedTellsFromWhen) {
  profile::Profile profile = TwoLines().profile();
  profile::PointChange* change = profile.add_point_change();
  change->set_session(profile.session(0).id());
  change->set_point(profile.progress_point(0).id());
  change->set_at_ns(profile.experiment(2).start_ns());
  change->set_added(true);
  const Json point = JsonOf(profile)["points"][0];
  EXPECT_EQ(point["there"].at(0)["from_ns"], profile.experiment(2).start_ns());
  EXPECT_TRUE(point["there"][0]["to_ns"].is_null());
  EXPECT_EQ(point["experiments_without_it"], 2);
  EXPECT_EQ(point["experiments_with_few_visits"], 0);
}

TEST(ReportJsonTest, SessionAndTotalsAreThere) {
  profile::Profile profile = TwoLines().profile();
  profile.mutable_experiment(2)->mutable_validity()->add_taint()->set_reason(
      profile::Taint::LOST_SAMPLES);
  profile.mutable_session(0)->set_seed(std::numeric_limits<uint64_t>::max());
  const Json json = JsonOf(profile);
  const Json& session = json["sessions"].at(0);
  EXPECT_EQ(session["command"], Json::array({"./app", "--threads=2"}));
  EXPECT_EQ(session["seed"], "18446744073709551615");
  EXPECT_EQ(session["sampling_period_ns"], 1'000'000);
  EXPECT_EQ(session["end"]["reason"], "target_exited");
  EXPECT_EQ(json["totals"]["experiments"], 15);
  EXPECT_EQ(json["totals"]["experiments_not_used"], 1);
  EXPECT_EQ(json["totals"]["experiments_not_used_by_reason"]["lost_samples"], 1);
}

TEST(ReportJsonTest, SaysWhereThreadsSpinAndWhatThatHolds) {
  profile::Profile profile = TwoLines().profile();
  Json json = JsonOf(profile);
  EXPECT_EQ(json["totals"]["spinning_share"], 0);
  EXPECT_EQ(json["totals"]["freed_by_giving_up_cpus"], 0);
  EXPECT_FALSE(json["units"].at(1).contains("spinning_samples"));
  for (profile::Experiment& experiment : *profile.mutable_experiment()) {
    experiment.set_total_samples(100);
    experiment.mutable_validity()->set_spinning_samples(25);
    experiment.mutable_validity()->set_runnable_threads_average(50);
  }
  profile::SampleCounts* counts = profile.add_sample_counts();
  counts->set_session(profile.session(0).id());
  counts->add_spinning_unit_id(profile.unit(1).id());
  counts->add_spinning_unit_samples(7);
  json = JsonOf(profile);
  EXPECT_EQ(json["totals"]["spinning_share"], 0.25);
  EXPECT_EQ(json["totals"]["freed_by_giving_up_cpus"], 0.25);
  EXPECT_FALSE(json["units"].at(0).contains("spinning_samples"));
  EXPECT_EQ(json["units"].at(1)["spinning_samples"], 7);
}

TEST(ReportJsonTest, SessionSaysWhichSourceTookOver) {
  profile::Profile profile = TwoLines().profile();
  EXPECT_TRUE(JsonOf(profile)["sessions"].at(0)["source_change"].is_null());
  profile::SourceChange* change = profile.add_source_change();
  change->set_session(profile.session(0).id());
  change->set_at_ns(600'000'000);
  change->set_sampling_source(profile::SAMPLING_SOURCE_CPU_TIMER);
  EXPECT_EQ(JsonOf(profile)["sessions"].at(0)["source_change"],
            Json({{"at_ns", 600'000'000}, {"sampling_source", "cpu_timer"}}));
}

// A latency of 2 ms without speedup and 1.5 ms at 50 %, of numbered requests.
profile::Profile NumberedRequests() {
  report_testing::SyntheticOptions options;
  options.kind = profile::PROGRESS_POINT_KIND_LATENCY;
  options.latency_ns = 2e6;
  SyntheticProfile made(options, {{"/src/app/a.cc", 5, "A()", 0.5, 0.5, {}}});
  for (int i = 0; i < 4; ++i) made.AddExperiment(0, 0);
  for (int i = 1; i <= 10; ++i) made.AddExperiment(0, 0.1 * i);
  made.End();
  profile::Profile profile = made.profile();
  profile.mutable_progress_point(0)->set_counted_by("hardware breakpoint");
  profile.mutable_progress_point(0)->set_visit_cost_ns(9000);
  profile.mutable_progress_point(0)->set_breakpoint_slowdown(12.5);
  for (profile::Experiment& experiment : *profile.mutable_experiment()) {
    profile::PointCounts* counts = experiment.mutable_point(0);
    const uint64_t from_ns = experiment.virtual_speedup() == 0 ? 2'000'000 : 1'500'000;
    counts->add_latency_from_ns(from_ns);
    counts->add_latency_to_ns(from_ns + 1000);
    counts->add_latency_requests(100);
  }
  return profile;
}

TEST(ReportJsonTest, PairsHaveThroughputAndLatency) {
  const Json json = JsonOf(NumberedRequests());
  const Json& point = json["points"][0];
  EXPECT_EQ(point["counted_by"], "hardware breakpoint");
  EXPECT_EQ(point["visit_cost_ns"], 9000);
  EXPECT_EQ(point["breakpoint_slowdown"], 12.5);
  const Json& latency = point["latency"];
  EXPECT_NEAR(latency["mean_ns"].get<double>(), 2e6, 1e5);
  EXPECT_NEAR(latency["p50_ns"].get<double>(), 2'000'500, 1);
  EXPECT_NEAR(latency["p99_ns"].get<double>(), 2'000'990, 1);
  EXPECT_GT(latency["arrivals_per_second"].get<double>(), 0);
  EXPECT_GT(latency["departures_per_second"].get<double>(), 0);
  EXPECT_GT(latency["in_flight"].get<double>(), 0);
  EXPECT_EQ(latency["stable"], true);
  const Json& line = point["lines"].at(0);
  EXPECT_GT(line["slope"]["value"].get<double>(), 0.3) << "shorter latency is a gain";
  ASSERT_GT(line["speedups"].size(), 4u);
  EXPECT_NEAR(line["speedups"][4]["p50_ns"].get<double>(), 1'500'500, 1);
  EXPECT_NEAR(line["speedups"][4]["p99_ns"].get<double>(), 1'500'990, 1);
}

TEST(ReportJsonTest, VisitsOfPairsAreWhole) {
  profile::Profile profile = NumberedRequests();
  for (profile::Experiment& experiment : *profile.mutable_experiment()) {
    experiment.mutable_point(0)->set_arrivals(experiment.point(0).departures() + 1);
  }
  for (const Json& speedup : JsonOf(profile)["points"][0]["lines"].at(0)["speedups"]) {
    const auto visits = speedup["visits"].get<double>();
    EXPECT_EQ(visits, std::floor(visits));
  }
}

TEST(ReportJsonTest, PairsSayWhenTheyAreNotStable) {
  profile::Profile profile = NumberedRequests();
  for (profile::Experiment& experiment : *profile.mutable_experiment()) {
    profile::PointCounts* counts = experiment.mutable_point(0);
    counts->set_departures(counts->arrivals() / 2);
    counts->clear_latency_requests();
  }
  const Json json = JsonOf(profile);
  EXPECT_EQ(json["points"][0]["latency"]["stable"], false);
  EXPECT_TRUE(json["points"][0]["latency"]["p99_ns"].is_null());
}

TEST(ReportJsonTest, OtherPointsHaveNoLatency) {
  const Json json = JsonOf(TwoLines().profile());
  EXPECT_TRUE(json["points"][0]["latency"].is_null());
  EXPECT_FALSE(json["points"][0]["lines"][0]["speedups"][0].contains("p99_ns"));
}

TEST(ReportJsonTest, FiguresThatAreMissingAreNull) {
  profile::Profile profile = TwoLines().profile();
  profile.clear_session_end();
  const ExperimentTable table = BuildExperimentTable(profile);
  Analysis analysis = Analyze(profile, table);
  analysis.points.at(0).lines.at(0).slope.low = -std::numeric_limits<double>::infinity();
  const Json json = ReportJson(profile, table, analysis, {});
  EXPECT_TRUE(json["points"][0]["lines"][0]["slope"]["low"].is_null());
  EXPECT_TRUE(json["sessions"][0]["end"].is_null());
  EXPECT_EQ(Json::parse(JsonText(json)), json);
}

TEST(ReportJsonTest, IntervalsSayWhatIsInThemBesideChance) {
  profile::Profile profile = TwoLines().profile();
  const Json good = JsonOf(profile)["points"][0]["lines"][0];
  EXPECT_EQ(good["sure"], true);
  ASSERT_EQ(good["systematic"]["causes"].size(), 2u);
  EXPECT_EQ(good["systematic"]["causes"][0]["cause"], "method");
  EXPECT_EQ(good["systematic"]["causes"][1]["cause"], "ends");
  profile.mutable_session(0)->mutable_options()->set_attached_pid(4711);
  const Json attached = JsonOf(profile)["points"][0]["lines"][0]["systematic"]["causes"][1];
  EXPECT_NE(attached["sentence"].get<std::string>().find("`coz attach --experiment-length"),
            std::string::npos);
  EXPECT_LT(good["slope"]["low"].get<double>(), good["statistical_slope"]["low"].get<double>());
  for (profile::Experiment& experiment : *profile.mutable_experiment()) {
    experiment.mutable_validity()->set_runnable_threads_average(6);
  }
  const Json crowded = JsonOf(profile)["points"][0]["lines"][0];
  EXPECT_EQ(crowded["sure"], false);
  EXPECT_EQ(crowded["systematic"]["causes"][1]["cause"], "crowd");
  EXPECT_EQ(crowded["systematic"]["causes"][1]["doubt"], true);
  EXPECT_NE(crowded["verdict_sentence"].get<std::string>().find("; not sure: in 100 %"),
            std::string::npos);
}

TEST(ReportJsonTest, ASlopeThatMayBeAnythingIsNullWithAReason) {
  const profile::Profile profile = TwoLines().profile();
  const ExperimentTable table = BuildExperimentTable(profile);
  Analysis analysis = Analyze(profile, table);
  LineSetAside unknown;
  unknown.reason = SetAsideReason::kNotKnown;
  unknown.times_needed = 4;
  analysis.points.at(0).set_aside.insert(analysis.points[0].set_aside.begin(), unknown);
  const Json line = ReportJson(profile, table, analysis, {})["points"][0]["set_aside"][0];
  EXPECT_TRUE(line["slope"].is_null());
  EXPECT_EQ(line["reason"], "not_known");
  EXPECT_NE(line["sentence"].get<std::string>().find("not yet known"), std::string::npos);
}

TEST(ReportJsonTest, TextIsAsciiAndSurvivesBrokenUtf8) {
  profile::Profile profile = TwoLines().profile();
  profile.mutable_session(0)->set_command(0, "./gr\xc3\xb6\xff");
  const std::string text = JsonText(JsonOf(profile), 2);
  for (char c : text) ASSERT_TRUE(c == '\n' || (c >= ' ' && c <= '~'));
  EXPECT_EQ(Json::parse(text)["sessions"][0]["command"][0], "./gr\u00f6\ufffd");
}

TEST(ReportJsonTest, EmptyProfileHasEmptyLists) {
  const Json json = JsonOf({});
  EXPECT_TRUE(json["points"].empty());
  EXPECT_TRUE(json["units"].empty());
  EXPECT_TRUE(json["sessions"].empty());
}

}  // namespace
}  // namespace coz::report
