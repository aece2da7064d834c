// Rounds of two threads that spin until the other has arrived.
#include <atomic>

#include "bench/accuracy/workload.h"

namespace {

class Gate {
 public:
  void Post() { open_.store(true, std::memory_order_release); }
  void Wait() {
    while (!open_.load(std::memory_order_acquire)) __builtin_ia32_pause();
    open_.store(false, std::memory_order_relaxed);
  }

 private:
  std::atomic<bool> open_{false};
};

}  // namespace

int main(int argc, char** argv) {
  workload::Program program(argc, argv);
  const uint64_t leader = program.Steps("leader", 700);
  const uint64_t helper = program.Steps("helper", 1000);
  Gate start;
  Gate done;
  std::atomic<bool> stop{false};
  program.Start();
  workload::Thread other(1, [&] {
    uint64_t x = 1;
    while (start.Wait(), !stop) {
      WORK(x, helper);  // LINE(helper)
      done.Post();
    }
    workload::Keep(x);
  });
  workload::UseCpu(0);
  uint64_t x = 1;
  while (program.Running()) {
    start.Post();
    WORK(x, leader);  // LINE(leader)
    done.Wait();
    VISIT("rounds");
  }
  stop = true;
  start.Post();
  other.join();
  workload::Keep(x);
  return program.Finish();
}
