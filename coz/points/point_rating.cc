#include "coz/points/point_rating.h"

#include <algorithm>
#include <cmath>

namespace coz {
namespace {

constexpr size_t kMinSlices = 4;
constexpr size_t kBlocks = 10;
// A rate that is half of the time zero, and double in the other, varies by 1.
constexpr double kMaxVariation = 1;
// Below this rate, experiments have to be made longer than half a second.
constexpr double kGoodVisitsPerSecond = 10;

struct Sums {
  double visits = 0;
  double duration_ns = 0;
};

Sums Add(const std::vector<VisitSlice>& slices) {
  Sums sums;
  for (const VisitSlice& slice : slices) {
    sums.visits += static_cast<double>(slice.visits);
    sums.duration_ns += static_cast<double>(slice.duration_ns);
  }
  return sums;
}

std::vector<VisitSlice> WithoutSetUp(const std::vector<VisitSlice>& slices) {
  const auto first = std::find_if(slices.begin(), slices.end(),
                                  [](const VisitSlice& slice) { return slice.visits != 0; });
  const bool is_set_up = first - slices.begin() <= slices.end() - first;
  return {is_set_up ? first : slices.begin(), slices.end()};
}

// At most kBlocks parts of the run: what a busy machine does to single slices says nothing of the program.
std::vector<VisitSlice> Blocks(const std::vector<VisitSlice>& slices) {
  const size_t count = std::min(kBlocks, slices.size());
  std::vector<VisitSlice> blocks(count);
  for (size_t i = 0; i < slices.size(); ++i) {
    VisitSlice& block = blocks[i * count / slices.size()];
    block.visits += slices[i].visits;
    block.duration_ns += slices[i].duration_ns;
  }
  return blocks;
}

double Variation(const std::vector<VisitSlice>& slices, const Sums& sums) {
  double squares = 0;
  double expected_squares = 0;
  for (const VisitSlice& slice : slices) {
    const double expected = sums.visits * static_cast<double>(slice.duration_ns) / sums.duration_ns;
    const double difference = static_cast<double>(slice.visits) - expected;
    squares += difference * difference;
    expected_squares += expected * expected;
  }
  return std::sqrt(std::max(0.0, squares - sums.visits) / expected_squares);
}

}  // namespace

bool IsTooFrequent(const std::vector<VisitSlice>& slices, double visit_cost_ns, double share) {
  const Sums sums = Add(slices);
  return sums.visits * visit_cost_ns > share * sums.duration_ns;
}

PointRating RatePoint(const std::vector<VisitSlice>& all_slices, double sample_share,
                      double visit_cost_ns) {
  PointRating rating;
  if (IsTooFrequent(all_slices, visit_cost_ns, kMaxCountingShare)) {
    rating.fitness = PointFitness::kTooFrequent;
    return rating;
  }
  const std::vector<VisitSlice> slices = WithoutSetUp(all_slices);
  const Sums sums = Add(slices);
  if (slices.size() < kMinSlices || sums.duration_ns <= 0) return rating;
  rating.visits_per_s = sums.visits / sums.duration_ns * 1e9;
  if (rating.visits_per_s < kMinVisitsPerSecond) {
    rating.fitness = PointFitness::kTooRare;
    return rating;
  }
  rating.variation = Variation(Blocks(slices), sums);
  rating.fitness = rating.variation > kMaxVariation ? PointFitness::kUnsteady : PointFitness::kFit;
  // Steady first. A function that much of the work is done in is more likely to be the unit of work than one of its small parts.
  rating.score = (0.1 + sample_share) / (1 + 4 * rating.variation) *
                 std::min(1.0, rating.visits_per_s / kGoodVisitsPerSecond) *
                 (1 - rating.visits_per_s * visit_cost_ns / 1e9);
  return rating;
}

std::vector<size_t> RankPoints(const std::vector<PointRating>& ratings) {
  std::vector<size_t> order;
  for (size_t i = 0; i < ratings.size(); ++i) {
    if (ratings[i].fitness == PointFitness::kFit) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(),
                   [&ratings](size_t a, size_t b) { return ratings[a].score > ratings[b].score; });
  return order;
}

}  // namespace coz
