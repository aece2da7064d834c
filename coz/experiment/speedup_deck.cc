#include "coz/experiment/speedup_deck.h"

#include <utility>

namespace coz::experiment {

double SpeedupDeck::Next(Random& random) {
  if (block_ != 0) {
    if (dealt_in_block_ == 0) baseline_at_ = random.Below(block_);
    const uint64_t place = dealt_in_block_;
    dealt_in_block_ = (dealt_in_block_ + 1) % block_;
    if (place == baseline_at_) return 0;
  }
  // One step of the Fisher-Yates shuffle for each speedup dealt.
  const size_t left = speedups_.size() - next_speedup_;
  std::swap(speedups_[next_speedup_], speedups_[next_speedup_ + random.Below(left)]);
  const double speedup = speedups_[next_speedup_];
  next_speedup_ = (next_speedup_ + 1) % speedups_.size();
  return speedup;
}

}  // namespace coz::experiment
