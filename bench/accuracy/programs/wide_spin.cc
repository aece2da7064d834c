// All threads meet at a barrier that spins. One of them has more work than the others.
#include <atomic>
#include <list>

#include "bench/accuracy/workload.h"

namespace {

class SpinBarrier {
 public:
  explicit SpinBarrier(int threads) : threads_(threads) {}

  void Wait() {
    const int generation = generation_.load(std::memory_order_acquire);
    if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == threads_) {
      arrived_.store(0, std::memory_order_relaxed);
      generation_.store(generation + 1, std::memory_order_release);
      return;
    }
    while (generation_.load(std::memory_order_acquire) == generation) __builtin_ia32_pause();
  }

 private:
  const int threads_;
  std::atomic<int> arrived_{0};
  std::atomic<int> generation_{0};
};

}  // namespace

int main(int argc, char** argv) {
  workload::Program program(argc, argv);
  const uint64_t heavy = program.Steps("heavy", 1000);
  const uint64_t light = program.Steps("light", 700);
  SpinBarrier barrier(program.Threads());
  std::atomic<bool> stop{false};
  program.Start();
  std::list<workload::Thread> helpers;
  for (int i = 1; i < program.Threads(); ++i) {
    helpers.emplace_back(i, [&] {
      uint64_t x = 1;
      while (!stop) {
        WORK(x, light);  // LINE(light)
        barrier.Wait();
        barrier.Wait();
      }
      workload::Keep(x);
    });
  }
  workload::UseCpu(0);
  uint64_t x = 1;
  while (!stop) {
    WORK(x, heavy);  // LINE(heavy)
    barrier.Wait();
    VISIT("rounds");
    stop = !program.Running();
    barrier.Wait();
  }
  for (workload::Thread& helper : helpers) helper.join();
  workload::Keep(x);
  return program.Finish();
}
