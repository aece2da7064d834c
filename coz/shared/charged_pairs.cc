#include "coz/shared/charged_pairs.h"

#include "coz/base/clock.h"
#include "coz/base/thread_cpu_clock.h"
#include "coz/shared/lent_counters.h"
#include "coz/shared/slot_loops.h"

namespace coz::shared {
namespace {

// Reading them costs two cache lines a thread: some microseconds per sample in the selected unit.
constexpr uint32_t kMostThreads = 64;

bool ReadVisits(const ControlBlock& control, const ChargedPair& pair, PairEnd end,
                uint64_t* visits) {
  const uint32_t slot = end == PairEnd::kBegin ? pair.begin : pair.end;
  if (slot == kAtPlaces) {
    if (!ReadLentVisits(control, pair.point, end, visits)) return false;
    const uint32_t place = end == PairEnd::kBegin ? pair.begin_place : pair.end_place;
    if (place != 0) *visits += UntimedVisits(control, place - 1);
    return true;
  }
  *visits = UntimedVisits(control, slot);
  return true;
}

void Charge(const ControlBlock& control, uint64_t rise_ns, ChargedPair* pair) {
  // Departures first: a request that ends in between must not seem to have left before it came.
  uint64_t departures = 0;
  uint64_t arrivals = 0;
  if (!ReadVisits(control, *pair, PairEnd::kEnd, &departures)) return;
  if (!ReadVisits(control, *pair, PairEnd::kBegin, &arrivals)) return;
  pair->delay_ns.fetch_add(rise_ns, std::memory_order_relaxed);
  // Below 0, modulo 2^64, where more ends than begins were counted: the supervisor knows how many
  // were under way before.
  pair->delay_in_flight_ns.fetch_add(rise_ns * (arrivals - departures), std::memory_order_relaxed);
}

}  // namespace

uint64_t UntimedVisits(const ControlBlock& control, uint32_t point) {
  uint64_t visits = control.points[point].shared.count.load(std::memory_order_relaxed);
  ForEachThread(control, [&visits, point](const ThreadSlot& thread) {
    visits += thread.visits[point].load(std::memory_order_relaxed);
  });
  return visits;
}

uint64_t RiseBy(const delay::GlobalLedger& global, const delay::ThreadLedger& thread,
                uint64_t delay_ns) {
  if (delay::DelaysEverybody(global)) return delay_ns;
  const uint64_t global_ns = global.global_delay_ns.load(std::memory_order_relaxed);
  const uint64_t local_ns = thread.local_delay_ns.load(std::memory_order_relaxed);
  const uint64_t behind_ns = local_ns < global_ns ? global_ns - local_ns : 0;
  return delay_ns > behind_ns ? delay_ns - behind_ns : 0;
}

void ChargePairs(ControlBlock& control, uint64_t rise_ns, ChargeBudget* budget) {
  const uint32_t used = control.charged_pairs_used.load(std::memory_order_acquire);
  if (__builtin_expect(used == 0, 1) || rise_ns == 0) return;
  if (UsedThreadSlots(control) > kMostThreads) return;
  const uint64_t now_ns = MonotonicNowNs();
  if (!budget->Allows(now_ns)) return;
  const uint64_t cpu_before_ns = ThreadCpuNowNs();
  for (uint32_t i = 0; i < used && i < kMaxChargedPairs; ++i) {
    Charge(control, rise_ns, &control.charged_pairs[i]);
  }
  budget->Spend(now_ns, ThreadCpuNowNs() - cpu_before_ns);
}

}  // namespace coz::shared
