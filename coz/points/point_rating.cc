#include "coz/points/point_rating.h"

#include <algorithm>
#include <cmath>

namespace coz::points {
namespace {

constexpr size_t kMinSlices = 4;
constexpr size_t kBlocks = 10;
// A rate that is 0 half of the time and double in the rest varies by 1.
constexpr double kMaxVariation = 1;
// Below this rate, experiments have to be made longer than half a second.
constexpr double kGoodVisitsPerSecond = 10;
// A function that is called rarely and regularly, and does no work, is likely a timer's: it is
// called whatever the load.
constexpr double kTimerVisitsPerSecond = 100;
constexpr double kTimerVariation = 0.01;
constexpr double kTimerSampleShare = 0.01;
constexpr double kTimerScore = 0.3;
// More visits tell no more, and are more likely to be of parts.
constexpr double kManyVisitsPerSecond = 1000;
constexpr double kScorePerDecade = 0.15;
// Several threads at once may count for longer than the slice.
constexpr double kMinRestOfSlice = 0.05;

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

// At most kBlocks parts of the run, so that what a busy machine does to single slices evens out.
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

double Score(const PointRating& rating, double sample_share) {
  const bool is_timer = rating.visits_per_s < kTimerVisitsPerSecond &&
                        rating.variation < kTimerVariation && sample_share < kTimerSampleShare;
  // Steady functions first. One that does much of the work is more likely to be the unit of work
  // than its small parts, and so is one that is called less often: it calls the others.
  const double decades = std::log10(std::max(1.0, rating.visits_per_s / kManyVisitsPerSecond));
  return (0.1 + sample_share) / (1 + 4 * rating.variation) / (1 + kScorePerDecade * decades) *
         (is_timer ? kTimerScore : 1) * std::min(1.0, rating.visits_per_s / kGoodVisitsPerSecond);
}

}  // namespace

bool IsTooFrequent(const std::vector<VisitSlice>& slices, double visit_cost_ns, double share) {
  const Sums sums = Add(slices);
  return sums.visits * visit_cost_ns > share * sums.duration_ns;
}

PointRating RatePoint(const std::vector<VisitSlice>& all_slices, double sample_share,
                      double visit_cost_ns) {
  PointRating rating;
  const bool is_too_frequent = IsTooFrequent(all_slices, visit_cost_ns, kMaxCountingShare);
  if (is_too_frequent) rating.fitness = PointFitness::kTooFrequent;
  const std::vector<VisitSlice> slices = WithoutSetUp(all_slices);
  const Sums sums = Add(slices);
  if (slices.size() < kMinSlices || sums.duration_ns <= 0) return rating;
  rating.visits_per_s = sums.visits / sums.duration_ns * 1e9;
  if (rating.visits_per_s < kMinVisitsPerSecond) {
    rating.fitness = PointFitness::kTooRare;
    return rating;
  }
  rating.variation = Variation(Blocks(slices), sums);
  if (rating.variation > kMaxVariation) {
    rating.fitness = PointFitness::kUnsteady;
  } else if (!is_too_frequent) {
    rating.fitness = PointFitness::kFit;
  }
  rating.score = Score(rating, sample_share);
  // The score falls with the cost of counting. What costs too much is marked instead.
  if (!is_too_frequent) rating.score *= 1 - rating.visits_per_s * visit_cost_ns / 1e9;
  return rating;
}

VisitSlice WithoutCounting(const VisitSlice& slice, double counting_ns) {
  const double duration_ns = static_cast<double>(slice.duration_ns);
  const double rest_ns = std::max(duration_ns - counting_ns, kMinRestOfSlice * duration_ns);
  return {slice.visits, static_cast<uint64_t>(rest_ns)};
}

double CountingShare(double visits_per_s, double visit_cost_ns) {
  const double counting_s = visits_per_s * visit_cost_ns / 1e9;
  return counting_s / (1 + counting_s);
}

std::vector<size_t> RankPoints(const std::vector<PointRating>& ratings, PointFitness fitness) {
  std::vector<size_t> order;
  for (size_t i = 0; i < ratings.size(); ++i) {
    if (ratings[i].fitness == fitness && ratings[i].score > 0) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(),
                   [&ratings](size_t a, size_t b) { return ratings[a].score > ratings[b].score; });
  return order;
}

}  // namespace coz::points
