// One line of a template that is inlined into several places. Its samples are those of all these
// places.
#include <atomic>

#include "bench/accuracy/workload.h"

namespace {

template <int kSeed>
inline uint64_t Mix(uint64_t x, uint64_t steps) {
  x += kSeed;
  WORK(x, steps);  // LINE(mix)
  return x;
}

}  // namespace

int main(int argc, char** argv) {
  workload::Program program(argc, argv);
  const uint64_t mix = program.Steps("mix", 200);
  const uint64_t other = program.Steps("other", 400);
  workload::UseCpu(0);
  program.Start();
  uint64_t x = 1;
  while (program.Running()) {
    x = Mix<1>(x, mix);
    x = Mix<2>(Mix<3>(x, mix), mix);
    WORK(x, other);  // LINE(other)
    VISIT("items");
  }
  workload::Keep(x);
  return program.Finish();
}
