// An OpenMP loop of all threads, then serial work.
#include <omp.h>

#include "bench/accuracy/workload.h"

int main(int argc, char** argv) {
  workload::Program program(argc, argv);
  const int threads = program.Threads();
  const uint64_t loop = program.Steps("loop", 1000);
  const uint64_t serial = program.Steps("serial", 300);
  uint64_t sum = 1;
#pragma omp parallel num_threads(threads)
  workload::UseCpu(omp_get_thread_num());
  program.Start();
  while (program.Running()) {
#pragma omp parallel for num_threads(threads) schedule(static) reduction(^ : sum)
    for (int i = 0; i < threads; ++i) {
      uint64_t x = static_cast<uint64_t>(i) + 1;
      WORK(x, loop);  // LINE(loop)
      sum ^= x;
    }
    WORK(sum, serial);  // LINE(serial)
    VISIT("loops");
  }
#pragma omp parallel num_threads(threads)
  if (omp_get_thread_num() != 0) workload::AddWaitForCpu();
  workload::Keep(sum);
  return program.Finish();
}
