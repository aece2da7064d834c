// Rounds of one future, beside work of the thread that gets it, then work of that thread alone.
#include <future>

#include "bench/accuracy/workload.h"

int main(int argc, char** argv) {
  workload::Program program(argc, argv);
  const uint64_t task = program.Steps("task", 800);
  const uint64_t beside = program.Steps("beside", 500);
  const uint64_t after = program.Steps("after", 200);
  program.Start();
  uint64_t x = 1;
  while (program.Running()) {
    std::future<uint64_t> future = std::async(std::launch::async, [task] {
      uint64_t y = 1;
      WORK(y, task);  // LINE(task)
      return y;
    });
    WORK(x, beside);  // LINE(beside)
    x ^= future.get();
    WORK(x, after);  // LINE(after)
    VISIT("rounds");
  }
  workload::Keep(x);
  return program.Finish();
}
