#include "coz/sync/interpose/io_wait.h"

#include <algorithm>

#include "coz/sync/delay/io_tables.h"

namespace coz::interpose {

namespace io_internal {
std::atomic<uint64_t> g_published_ns[2][kDescriptors];
__thread Clock t_clock = {};
}  // namespace io_internal

namespace {

// What SwitchesPlus1() last said.
__thread uint64_t t_switches_plus_1 __attribute__((tls_model("initial-exec"))) = 0;

const void* AsObject(uint64_t key) {
  return reinterpret_cast<const void*>(static_cast<uintptr_t>(key));
}

// Only excess is of interest. The rest would be a write at nearly each call, to a cache line that
// every call reads.
void NotePublished(uint64_t local_ns) {
  if (local_ns <= sync_internal::g_ledger->global_delay_ns.load(std::memory_order_relaxed)) return;
  std::atomic<uint64_t>& highest_ns = sync_internal::g_ledger->highest_published_ns;
  uint64_t published_ns = highest_ns.load(std::memory_order_relaxed);
  while (published_ns < local_ns &&
         !highest_ns.compare_exchange_weak(published_ns, local_ns, std::memory_order_relaxed)) {
  }
}

void Publish(const delay::ThreadLedger& caller, uint64_t key) {
  if (key == 0) return;
  delay::WakeTable& wakes = sync_internal::g_ledger->wakes;
  const uint64_t local_ns = delay::LocalDelayForWakees(*sync_internal::g_ledger, caller);
  wakes.Publish(AsObject(key), local_ns);
  NotePublished(local_ns);
  TheIoTables().WatchAt(key).ForEachWatcher(
      key, [&](uint64_t watcher_key) { wakes.Publish(AsObject(watcher_key), local_ns); });
}

}  // namespace

void io_internal::PublishToPeers(const delay::ThreadLedger& caller, int fd, IoSide side) {
  const uint64_t local_ns = delay::LocalDelayForWakees(*sync_internal::g_ledger, caller);
  for (const uint64_t key : FindIoKeys(fd, side).wakes) Publish(caller, key);
  g_published_ns[static_cast<int>(side)][static_cast<unsigned>(fd) % kDescriptors].store(
      local_ns, std::memory_order_relaxed);
}

void io_internal::EndOwing(delay::ThreadLedger& caller, const delay::Wait& wait,
                           uint64_t waker_local_delay_ns, uint64_t queued_ns, WokenBy woken_by) {
  // The delay that the thread has imposed since the wait began belongs after the wake: most likely
  // it was sampled while it copied the data that had come.
  const uint64_t imposed_ns = caller.imposed_ns.load(std::memory_order_relaxed) - wait.imposed_ns;
  const uint64_t level_ns = waker_local_delay_ns + imposed_ns;
  bool is_by_thread = true;
  if (waker_local_delay_ns != 0 &&
      level_ns > caller.local_delay_ns.load(std::memory_order_relaxed)) {
    delay::EndWaitOfQueued(*sync_internal::g_ledger, caller, wait, MonotonicNowNs(), level_ns,
                           queued_ns);
  } else {
    // The look behind the wait may have credited more than the waker's level already. The time in
    // the queue follows the wake, so it counts on top of either.
    const uint64_t own_ns = wait.served_ns + caller.imposed_ns.load(std::memory_order_relaxed);
    is_by_thread =
        woken_by == WokenBy::kThread || (waker_local_delay_ns != 0 && level_ns >= own_ns);
    if (is_by_thread) {
      delay::EndWaitUncredited(caller);
      delay::CreditQueueAfter(*sync_internal::g_ledger, caller, wait, MonotonicNowNs(), queued_ns);
    } else {
      delay::EndUncreditedWaitOfQueued(*sync_internal::g_ledger, caller, wait, MonotonicNowNs(),
                                       queued_ns);
    }
  }
  if (is_by_thread) {
    PayAfterWake();
  } else {
    PayAfterWait();
  }
}

bool io_internal::HasBlockedSince(uint64_t start_ns) {
  if (MonotonicNowNs() - start_ns < kShortestBlockNs) return false;
  const uint64_t switches_plus_1 = sync_internal::SwitchesPlus1();
  const bool has_switched = switches_plus_1 != t_switches_plus_1;
  t_switches_plus_1 = switches_plus_1;
  return switches_plus_1 == 0 || has_switched;
}

void io_internal::EndWithExcess(delay::ThreadLedger& caller, const delay::Wait& wait,
                                uint64_t waker_local_delay_ns) {
  if (waker_local_delay_ns == 0) return delay::EndWaitUncredited(caller);
  const uint64_t imposed_ns = caller.imposed_ns.load(std::memory_order_relaxed) - wait.imposed_ns;
  // This never puts the thread into debt, because the value that the waker has left may be old.
  const uint64_t level_ns =
      std::max(waker_local_delay_ns + imposed_ns,
               sync_internal::g_ledger->global_delay_ns.load(std::memory_order_acquire));
  if (level_ns == caller.local_delay_ns.load(std::memory_order_relaxed)) {
    return delay::EndWaitUncredited(caller);
  }
  delay::EndWaitCreditedBy(caller, wait, MonotonicNowNs(), level_ns);
}

void PayBeforeWaking(uint64_t key) {
  const delay::ThreadLedger* caller = CurrentThreadLedger();
  if (caller == nullptr) return;
  PayIfBehind<CallsThatEnd::kEach>();
  Publish(*caller, key);
  NoteWakeBy(key);
}

uint64_t WakerBy(uint64_t key) {
  return key == 0 ? 0 : sync_internal::g_ledger->wakes.Find(AsObject(key));
}

uint64_t WakerThrough(int fd, IoSide side) {
  uint64_t latest_ns = 0;
  for (const uint64_t key : FindIoKeys(fd, side).waits) {
    latest_ns = std::max(latest_ns, WakerBy(key));
  }
  return latest_ns;
}

void NoteWatcher(int fd, IoSide side, int watcher) {
  for (const uint64_t key : FindIoKeys(fd, side).waits) {
    if (key != 0) TheIoTables().WatchAt(key).Note(key, EpollKey(watcher));
  }
}

}  // namespace coz::interpose
