#include "coz/experiment/speedup_deck.h"

#include <algorithm>
#include <utility>

namespace coz::experiment {

SpeedupDeck::SpeedupDeck(std::vector<double> speedups, uint64_t block) : block_(block) {
  std::sort(speedups.begin(), speedups.end());
  const auto middle = speedups.begin() + static_cast<std::ptrdiff_t>(speedups.size() / 2);
  smaller_.speedups.assign(speedups.begin(), middle);
  larger_.speedups.assign(middle, speedups.end());
}

// One step of the Fisher-Yates shuffle.
double SpeedupDeck::Half::Deal(Random& random) {
  const size_t left = speedups.size() - next;
  std::swap(speedups[next], speedups[next + random.Below(left)]);
  return speedups[next++];
}

double SpeedupDeck::Next(Random& random) {
  if (block_ != 0) {
    if (dealt_in_block_ == 0) baseline_at_ = random.Below(block_);
    const uint64_t place = dealt_in_block_;
    dealt_in_block_ = (dealt_in_block_ + 1) % block_;
    if (place == baseline_at_) return 0;
  }
  if (larger_.is_dealt() && smaller_.is_dealt()) {
    larger_.next = 0;
    smaller_.next = 0;
    larger_is_next_ = true;
  }
  Half& half = larger_is_next_ || smaller_.is_dealt() ? larger_ : smaller_;
  larger_is_next_ = !larger_is_next_;
  return half.Deal(random);
}

}  // namespace coz::experiment
