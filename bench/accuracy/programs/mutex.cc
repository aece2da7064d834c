// Two threads contend for a mutex that is held most of the time.
#include <mutex>

#include "bench/accuracy/workload.h"

int main(int argc, char** argv) {
  workload::Program program(argc, argv);
  const uint64_t inside = program.Steps("inside", 600);
  const uint64_t outside = program.Steps("outside", 400);
  std::mutex mutex;
  uint64_t shared = 1;
  const auto loop = [&] {
    uint64_t x = 1;
    while (program.Running()) {
      {
        const std::lock_guard<std::mutex> lock(mutex);
        WORK(shared, inside);  // LINE(inside)
      }
      WORK(x, outside);  // LINE(outside)
      VISIT("items");
    }
    workload::Keep(x);
  };
  program.Start();
  workload::Thread first(0, loop);
  workload::Thread second(1, loop);
  first.join();
  second.join();
  return program.Finish();
}
