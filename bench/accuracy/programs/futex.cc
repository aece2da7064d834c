// Rounds of two threads that wait by calling futex(2) themselves, as Rust's and absl's locks do.
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>

#include "bench/accuracy/workload.h"

namespace {

class Gate {
 public:
  void Post() {
    open_.store(1, std::memory_order_release);
    syscall(SYS_futex, &open_, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
  }
  void Wait() {
    while (open_.load(std::memory_order_acquire) == 0) {
      syscall(SYS_futex, &open_, FUTEX_WAIT_PRIVATE, 0, nullptr, nullptr, 0);
    }
    open_.store(0, std::memory_order_relaxed);
  }

 private:
  std::atomic<int> open_{0};
};

}  // namespace

int main(int argc, char** argv) {
  workload::Program program(argc, argv);
  const uint64_t leader = program.Steps("leader", 1000);
  const uint64_t helper = program.Steps("helper", 700);
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
