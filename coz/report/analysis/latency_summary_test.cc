#include "coz/report/analysis/latency_summary.h"

#include <cmath>

#include "gtest/gtest.h"

namespace coz::report {
namespace {

profile::Profile OneExperiment(uint64_t arrivals, uint64_t departures, double in_flight) {
  profile::Profile profile;
  profile.add_session()->set_id(1);
  profile::Unit* unit = profile.add_unit();
  unit->set_session(1);
  unit->set_id(1);
  profile::ProgressPoint* point = profile.add_progress_point();
  point->set_session(1);
  point->set_id(1);
  point->set_name("order");
  point->set_kind(profile::PROGRESS_POINT_KIND_LATENCY);
  profile::Experiment* experiment = profile.add_experiment();
  experiment->set_session(1);
  experiment->set_selected_unit(1);
  experiment->set_effective_duration_ns(2'000'000'000);
  profile::PointCounts* counts = experiment->add_point();
  counts->set_point(1);
  counts->set_arrivals(arrivals);
  counts->set_departures(departures);
  counts->set_in_flight_average(in_flight);
  return profile;
}

LatencySummary Summarize(const profile::Profile& profile) {
  const ExperimentTable table = BuildExperimentTable(profile);
  return SummarizeLatency(table, 0);
}

TEST(LatencySummaryTest, MeanIsThatOfLittlesLaw) {
  const LatencySummary summary = Summarize(OneExperiment(200, 200, 0.5));
  EXPECT_DOUBLE_EQ(summary.mean_ns, 5e6);
  EXPECT_DOUBLE_EQ(summary.arrivals_per_second, 100);
  EXPECT_TRUE(std::isnan(summary.p99_ns));
  EXPECT_FALSE(IsUnstable(summary));
}

TEST(LatencySummaryTest, SaysWhetherTheNumberUnderWayIsExact) {
  profile::Profile profile = OneExperiment(200, 200, 0.5);
  EXPECT_TRUE(Summarize(profile).by_looks);
  profile.mutable_experiment(0)->mutable_point(0)->set_in_flight_by_times(true);
  EXPECT_FALSE(Summarize(profile).by_looks);
}

TEST(LatencySummaryTest, SaysWhatLooksDo) {
  profile::Profile profile = OneExperiment(600, 600, 0.5);
  const LatencySummary summary = Summarize(profile);
  // Ten times 2 ms, of half of two seconds.
  EXPECT_NEAR(summary.looks_error, 0.02, 1e-9);
  EXPECT_NE(ErrorOfLooks(summary).find("uncertain by 2 %;"), std::string::npos)
      << ErrorOfLooks(summary);
  profile.mutable_experiment(0)->mutable_point(0)->set_in_flight_evened_out(true);
  EXPECT_NE(ErrorOfLooks(Summarize(profile)).find("come out too small"), std::string::npos);
  profile.mutable_experiment(0)->mutable_point(0)->set_in_flight_by_times(true);
  EXPECT_EQ(ErrorOfLooks(Summarize(profile)), "");
}

TEST(LatencySummaryTest, ErrorOfLooksIsAPlainPercentage) {
  const auto said = [](double error) {
    LatencySummary summary;
    summary.by_looks = true;
    summary.looks_error = error;
    const std::string text = ErrorOfLooks(summary);
    const size_t from = text.find("uncertain by ") + 13;
    return text.substr(from, text.find(';') - from);
  };
  EXPECT_EQ(said(0.0051), "0.51 %");
  EXPECT_EQ(said(0.098), "9.8 %");
  EXPECT_EQ(said(0.4321), "43 %");
  EXPECT_EQ(said(1), "100 %");
  EXPECT_EQ(said(2.7), "more than 100 %");
  EXPECT_EQ(said(40), "more than 100 %");
}

TEST(LatencySummaryTest, OneVisitOfDifferenceIsNoBacklog) {
  EXPECT_FALSE(IsUnstable(Summarize(OneExperiment(23, 22, 0.3))));
  EXPECT_FALSE(IsUnstable(Summarize(OneExperiment(23, 21, 0.3))));
  EXPECT_TRUE(IsUnstable(Summarize(OneExperiment(23, 12, 5))));
}

TEST(LatencySummaryTest, BacklogThatGrowsIsUnstable) {
  EXPECT_TRUE(IsUnstable(Summarize(OneExperiment(200, 150, 20))));
  EXPECT_FALSE(IsUnstable(Summarize(OneExperiment(150, 200, 20))));
}

TEST(LatencySummaryTest, EndThatIsNotThatOfTheBeginIsNoted) {
  EXPECT_NE(MismatchOf(Summarize(OneExperiment(975, 1951, 0))).find("1951 requests ended though"),
            std::string::npos);
  EXPECT_NE(MismatchOf(Summarize(OneExperiment(975, 3, 480))).find("and only 3 ended"),
            std::string::npos);
  EXPECT_EQ(MismatchOf(Summarize(OneExperiment(975, 975, 1))), "");
  EXPECT_EQ(MismatchOf(Summarize(OneExperiment(150, 200, 20))), "") << "a backlog that shrinks";
  EXPECT_EQ(MismatchOf(Summarize(OneExperiment(200, 150, 20))), "") << "or grows";
}

void AddFour(const profile::Experiment& one, profile::Profile* profile) {
  for (uint32_t i = 1; i <= 4; ++i) {
    profile::Experiment next = one;
    next.set_index(i);
    *profile->add_experiment() = next;
  }
}

TEST(LatencySummaryTest, FewExtraEndsAreNoted) {
  profile::Profile profile = OneExperiment(232, 244, 0);
  EXPECT_EQ(MismatchOf(Summarize(profile)), "") << "twelve may be chance";
  EXPECT_NE(ErrorOfLooks(Summarize(profile)), "");
  AddFour(profile.experiment(0), &profile);
  EXPECT_NE(MismatchOf(Summarize(profile)).find("1220 requests ended though only 1160 began"),
            std::string::npos)
      << MismatchOf(Summarize(profile));
  EXPECT_EQ(ErrorOfLooks(Summarize(profile)), "") << "looks are not what is wrong";
}

TEST(LatencySummaryTest, ABacklogThatShrinksInOneExperimentIsNoMismatch) {
  profile::Profile profile = OneExperiment(200, 300, 5);
  AddFour(OneExperiment(200, 200, 1).experiment(0), &profile);
  EXPECT_EQ(MismatchOf(Summarize(profile)), "");
}

void AddRequests(int from_us, uint32_t requests, profile::PointCounts* counts) {
  counts->add_latency_from_ns(static_cast<uint64_t>(from_us) * 1000);
  counts->add_latency_to_ns(static_cast<uint64_t>(from_us) * 1000 + 100);
  counts->add_latency_requests(requests);
}

TEST(LatencySummaryTest, RequestsThatNeverEndAreNoted) {
  profile::Profile leak = OneExperiment(1500, 1470, 60);
  EXPECT_EQ(MismatchOf(Summarize(leak)), "") << "may be a backlog";
  AddRequests(1800, 1440, leak.mutable_experiment(0)->mutable_point(0));
  AddRequests(5500, 30, leak.mutable_experiment(0)->mutable_point(0));
  EXPECT_NE(MismatchOf(Summarize(leak)).find("1500 requests began and 1470 ended"),
            std::string::npos);
}

TEST(LatencySummaryTest, RequestsThatWaitInABacklogEndLate) {
  profile::Profile overload = OneExperiment(1500, 1470, 60);
  AddRequests(30'000, 1440, overload.mutable_experiment(0)->mutable_point(0));
  AddRequests(80'000, 30, overload.mutable_experiment(0)->mutable_point(0));
  EXPECT_EQ(MismatchOf(Summarize(overload)), "");
}

TEST(LatencySummaryTest, WithoutBaselinesAllExperimentsAreLookedAt) {
  profile::Profile profile = OneExperiment(200, 150, 20);
  EXPECT_TRUE(Summarize(profile).has_baseline);
  profile.mutable_experiment(0)->set_virtual_speedup(0.5);
  EXPECT_FALSE(Summarize(profile).has_baseline);
  EXPECT_TRUE(IsUnstable(Summarize(profile)));
}

TEST(LatencySummaryTest, QuantilesAreThoseOfNumberedRequests) {
  profile::Profile profile = OneExperiment(100, 100, 1);
  profile::PointCounts* counts = profile.mutable_experiment(0)->mutable_point(0);
  for (const auto& [from, requests] : {std::pair<int, int>{1000, 90}, {5000, 8}, {9000, 2}}) {
    counts->add_latency_from_ns(static_cast<uint64_t>(from));
    counts->add_latency_to_ns(static_cast<uint64_t>(from) + 100);
    counts->add_latency_requests(static_cast<uint64_t>(requests));
  }
  const LatencySummary summary = Summarize(profile);
  EXPECT_NEAR(summary.median_ns, 1055, 1);
  EXPECT_NEAR(summary.p99_ns, 9050, 1);
}

}  // namespace
}  // namespace coz::report
