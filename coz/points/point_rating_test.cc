#include "coz/points/point_rating.h"

#include "gtest/gtest.h"

namespace coz::points {
namespace {

constexpr double kCostNs = 10000;
constexpr uint64_t kSliceNs = 100'000'000;

std::vector<VisitSlice> Slices(const std::vector<uint64_t>& visits) {
  std::vector<VisitSlice> slices;
  slices.reserve(visits.size());
  for (const uint64_t n : visits) slices.push_back({n, kSliceNs});
  return slices;
}

PointRating Rate(const std::vector<uint64_t>& visits, double sample_share = 0.5) {
  return RatePoint(Slices(visits), sample_share, kCostNs);
}

TEST(PointRatingTest, SteadyFunctionIsFit) {
  const PointRating rating = Rate({50, 50, 50, 50, 50});
  EXPECT_EQ(rating.fitness, PointFitness::kFit);
  EXPECT_NEAR(rating.visits_per_s, 500, 1e-6);
  EXPECT_EQ(rating.variation, 0);
}

TEST(PointRatingTest, VariationIsThatOfTheRateWithoutChance) {
  // Deviations of 200 from 1000, of which chance explains 31.6.
  EXPECT_NEAR(RatePoint(Slices({1200, 800, 1200, 800}), 0.5, 1).variation, 0.1975, 0.0005);
  // Deviations of 4 from 16 are what chance makes.
  EXPECT_EQ(Rate({20, 12, 20, 12}).variation, 0);
  // The rate counts, not the number: this slice was twice as long.
  EXPECT_EQ(
      RatePoint({{10, kSliceNs}, {20, 2 * kSliceNs}, {10, kSliceNs}, {10, kSliceNs}}, 0.5, kCostNs)
          .variation,
      0);
}

TEST(PointRatingTest, SingleSlicesOfALongRunMayWaver) {
  std::vector<uint64_t> visits(40);
  for (size_t i = 0; i < visits.size(); i += 2) visits[i] = 100;
  EXPECT_EQ(Rate(visits).variation, 0);
}

TEST(PointRatingTest, SetUpFunctionIsUnsteady) {
  EXPECT_EQ(Rate({50, 20, 0, 0, 0, 0, 0, 0}).fitness, PointFitness::kUnsteady);
}

TEST(PointRatingTest, TearDownFunctionIsUnsteady) {
  EXPECT_EQ(Rate({0, 0, 0, 0, 0, 0, 20, 50}).fitness, PointFitness::kUnsteady);
}

TEST(PointRatingTest, SetUpBeforeTheFirstVisitDoesNotCount) {
  const PointRating rating = Rate({0, 0, 0, 0, 50, 50, 50, 50});
  EXPECT_EQ(rating.fitness, PointFitness::kFit);
  EXPECT_NEAR(rating.visits_per_s, 500, 1e-6);
}

TEST(PointRatingTest, FewerThanFiveVisitsASecondAreTooRare) {
  EXPECT_EQ(Rate({1, 0, 1, 0, 1, 0, 1, 0}).fitness, PointFitness::kFit);
  EXPECT_EQ(Rate({1, 0, 0, 1, 0, 0, 1, 0, 0}).fitness, PointFitness::kTooRare);
  EXPECT_EQ(Rate({0, 0, 0, 0, 0}).fitness, PointFitness::kTooRare);
}

TEST(PointRatingTest, MoreThanFivePercentOfACpuIsTooFrequent) {
  // At 10 us, 5 % are 500 visits in 100 ms.
  EXPECT_EQ(Rate({495, 495, 495, 495}).fitness, PointFitness::kFit);
  EXPECT_EQ(Rate({505, 505, 505, 505}).fitness, PointFitness::kTooFrequent);
  EXPECT_EQ(Rate({505, 0, 0, 0, 0, 0}).fitness, PointFitness::kUnsteady);
  EXPECT_TRUE(IsTooFrequent(Slices({5000}), kCostNs, 0.2));
  EXPECT_FALSE(IsTooFrequent(Slices({1000}), kCostNs, 0.2));
}

TEST(PointRatingTest, FewSlicesTellNothing) {
  EXPECT_EQ(Rate({}).fitness, PointFitness::kUnknown);
  EXPECT_EQ(Rate({50, 50, 50}).fitness, PointFitness::kUnknown);
}

TEST(PointRatingTest, SteadyFunctionsWithMuchOfTheWorkComeFirst) {
  const PointRating wavering = Rate({1, 99, 1, 99, 1, 99}, 0.9);
  const PointRating part = Rate({50, 50, 50, 50}, 0.1);
  const PointRating request = Rate({50, 50, 50, 50}, 0.8);
  const PointRating unfit = Rate({50, 0, 0, 0, 0, 0}, 1);
  EXPECT_EQ(RankPoints({unfit, part, wavering, request}, PointFitness::kFit),
            (std::vector<size_t>{3, 2, 1}));
}

TEST(PointRatingTest, OfTwoThatDoAllOfTheWorkTheCallerComesFirst) {
  const PointRating part = RatePoint(Slices({80000, 79000, 81000, 80000}), 0.8, 2);
  const PointRating request = RatePoint(Slices({80, 79, 81, 80}), 0.8, 2);
  EXPECT_EQ(RankPoints({part, request}, PointFitness::kFit), (std::vector<size_t>{1, 0}));
}

TEST(PointRatingTest, FrequentFunctionsAreRankedAmongThemselves) {
  const PointRating part = Rate({5000, 5000, 5000, 5000}, 0.1);
  const PointRating request = Rate({2000, 2000, 2000, 2000}, 0.8);
  const PointRating unknown = Rate({5000}, 1);
  const PointRating fit = Rate({50, 50, 50, 50}, 1);
  EXPECT_EQ(unknown.fitness, PointFitness::kTooFrequent);
  EXPECT_EQ(RankPoints({part, unknown, fit, request}, PointFitness::kTooFrequent),
            (std::vector<size_t>{3, 0}));
}

TEST(PointRatingTest, TimersComeBehindWorkOfTheSameShare) {
  const PointRating timer = Rate({1, 1, 1, 1, 1}, 0);
  const PointRating work = Rate({1, 2, 0, 1, 2, 1, 0, 1}, 0.02);
  const PointRating short_work = Rate({50, 60, 40, 50}, 0);
  EXPECT_EQ(RankPoints({timer, work, short_work}, PointFitness::kFit),
            (std::vector<size_t>{1, 2, 0}));
}

TEST(PointRatingTest, RateIsThatOfTheProgramThatIsNotCounted) {
  // 5,000 visits of 10 us took half of the 100 ms.
  EXPECT_EQ(WithoutCounting({5000, kSliceNs}, 5000 * kCostNs).duration_ns, kSliceNs / 2);
  EXPECT_EQ(WithoutCounting({20000, kSliceNs}, 20000 * kCostNs).duration_ns, kSliceNs / 20);
  EXPECT_NEAR(CountingShare(100000, kCostNs), 0.5, 1e-9);
}

}  // namespace
}  // namespace coz::points
