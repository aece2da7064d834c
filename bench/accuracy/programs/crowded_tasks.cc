// oneTBB's tasks in an arena of six threads on two CPUs, and work between two groups of them.
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include "bench/accuracy/workload.h"

int main(int argc, char** argv) {
  constexpr int kThreads = 6;
  constexpr int kTasks = 24;
  workload::Program program(argc, argv);
  const uint64_t task = program.Steps("task", 500);
  const uint64_t between = program.Steps("between", 1500);
  workload::ShareCpus(2);
  // Without this oneTBB makes no more threads than there are CPUs.
  const tbb::global_control threads(tbb::global_control::max_allowed_parallelism, kThreads);
  tbb::task_arena arena(kThreads);
  program.Start();
  uint64_t x = 1;
  while (program.Running()) {
    arena.execute([task] {
      tbb::parallel_for(0, kTasks, [task](int i) {
        uint64_t y = static_cast<uint64_t>(i) + 1;
        WORK(y, task);  // LINE(task)
        workload::Keep(y);
      });
    });
    WORK(x, between);  // LINE(between)
    VISIT("groups");
  }
  workload::Keep(x);
  return program.Finish();
}
