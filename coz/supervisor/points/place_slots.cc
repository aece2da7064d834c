#include "coz/supervisor/points/place_slots.h"

#include <atomic>

#include "absl/strings/str_format.h"

namespace coz::supervisor {

uint32_t TakePlaceSlot(const std::string& name, shared::ControlBlock* control) {
  for (uint32_t i = 0; i < shared::kMaxPoints; ++i) {
    shared::PointSlot& slot = control->points[i];
    auto free = shared::PointState::kFree;
    if (!slot.state.compare_exchange_strong(free, shared::PointState::kBeingWritten,
                                            std::memory_order_acquire)) {
      continue;
    }
    slot.kind = shared::PointKind::kPlace;
    absl::SNPrintF(slot.name, sizeof(slot.name), "%s", name);
    slot.state.store(shared::PointState::kReady, std::memory_order_release);
    return i;
  }
  return kNoSlot;
}

}  // namespace coz::supervisor
