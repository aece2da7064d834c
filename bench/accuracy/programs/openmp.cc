// An OpenMP loop whose first half takes longer. The threads meet at the loop's barrier.
#include <omp.h>

#include "bench/accuracy/workload.h"

int main(int argc, char** argv) {
  workload::Program program(argc, argv);
  const uint64_t dear = program.Steps("dear", 100);
  const uint64_t cheap = program.Steps("cheap", 70);
  constexpr int kIterations = 40;
  uint64_t sum = 1;
#pragma omp parallel num_threads(2)
  workload::UseCpu(omp_get_thread_num());
  program.Start();
  while (program.Running()) {
#pragma omp parallel for num_threads(2) schedule(static) reduction(^ : sum)
    for (int i = 0; i < kIterations; ++i) {
      uint64_t x = static_cast<uint64_t>(i) + 1;
      if (i < kIterations / 2) {
        WORK(x, dear);  // LINE(dear)
      } else {
        WORK(x, cheap);  // LINE(cheap)
      }
      sum ^= x;
    }
    VISIT("loops");
  }
#pragma omp parallel num_threads(2)
  if (omp_get_thread_num() == 1) workload::AddWaitForCpu();
  workload::Keep(sum);
  return program.Finish();
}
