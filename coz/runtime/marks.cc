// The interface that marks (coz.h) and the original's programs look up with dlsym. Process: target.
// Context: the program's threads.
#include <atomic>
#include <cstdint>

#include "coz/base/clock.h"
#include "coz/runtime/progress_points.h"
#include "coz/runtime/runtime.h"
#include "coz/runtime/runtime_state.h"
#include "coz/runtime/timed_visits.h"
#include "coz/shared/control_block.h"
#include "coz/sync/interpose/outside_wait.h"
#include "coz/sync/interpose/thread_sync.h"

namespace coz::runtime {
namespace {

using runtime_internal::CurrentSlot;
using runtime_internal::g_control;
using runtime_internal::g_process;

RequestTable g_requests;

// Between _coz_pre_block and _coz_post_block.
__thread delay::Wait t_custom_wait __attribute__((tls_model("initial-exec"))) = {};
__thread interpose::OwnWait t_own_wait __attribute__((tls_model("initial-exec")));

// One end of a request that the program has numbered. A pair is known by its END.
void CountRequest(shared::PointSlot& point, uint64_t id, uint64_t virtual_ns) {
  if (point.kind == shared::PointKind::kBegin) {
    shared::PointSlot* end = FindOrAddPoint(*g_control, shared::PointKind::kEnd, point.name);
    if (end != nullptr) g_requests.Begin(*end, id, virtual_ns);
    return;
  }
  uint64_t latency_ns = 0;
  if (!g_requests.End(point, id, virtual_ns, &latency_ns)) return;
  const uint32_t cell = point.timed_cell.load(std::memory_order_relaxed);
  if (cell == 0 || cell > shared::kMaxTimedPoints) return;
  g_control->latencies[cell - 1].requests[shared::LatencyBucket(latency_ns)].fetch_add(
      1, std::memory_order_relaxed);
}

}  // namespace

extern "C" {

#define COZ_EXPORT __attribute__((visibility("default")))

COZ_EXPORT shared::CompatibleCounter* _coz_get_counter(int kind, const char* name) {
  if (!IsProfiledProcess() || kind < 1 || kind > 3 || name == nullptr) return nullptr;
  shared::PointSlot* point = FindOrAddPoint(*g_control, static_cast<shared::PointKind>(kind), name);
  return point == nullptr ? nullptr : &point->shared;
}

COZ_EXPORT uint64_t* _coz_thread_counter(int kind, const char* name) {
  if (!IsProfiledProcess() || kind < 1 || kind > 3 || name == nullptr) return nullptr;
  shared::PointSlot* point = FindOrAddPoint(*g_control, static_cast<shared::PointKind>(kind), name);
  if (point == nullptr) return nullptr;
  shared::ThreadSlot* slot = CurrentSlot();
  // std::atomic<uint64_t> is lock-free and laid out as uint64_t; marks access it with atomic loads
  // and stores. A thread without a slot shares a counter and may lose visits; it was counted.
  static_assert(sizeof(std::atomic<uint64_t>) == sizeof(uint64_t));
  return slot == nullptr ? reinterpret_cast<uint64_t*>(&point->shared.count)
                         : reinterpret_cast<uint64_t*>(&slot->visits[point - g_control->points]);
}

COZ_EXPORT void _coz_timed_visit(int kind, const char* name, uint32_t* handle, const uint64_t* id) {
  if (g_process == nullptr || HasLeftProfile() || kind < 2 || kind > 3 || name == nullptr) return;
  // The handle is the number of the point, for which the mark keeps room.
  uint32_t number = __atomic_load_n(handle, __ATOMIC_RELAXED);
  if (number == 0) {
    shared::PointSlot* found =
        FindOrAddPoint(*g_control, static_cast<shared::PointKind>(kind), name);
    if (found == nullptr) return;
    number = static_cast<uint32_t>(found - g_control->points) + 1;
    __atomic_store_n(handle, number, __ATOMIC_RELAXED);
  }
  shared::PointSlot& point = g_control->points[number - 1];
  shared::ThreadSlot* slot = CurrentSlot();
  if (slot == nullptr) {
    point.shared.count.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  const uint64_t virtual_ns = VirtualTimeOfVisitNs(g_control->ledger, slot->ledger);
  CountTimedVisit(*g_control, *slot, point, virtual_ns);
  if (id != nullptr) CountRequest(point, *id, virtual_ns);
}

COZ_EXPORT void _coz_add_delays() { interpose::PayIfBehind(); }

COZ_EXPORT void _coz_pre_block() {
  interpose::PayIfBehind();
  if (delay::ThreadLedger* ledger = interpose::CurrentThreadLedger()) {
    t_custom_wait = interpose::BeginThreadWait(*ledger, MonotonicNowNs());
    t_own_wait.Start(*ledger);
  }
}

COZ_EXPORT void _coz_post_block(int ended_by_thread) {
  delay::ThreadLedger* ledger = interpose::CurrentThreadLedger();
  if (ledger == nullptr) return;
  const uint64_t now_ns = MonotonicNowNs();
  if (delay::Accrues(*ledger)) delay::ResumeStretch(*ledger, now_ns);
  if (ended_by_thread != 0 && t_custom_wait.start_ns != 0) {
    interpose::EndMarkedWait(*ledger, t_custom_wait, now_ns);
  } else {
    delay::EndWaitUncredited(*ledger);
  }
  if (t_custom_wait.start_ns != 0) t_own_wait.End(*ledger, 0);
  t_custom_wait = {};
}

}  // extern "C"

}  // namespace coz::runtime
