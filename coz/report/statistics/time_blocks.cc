#include "coz/report/statistics/time_blocks.h"

#include <algorithm>
#include <cstddef>
#include <tuple>
#include <vector>

#include "coz/report/statistics/statistics.h"

namespace coz::report {

std::vector<RateObservation> InBlocks(std::vector<TimedObservation> observations,
                                      double baselines_per_block) {
  const auto before = [](const TimedObservation& a, const TimedObservation& b) {
    return std::tie(a.sequence, a.start_ns) < std::tie(b.sequence, b.start_ns);
  };
  std::stable_sort(observations.begin(), observations.end(), before);
  std::vector<RateObservation> result;
  result.reserve(observations.size());
  int block = 0;
  size_t block_start = 0;
  double baselines = 0;
  bool first_of_sequence = true;
  for (size_t i = 0; i < observations.size(); ++i) {
    RateObservation& o = observations[i].observation;
    o.block = block;
    // A baseline of weight 2 is still one.
    if (IsBaseline(o)) baselines += std::min(o.weight, 1.0);
    result.push_back(o);
    const bool last =
        i + 1 == observations.size() || observations[i + 1].sequence != observations[i].sequence;
    if (!last && (observations[i].whole || baselines < baselines_per_block)) continue;
    if (last && baselines < baselines_per_block && !first_of_sequence) {
      // The rest of a sequence joins the block before it.
      for (size_t j = block_start; j <= i; ++j) result[j].block = block - 1;
    } else {
      ++block;
    }
    first_of_sequence = last;
    block_start = i + 1;
    baselines = 0;
  }
  return result;
}

}  // namespace coz::report
