// Rounds of two threads that wait for each other with C++20's std::atomic::wait.
#include <atomic>

#include "bench/accuracy/workload.h"

namespace {

// Opened by Post; Wait passes and closes it.
class Gate {
 public:
  void Post() {
    open_.store(1, std::memory_order_release);
    open_.notify_one();
  }
  void Wait() {
    open_.wait(0, std::memory_order_acquire);
    open_.store(0, std::memory_order_relaxed);
  }

 private:
  std::atomic<int> open_{0};
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
