#include "coz/sync/delay/stretches.h"

namespace coz::delay {
namespace {

// Shares of fewer samples are not believed; beyond the larger number old ones fade.
constexpr uint32_t kLeastSamples = 4;
constexpr uint32_t kMostSamples = 64;
// In longer stretches the sample that is one too many or too few weighs little, and that delay is imposed as its time has passed more:
// all at once a sample's is imposed in the middle of what it stands for.
constexpr uint64_t kLongPeriods = 3;

}  // namespace

void Stretches::Reset() {
  selection.store(0, std::memory_order_relaxed);
  busy.store(0, std::memory_order_relaxed);
  site.store(nullptr, std::memory_order_relaxed);
  skipped_calls = 0;
  for (StretchKind& kind : kinds) kind = {};
}

StretchKind* Stretches::Find(const void* wanted) {
  for (StretchKind& kind : kinds) {
    if (kind.samples != 0 && kind.site == wanted) return &kind;
  }
  return nullptr;
}

bool Stretches::IsSpread(const StretchKind& kind) const {
  if (kind.samples < kLeastSamples || kind.others() == kind.samples) return false;
  if (kind.mean_ns == 0 || kind.mean_ns > kLongPeriods * period_ns) return false;
  if (kind.others() * 8 <= kind.samples) return true;
  return uint64_t{kind.mean_ns} * kind.others() * 5 < period_ns * kind.samples;
}

void Stretches::Count(SampledUnit sampled, uint32_t selected_unit) {
  if (busy.load(std::memory_order_relaxed) != 0) return;
  if (selected_unit != unit) {
    for (StretchKind& kind : kinds) kind = {};
    unit = selected_unit;
  }
  const void* const here = site.load(std::memory_order_relaxed);
  StretchKind* kind = Find(here);
  if (kind == nullptr) {
    kind = &kinds[0];
    for (StretchKind& other : kinds) {
      if (other.samples < kind->samples) kind = &other;
    }
    *kind = {here, 0, 0, 0, 0, 0};
  }
  if (kind->samples >= kMostSamples) {
    kind->selected /= 2;
    kind->given /= 2;
    kind->samples /= 2;
  }
  ++kind->samples;
  if (sampled == SampledUnit::kSelected) ++kind->selected;
  if (sampled == SampledUnit::kGiven) ++kind->given;
  // Each end of a stretch costs two looks at the clock, so there are some 64 in a sampling period at most.
  const uint32_t made = calls - calls_at_sample;
  calls_at_sample = calls;
  skipped_calls = 0;
  while (made / (skipped_calls + 1) > 64) skipped_calls = skipped_calls * 2 + 1;
}

}  // namespace coz::delay
