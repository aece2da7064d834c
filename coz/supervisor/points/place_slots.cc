#include "coz/supervisor/points/place_slots.h"

#include <atomic>

#include "absl/strings/str_format.h"
#include "coz/supervisor/target/shared_text.h"

namespace coz::supervisor {

namespace {

void Name(const std::string& name, shared::PointSlot* slot) {
  slot->kind = shared::PointKind::kPlace;
  absl::SNPrintF(slot->name, sizeof(slot->name), "%s", name);
}

uint32_t TakeFree(const std::string& name, shared::ControlBlock* control) {
  for (uint32_t i = 0; i < shared::kMaxPoints; ++i) {
    shared::PointSlot& slot = control->points[i];
    auto free = shared::PointState::kFree;
    if (!slot.state.compare_exchange_strong(free, shared::PointState::kBeingWritten,
                                            std::memory_order_acquire)) {
      continue;
    }
    Name(name, &slot);
    slot.state.store(shared::PointState::kReady, std::memory_order_release);
    return i;
  }
  return kNoSlot;
}

template <typename IsWanted>
uint32_t TakeReleased(shared::ControlBlock* control, IsWanted is_wanted) {
  for (uint32_t i = 0; i < shared::kMaxPoints; ++i) {
    shared::PointSlot& slot = control->points[i];
    if (slot.state.load(std::memory_order_acquire) != shared::PointState::kReady) continue;
    if (slot.is_released.load(std::memory_order_relaxed) == 0 || !is_wanted(slot)) continue;
    slot.is_released.store(0, std::memory_order_relaxed);
    return i;
  }
  return kNoSlot;
}

}  // namespace

uint32_t TakePlaceSlot(const std::string& name, shared::ControlBlock* control) {
  const std::string kept = name.substr(0, shared::kPointNameBytes - 1);
  uint32_t taken = TakeReleased(
      control, [&kept](const shared::PointSlot& slot) { return kept == SharedText(slot.name); });
  if (taken == kNoSlot) taken = TakeFree(name, control);
  if (taken == kNoSlot) {
    taken = TakeReleased(control, [](const shared::PointSlot&) { return true; });
    if (taken != kNoSlot) Name(name, &control->points[taken]);
  }
  return taken;
}

}  // namespace coz::supervisor
