#include "coz/report/analysis/experiment_index.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace coz::report {
namespace {

// Fewer baselines tell too little of how a share varies.
constexpr double kFewestBaselines = 5;
// So many of them may have coarse samples, which miss some of the program's stretches.
constexpr double kCoarseShare = 0.1;
// Mean live threads are rounded.
constexpr double kRounding = 0.5;

// How many threads ran or were queued for a CPU at a time on average, at most; 0: not known. Where
// threads are queued, work takes that much longer by the clock than its CPU time.
double MostRunning(const ExperimentRow& row) {
  const double cpus = row.cpus;
  double running = row.live_threads == 0 ? cpus : std::min(cpus, row.live_threads + kRounding);
  if (std::isfinite(row.runnable_threads_average)) {
    running = std::max(running, row.runnable_threads_average + row.threads_beside_average);
  }
  return running / row.share_left;
}

}  // namespace

SampleShare SampleShare::Of(const ExperimentTable& table, const std::vector<size_t>& rows,
                            size_t unit) {
  double own = 0;
  double all = 0;
  for (size_t i : rows) {
    own += static_cast<double>(table.experiments[i].unit_samples.Of(unit));
    all += static_cast<double>(table.experiments[i].total_samples);
  }
  SampleShare share;
  if (own <= 0 || all <= 0) return share;
  share.value = own / all;
  double squares = 0;
  for (size_t i : rows) {
    const ExperimentRow& row = table.experiments[i];
    const double expected = share.value * static_cast<double>(row.total_samples);
    squares += std::pow(static_cast<double>(row.unit_samples.Of(unit)) - expected, 2);
  }
  const double n = static_cast<double>(rows.size());
  share.error = n > 1 ? std::sqrt(squares * n / (n - 1)) / own : 1;
  return share;
}

ExperimentIndex::ExperimentIndex(const ExperimentTable& table, const CoarseSamples& coarse,
                                 const std::set<uint64_t>& kernel_sampled)
    : baselines_(table.units.size()), sums_(table.units.size()), is_wait_(table.units.size()) {
  for (size_t i = 0; i < table.units.size(); ++i) {
    is_wait_[i] = table.units[i].kind == profile::UNIT_KIND_WAIT;
  }
  for (size_t i = 0; i < table.experiments.size(); ++i) {
    const ExperimentRow& row = table.experiments[i];
    if (row.IsTainted()) continue;
    selected_[row.unit].push_back(i);
    if (!row.IsBaseline()) continue;
    Add(row, i);
    if (coarse.StretchNs(row) > 0) coarse_ += row.pooled;
    if (kernel_sampled.count(row.session) == 0) unseen_ += static_cast<double>(row.lost_periods);
  }
}

void ExperimentIndex::Add(const ExperimentRow& row, size_t i) {
  const double total = static_cast<double>(row.total_samples);
  all_ += total;
  all_squared_ += total * total;
  rows_ += 1;
  made_ += row.pooled;
  running_times_all_ += MostRunning(row) * total;
  if (row.cpus == 0) cpus_are_known_ = false;
  row.unit_samples.ForEach([&](size_t unit, uint64_t samples) {
    const double own = static_cast<double>(samples);
    sums_[unit].own += own;
    sums_[unit].own_squared += own * own;
    sums_[unit].own_times_all += own * total;
    if (samples > 0) {
      baselines_[unit].push_back({static_cast<uint32_t>(i), static_cast<uint32_t>(samples)});
    }
  });
}

SampleShare ExperimentIndex::ShareInBaselines(size_t unit) const {
  const UnitSums& u = sums_[unit];
  SampleShare share;
  if (u.own <= 0 || all_ <= 0) return share;
  share.value = u.own / all_;
  const double squares =
      u.own_squared - 2 * share.value * u.own_times_all + share.value * share.value * all_squared_;
  share.error = rows_ > 1 ? std::sqrt(std::max(0.0, squares) * rows_ / (rows_ - 1)) / u.own : 1;
  return share;
}

double ExperimentIndex::GainLimit(size_t unit) const {
  const bool is_known = cpus_are_known_ && all_ > 0 && made_ >= kFewestBaselines &&
                        coarse_ < kCoarseShare * made_ && !is_wait_[unit];
  if (!is_known) return std::numeric_limits<double>::infinity();
  const SampleShare share = ShareInBaselines(unit);
  // Two standard errors of the share, which no luck makes smaller than that of a count; the 4 is
  // what 0 samples leave open. CPU time without samples may all be the unit's.
  const double own = sums_[unit].own;
  const double error = std::max(share.error * own, std::sqrt(own));
  const double most = (own + 2 * error + 4 + unseen_) / (all_ + unseen_);
  return most * (running_times_all_ / all_);
}

}  // namespace coz::report
