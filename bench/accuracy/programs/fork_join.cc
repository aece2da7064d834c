// Each round makes a thread for the shorter half of the work, and joins it after the longer half.
#include "bench/accuracy/workload.h"

int main(int argc, char** argv) {
  workload::Program program(argc, argv);
  const uint64_t long_half = program.Steps("long_half", 1000);
  const uint64_t short_half = program.Steps("short_half", 700);
  workload::UseCpu(0);
  program.Start();
  uint64_t x = 1;
  uint64_t y = 2;
  while (program.Running()) {
    workload::Thread other(1, [&] {
      WORK(y, short_half);  // LINE(short_half)
    });
    WORK(x, long_half);  // LINE(long_half)
    other.join();
    VISIT("rounds");
  }
  workload::Keep(x ^ y);
  return program.Finish();
}
