// All threads contend for a mutex that one of them holds nearly all the time.
#include <list>
#include <mutex>

#include "bench/accuracy/workload.h"

int main(int argc, char** argv) {
  workload::Program program(argc, argv);
  const uint64_t inside = program.Steps("inside", 500.0 / program.Threads());
  const uint64_t outside = program.Steps("outside", 500);
  std::mutex mutex;
  uint64_t shared = 1;
  program.Start();
  std::list<workload::Thread> threads;
  for (int i = 0; i < program.Threads(); ++i) {
    threads.emplace_back(i, [&] {
      uint64_t x = 1;
      while (program.Running()) {
        WORK(x, outside);  // LINE(outside)
        {
          const std::lock_guard<std::mutex> lock(mutex);
          WORK(shared, inside);  // LINE(inside)
        }
        VISIT("items");
      }
      workload::Keep(x);
    });
  }
  for (workload::Thread& thread : threads) thread.join();
  return program.Finish();
}
