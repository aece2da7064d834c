// Times of calls: changed code at a function's entry and at its ends tells when a call begins and
// ends. Each thread keeps the calls that it has open.
//
// Shape    a stack of open calls, each known by the address of its return address; sums for each
//          function. A begin without an end (an exception, longjmp, the thread's end) is dropped by
//          the next one that lies further out, and an end without a begin counts for nothing. Of
//          calls within a call of the same function only the outer one's time counts; in the sums
//          for latency points each call counts
// Units    ticks of the CPU's time-stamp counter; sampling periods; ns of delay
// Errors   a call deeper than kMaxOpenCalls has no time
// Threads  the slot's thread writes, everyone may read the sums
// Signals  async-signal-safe. What a handler of the program begins or ends while it interrupts
//          these functions has no time
// Source   docs/threads.md
#ifndef COZ_SHARED_CALL_TIMERS_H_
#define COZ_SHARED_CALL_TIMERS_H_

#include <atomic>
#include <cstdint>

namespace coz::shared {

inline constexpr uint32_t kMaxTimedFunctions = 256;
inline constexpr uint32_t kMaxOpenCalls = 64;
inline constexpr uint32_t kMaxCallLatencies = 16;

struct OpenCall {
  uint64_t frame;  // address of its return address
  uint64_t start_ticks;
  uint64_t start_delay_ns;  // as in LatencyMoment
  uint32_t start_samples;   // modulo 2^32
  uint16_t end;             // what its end is known by
  uint8_t function;
  uint8_t latency;  // as in LatencyMoment
};
static_assert(sizeof(OpenCall) == 32);
static_assert(kMaxTimedFunctions <= 1 << 8 && kMaxCallLatencies < 1 << 8);

// Of a call that belongs to a latency point: where its sums are, and the delay that its thread has
// served by now.
struct LatencyMoment {
  uint32_t latency = 0;  // index of the sums + 1; 0: the call belongs to no such point
  uint64_t local_delay_ns = 0;
};

// Sums over calls whose end was seen. They are never reset.
struct CallTime {
  std::atomic<uint64_t> calls;
  std::atomic<uint64_t> ticks;
  std::atomic<uint64_t> samples;
};

// Sums over calls whose end was seen, for a latency point. They are never reset. `changes` is odd
// while they are written.
struct CallLatency {
  std::atomic<uint64_t> changes;
  std::atomic<uint64_t> calls;
  // From begin to end, and the delay served meanwhile. Modulo 2^64.
  std::atomic<uint64_t> ticks;
  std::atomic<uint64_t> delay_ns;
};

struct CallTimers {
  std::atomic<uint64_t> samples;  // of the slot's threads, all of them
  std::atomic<uint64_t> busy_at;  // the frame of the function here that is at work; 0: none
  std::atomic<uint32_t> depth;
  uint32_t open[kMaxTimedFunctions];
  OpenCall calls[kMaxOpenCalls];
  CallTime times[kMaxTimedFunctions];
  // The sums when the thread's figures began.
  CallTime before[kMaxTimedFunctions];
  CallLatency latencies[kMaxCallLatencies];
};

namespace call_timers_internal {

inline constexpr auto kRelaxed = std::memory_order_relaxed;

// A plain addition: only the slot's thread writes.
inline void Add(std::atomic<uint64_t>& sum, uint64_t more) {
  sum.store(sum.load(kRelaxed) + more, kRelaxed);
}

// One that was left in the middle, by longjmp, is whole again.
inline void AddLatency(CallLatency& latency, uint64_t ticks, uint64_t delay_ns) {
  const uint64_t odd = latency.changes.load(kRelaxed) | 1;
  latency.changes.store(odd, kRelaxed);
  std::atomic_thread_fence(std::memory_order_release);
  Add(latency.calls, 1);
  Add(latency.ticks, ticks);
  Add(latency.delay_ns, delay_ns);
  latency.changes.store(odd + 1, std::memory_order_release);
}

// No call, for which its callers would keep registers each time.
[[gnu::always_inline]] inline void DropAll(CallTimers& timers) {
  timers.depth.store(0, kRelaxed);
  uint32_t* open = timers.open;
  uint64_t count = kMaxTimedFunctions;
  asm volatile("rep stosl" : "+D"(open), "+c"(count) : "a"(0) : "memory");
}

// A handler of the program that interrupts a function here lies further in. One that has left it by
// longjmp lies further out, and what it has left is in doubt.
inline bool IsInterrupted(CallTimers& timers, uint64_t here) {
  const uint64_t busy_at = timers.busy_at.load(kRelaxed);
  if (busy_at == 0) return false;
  if (here < busy_at) return true;
  DropAll(timers);
  return false;
}

inline uint32_t DropInner(CallTimers& timers, uint64_t frame) {
  uint32_t depth = timers.depth.load(kRelaxed);
  if (depth > kMaxOpenCalls) depth = 0;
  while (depth > 0 && timers.calls[depth - 1].frame < frame) {
    --depth;
    uint32_t& open = timers.open[timers.calls[depth].function % kMaxTimedFunctions];
    if (open != 0) --open;
  }
  return depth;
}

}  // namespace call_timers_internal

// `here` is an address in the caller's frame. Several functions may have ends in common, as the
// calls of one function by several callers do: then `end` is the same for them.
[[gnu::always_inline]] inline void BeginCall(CallTimers& timers, uint32_t function, uint32_t end,
                                             uint64_t frame, uint64_t now_ticks, uint64_t here,
                                             const LatencyMoment& moment = {}) {
  if (function >= kMaxTimedFunctions || call_timers_internal::IsInterrupted(timers, here)) return;
  timers.busy_at.store(here, call_timers_internal::kRelaxed);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  // A call at the same address has ended: its frame is this one's now.
  uint32_t depth = call_timers_internal::DropInner(timers, frame + 1);
  if (depth < kMaxOpenCalls) {
    const uint64_t samples = timers.samples.load(call_timers_internal::kRelaxed);
    timers.calls[depth] = {frame,
                           now_ticks,
                           moment.local_delay_ns,
                           static_cast<uint32_t>(samples),
                           static_cast<uint16_t>(end),
                           static_cast<uint8_t>(function),
                           static_cast<uint8_t>(moment.latency)};
    ++timers.open[function];
    ++depth;
  }
  timers.depth.store(depth, call_timers_internal::kRelaxed);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  timers.busy_at.store(0, call_timers_internal::kRelaxed);
}

// A call that has no time begins at this frame, so those further in or at the same place are over.
inline void PassCall(CallTimers& timers, uint64_t frame, uint64_t here) {
  const uint32_t depth = timers.depth.load(call_timers_internal::kRelaxed);
  if (depth == 0 || call_timers_internal::IsInterrupted(timers, here)) return;
  timers.busy_at.store(here, call_timers_internal::kRelaxed);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  timers.depth.store(call_timers_internal::DropInner(timers, frame + 1),
                     call_timers_internal::kRelaxed);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  timers.busy_at.store(0, call_timers_internal::kRelaxed);
}

// `local_delay_ns`: as in LatencyMoment, of a function that belongs to a latency point.
[[gnu::always_inline]] inline void EndCall(CallTimers& timers, uint32_t end, uint64_t frame,
                                           uint64_t now_ticks, uint64_t here,
                                           uint64_t local_delay_ns = 0) {
  if (call_timers_internal::IsInterrupted(timers, here)) return;
  timers.busy_at.store(here, call_timers_internal::kRelaxed);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  uint32_t depth = call_timers_internal::DropInner(timers, frame);
  if (depth > 0 && timers.calls[depth - 1].frame == frame && timers.calls[depth - 1].end == end) {
    // Not a copy: loads that are wider than the stores at the begin would wait for them.
    const OpenCall& call = timers.calls[--depth];
    const uint32_t function = call.function % kMaxTimedFunctions;
    CallTime& time = timers.times[function];
    uint32_t& open = timers.open[function];
    if (open != 0) --open;
    const bool is_inner = open != 0;  // within a call of the same function
    call_timers_internal::Add(time.calls, 1);
    if (!is_inner && now_ticks > call.start_ticks) {
      call_timers_internal::Add(time.ticks, now_ticks - call.start_ticks);
      const auto samples =
          static_cast<uint32_t>(timers.samples.load(call_timers_internal::kRelaxed));
      call_timers_internal::Add(time.samples, static_cast<uint32_t>(samples - call.start_samples));
    }
    if (call.latency != 0) {
      call_timers_internal::AddLatency(timers.latencies[(call.latency - 1) % kMaxCallLatencies],
                                       now_ticks - call.start_ticks,
                                       local_delay_ns - call.start_delay_ns);
    }
  }
  timers.depth.store(depth, call_timers_internal::kRelaxed);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  timers.busy_at.store(0, call_timers_internal::kRelaxed);
}

// A new thread, or new figures of one: `is_new_thread` has no calls open. The first `functions` are
// in use.
inline void BeginCallTimes(CallTimers& timers, bool is_new_thread, uint32_t functions) {
  if (is_new_thread) {
    timers.busy_at.store(0, call_timers_internal::kRelaxed);
    call_timers_internal::DropAll(timers);
  }
  for (uint32_t i = 0; i < functions; ++i) {
    const CallTime& now = timers.times[i];
    CallTime& before = timers.before[i];
    before.calls.store(now.calls.load(call_timers_internal::kRelaxed),
                       call_timers_internal::kRelaxed);
    before.ticks.store(now.ticks.load(call_timers_internal::kRelaxed),
                       call_timers_internal::kRelaxed);
    before.samples.store(now.samples.load(call_timers_internal::kRelaxed),
                         call_timers_internal::kRelaxed);
  }
}

// What the slot's present figures have of a function.
struct CallSums {
  uint64_t calls;
  uint64_t ticks;
  uint64_t samples;
};
inline CallSums CallSumsOf(const CallTimers& timers, uint32_t function) {
  const CallTime& now = timers.times[function];
  const CallTime& before = timers.before[function];
  return {now.calls.load(call_timers_internal::kRelaxed) -
              before.calls.load(call_timers_internal::kRelaxed),
          now.ticks.load(call_timers_internal::kRelaxed) -
              before.ticks.load(call_timers_internal::kRelaxed),
          now.samples.load(call_timers_internal::kRelaxed) -
              before.samples.load(call_timers_internal::kRelaxed)};
}

}  // namespace coz::shared

#endif  // COZ_SHARED_CALL_TIMERS_H_
