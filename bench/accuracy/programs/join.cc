// The main thread does nothing but wait for two threads of unequal length.
#include "bench/accuracy/workload.h"

int main(int argc, char** argv) {
  workload::Program program(argc, argv);
  const uint64_t slow = program.Steps("slow", 3000);
  const uint64_t fast = program.Steps("fast", 2000);
  // Not on the first thread's CPU, since that thread would preempt this one before it has made the
  // second.
  workload::UseCpu(1);
  program.Start();
  uint64_t x = 1;
  uint64_t y = 2;
  while (program.Running()) {
    workload::Thread first(0, [&] {
      WORK(x, slow);  // LINE(slow)
    });
    workload::Thread second(1, [&] {
      WORK(y, fast);  // LINE(fast)
    });
    first.join();
    second.join();
    VISIT("pairs");
  }
  workload::Keep(x ^ y);
  return program.Finish();
}
