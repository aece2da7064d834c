#include "coz/experiment/speedup_deck.h"

#include <algorithm>
#include <utility>

namespace coz::experiment {

SpeedupDeck::Half SpeedupDeck::HalfOf(const std::vector<double>& sorted, size_t begin, size_t end) {
  const auto at = [&sorted](size_t i) { return sorted.begin() + static_cast<std::ptrdiff_t>(i); };
  constexpr size_t kWorthParting = 4;
  const size_t middle = end - begin < kWorthParting ? end : (begin + end) / 2;
  Half half;
  half.parts[0].speedups.assign(at(begin), at(middle));
  half.parts[1].speedups.assign(at(middle), at(end));
  return half;
}

SpeedupDeck::SpeedupDeck(std::vector<double> speedups, uint64_t block) : block_(block) {
  std::sort(speedups.begin(), speedups.end());
  const size_t middle = speedups.size() / 2;
  smaller_ = HalfOf(speedups, 0, middle);
  larger_ = HalfOf(speedups, middle, speedups.size());
}

// One step of the Fisher-Yates shuffle.
double SpeedupDeck::Part::Deal(Random& random) {
  const size_t left = speedups.size() - next;
  std::swap(speedups[next], speedups[next + random.Below(left)]);
  return speedups[next++];
}

// From the part that has dealt fewer; of equals, from either.
double SpeedupDeck::Half::Deal(Random& random) {
  if (parts[1].speedups.empty()) return parts[0].Deal(random);
  size_t part = random.Below(2);
  if (parts[0].next != parts[1].next) part = parts[0].next < parts[1].next ? 0 : 1;
  if (parts[part].is_dealt()) part = 1 - part;
  return parts[part].Deal(random);
}

void SpeedupDeck::GoOn(const Dealt& before, Random& random) {
  if (block_ == 0) return;
  const uint64_t all = before.baselines + before.others;
  const uint64_t due = all / block_;  // of the blocks before this one
  dealt_in_block_ = all % block_;
  goes_on_ = true;
  larger_is_next_ = before.others % 2 == 0;
  if (before.baselines > due) {
    baseline_at_ = block_;  // this one has had its own
  } else if (before.baselines < due) {
    baseline_at_ = dealt_in_block_;  // one that lacks its own comes first
  } else {
    baseline_at_ = dealt_in_block_ + random.Below(block_ - dealt_in_block_);
  }
}

double SpeedupDeck::Next(Random& random) {
  if (block_ != 0) {
    if (dealt_in_block_ == 0 && !goes_on_) baseline_at_ = random.Below(block_);
    goes_on_ = false;
    const uint64_t place = dealt_in_block_;
    dealt_in_block_ = (dealt_in_block_ + 1) % block_;
    if (place == baseline_at_) return 0;
  }
  if (larger_.is_dealt() && smaller_.is_dealt()) {
    for (Half* half : {&larger_, &smaller_}) {
      for (Part& part : half->parts) part.next = 0;
    }
    larger_is_next_ = true;
  }
  Half& half = larger_is_next_ || smaller_.is_dealt() ? larger_ : smaller_;
  larger_is_next_ = !larger_is_next_;
  return half.Deal(random);
}

}  // namespace coz::experiment
