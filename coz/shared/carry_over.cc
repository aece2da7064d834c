#include "coz/shared/carry_over.h"

#include <string.h>

#include <algorithm>
#include <bitset>

#include "coz/shared/slot_loops.h"
#include "coz/shared/thread_records.h"
#include "coz/shared/thread_slots.h"

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

// Others are there already. Whose virtual time is behind, by the delays of another session, owes
// nothing for that.
void RaiseLedger(const delay::GlobalLedger& from, delay::GlobalLedger& to) {
  const uint64_t wanted_ns = from.global_delay_ns.load(kRelaxed);
  for (std::atomic<uint64_t>* field : {&to.forgiven_below_ns, &to.global_delay_ns}) {
    uint64_t now_ns = field->load(kRelaxed);
    while (now_ns < wanted_ns && !field->compare_exchange_weak(now_ns, wanted_ns)) {
    }
  }
}

// What the thread does from now on is the new session's. No call is timed meanwhile.
void BeginAnew(const ControlBlock& control, ThreadSlot& slot) {
  RenewRole(control, slot);
  slot.figures.samples.store(0, kRelaxed);
  slot.figures.samples_in_scope.store(0, kRelaxed);
  for (uint32_t i = 0; i < kMaxPoints; ++i) {
    slot.figures.visits_before[i].store(slot.visits[i].load(kRelaxed), kRelaxed);
  }
  memset(static_cast<void*>(&slot.timers), 0, sizeof(slot.timers));
}

// What is owed is forgiven. A wait in progress compares the local delay with what the thread has
// imposed, so both stay.
void BeginPayingAnew(delay::ThreadLedger& ledger, uint64_t global_delay_ns) {
  ledger.local_delay_ns.store(std::max(ledger.local_delay_ns.load(kRelaxed), global_delay_ns),
                              kRelaxed);
  ledger.paused_ns.store(0, kRelaxed);
  ledger.asked_ns.store(0, kRelaxed);
  ledger.credited_ns.store(0, kRelaxed);
  ledger.pauses.store(0, kRelaxed);
  ledger.pause_cpu_ns.store(0, kRelaxed);
}

// What the slot has counted for the point.
uint64_t CountIn(const ThreadSlot& slot, uint32_t point, const ControlBlock& control) {
  uint64_t visits = slot.visits[point].load(kRelaxed);
  const uint32_t cell = control.points[point].timed_cell.load(kRelaxed);
  if (cell != 0 && cell <= kMaxTimedPoints) {
    visits += slot.timed[cell - 1].visits.load(kRelaxed);
  }
  return visits;
}

// A thread that counts at this moment may write what it has read before. So the counts stay, and
// what has changed is subtracted in the count that all threads share.
void PutInSlot(const ThreadSlot& kept, ControlBlock& control, ThreadSlot& slot) {
  uint64_t before[kMaxPoints];
  for (uint32_t i = 0; i < kMaxPoints; ++i) before[i] = CountIn(slot, i, control);
  const uint32_t number = slot.ledger.number.load(kRelaxed);
  const uint32_t process = slot.process.load(kRelaxed);
  const int32_t pid = slot.pid.load(kRelaxed);
  CopyBytes(&slot, &kept, sizeof(slot));
  slot.ledger.number.store(number, kRelaxed);
  slot.process.store(process, kRelaxed);
  slot.pid.store(pid, kRelaxed);
  BeginPayingAnew(slot.ledger, control.ledger.global_delay_ns.load(kRelaxed));
  BeginAnew(control, slot);
  for (uint32_t i = 0; i < kMaxPoints; ++i) {
    const uint64_t more = CountIn(slot, i, control) - before[i];
    if (more != 0) control.points[i].shared.count.fetch_sub(more, kRelaxed);
  }
}

bool IsMark(const PointSlot& point) {
  return point.kind != PointKind::kPlace && point.kind != PointKind::kApi;
}

bool IsUsed(const PointSlot& point) {
  return point.state.load(std::memory_order_acquire) == PointState::kReady;
}

uint32_t UsedPoints(const ControlBlock& control) {
  uint32_t used = 0;
  while (used < kMaxPoints && control.points[used].state.load() != PointState::kFree) ++used;
  return used;
}

// Threads have kept where their marks count, by the number of the point and of its timed cell.
bool FitsBeside(const PointSlot& kept, const ControlBlock& to, const PointSlot& there) {
  const uint32_t cell = kept.timed_cell.load(kRelaxed);
  const bool has_free_cell = cell == 0 || cell > to.timed_cells.load(kRelaxed);
  if (!IsUsed(there)) return has_free_cell;
  if (!IsMark(kept)) return true;
  if (there.kind != kept.kind || strcmp(there.name, kept.name) != 0) return false;
  return cell == there.timed_cell.load(kRelaxed) ||
         (there.timed_cell.load(kRelaxed) == 0 && has_free_cell);
}

bool PointsFit(const ControlBlock& kept, const ControlBlock& to) {
  for (uint32_t i = 0; i < UsedPoints(kept); ++i) {
    if (!FitsBeside(kept.points[i], to, to.points[i])) return false;
  }
  return true;
}

void CopyPoints(const ControlBlock& kept, ControlBlock& to) {
  for (uint32_t i = 0; i < UsedPoints(kept); ++i) {
    PointSlot& point = to.points[i];
    if (IsUsed(point)) {
      uint32_t none = 0;
      if (IsMark(kept.points[i])) {
        point.timed_cell.compare_exchange_strong(none, kept.points[i].timed_cell.load(kRelaxed));
      }
      continue;
    }
    CopyBytes(&point, &kept.points[i], sizeof(PointSlot));
    point.shared.count.store(0, kRelaxed);
    if (!IsMark(point)) point.is_released.store(1, kRelaxed);
  }
  to.timed_cells.store(std::max(to.timed_cells.load(kRelaxed), kept.timed_cells.load(kRelaxed)),
                       kRelaxed);
}

void KeepSlot(const ControlBlock& from, uint32_t place, ControlBlock& kept) {
  ThreadSlot& slot = kept.threads[place];
  CopyBytes(&slot, &from.threads[place], sizeof(slot));
  slot.ledger.number.store(place + 1, kRelaxed);
}

template <typename Keeps>
void KeepWhere(const ControlBlock& from, ControlBlock& kept, Keeps keeps) {
  CopyLedger(from.ledger, kept.ledger);
  const uint32_t used = UsedThreadSlots(from);
  for (uint32_t i = 0; i < used; ++i) {
    const bool is_taken =
        from.threads[i].state.load(std::memory_order_acquire) != ThreadState::kFree;
    if (is_taken && keeps(from.threads[i])) KeepSlot(from, i, kept);
  }
  kept.threads_high_water.store(used, std::memory_order_release);
  for (uint32_t i = 0; i < UsedPoints(from); ++i) {
    CopyBytes(&kept.points[i], &from.points[i], sizeof(PointSlot));
  }
  kept.timed_cells.store(from.timed_cells.load(kRelaxed), kRelaxed);
}

bool IsTaken(const ControlBlock& kept, uint32_t place) {
  return place < UsedThreadSlots(kept) &&
         kept.threads[place].state.load(std::memory_order_acquire) != ThreadState::kFree;
}

// Slot `number` lies at `place` from now on, and what lay there where that one lay.
void PutAt(uint32_t place, uint32_t number, SlotPlaces* places) {
  const uint32_t used = std::max({places->used, place + 1, number});
  for (uint32_t i = places->used; i < used; ++i) places->number_at[i] = i + 1;
  places->used = used;
  uint32_t* const now = std::find(places->number_at, places->number_at + used, number);
  std::swap(*now, places->number_at[place]);
}

// All places up to the last one that is needed have been taken once: places change only among
// those. A slot that nobody has had lies at its own place already, if the process needs that.
CarryFault TakeSlots(const ControlBlock& kept, uint32_t process, int32_t pid, ControlBlock& to,
                     SlotPlaces* places) {
  uint32_t end = UsedThreadSlots(kept);
  while (end != 0 && !IsTaken(kept, end - 1)) --end;
  std::bitset<kMaxThreads> is_done;
  while (UsedThreadSlots(to) < end) {
    ThreadSlot* const slot = ReserveUnusedThreadSlot(to, process, pid);
    if (slot == nullptr) return CarryFault::kNoSlot;
    const uint32_t place = slot->ledger.number.load(kRelaxed) - 1;
    if (IsTaken(kept, place)) {
      PutInSlot(kept.threads[place], to, *slot);
      is_done[place] = true;
    } else {
      FreeThreadSlot(to, *slot);
    }
  }
  for (uint32_t place = 0; place < end; ++place) {
    if (!IsTaken(kept, place) || is_done[place]) continue;
    ThreadSlot* const slot = ReserveThreadSlot(to, process, pid);
    if (slot == nullptr) return CarryFault::kNoSlot;
    PutInSlot(kept.threads[place], to, *slot);
    PutAt(place, slot->ledger.number.load(kRelaxed), places);
  }
  return CarryFault::kNone;
}

}  // namespace

void Keep(const ControlBlock& from, int32_t pid, ControlBlock& kept) {
  KeepWhere(from, kept, [pid](const ThreadSlot& slot) { return slot.pid.load(kRelaxed) == pid; });
}

void KeepOnly(const ControlBlock& from, const ThreadSlot* only, ControlBlock& kept) {
  KeepWhere(from, kept, [only](const ThreadSlot& slot) { return &slot == only; });
}

void ForgetOthers(const ThreadSlot* only, int32_t pid, ControlBlock& kept) {
  ForEachThread(kept, [&](ThreadSlot& slot) {
    if (slot.state.load(kRelaxed) == ThreadState::kFree) return;
    if (&slot == only) {
      slot.pid.store(pid, kRelaxed);
      slot.tid.store(pid, kRelaxed);
    } else {
      slot.state.store(ThreadState::kFree, kRelaxed);
    }
  });
}

CarryFault CarryOver(const ControlBlock& kept, uint32_t process, int32_t pid, ControlBlock& to,
                     SlotPlaces* places) {
  if (!PointsFit(kept, to)) return CarryFault::kOtherPoints;
  if (to.images.load(std::memory_order_acquire) == 0) {
    CopyLedger(kept.ledger, to.ledger);
  } else {
    RaiseLedger(kept.ledger, to.ledger);
  }
  CopyPoints(kept, to);
  return TakeSlots(kept, process, pid, to, places);
}

}  // namespace coz::shared
