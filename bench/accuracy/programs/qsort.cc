// libc's qsort calls back into the program: the time is in the comparison.
#include <cstdlib>
#include <cstring>

#include "bench/accuracy/workload.h"

namespace {

constexpr size_t kCount = 64;
uint64_t g_compare_steps;
uint64_t g_hash;

int Compare(const void* a, const void* b) {
  WORK(g_hash, g_compare_steps);  // LINE(compare)
  const uint64_t left = *static_cast<const uint64_t*>(a);
  const uint64_t right = *static_cast<const uint64_t*>(b);
  return left < right ? -1 : left > right;
}

}  // namespace

int main(int argc, char** argv) {
  workload::Program program(argc, argv);
  g_compare_steps = program.Steps("compare", 2);
  const uint64_t check = program.Steps("check", 400);
  workload::UseCpu(0);
  uint64_t original[kCount];
  uint64_t x = 1;
  for (uint64_t& value : original) {
    WORK(x, 3);
    value = x;
  }
  program.Start();
  while (program.Running()) {
    uint64_t values[kCount];
    memcpy(values, original, sizeof(values));
    qsort(values, kCount, sizeof(values[0]), Compare);
    x ^= values[0];
    WORK(x, check);  // LINE(check)
    VISIT("sorts");
  }
  workload::Keep(x ^ g_hash);
  return program.Finish();
}
