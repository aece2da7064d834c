#include "coz/report/analysis/share_left.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <vector>

namespace coz::report {
namespace {

constexpr uint64_t kAroundNs = 2'000'000'000;
constexpr double kAll = 0.95;
constexpr double kStep = 0.05;

void Add(const ExperimentRow& row, double sign, CpuContention* sum) {
  sum->ran_ns += sign * static_cast<double>(row.ran_beside_ns);
  sum->queued_ns += sign * static_cast<double>(row.queued_beside_ns);
  sum->beside_ns += sign * static_cast<double>(row.beside_cpu_ns);
  sum->busy_ns += sign * static_cast<double>(row.busy_beside_ns);
}

void Scale(double share_left, ExperimentRow* row) {
  row->share_left = share_left;
  row->achieved_virtual_speedup *= share_left;
  if (row->IsBaseline() || share_left >= kAll) return;
  row->virtual_speedup =
      kStep * std::max(1.0, std::round(row->virtual_speedup * share_left / kStep));
}

// Experiments of one session, in the order of time.
void ScaleInOrder(const std::vector<ExperimentRow*>& rows) {
  CpuContention sum;
  size_t begin = 0;
  size_t end = 0;
  for (ExperimentRow* const row : rows) {
    // A hostile profile may hold any time.
    while (end < rows.size() && (rows[end]->start_ns <= row->start_ns ||
                                 rows[end]->start_ns - row->start_ns <= kAroundNs)) {
      Add(*rows[end++], 1, &sum);
    }
    while (row->start_ns - rows[begin]->start_ns > kAroundNs) Add(*rows[begin++], -1, &sum);
    Scale(ShareLeft(sum), row);
  }
}

}  // namespace

// Threads are also queued for each other, and for moments at each wake. Other programs may run on
// CPUs that nobody else wants. So either figure alone is too small.
double ShareLeft(const CpuContention& contention) {
  constexpr double kLeast = 0.1;
  if (contention.ran_ns <= 0 || contention.busy_ns <= 0) return 1;
  const double unqueued = contention.ran_ns / (contention.ran_ns + contention.queued_ns);
  const double untaken = 1 - std::clamp(contention.beside_ns / contention.busy_ns, 0.0, 1.0);
  return std::max({unqueued, untaken, kLeast});
}

void ScaleSpeedups(std::deque<ExperimentRow>* experiments) {
  std::map<uint64_t, std::vector<ExperimentRow*>> by_session;
  for (ExperimentRow& row : *experiments) {
    if (row.block == 0) {
      by_session[row.session].push_back(&row);
    } else {
      CpuContention own;
      Add(row, 1, &own);
      Scale(ShareLeft(own), &row);
    }
  }
  for (auto& [session, rows] : by_session) {
    std::stable_sort(rows.begin(), rows.end(), [](const ExperimentRow* a, const ExperimentRow* b) {
      return a->start_ns < b->start_ns;
    });
    ScaleInOrder(rows);
  }
}

}  // namespace coz::report
