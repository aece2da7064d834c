// A line that hurts when it gets faster. contention [SECONDS]
//
// A housekeeper computes for 20 ms without the lock and holds it for 20 ms, again and again. A
// server needs the same lock for 0.5 ms in each request, and works 2 ms beside it. The faster the
// housekeeper is outside, the more of the time it holds the lock:
//
//   Plan faster         requests get slower: contention
//   Sweep faster        requests get faster: the lock is held for a shorter time
//   Serve faster        a small gain
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <thread>

#include "coz/runtime/coz.h"
#include "examples/work.h"

namespace {

std::mutex table_lock;
std::atomic<bool> done{false};

uint64_t Plan(uint64_t x, uint64_t steps) {
  EXAMPLE_WORK(x, steps);
  return x;
}

uint64_t Sweep(uint64_t x, uint64_t steps) {
  EXAMPLE_WORK(x, steps);
  return x;
}

uint64_t Lookup(uint64_t x, uint64_t steps) {
  EXAMPLE_WORK(x, steps);
  return x;
}

uint64_t Serve(uint64_t x, uint64_t steps) {
  EXAMPLE_WORK(x, steps);
  return x;
}

void KeepHouse(uint64_t ms) {
  UseCpu(1);
  uint64_t x = 1;
  while (!done) {
    x = Plan(x, 20 * ms);
    const std::lock_guard<std::mutex> lock(table_lock);
    x = Sweep(x, 20 * ms);
  }
  volatile uint64_t sink = x;
  (void)sink;
}

}  // namespace

int main(int argc, char** argv) {
  const double seconds = argc > 1 ? atof(argv[1]) : 20;
  const uint64_t ms = StepsPerMs();
  std::thread housekeeper(KeepHouse, ms);
  UseCpu(0);
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  uint64_t x = 1;
  uint64_t requests = 0;
  while (std::chrono::steady_clock::now() < end) {
    x = Serve(x, 2 * ms);
    {
      const std::lock_guard<std::mutex> lock(table_lock);
      x = Lookup(x, ms / 2);
    }
    ++requests;
    COZ_PROGRESS_NAMED("requests");
  }
  done = true;
  housekeeper.join();
  volatile uint64_t sink = x;
  (void)sink;
  printf("%llu requests\n", static_cast<unsigned long long>(requests));
  return 0;
}
