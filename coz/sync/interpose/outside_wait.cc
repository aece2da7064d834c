// Wraps no calls itself. Process: target. Context: the program's threads and signal handlers.
#include "coz/sync/interpose/outside_wait.h"

#include "coz/base/clock.h"
#include "coz/base/thread_cpu_clock.h"
#include "coz/sync/delay/io_tables.h"

namespace coz::interpose {
namespace {

// A shorter time is the call's own.
constexpr uint64_t kShortestNs = 5'000;
// A waker notes its wake before it makes its call. So the wait may begin in between.
constexpr uint64_t kWakeTakesNs = 50'000;

}  // namespace

OutsideClock StartOutsideClock(const delay::ThreadLedger& caller) {
  OutsideClock clock;
  clock.switches_plus_1 = sync_internal::SwitchesPlus1();
  clock.paused_ns = caller.paused_ns.load(std::memory_order_relaxed);
  clock.cpu_ns = ThreadCpuNowNs();
  clock.start_ns = MonotonicNowNs();
  return clock;
}

delay::OutsideWait SinceStart(const delay::ThreadLedger& caller, const OutsideClock& clock,
                              uint64_t queued_ns) {
  delay::OutsideWait wait = {delay::WaitKind::kNone, clock.start_ns, MonotonicNowNs(), 0};
  if (wait.end_ns - wait.start_ns < kShortestNs || HasLeftThreadSync()) return wait;
  if (clock.switches_plus_1 == sync_internal::SwitchesPlus1()) return wait;
  const uint64_t other_ns = ThreadCpuNowNs() - clock.cpu_ns + queued_ns +
                            caller.paused_ns.load(std::memory_order_relaxed) - clock.paused_ns;
  if (other_ns + kShortestNs < wait.end_ns - wait.start_ns) {
    wait.blocked_ns = wait.end_ns - wait.start_ns - other_ns;
  }
  return wait;
}

void sync_internal::TellOfWait(delay::ThreadLedger& caller, const delay::OutsideWait& wait) {
  const auto tell = wait.kind == delay::WaitKind::kNone ? g_hooks.own_wait : g_hooks.outside_wait;
  if (tell != nullptr) tell(caller, wait);
}

void OwnWait::StartClock(const delay::ThreadLedger& caller) {
  is_timed_ = !HasLeftThreadSync();
  if (is_timed_) clock_ = StartOutsideClock(caller);
}

void OwnWait::EndClock(delay::ThreadLedger& caller, uint64_t queued_ns) const {
  EndOutsideWait(caller, clock_, queued_ns, [](uint64_t) { return delay::WaitKind::kNone; });
}

void NoteWakesThrough(int fd, IoSide side) {
  if (!WaitsAreUnits() || LedgerSoFar() == nullptr || HasLeftThreadSync()) return;
  for (const uint64_t key : FindIoKeys(fd, side).wakes) NoteWakeBy(key);
}

void NoteWakeBy(uint64_t key) {
  if (!WaitsAreUnits() || key == 0) return;
  const uint64_t now_ns = MonotonicNowNs();
  delay::IoTables& tables = TheIoTables();
  tables.NoteWake(key, now_ns);
  tables.WatchAt(key).ForEachWatcher(
      key, [&](uint64_t watcher_key) { tables.NoteWake(watcher_key, now_ns); });
}

bool IsWokenByTree(uint64_t key) { return TheIoTables().LastWakeNs(key) != 0; }

bool IsWokenByTree(int fd, IoSide side) {
  for (const uint64_t key : FindIoKeys(fd, side).waits) {
    if (IsWokenByTree(key)) return true;
  }
  return false;
}

bool IsWokenByTreeSince(uint64_t key, uint64_t start_ns) {
  return TheIoTables().LastWakeNs(key) + kWakeTakesNs >= start_ns;
}

}  // namespace coz::interpose
