// Rounds of two threads that spin until the other has arrived.
#include <atomic>

#include "bench/accuracy/programs/rounds.h"

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

int main(int argc, char** argv) { return rounds::RunRounds<Gate>(argc, argv, 700, 1000); }
