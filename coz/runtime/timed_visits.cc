#include "coz/runtime/timed_visits.h"

#include "coz/base/clock.h"
#include "coz/sync/delay/accrual.h"

namespace coz::runtime {
namespace {

// The cell of the point, taken on its first timed visit; kMaxTimedPoints where there is none left.
uint32_t CellOf(shared::ControlBlock& control, shared::PointSlot& point) {
  uint32_t cell = point.timed_cell.load(std::memory_order_relaxed);
  if (cell == 0) {
    const uint32_t taken = control.timed_cells.fetch_add(1, std::memory_order_relaxed) + 1;
    if (point.timed_cell.compare_exchange_strong(cell, taken, std::memory_order_relaxed)) {
      cell = taken;
    }
  }
  return cell <= shared::kMaxTimedPoints ? cell - 1 : shared::kMaxTimedPoints;
}

}  // namespace

uint64_t VirtualNowNs(const delay::ThreadLedger& ledger) {
  uint64_t local_ns;
  uint64_t now_ns;
  do {  // again where a handler of this thread has paused or imposed between the two
    local_ns = ledger.local_delay_ns.load(std::memory_order_relaxed);
    now_ns = MonotonicNowNs();
  } while (local_ns != ledger.local_delay_ns.load(std::memory_order_relaxed));
  return now_ns - local_ns;
}

uint64_t VirtualTimeOfVisitNs(delay::GlobalLedger& global, delay::ThreadLedger& ledger) {
  if (delay::Accrues(ledger)) delay::ImposeAccrued(global, ledger, MonotonicNowNs());
  return VirtualNowNs(ledger);
}

void CountTimedVisit(shared::ControlBlock& control, shared::ThreadSlot& thread,
                     shared::PointSlot& point, uint64_t virtual_ns) {
  const uint32_t index = CellOf(control, point);
  if (index == shared::kMaxTimedPoints) {
    thread.visits[&point - control.points].fetch_add(1, std::memory_order_relaxed);
    return;
  }
  shared::TimedCell& cell = thread.timed[index];
  // Only additions, so that a visit by a handler of the program in between is not lost.
  cell.changes.fetch_add(1, std::memory_order_acquire);
  cell.visits.fetch_add(1, std::memory_order_relaxed);
  cell.time_sum_ns.fetch_add(virtual_ns, std::memory_order_relaxed);
  cell.changes.fetch_add(1, std::memory_order_release);
}

uint64_t RequestTable::KeyOf(const shared::PointSlot& end_point, uint64_t id) {
  // Both multipliers are odd, so that requests of one point never share a key.
  const uint64_t key =
      (id ^ reinterpret_cast<uintptr_t>(&end_point) * 0xc2b2ae3d27d4eb4fu) * 0x9e3779b97f4a7c15u;
  return key == 0 ? 1 : key;
}

void RequestTable::Begin(const shared::PointSlot& end_point, uint64_t id, uint64_t virtual_ns) {
  const uint64_t key = KeyOf(end_point, id);
  for (size_t i = 0; i < kProbes; ++i) {
    Entry& entry = entries_[((key >> 40) + i) % kEntries];
    uint64_t found = 0;
    // A request that was begun before and never ended is begun anew.
    if (entry.key.compare_exchange_strong(found, key, std::memory_order_relaxed) || found == key) {
      entry.begin_ns.store(virtual_ns, std::memory_order_release);
      return;
    }
  }
}

bool RequestTable::End(const shared::PointSlot& end_point, uint64_t id, uint64_t virtual_ns,
                       uint64_t* latency_ns) {
  const uint64_t key = KeyOf(end_point, id);
  for (size_t i = 0; i < kProbes; ++i) {
    Entry& entry = entries_[((key >> 40) + i) % kEntries];
    if (entry.key.load(std::memory_order_acquire) != key) continue;
    const uint64_t begin_ns = entry.begin_ns.load(std::memory_order_acquire);
    // Virtual times of two threads may differ by what is still owed.
    *latency_ns = virtual_ns > begin_ns ? virtual_ns - begin_ns : 0;
    entry.key.store(0, std::memory_order_release);
    return true;
  }
  return false;
}

}  // namespace coz::runtime
