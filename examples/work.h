// Work that takes a stated time, for examples whose right answer is known.
//
// Shape    a loop of dependent arithmetic; it neither allocates nor waits
// Units    milliseconds of CPU time on this machine
// Errors   none
// Threads  safe
// Signals  async-signal-safe but for StepsPerMs
// Source   none
#ifndef COZ_EXAMPLES_WORK_H_
#define COZ_EXAMPLES_WORK_H_

#include <pthread.h>
#include <sched.h>

#include <chrono>
#include <cstdint>
#include <thread>

// In place, so that the time counts for the line that has the loop and not for this header's.
#define EXAMPLE_WORK(x, steps) \
  for (uint64_t i_ = 0; i_ < (steps); ++i_) (x) = (x)*6364136223846793005u + ((x) >> 29)

// Steps that take a millisecond: the shortest of some tries, as a busy machine only makes it
// longer.
inline uint64_t StepsPerMs() {
  constexpr uint64_t kSteps = 1 << 20;
  double shortest_ms = 1e9;
  for (uint64_t i = 0; i < 20; ++i) {
    const auto start = std::chrono::steady_clock::now();
    uint64_t x = i;
    EXAMPLE_WORK(x, kSteps);
    volatile uint64_t sink = x;
    (void)sink;
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
    if (took.count() < shortest_ms) shortest_ms = took.count();
  }
  return static_cast<uint64_t>(static_cast<double>(kSteps) / shortest_ms);
}

// Each thread has a CPU of its own where there are two: the kernel likes to put those that wake
// each other on one.
inline void UseCpu(int cpu) {
  if (std::thread::hardware_concurrency() < 2) return;
  cpu_set_t only;
  CPU_ZERO(&only);
  CPU_SET(cpu, &only);
  pthread_setaffinity_np(pthread_self(), sizeof(only), &only);
}

#endif  // COZ_EXAMPLES_WORK_H_
