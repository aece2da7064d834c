// Rounds of two threads that wait for each other by calls of futex(2), as Rust's and absl's locks
// do.
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>

#include "bench/accuracy/programs/rounds.h"

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

int main(int argc, char** argv) { return rounds::RunRounds<Gate>(argc, argv, 1000, 700); }
