// One line of the program calls std::sort, which is a template and is inlined.
#include <algorithm>
#include <array>

#include "bench/accuracy/workload.h"

int main(int argc, char** argv) {
  workload::Program program(argc, argv);
  const uint64_t sorts = program.Times("sort", 20);
  const uint64_t check = program.Steps("check", 300);
  workload::UseCpu(0);
  std::array<uint64_t, 1000> original;
  uint64_t x = 1;
  for (uint64_t& value : original) {
    WORK(x, 3);
    value = x;
  }
  std::array<uint64_t, 1000> values;
  program.Start();
  while (program.Running()) {
    // clang-format off
    for (uint64_t i = 0; i < sorts; ++i) { values = original; std::sort(values.begin(), values.end()); x ^= values[0]; }  // LINE(sort)
    // clang-format on
    WORK(x, check);  // LINE(check)
    VISIT("sorts");
  }
  workload::Keep(x);
  return program.Finish();
}
