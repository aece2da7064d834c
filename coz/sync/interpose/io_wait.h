// Waits that another thread may end through a file descriptor, or that something outside of the
// program ends: a call does not say which.
//
// A thread that writes into a pipe leaves its local delay for the reader, before it writes and only
// where it is another than was last left through that descriptor. A reader that comes out of its
// call owing delay looks for it, and takes over what it finds; so does one that owes nothing where
// a thread has left excess, what it has paused too long, which the reader has waited for. A reader
// whose wait was ended by the outside finds what was left before it began to wait, less than its
// own local delay: it gets nothing. As long as no delay is inserted both sides do a few loads.
//
// Shape    PayBeforeIo before, WaitForIo or CallIo around the call
// Units    ns of CLOCK_MONOTONIC
// Errors   none. Where no delay was inserted for more than 64 calls of a thread, the first wait
//          after that counts as having begun at the last of these, which matters only if delay was
//          inserted faster than time passed; nor does the thread look for excess then, which is
//          lost
// Threads  each thread its own waits
// Signals  async-signal-safe; keeps errno
// Source   docs/design/waits-and-credit.md, "Pipes, sockets, eventfds, polls"
#ifndef COZ_SYNC_INTERPOSE_IO_WAIT_H_
#define COZ_SYNC_INTERPOSE_IO_WAIT_H_

#include <atomic>
#include <cstdint>

#include "coz/sync/interpose/io_object.h"
#include "coz/sync/interpose/thread_sync.h"

namespace coz::interpose {
namespace io_internal {

// The local delay that those who wait for the descriptor's other side were told last, by side.
// Descriptors beyond the table share entries; what is not told in time is not credited.
constexpr unsigned kDescriptors = 1 << 16;
extern std::atomic<uint64_t> g_published_ns[2][kDescriptors] __attribute__((visibility("hidden")));

struct Clock {
  uint64_t seen_global_ns;
  uint64_t last_ns;
  uint32_t fresh_reads;
};
extern __thread Clock t_clock __attribute__((tls_model("initial-exec"), visibility("hidden")));

// When a wait begins: read off the clock only while delays are being inserted.
inline uint64_t StartNs(uint64_t global_ns) {
  constexpr uint32_t kFreshReads = 64;
  Clock& clock = t_clock;
  if (__builtin_expect(clock.seen_global_ns != global_ns, 0)) {
    clock.seen_global_ns = global_ns;
    clock.fresh_reads = kFreshReads;
  }
  if (__builtin_expect(clock.fresh_reads != 0, 0)) {
    --clock.fresh_reads;
    clock.last_ns = MonotonicNowNs();
  }
  return clock.last_ns;
}

// Delay was inserted a moment ago. Excess is looked for only then, so that experiments without
// delays are not slowed down.
inline bool IsFresh(uint64_t global_ns) {
  return t_clock.seen_global_ns != global_ns || t_clock.fresh_reads != 0;
}

void PublishToPeers(const delay::ThreadLedger& caller, int fd, IoSide side);

// Whether the wait, in an experiment with delays, took longer than a call that returns at once.
inline bool HasWaitedAmidDelays(const delay::Wait& wait) {
  constexpr uint64_t kLongestWithoutWaitNs = 20'000;
  return __builtin_expect(t_clock.fresh_reads != 0, 0) &&
         MonotonicNowNs() - wait.start_ns > kLongestWithoutWaitNs;
}

// The caller, which owes nothing, may have been woken by a thread with excess.
inline bool MayTakeOverExcess() {
  const delay::GlobalLedger& global = *sync_internal::g_ledger;
  const uint64_t global_ns = global.global_delay_ns.load(std::memory_order_relaxed);
  return IsFresh(global_ns) &&
         global.highest_published_ns.load(std::memory_order_relaxed) > global_ns;
}

// Ends a wait after which the thread owes delay: takes over `waker_local_delay_ns`, 0 where nobody
// woke it, and pays the rest.
void EndOwing(delay::ThreadLedger& caller, const delay::Wait& wait, uint64_t waker_local_delay_ns);

// Ends a wait after which the thread owes nothing. Where it blocked, and a thread ended it, its own
// excess is absorbed and the other's is taken over.
void EndWithExcess(delay::ThreadLedger& caller, const delay::Wait& wait,
                   uint64_t waker_local_delay_ns);

}  // namespace io_internal

// Pays, and leaves the caller's local delay under `key`, or for whom an operation on `side` of `fd`
// may wake.
void PayBeforeWaking(uint64_t key);

inline void PayBeforeIo(int fd, IoSide side) {
  delay::ThreadLedger* caller = CurrentThreadLedger();
  if (caller == nullptr) return;
  PayIfBehind();
  const auto& published_ns =
      io_internal::g_published_ns[static_cast<int>(side)]
                                 [static_cast<unsigned>(fd) % io_internal::kDescriptors];
  if (__builtin_expect(published_ns.load(std::memory_order_relaxed) !=
                           caller->local_delay_ns.load(std::memory_order_relaxed),
                       0)) {
    io_internal::PublishToPeers(*caller, fd, side);
  }
}

// What the last thread to write into (or read from) the other side of `fd` has left there.
uint64_t WakerThrough(int fd, IoSide side);
uint64_t WakerBy(uint64_t key);

// Whoever waits in the epoll instance `watcher` is woken through `fd` as well. A descriptor has one
// such watcher, the last.
void NoteWatcher(int fd, IoSide side, int watcher);

// `call` as a wait. `find_waker` gets its result, and returns what the thread has left that ended
// the wait, or 0; it is asked only where there may be something to credit.
template <typename Call, typename FindWaker>
inline auto WaitForIo(Call call, FindWaker find_waker) {
  delay::ThreadLedger* caller = CurrentThreadLedger();
  if (__builtin_expect(caller == nullptr, 0)) return call();
  PayIfBehind();
  const uint64_t global_ns =
      sync_internal::g_ledger->global_delay_ns.load(std::memory_order_relaxed);
  const delay::Wait wait = BeginThreadWait(*caller, io_internal::StartNs(global_ns));
  const auto result = call();
  ResumeRunning(*caller);
  if (__builtin_expect(CallerOwes(*caller), 0)) {
    io_internal::EndOwing(*caller, wait, find_waker(result));
  } else if (__builtin_expect(wait.switches_plus_1 != 0 || io_internal::MayTakeOverExcess(), 0)) {
    io_internal::EndWithExcess(*caller, wait, find_waker(result));
  } else {
    delay::EndWaitUncredited(*caller);
  }
  if (io_internal::HasWaitedAmidDelays(wait) && find_waker(result) == 0)
    PayForStretchesInProgress(*caller);
  return result;
}

// `call`, which reads from or writes to `fd`.
template <typename Call>
inline auto CallIo(int fd, IoSide side, Call call) {
  PayBeforeIo(fd, side);
  return WaitForIo(call, [=](auto result) { return result >= 0 ? WakerThrough(fd, side) : 0; });
}

// A wait that only the clock ends, or a signal.
template <typename Call>
inline auto Sleep(Call call) {
  const auto sleep = [call] {
    if (delay::ThreadLedger* caller = CurrentThreadLedger()) {
      caller->blocked.store(delay::kBlockedByClock, std::memory_order_relaxed);
    }
    return call();
  };
  return WaitForIo(sleep, [](auto) { return uint64_t{0}; });
}

}  // namespace coz::interpose

#endif  // COZ_SYNC_INTERPOSE_IO_WAIT_H_
