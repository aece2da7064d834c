// An OpenMP loop of six threads on two CPUs, then serial work.
#include "bench/accuracy/workload.h"

int main(int argc, char** argv) {
  constexpr int kThreads = 6;
  workload::Program program(argc, argv);
  const uint64_t loop = program.Steps("loop", 1000);
  const uint64_t serial = program.Steps("serial", 1500);
  workload::ShareCpus(2);
  program.Start();
  uint64_t sum = 1;
  while (program.Running()) {
#pragma omp parallel for num_threads(kThreads) schedule(static) reduction(^ : sum)
    for (int i = 0; i < 2 * kThreads; ++i) {
      uint64_t x = static_cast<uint64_t>(i) + 1;
      WORK(x, loop);  // LINE(loop)
      sum ^= x;
    }
    WORK(sum, serial);  // LINE(serial)
    VISIT("loops");
  }
  workload::Keep(sum);
  return program.Finish();
}
