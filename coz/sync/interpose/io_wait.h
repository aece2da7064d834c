// Waits through file descriptors. Another thread may end such a wait, or something outside the
// program may. The call does not say which.
//
// Before a thread writes into a pipe, it leaves its local delay for the reader. It does so only if
// the value differs from the one that it last left through that descriptor. A reader that owes
// delay after its call looks for this value and takes it over. A reader that owes nothing does the
// same where a thread has left excess: the reader has waited through the time that the writer
// paused too long. If the outside ended the wait, the reader finds only a value from before its
// wait. That is less than its own local delay, so it gets nothing. While no delay is inserted, both
// sides do a few loads.
//
// Shape    PayBeforeIo before the call, WaitForIo or CallIo around it
// Units    ns of CLOCK_MONOTONIC
// Errors   none. Two things are inexact after more than 64 calls of a thread without new delay. The
//          next wait then counts as having begun at the last of those 64 calls. That matters only
//          if delay was inserted faster than time passed. And the thread does not look for excess,
//          so that excess is lost
// Threads  each thread its own waits
// Signals  async-signal-safe; keeps errno
// Source   docs/design/waits-and-credit.md, "Pipes, sockets, eventfds, polls"
#ifndef COZ_SYNC_INTERPOSE_IO_WAIT_H_
#define COZ_SYNC_INTERPOSE_IO_WAIT_H_

#include <atomic>
#include <cstdint>

#include "coz/sync/interpose/io_object.h"
#include "coz/sync/interpose/outside_wait.h"
#include "coz/sync/interpose/thread_sync.h"

namespace coz::interpose {
namespace io_internal {

// The local delay that was last left for threads on the descriptor's other side, by side and
// descriptor. Descriptors beyond the table share entries. A value that is not left in time is not
// credited.
constexpr unsigned kDescriptors = 1 << 16;
extern std::atomic<uint64_t> g_published_ns[2][kDescriptors] __attribute__((visibility("hidden")));

struct Clock {
  uint64_t seen_global_ns;
  uint64_t last_ns;
  uint32_t fresh_reads;
};
extern __thread Clock t_clock __attribute__((tls_model("initial-exec"), visibility("hidden")));

// When a wait begins, which is `now_ns` where that was read. Reads the clock only while delays are
// inserted; else returns the last time that was read.
inline uint64_t StartNs(uint64_t global_ns, uint64_t now_ns = kNotRead) {
  constexpr uint32_t kFreshReads = 64;
  Clock& clock = t_clock;
  if (__builtin_expect(clock.seen_global_ns != global_ns, 0)) {
    clock.seen_global_ns = global_ns;
    clock.fresh_reads = kFreshReads;
  }
  if (__builtin_expect(clock.fresh_reads != 0, 0)) {
    --clock.fresh_reads;
    clock.last_ns = now_ns != kNotRead ? now_ns : MonotonicNowNs();
  }
  return clock.last_ns;
}

// Whether delay was inserted a moment ago. Threads look for excess only then, so experiments
// without delays are not slowed down.
inline bool IsFresh(uint64_t global_ns) {
  return t_clock.seen_global_ns != global_ns || t_clock.fresh_reads != 0;
}

void PublishToPeers(const delay::ThreadLedger& caller, int fd, IoSide side);

// When a call has ended: read once, or not at all.
class EndTime {
 public:
  uint64_t Ns() {
    if (ns_ == kNotRead) ns_ = MonotonicNowNs();
    return ns_;
  }
  // The thread has paused since.
  void Forget() { ns_ = kNotRead; }

 private:
  uint64_t ns_ = kNotRead;
};

// Whether delays are being inserted and the wait took longer than a call that returns at once.
inline bool HasWaitedAmidDelays(const delay::Wait& wait, EndTime& end) {
  constexpr uint64_t kLongestWithoutWaitNs = 20'000;
  return __builtin_expect(t_clock.fresh_reads != 0, 0) &&
         end.Ns() - wait.start_ns > kLongestWithoutWaitNs;
}

// Whether output has waited for room, as it hardly ever does.
inline bool HasWaitedForRoom(const delay::Wait& wait, EndTime& end) {
  constexpr uint64_t kLongestWithoutWaitNs = 100'000;
  return end.Ns() - wait.start_ns > kLongestWithoutWaitNs;
}

// Whether a thread with excess may have woken the caller. The caller owes nothing.
inline bool MayTakeOverExcess() {
  const delay::GlobalLedger& global = *sync_internal::g_ledger;
  const uint64_t global_ns = global.global_delay_ns.load(std::memory_order_relaxed);
  return IsFresh(global_ns) &&
         global.highest_published_ns.load(std::memory_order_relaxed) > global_ns;
}

// Whether nothing but a profiled thread can have ended a wait whose waker has left its local delay.
// What a writer has left for a descriptor may be older than the wait.
enum class WokenBy { kThread, kMayBeOutside };

// Ends a wait after which the thread owes delay. Takes over `waker_local_delay_ns`, which is 0
// where no profiled thread woke it. `queued_ns` says for how long it was queued for a CPU
// (ResumeRunning). Pays the rest.
void EndOwing(delay::ThreadLedger& caller, const delay::Wait& wait, uint64_t waker_local_delay_ns,
              uint64_t queued_ns, WokenBy woken_by = WokenBy::kMayBeOutside);

// Whether the caller has blocked in a call that it has just made. A call that blocks lasts longer
// than this. One that lasts as long may have copied data: the kernel is then asked whether the
// thread has given up its CPU since it was last asked. That may also have been before the call.
// What is absorbed in error is no more than the call was long.
inline constexpr uint64_t kShortestBlockNs = 5'000;
bool HasBlockedSince(uint64_t start_ns);

// Ends a wait after which the thread owes nothing, and in which it blocked. If another thread ended
// it, the wait absorbs its own excess, and it takes over the other thread's excess.
void EndWithExcess(delay::ThreadLedger& caller, const delay::Wait& wait,
                   uint64_t waker_local_delay_ns);

}  // namespace io_internal

// The first pays, and leaves the caller's local delay under `key`. The second does so for the
// threads that an operation on `side` of `fd` may wake.
void PayBeforeWaking(uint64_t key);

// Returns the time now, or kNotRead.
[[gnu::always_inline]] inline uint64_t PayBeforeIo(int fd, IoSide side) {
  delay::ThreadLedger* caller = CurrentThreadLedger();
  if (caller == nullptr) return kNotRead;
  const uint64_t now_ns = PayIfBehind<CallsThatEnd::kEach>();
  const auto& published_ns =
      io_internal::g_published_ns[static_cast<int>(side)]
                                 [static_cast<unsigned>(fd) % io_internal::kDescriptors];
  if (__builtin_expect(published_ns.load(std::memory_order_relaxed) !=
                           delay::LocalDelayForWakees(*sync_internal::g_ledger, *caller),
                       0)) {
    io_internal::PublishToPeers(*caller, fd, side);
  }
  return now_ns;
}

// The local delay that the last thread to write into (or read from) the other side of `fd` has
// left, or that a thread has left under `key`. 0 for none.
uint64_t WakerThrough(int fd, IoSide side);
uint64_t WakerBy(uint64_t key);

// Notes that an operation through `fd` also wakes threads that wait in the epoll instance
// `watcher`. Of many watchers of an object the newest are known.
void NoteWatcher(int fd, IoSide side, int watcher);

enum class IoWait { kInput, kOutput };

// Notes that the caller runs again after input or output, which has ended at `end`. Returns for how
// long it was queued for a CPU.
template <IoWait kWait>
inline uint64_t ResumeAfterIo(delay::ThreadLedger& caller, const delay::Wait& wait,
                              io_internal::EndTime& end) {
  if (__builtin_expect(!CallerIsWatched(caller), 1)) return 0;
  if constexpr (kWait == IoWait::kInput) return ResumeRunningAt(caller, end.Ns());
  if (delay::Accrues(caller) && io_internal::HasWaitedForRoom(wait, end)) {
    caller.stretches.LeaveOut(end.Ns() - wait.start_ns, end.Ns());
  }
  return BackOnCpu(caller, end.Ns());
}

inline constexpr uint64_t kNotLookedFor = ~uint64_t{0};

// For waits that the outside never ends.
struct NotOutside {
  template <typename Result>
  delay::WaitKind operator()(Result, uint64_t) const {
    return delay::WaitKind::kNone;
  }
};

// Makes `call` as a wait of a caller that has just paid, at `paid_ns` where that is not kNotRead.
// `find_waker` takes its result. It returns the local delay that the waker has left, or 0. It is
// called only where there may be something to credit. `kind_of` takes the result and the wait's
// start, and says what has ended the wait (EndOutsideWait).
template <IoWait kWait = IoWait::kInput, typename Call, typename FindWaker,
          typename KindOf = NotOutside>
inline auto WaitHavingPaid(uint64_t paid_ns, Call call, FindWaker find_waker,
                           KindOf kind_of = KindOf()) {
  constexpr bool kIsOutput = kWait == IoWait::kOutput;
  delay::ThreadLedger* caller = CurrentThreadLedger();
  if (__builtin_expect(caller == nullptr, 0)) return call();
  const uint64_t global_ns =
      sync_internal::g_ledger->global_delay_ns.load(std::memory_order_relaxed);
  const bool has_excess = delay::HasExcess(*sync_internal::g_ledger, *caller);
  const bool is_unit = WaitsAreUnits() && !HasLeftThreadSync();
  const bool leaves_cpu = !kIsOutput && delay::MayBeCrowded(*sync_internal::g_ledger);
  const bool needs_start =
      has_excess || (kIsOutput && delay::Accrues(*caller)) || is_unit || leaves_cpu;
  const bool is_read = paid_ns != kNotRead;
  const uint64_t start_ns = __builtin_expect(needs_start, 0)
                                ? (is_read ? paid_ns : MonotonicNowNs())
                                : io_internal::StartNs(global_ns, paid_ns);
  if (__builtin_expect(leaves_cpu, 0)) LeaveCpu(*caller, start_ns);
  const delay::Wait wait =
      kIsOutput ? delay::BeginOutput(*caller, start_ns) : delay::BeginWait(*caller, start_ns);
  OutsideClock clock;
  if (is_unit) clock = StartOutsideClock(*caller);
  const auto result = call();
  io_internal::EndTime end;
  const uint64_t queued_ns = ResumeAfterIo<kWait>(*caller, wait, end);
  // Before the thread pays: its own lead counts against what it owes.
  if (is_unit) {
    EndOutsideWait(*caller, clock, queued_ns,
                   [&](uint64_t began_ns) { return kind_of(result, began_ns); });
  }
  const auto may_have_waited = [&] {
    return !kIsOutput || __builtin_expect(io_internal::HasWaitedForRoom(wait, end), 0);
  };
  uint64_t waker_ns = kNotLookedFor;
  const bool owes = CallerOwes(*caller) || wait.left_ns >= delay::kLeastSleptNs;
  if (__builtin_expect(owes, 0) && may_have_waited()) {
    io_internal::EndOwing(*caller, wait, waker_ns = find_waker(result), queued_ns);
    end.Forget();
  } else if (__builtin_expect(has_excess || io_internal::MayTakeOverExcess(), 0) &&
             may_have_waited() && io_internal::HasBlockedSince(wait.start_ns)) {
    io_internal::EndWithExcess(*caller, wait, waker_ns = find_waker(result));
  } else {
    delay::EndWaitUncredited(*caller);
  }
  if (io_internal::HasWaitedAmidDelays(wait, end) && may_have_waited()) {
    if (waker_ns == kNotLookedFor) waker_ns = find_waker(result);
    if (waker_ns == 0) PayForStretchesInProgress(*caller);
  }
  return result;
}

// The same, and the caller pays first.
template <IoWait kWait = IoWait::kInput, typename Call, typename FindWaker,
          typename KindOf = NotOutside>
inline auto WaitForIo(Call call, FindWaker find_waker, KindOf kind_of = KindOf()) {
  return WaitHavingPaid<kWait>(PayIfBehind<CallsThatEnd::kEach>(), call, find_waker, kind_of);
}

// Makes `call`, which reads from or writes to `fd`.
template <typename Call>
inline auto CallIo(int fd, IoSide side, Call call) {
  const uint64_t paid_ns = PayBeforeIo(fd, side);
  NoteWakesThrough(fd, side);
  const auto find_waker = [=](auto result) { return result >= 0 ? WakerThrough(fd, side) : 0; };
  const auto kind_of = [=](auto result, uint64_t) {
    return result >= 0 && !IsWokenByTree(fd, side) ? WaitKindOf(fd, side) : delay::WaitKind::kNone;
  };
  if (side == IoSide::kInput) return WaitHavingPaid(paid_ns, call, find_waker, kind_of);
  return WaitHavingPaid<IoWait::kOutput>(paid_ns, call, find_waker, kind_of);
}

// Makes `call`, in which no profiled thread takes part: it reads or writes a file. A wait only
// where such waits are units.
template <typename Call, typename KindOf>
inline auto CallOutside(Call call, KindOf kind_of) {
  if (__builtin_expect(!WaitsAreUnits(), 1)) return call();
  return WaitForIo(
      call, [](auto) { return uint64_t{0}; },
      [kind_of](auto result, uint64_t) {
        return result >= 0 ? kind_of() : delay::WaitKind::kNone;
      });
}

// Makes `call` as a wait that only the clock or a signal ends.
template <typename Call>
inline auto Sleep(Call call) {
  const auto sleep = [call] {
    if (delay::ThreadLedger* caller = CurrentThreadLedger()) {
      caller->blocked.store(delay::kBlockedByClock, std::memory_order_relaxed);
    }
    return call();
  };
  return WaitForIo(
      sleep, [](auto) { return uint64_t{0}; },
      [](auto result, uint64_t) {
        return result == 0 ? delay::WaitKind::kSleep : delay::WaitKind::kNone;
      });
}

}  // namespace coz::interpose

#endif  // COZ_SYNC_INTERPOSE_IO_WAIT_H_
