// Adds up a point's visits and their times, or the calls of a latency point, over threads that
// write them meanwhile.
//
// Shape    one for a look at all threads
// Units    visits; ns; ticks of the CPU's time-stamp counter
// Errors   a cell that is still being written after all tries is read as it is: its thread is
//          stopped or was killed between its two stores, or writes without an end
// Threads  compatible
// Signals  none
// Source   TimedCell in coz/shared/points.h; CallLatency in coz/shared/call_timers.h
#ifndef COZ_SUPERVISOR_TARGET_TIMED_READER_H_
#define COZ_SUPERVISOR_TARGET_TIMED_READER_H_

#include <atomic>
#include <cstdint>

#include "coz/shared/call_timers.h"
#include "coz/shared/points.h"

namespace coz::supervisor {

// Reads what belongs together, by the number of its changes, which is odd while it is written.
class SteadyReader {
 public:
  static constexpr int kMostFailuresOfCell = 1000;
  static constexpr int kMostFailures = 10000;  // later cells are read once

  template <typename Load>
  void Read(const std::atomic<uint64_t>& changes, Load load) {
    const int most = failures_ + kMostFailuresOfCell;
    while (!ReadOnce(changes, load)) {
      ++failures_;
      if (failures_ >= kMostFailures || failures_ >= most) break;
    }
  }
  // Reads so far of cells that were being written.
  int failures() const { return failures_; }

 private:
  // False: what it has read may not belong together.
  template <typename Load>
  static bool ReadOnce(const std::atomic<uint64_t>& changes, Load load) {
    const uint64_t before = changes.load(std::memory_order_acquire);
    load();
    std::atomic_thread_fence(std::memory_order_acquire);
    return before % 2 == 0 && changes.load(std::memory_order_relaxed) == before;
  }

  int failures_ = 0;
};

class TimedReader {
 public:
  static constexpr int kMostFailuresOfCell = SteadyReader::kMostFailuresOfCell;
  static constexpr int kMostFailures = SteadyReader::kMostFailures;

  void Add(const shared::TimedCell& cell) {
    uint64_t visits = 0;
    uint64_t time_sum_ns = 0;
    steady_.Read(cell.changes, [&] {
      visits = cell.visits.load(std::memory_order_relaxed);
      time_sum_ns = cell.time_sum_ns.load(std::memory_order_relaxed);
    });
    visits_ += visits;
    time_sum_ns_ += time_sum_ns;
  }

  uint64_t visits() const { return visits_; }
  uint64_t time_sum_ns() const { return time_sum_ns_; }
  int failures() const { return steady_.failures(); }

 private:
  SteadyReader steady_;
  uint64_t visits_ = 0;
  uint64_t time_sum_ns_ = 0;
};

class CallLatencyReader {
 public:
  void Add(const shared::CallLatency& latency) {
    uint64_t calls = 0;
    uint64_t ticks = 0;
    uint64_t delay_ns = 0;
    steady_.Read(latency.changes, [&] {
      calls = latency.calls.load(std::memory_order_relaxed);
      ticks = latency.ticks.load(std::memory_order_relaxed);
      delay_ns = latency.delay_ns.load(std::memory_order_relaxed);
    });
    calls_ += calls;
    ticks_ += ticks;
    delay_ns_ += delay_ns;
  }

  uint64_t calls() const { return calls_; }
  uint64_t ticks() const { return ticks_; }
  uint64_t delay_ns() const { return delay_ns_; }

 private:
  SteadyReader steady_;
  uint64_t calls_ = 0;
  uint64_t ticks_ = 0;
  uint64_t delay_ns_ = 0;
};

}  // namespace coz::supervisor

#endif  // COZ_SUPERVISOR_TARGET_TIMED_READER_H_
