// The library that the program `plugin` opens.
#include "bench/accuracy/workload.h"

extern "C" uint64_t ApplyFilter(uint64_t x, uint64_t steps) {
  WORK(x, steps);  // LINE(filter)
  return x;
}
