// In each round a future runs beside work of the thread that waits for it. Then that thread works
// alone.
#include <future>

#include "bench/accuracy/workload.h"

int main(int argc, char** argv) {
  workload::Program program(argc, argv);
  const uint64_t task_steps = program.Steps("task", 800);
  const uint64_t beside = program.Steps("beside", 500);
  const uint64_t after = program.Steps("after", 200);
  program.Start();
  workload::UseCpu(0);
  uint64_t x = 1;
  while (program.Running()) {
    // This does what std::async does, but on a CPU of its own.
    std::packaged_task<uint64_t()> task([task_steps] {
      uint64_t y = 1;
      WORK(y, task_steps);  // LINE(task)
      return y;
    });
    std::future<uint64_t> future = task.get_future();
    workload::Thread thread(1, [&task] { task(); });
    WORK(x, beside);  // LINE(beside)
    x ^= future.get();
    thread.join();
    WORK(x, after);  // LINE(after)
    VISIT("rounds");
  }
  workload::Keep(x);
  return program.Finish();
}
