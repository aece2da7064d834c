// What displaced instructions need in order to run: registers that have to be small, memory beside
// the code that they name.
//
// Shape    of one place's instructions together
// Units    runtime addresses
// Errors   none: the bytes were decoded before
// Threads  safe
// Signals  none
// Source   Intel SDM volume 2; Zydis
#ifndef COZ_BENCH_PATCH_DISPLACED_NEEDS_H_
#define COZ_BENCH_PATCH_DISPLACED_NEEDS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "bench/patch/start_state.h"

namespace coz::bench {

struct DisplacedNeeds {
  Wishes wishes;
  std::vector<uint64_t> named_memory;  // by operands relative to the instruction pointer
  bool varies = false;                 // it gives another result each time
  uint64_t set_flags = 0;              // whatever they were before
};

DisplacedNeeds NeedsOf(const std::vector<uint8_t>& displaced, uint64_t address);

}  // namespace coz::bench

#endif  // COZ_BENCH_PATCH_DISPLACED_NEEDS_H_
