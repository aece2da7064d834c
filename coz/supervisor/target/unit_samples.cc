#include "coz/supervisor/target/unit_samples.h"

#include <algorithm>
#include <utility>

#include "coz/shared/wait_samples.h"

namespace coz::supervisor {
namespace {

constexpr size_t kRecentSamples = 4096;

}  // namespace

void UnitSamples::Drain(uint64_t now_ns) {
  reader_.Drain(now_ns, [this](const shared::RingSample& sample) {
    const experiment::UnitId unit = are_waits_ ? shared::UnitOfWait(sample.unit) : sample.unit;
    const bool is_own = are_waits_ && shared::KindOfWait(sample.unit) == delay::WaitKind::kNone;
    auto& counts = is_own ? own_waits_ : total_;
    if (has_unit_ != nullptr && !counts.contains(unit) && !has_unit_(unit)) {
      ++of_no_unit_;
      return;
    }
    counts[unit] += sample.weight;
    if (is_own) return;
    new_[unit] += sample.weight;
    if (are_waits_) {
      const auto kind = static_cast<uint32_t>(shared::KindOfWait(sample.unit));
      if (kind < delay::kWaitKinds) by_kind_[unit][kind] += sample.weight;
    }
    if (unit == never_drawn_) return;
    for (uint32_t i = 0; i < (are_waits_ ? sample.weight : 1); ++i) KeepForDraw(unit);
  });
}

std::optional<delay::WaitKind> UnitSamples::WaitKindOf(experiment::UnitId unit) const {
  const auto found = by_kind_.find(unit);
  if (found == by_kind_.end()) return std::nullopt;
  const auto most = std::max_element(found->second.begin(), found->second.end());
  return static_cast<delay::WaitKind>(most - found->second.begin());
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
