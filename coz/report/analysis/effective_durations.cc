#include "coz/report/analysis/effective_durations.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <vector>

namespace coz::report {
namespace {

constexpr uint64_t kAroundNs = 2'000'000'000;

struct Surroundings {
  CpuContention contention;
  double periods = 0;  // of a quota
  double throttled_periods = 0;
};

void Add(const ExperimentRow& row, double sign, Surroundings* sum) {
  sum->contention.ran_ns += sign * static_cast<double>(row.ran_beside_ns);
  sum->contention.queued_ns += sign * static_cast<double>(row.queued_beside_ns);
  sum->contention.queued_for_others_ns += sign * static_cast<double>(row.queued_for_others_ns);
  sum->contention.beside_ns += sign * static_cast<double>(row.beside_cpu_ns);
  sum->contention.busy_ns += sign * static_cast<double>(row.busy_beside_ns);
  sum->periods += sign * static_cast<double>(row.quota_periods);
  sum->throttled_periods += sign * static_cast<double>(row.quota_throttled_periods);
}

double ShareThrottled(const Surroundings& around) {
  return around.periods > 0 ? std::clamp(around.throttled_periods / around.periods, 0.0, 1.0) : 0;
}

// Where the quota is used up, the time that its CPUs need for the work: pauses are none, and the
// unit's work takes so much less. A wait takes no CPU time.
double EffectiveByQuotaNs(const ExperimentRow& row) {
  const double elapsed_ns = static_cast<double>(row.elapsed_ns);
  const double allowed_ns = static_cast<double>(row.quota_allowed_ns);
  if (allowed_ns <= 0) return 0;
  const double used_ns = row.quota_used_ns > 0 ? static_cast<double>(row.quota_used_ns)
                                               : row.share_throttled * allowed_ns;
  const double saved_ns = row.speeds_up_waits ? 0 : static_cast<double>(row.imposed_ns);
  const double work_ns = used_ns - static_cast<double>(row.pause_cpu_ns) - saved_ns;
  return std::max(0.0, work_ns) * elapsed_ns / allowed_ns;
}

void SetEffectiveDuration(const Surroundings& around, ExperimentRow* row) {
  row->share_left = row->speeds_up_waits ? 1 : ShareLeft(around.contention);
  row->share_throttled = ShareThrottled(around);
  // Only pauses count that were paid, and by their CPU time.
  if (row->IsByQuota()) row->owed_ns = row->excess_ns = 0;
  const bool has_its_cpus = row->share_left >= 1 && row->quota_allowed_ns == 0;
  if (has_its_cpus || row->effective_duration_ns == 0) return;
  const double elapsed_ns = static_cast<double>(row->elapsed_ns);
  const double effective_ns = static_cast<double>(row->effective_duration_ns);
  const double delay_ns = std::max(0.0, elapsed_ns - effective_ns);
  const double by_clock_ns = std::max(0.0, elapsed_ns - delay_ns / row->share_left);
  const double by_quota_ns = EffectiveByQuotaNs(*row);
  // A quota that was not used up is used up nevertheless by a program that is so much faster.
  const double left_ns =
      by_quota_ns + (1 - row->share_throttled) * std::max(0.0, by_clock_ns - by_quota_ns);
  row->effective_duration_ns = static_cast<uint64_t>(left_ns);
  for (PointSeen& seen : row->points) seen.duration *= left_ns / effective_ns;
}

// Experiments of one session, in the order of time.
void SetInOrder(const std::vector<ExperimentRow*>& rows) {
  Surroundings sum;
  size_t begin = 0;
  size_t end = 0;
  for (ExperimentRow* const row : rows) {
    // A hostile profile may hold any time.
    while (end < rows.size() && (rows[end]->start_ns <= row->start_ns ||
                                 rows[end]->start_ns - row->start_ns <= kAroundNs)) {
      Add(*rows[end++], 1, &sum);
    }
    while (row->start_ns - rows[begin]->start_ns > kAroundNs) Add(*rows[begin++], -1, &sum);
    SetEffectiveDuration(sum, row);
  }
}

}  // namespace

// Threads are also queued for each other, and for moments at each wake. Other programs may run on
// CPUs that nobody else wants. So either of the first two figures alone is too small. Not all other
// programs are known, so they may also be too large; what only others can have caused is not.
double ShareLeft(const CpuContention& contention) {
  constexpr double kLeast = 0.1;
  if (contention.ran_ns <= 0 || contention.busy_ns <= 0) return 1;
  const double unqueued = contention.ran_ns / (contention.ran_ns + contention.queued_ns);
  const double untaken = 1 - std::clamp(contention.beside_ns / contention.busy_ns, 0.0, 1.0);
  const double unqueued_for_others =
      contention.ran_ns / (contention.ran_ns + std::max(0.0, contention.queued_for_others_ns));
  return std::max(std::min(std::max(unqueued, untaken), unqueued_for_others), kLeast);
}

void SetEffectiveDurations(std::deque<ExperimentRow>* experiments,
                           std::deque<ExperimentRow>* controls) {
  std::map<uint64_t, std::vector<ExperimentRow*>> by_session;
  for (std::deque<ExperimentRow>* const rows : {experiments, controls}) {
    if (rows == nullptr) continue;
    for (ExperimentRow& row : *rows) {
      if (row.block == 0) {
        by_session[row.session].push_back(&row);
      } else {
        Surroundings own;
        Add(row, 1, &own);
        SetEffectiveDuration(own, &row);
      }
    }
  }
  for (auto& [session, rows] : by_session) {
    std::stable_sort(rows.begin(), rows.end(), [](const ExperimentRow* a, const ExperimentRow* b) {
      return a->start_ns < b->start_ns;
    });
    SetInOrder(rows);
  }
}

}  // namespace coz::report
