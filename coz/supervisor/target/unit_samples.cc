#include "coz/supervisor/target/unit_samples.h"

#include <utility>

namespace coz::supervisor {
namespace {

constexpr size_t kRecentSamples = 4096;

}  // namespace

void UnitSamples::Drain(uint64_t now_ns) {
  reader_.Drain(now_ns, [this](const shared::RingSample& sample) {
    total_[sample.unit] += sample.weight;
    new_[sample.unit] += sample.weight;
    if (sample.unit != never_drawn_) KeepForDraw(sample.unit);
  });
}

void UnitSamples::KeepForDraw(experiment::UnitId unit) {
  if (recent_.size() < kRecentSamples) {
    recent_.push_back(unit);
  } else {
    recent_[recent_next_++ % kRecentSamples] = unit;
  }
}

absl::flat_hash_map<experiment::UnitId, uint64_t> UnitSamples::TakeNew() {
  absl::flat_hash_map<experiment::UnitId, uint64_t> taken;
  std::swap(taken, new_);
  return taken;
}

std::optional<experiment::UnitId> UnitSamples::Draw(Random& random) {
  if (recent_.empty()) return std::nullopt;
  const experiment::UnitId unit = recent_[random.Below(recent_.size())];
  recent_.clear();
  recent_next_ = 0;
  return unit;
}

}  // namespace coz::supervisor
