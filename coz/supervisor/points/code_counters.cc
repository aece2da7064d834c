#include "coz/supervisor/points/code_counters.h"

#include <sys/types.h>

#include <atomic>
#include <utility>

#include "coz/base/clock.h"
#include "coz/shared/charged_pairs.h"
#include "coz/shared/slot_loops.h"
#include "coz/supervisor/points/place_slots.h"
#include "coz/supervisor/target/mapped_code.h"

namespace coz::supervisor {

std::optional<size_t> CodeCounters::Add(const std::string& name, const PlaceInFile& place,
                                        const PlacePlans& plans) {
  PlacePlans with_room = plans;
  if (!patched_.MakeRoom(place, &with_room).empty()) return std::nullopt;
  Counter counter;
  counter.slot = TakePlaceSlot(name, &control_);
  if (counter.slot == kNoSlot) return std::nullopt;
  VisitSlots slots;
  slots.visits = counter.slot;
  counter.place = patched_.Add(slots, place, with_room);
  counters_.push_back(counter);
  return counters_.size() - 1;
}

std::vector<size_t> CodeCounters::Poll() {
  std::vector<size_t> refused;
  std::vector<std::pair<pid_t, uint64_t>> live;
  const uint64_t now_ns = MonotonicNowNs();
  shared::ForEachProcess(control_, [&](shared::ProcessSlot& slot, uint32_t index) {
    if (slot.state.load(std::memory_order_acquire) != shared::ProcessState::kRunning) return;
    ImageProcess process = {slot.pid, slot.start_ns, {}};
    if (!members_.Has(control_, index, process.pid, now_ns)) return;
    live.emplace_back(process.pid, process.start_ns);
    process.mapped = ReadMappedCode(process.pid);
    for (const PatchedPlaces::Refused& told : patched_.Ask(control_, slot, process)) {
      why_refused_ = told.why;
      for (size_t i = 0; i < counters_.size(); ++i) {
        if (counters_[i].place == told.place) refused.push_back(i);
      }
    }
  });
  patched_.Forget(live);
  return refused;
}

uint64_t CodeCounters::Read(const Counter& counter) const {
  return shared::UntimedVisits(control_, counter.slot);
}

std::vector<std::optional<points::VisitSlice>> CodeCounters::TakeSlices() {
  std::vector<std::optional<points::VisitSlice>> slices;
  for (Counter& counter : counters_) {
    slices.emplace_back();
    if (!patched_.IsThere(counter.place)) {
      counter.since_ns = 0;
      continue;
    }
    const uint64_t now_ns = MonotonicNowNs();
    const uint64_t visits = Read(counter);
    if (counter.since_ns != 0) {
      slices.back() = {visits - counter.visits, now_ns - counter.since_ns};
    }
    counter.since_ns = now_ns;
    counter.visits = visits;
  }
  return slices;
}

void CodeCounters::RemoveAll() {
  for (const Counter& counter : counters_) patched_.Remove(counter.place);
}

}  // namespace coz::supervisor
