// Deals the speedups of one unit's experiments in random order, so that each share comes out
// exactly and soon.
//
// Shape    an endless sequence: in every block of `block` experiments one baseline, at a random
//          place; the others take the given speedups in random order, each once before any comes
//          again. The larger half and the smaller half take turns, the larger first: large
//          speedups tell a slope best, and a line that has had few experiments has had one
// Units    fractions
// Errors   none
// Threads  compatible
// Signals  none
// Source   permuted-block randomization, as in clinical trials. Independent draws have the same
//          shares in the long run, but in a run of 20 s leave some lines without baseline or with
//          the same speedup three times
#ifndef COZ_EXPERIMENT_SPEEDUP_DECK_H_
#define COZ_EXPERIMENT_SPEEDUP_DECK_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "coz/base/random.h"

namespace coz::experiment {

// Experiments of a unit.
struct Dealt {
  uint64_t baselines = 0;
  uint64_t others = 0;
};

class SpeedupDeck {
 public:
  // `block` 0: no baselines but those in `speedups`, which must not be empty.
  SpeedupDeck(std::vector<double> speedups, uint64_t block);

  double Next(Random& random);

  // Before the first: goes on where earlier runs of the program have ended with the unit, so that
  // runs of one experiment each have their baselines, too.
  void GoOn(const Dealt& before, Random& random);

 private:
  // Some of the speedups, in order. Those before `next` have been dealt in this round.
  struct Part {
    std::vector<double> speedups;
    size_t next = 0;

    bool is_dealt() const { return next == speedups.size(); }
    double Deal(Random& random);
  };
  // Its two parts take turns, so that few experiments tell of all of a curve.
  struct Half {
    Part parts[2];

    bool is_dealt() const { return parts[0].is_dealt() && parts[1].is_dealt(); }
    double Deal(Random& random);
  };
  static Half HalfOf(const std::vector<double>& sorted, size_t begin, size_t end);

  Half larger_;
  Half smaller_;
  bool larger_is_next_ = true;
  uint64_t block_;
  uint64_t dealt_in_block_ = 0;
  uint64_t baseline_at_ = 0;
  bool goes_on_ = false;  // the place of this block's baseline is known
};

}  // namespace coz::experiment

#endif  // COZ_EXPERIMENT_SPEEDUP_DECK_H_
