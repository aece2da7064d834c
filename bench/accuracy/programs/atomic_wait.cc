// Rounds of two threads that wait for each other with C++20's std::atomic::wait.
#include <atomic>

#include "bench/accuracy/programs/rounds.h"

namespace {

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

int main(int argc, char** argv) { return rounds::RunRounds<Gate>(argc, argv, 700, 1000); }
