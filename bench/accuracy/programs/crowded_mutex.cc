// Five threads on two CPUs, each with its own work and a little work under a common lock.
#include <atomic>
#include <mutex>

#include "bench/accuracy/workload.h"

int main(int argc, char** argv) {
  workload::Program program(argc, argv);
  const uint64_t outside = program.Steps("outside", 2000);
  const uint64_t inside = program.Steps("inside", 700);
  std::mutex mutex;
  uint64_t shared = 1;
  workload::ShareCpus(2);
  program.Start();
  const auto worker = [&] {
    uint64_t x = 1;
    while (program.Running()) {
      WORK(x, outside);  // LINE(outside)
      const std::lock_guard<std::mutex> lock(mutex);
      WORK(shared, inside);  // LINE(inside)
      VISIT("items");
    }
    workload::Keep(x);
  };
  workload::Thread first(workload::kAnyCpu, worker);
  workload::Thread second(workload::kAnyCpu, worker);
  workload::Thread third(workload::kAnyCpu, worker);
  workload::Thread fourth(workload::kAnyCpu, worker);
  worker();
  first.join();
  second.join();
  third.join();
  fourth.join();
  workload::Keep(shared);
  return program.Finish();
}
