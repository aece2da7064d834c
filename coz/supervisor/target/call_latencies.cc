#include "coz/supervisor/target/call_latencies.h"

#include <cmath>

#include "coz/shared/slot_loops.h"
#include "coz/supervisor/target/tick_length.h"
#include "coz/supervisor/target/timed_reader.h"

namespace coz::supervisor {
namespace {

// Modulo 2^64. What has no room, as a target may write it, is nothing.
uint64_t NsOf(uint64_t ticks, double ns_per_tick) {
  constexpr double kEnd = 9223372036854775808.0;  // 2^63
  // Below 0 where CPUs' counters differ a little.
  const double ns = static_cast<double>(static_cast<int64_t>(ticks)) * ns_per_tick;
  return std::abs(ns) < kEnd ? static_cast<uint64_t>(static_cast<int64_t>(ns)) : 0;
}

}  // namespace

CallLatencySums CallLatencies::Read() {
  CallLatencyReader reader;
  shared::ForEachThread(control_, [&](const shared::ThreadSlot& thread) {
    reader.Add(thread.timers.latencies[latency_]);
  });
  wall_ns_ += NsOf(reader.ticks() - ticks_, NsPerTick(control_));
  ticks_ = reader.ticks();
  return {reader.calls(), wall_ns_ - reader.delay_ns()};
}

}  // namespace coz::supervisor
