#include "coz/report/analysis/spinning.h"

#include <algorithm>
#include <cstdint>

namespace coz::report {
namespace {

std::vector<size_t> UnitsThatSpin(const std::vector<UnitRow>& all) {
  constexpr uint64_t kWorthNaming = 10;  // one part in so many
  uint64_t samples = 0;
  for (const UnitRow& unit : all) samples += unit.spinning_samples;
  std::vector<size_t> units;
  for (size_t i = 0; i < all.size(); ++i) {
    const uint64_t own = all[i].spinning_samples;
    if (own != 0 && own >= samples / kWorthNaming) units.push_back(i);
  }
  std::stable_sort(units.begin(), units.end(), [&all](size_t a, size_t b) {
    return all[a].spinning_samples > all[b].spinning_samples;
  });
  return units;
}

}  // namespace

Spinning FindSpinning(const ExperimentTable& table) {
  double spinning = 0;
  double outside = 0;
  double samples = 0;
  int crowded = 0;
  int baselines = 0;
  for (const ExperimentRow& row : table.experiments) {
    if (!row.IsBaseline()) continue;
    baselines += static_cast<int>(row.pooled);
    if (row.IsCrowded()) crowded += static_cast<int>(row.pooled);
    spinning += static_cast<double>(row.spinning_samples);
    outside += static_cast<double>(row.spinning_outside_samples);
    samples += static_cast<double>(row.total_samples);
  }
  Spinning found;
  if (samples > 0) found.share = spinning / samples;
  found.is_outside = outside > spinning / 2;
  if (2 * crowded > baselines) found.freed = found.share;
  found.units = UnitsThatSpin(table.units);
  return found;
}

}  // namespace coz::report
