// A writer and a reader share a reader-writer lock. The reader's items are counted.
#include <mutex>
#include <shared_mutex>

#include "bench/accuracy/workload.h"

int main(int argc, char** argv) {
  workload::Program program(argc, argv);
  const uint64_t update = program.Steps("update", 900);
  const uint64_t lookup = program.Steps("lookup", 400);
  const uint64_t writer_outside = program.OtherSteps(300);
  const uint64_t reader_outside = program.OtherSteps(400);
  std::shared_mutex mutex;
  uint64_t shared = 1;
  program.Start();
  workload::Thread writer(1, [&] {
    uint64_t x = 1;
    while (program.Running()) {
      {
        const std::unique_lock<std::shared_mutex> lock(mutex);
        WORK(shared, update);  // LINE(update)
      }
      WORK(x, writer_outside);
    }
    workload::Keep(x);
  });
  workload::UseCpu(0);
  uint64_t x = 1;
  while (program.Running()) {
    {
      const std::shared_lock<std::shared_mutex> lock(mutex);
      x ^= shared;
      WORK(x, lookup);  // LINE(lookup)
    }
    WORK(x, reader_outside);
    VISIT("items");
  }
  writer.join();
  workload::Keep(x);
  return program.Finish();
}
