#include "coz/shared/carry_over.h"

#include <string.h>

#include <algorithm>

#include "coz/shared/slot_loops.h"

namespace coz::shared {
namespace {

constexpr auto kRelaxed = std::memory_order_relaxed;

void CopyBytes(void* to, const void* from, size_t bytes) { memcpy(to, from, bytes); }

void CopyLedger(const delay::GlobalLedger& from, delay::GlobalLedger& to) {
  CopyBytes(&to, &from, sizeof(to));
  to.selection.store(0, kRelaxed);
  to.cpus_of_crowd.store(0, kRelaxed);
  to.forgiven_below_ns.store(to.global_delay_ns.load(kRelaxed), kRelaxed);
}

// What the thread does from now on is the new session's. No call is timed meanwhile.
void BeginAnew(ThreadSlot& slot) {
  slot.figures.samples.store(0, kRelaxed);
  slot.figures.samples_in_scope.store(0, kRelaxed);
  for (uint32_t i = 0; i < kMaxPoints; ++i) {
    slot.figures.visits_before[i].store(slot.visits[i].load(kRelaxed), kRelaxed);
  }
  memset(static_cast<void*>(&slot.timers), 0, sizeof(slot.timers));
}

// What is owed is forgiven. A wait in progress compares the local delay with what the thread has
// imposed, so both stay.
void CopyThread(const ThreadSlot& from, uint64_t global_delay_ns, ThreadSlot& to) {
  CopyBytes(&to, &from, sizeof(to));
  delay::ThreadLedger& ledger = to.ledger;
  ledger.local_delay_ns.store(std::max(ledger.local_delay_ns.load(kRelaxed), global_delay_ns),
                              kRelaxed);
  ledger.paused_ns.store(0, kRelaxed);
  ledger.asked_ns.store(0, kRelaxed);
  ledger.credited_ns.store(0, kRelaxed);
  ledger.pauses.store(0, kRelaxed);
  ledger.pause_cpu_ns.store(0, kRelaxed);
  BeginAnew(to);
}

// A thread that counts at this moment may write what it has read before. So the counts stay, and
// what all threads have counted is subtracted in the count that they share.
void CopyPoint(const ControlBlock& from, uint32_t point, ControlBlock& to) {
  CopyBytes(&to.points[point], &from.points[point], sizeof(PointSlot));
  const uint32_t cell = to.points[point].timed_cell.load(kRelaxed);
  const bool is_timed = cell != 0 && cell <= kMaxTimedPoints;
  uint64_t visits = 0;
  ForEachThread(to, [&](const ThreadSlot& slot) {
    visits += slot.visits[point].load(kRelaxed);
    if (is_timed) visits += slot.timed[cell - 1].visits.load(kRelaxed);
  });
  to.points[point].shared.count.store(0 - visits, kRelaxed);
  const PointKind kind = to.points[point].kind;
  if (kind == PointKind::kPlace || kind == PointKind::kApi) {
    to.points[point].is_released.store(1, kRelaxed);
  }
}

}  // namespace

void CarryOver(const ControlBlock& from, ControlBlock& to) {
  CopyLedger(from.ledger, to.ledger);
  const uint64_t global_delay_ns = to.ledger.global_delay_ns.load(kRelaxed);
  const uint32_t threads = UsedThreadSlots(from);
  for (uint32_t i = 0; i < threads; ++i) {
    CopyThread(from.threads[i], global_delay_ns, to.threads[i]);
  }
  to.free_threads.store(from.free_threads.load(kRelaxed), kRelaxed);
  to.threads_high_water.store(threads, std::memory_order_release);
  for (uint32_t i = 0; i < kMaxPoints; ++i) {
    if (from.points[i].state.load(std::memory_order_acquire) == PointState::kFree) break;
    CopyPoint(from, i, to);
  }
  to.timed_cells.store(from.timed_cells.load(kRelaxed), kRelaxed);
  // Even, and another one than threads remember: their next sample begins a new time.
  const uint32_t suspensions = from.suspensions.load(kRelaxed);
  to.suspensions.store((suspensions + 3) / 2 * 2, kRelaxed);
}

}  // namespace coz::shared
