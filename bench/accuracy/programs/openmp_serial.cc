// An OpenMP region, then serial work. The thread that starts the region has the longer share of it.
#include <omp.h>

#include "bench/accuracy/workload.h"

int main(int argc, char** argv) {
  workload::Program program(argc, argv);
  const uint64_t starter = program.Steps("starter", 900);
  const uint64_t helper = program.Steps("helping", 600);
  const uint64_t serial = program.Steps("serial", 300);
  uint64_t sum = 1;
#pragma omp parallel num_threads(2)
  workload::UseCpu(omp_get_thread_num());
  program.Start();
  while (program.Running()) {
#pragma omp parallel num_threads(2) reduction(^ : sum)
    {
      uint64_t x = 1;
      if (omp_get_thread_num() == 0) {
        WORK(x, starter);  // LINE(starter)
      } else {
        WORK(x, helper);  // LINE(helping)
      }
      sum ^= x;
    }
    WORK(sum, serial);  // LINE(serial)
    VISIT("regions");
  }
#pragma omp parallel num_threads(2)
  if (omp_get_thread_num() == 1) workload::AddWaitForCpu();
  workload::Keep(sum);
  return program.Finish();
}
