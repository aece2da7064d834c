// In each round four futures, each with its own thread, run beside work of the thread that waits
// for them. So there are five threads on two CPUs.
#include <future>
#include <vector>

#include "bench/accuracy/workload.h"

int main(int argc, char** argv) {
  constexpr int kFutures = 4;
  workload::Program program(argc, argv);
  const uint64_t task = program.Steps("task", 3000);
  const uint64_t own = program.Steps("own", 2000);
  workload::ShareCpus(2);
  program.Start();
  uint64_t x = 1;
  while (program.Running()) {
    std::vector<std::future<uint64_t>> futures;
    for (uint64_t i = 0; i < kFutures; ++i) {
      futures.push_back(std::async(std::launch::async, [task, i] {
        uint64_t y = i + 1;
        WORK(y, task);  // LINE(task)
        return y;
      }));
    }
    WORK(x, own);  // LINE(own)
    for (std::future<uint64_t>& future : futures) x ^= future.get();
    VISIT("rounds");
  }
  workload::Keep(x);
  return program.Finish();
}
