// A two-stage pipeline with a known answer, profiled by `coz demo`.
//
// One thread decodes an item (0.96 ms) and checks it (0.64 ms), another compresses it (1.12 ms); a
// short queue lies between them. No round keeps step with samples, which come every 0.85 to 1 ms.
// The first thread is the bottleneck at 1.6 ms an item, so:
//
//   Decode faster by s     1.6 − 0.96·s ms an item, but never below 1.12: 30 % less at most,
//                          reached at s = 50 %
//   Check faster by s      1.6 − 0.64·s ms an item: 30 % less at most, reached at s = 75 %
//   Compress faster by s   nothing
//
// An ordinary profiler names Compress first: it takes the largest share of samples.
#include <pthread.h>
#include <sched.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <thread>

#include "coz/runtime/coz.h"

namespace {

using Clock = std::chrono::steady_clock;

uint64_t Decode(uint64_t x, uint64_t steps) {
  for (uint64_t i = 0; i < steps; ++i) x = x * 6364136223846793005u + (x >> 29);
  return x;
}

uint64_t Check(uint64_t x, uint64_t steps) {
  for (uint64_t i = 0; i < steps; ++i) x = x * 2862933555777941757u + (x >> 31);
  return x;
}

uint64_t Compress(uint64_t x, uint64_t steps) {
  for (uint64_t i = 0; i < steps; ++i) x = x * 3202034522624059733u + (x >> 27);
  return x;
}

// Steps that take a millisecond: the shortest of some tries, as a busy machine only makes it
// longer.
uint64_t StepsPerMs() {
  constexpr uint64_t kSteps = 1 << 20;
  double shortest_ms = 1e9;
  for (int i = 0; i < 20; ++i) {
    const Clock::time_point start = Clock::now();
    volatile uint64_t sink = Decode(static_cast<uint64_t>(i), kSteps);
    (void)sink;
    const std::chrono::duration<double, std::milli> took = Clock::now() - start;
    if (took.count() < shortest_ms) shortest_ms = took.count();
  }
  return static_cast<uint64_t>(static_cast<double>(kSteps) / shortest_ms);
}

class Queue {
 public:
  void Push(uint64_t item) {
    std::unique_lock<std::mutex> lock(mutex_);
    not_full_.wait(lock, [this] { return items_.size() < kCapacity; });
    items_.push_back(item);
    not_empty_.notify_one();
  }
  uint64_t Pop() {
    std::unique_lock<std::mutex> lock(mutex_);
    not_empty_.wait(lock, [this] { return !items_.empty(); });
    const uint64_t item = items_.front();
    items_.pop_front();
    not_full_.notify_one();
    return item;
  }

 private:
  static constexpr size_t kCapacity = 8;
  std::mutex mutex_;
  std::condition_variable not_full_;
  std::condition_variable not_empty_;
  std::deque<uint64_t> items_;
};

constexpr uint64_t kEnd = 0;

// Each stage has a CPU of its own where there are two: the kernel likes to put both ends of a queue
// on one.
void UseCpu(int cpu) {
  if (std::thread::hardware_concurrency() < 2) return;
  cpu_set_t only;
  CPU_ZERO(&only);
  CPU_SET(cpu, &only);
  pthread_setaffinity_np(pthread_self(), sizeof(only), &only);
}

}  // namespace

int main(int argc, char** argv) {
  const double seconds = argc > 1 ? atof(argv[1]) : 20;
  const uint64_t ms = StepsPerMs();
  Queue queue;
  uint64_t items = 0;
  std::thread compressor([&] {
    UseCpu(1);
    uint64_t result = 0;
    while (const uint64_t item = queue.Pop()) {
      result ^= Compress(item, ms * 112 / 100);
      ++items;
      COZ_PROGRESS_NAMED("items");
    }
    volatile uint64_t sink = result;
    (void)sink;
  });
  UseCpu(0);
  const Clock::time_point start = Clock::now();
  const Clock::time_point end =
      start + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  for (uint64_t i = 1; Clock::now() < end; ++i) {
    const uint64_t decoded = Decode(i, ms * 96 / 100);
    queue.Push(Check(decoded, ms * 64 / 100) | 1);
  }
  queue.Push(kEnd);
  compressor.join();
  const std::chrono::duration<double> took = Clock::now() - start;
  printf("%.1f items per second\n", static_cast<double>(items) / took.count());
  return 0;
}
