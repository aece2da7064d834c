#include "coz/report/analysis/delay_factor.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "coz/report/analysis/analysis.h"
#include "coz/report/analysis/timed_observation.h"
#include "coz/report/format/profile.pb.h"
#include "coz/report/statistics/statistics.h"
#include "coz/report/statistics/time_blocks.h"

namespace coz::report {
namespace {

// Delays cannot bring visits, and with more than this a point is hardly visited at all.
constexpr double kLargestFactor = 3;
// Where pauses take more than their time, those of an experiment may take another part of it: not
// all threads pause there.
constexpr double kUnlikeExperiments = 0.25;

struct Controls {
  std::vector<TimedObservation> observations;
  double effective_ns = 0;
  double delay_ns = 0;
  int count = 0;
};

TimedObservation Observe(const ExperimentRow& row, const PointSeen& seen, double speedup) {
  return AtItsTime(row, {speedup, seen.duration, seen.visits});
}

const PointSeen* Usable(const ExperimentRow& row, size_t point) {
  if (row.IsTainted() || row.effective_duration_ns == 0) return nullptr;
  const uint64_t enough = AnalysisOptions().min_visits;
  for (const PointSeen& seen : row.points) {
    if (seen.point != point) continue;
    return seen.least_visits >= enough && seen.duration > 0 ? &seen : nullptr;
  }
  return nullptr;
}

double DelayNs(const ExperimentRow& row) {
  return static_cast<double>(row.elapsed_ns) - static_cast<double>(row.effective_duration_ns);
}

Controls ControlsAt(const ExperimentTable& table, size_t point) {
  Controls controls;
  for (const ExperimentRow& row : table.controls) {
    const PointSeen* seen = Usable(row, point);
    if (seen == nullptr || DelayNs(row) <= 0) continue;
    // As a speedup of 100 %: the slope is what delays seem to bring.
    controls.observations.push_back(Observe(row, *seen, 1));
    controls.effective_ns += static_cast<double>(row.effective_duration_ns);
    controls.delay_ns += DelayNs(row);
    controls.count += static_cast<int>(row.pooled);
  }
  if (controls.count < kLeastControls) return controls;
  for (const ExperimentRow& row : table.experiments) {
    const PointSeen* seen = row.IsBaseline() ? Usable(row, point) : nullptr;
    if (seen != nullptr) controls.observations.push_back(Observe(row, *seen, 0));
  }
  return controls;
}

// A visit takes t in baselines, and t·(1 − gain) of effective time in controls. In controls it
// really takes elapsed − factor × delay.
double FactorOf(double gain, double effective_by_delay) {
  return 1 - effective_by_delay * gain / (1 - std::min(gain, 0.999));
}

std::optional<DelayFactor> Measure(const ExperimentTable& table, size_t point) {
  Controls controls = ControlsAt(table, point);
  if (controls.count < kLeastControls) return std::nullopt;
  const std::optional<SlopeEstimate> gain =
      EstimateSlope(InBlocks(std::move(controls.observations)));
  if (!gain.has_value() || !std::isfinite(gain->low) || !std::isfinite(gain->high)) {
    return std::nullopt;
  }
  const double effective_by_delay = controls.effective_ns / controls.delay_ns;
  DelayFactor factor;
  factor.point = point;
  factor.controls = controls.count;
  factor.measured.value = FactorOf(gain->value, effective_by_delay);
  factor.measured.low = FactorOf(gain->high, effective_by_delay);
  factor.measured.high = FactorOf(gain->low, effective_by_delay);
  return factor;
}

// The closer to 1 a factor is, and the less sure, the more of its distance is chance.
void Shrink(DelayFactor* factor) {
  const double error = (factor->measured.high - factor->measured.low) / 4;
  const double distance = factor->measured.value - 1;
  const double usual = kUsualDeviation * kUsualDeviation;
  const double real = std::max(usual, distance * distance - error * error);
  const double weight = real / (real + error * error);
  factor->used = std::clamp(1 + weight * distance, 0.0, kLargestFactor);
  // Half a trace may be all of it in some parts of the program, and none in others.
  const double unlike = factor->used < 1 ? factor->used * (1 - factor->used)
                                         : kUnlikeExperiments * (factor->used - 1);
  factor->error = std::hypot(std::sqrt(weight) * error, unlike);
}

void Apply(const DelayFactor& factor, ExperimentRow* row) {
  if (row->effective_duration_ns == 0 || DelayNs(*row) <= 0) return;
  const double effective_ns = static_cast<double>(row->effective_duration_ns);
  const double left_ns =
      LeftByFactor(static_cast<double>(row->elapsed_ns), effective_ns, factor.used);
  for (PointSeen& seen : row->points) {
    if (seen.point == factor.point) seen.duration *= left_ns / effective_ns;
  }
}

}  // namespace

double LeftByFactor(double elapsed_ns, double effective_ns, double factor) {
  // A program that is sped up by all of its time may have less than nothing left.
  constexpr double kLeastNs = 1;
  return std::max(kLeastNs, elapsed_ns - factor * (elapsed_ns - effective_ns));
}

void SetDelayFactors(ExperimentTable* table) {
  for (size_t point = 0; point < table->points.size(); ++point) {
    // A request's time holds the pauses in it, whatever sets the pace of requests.
    if (table->points[point].kind == profile::PROGRESS_POINT_KIND_LATENCY) continue;
    std::optional<DelayFactor> factor = Measure(*table, point);
    if (!factor.has_value()) continue;
    Shrink(&*factor);
    for (ExperimentRow& row : table->experiments) Apply(*factor, &row);
    table->delay_factors.push_back(*factor);
  }
}

const DelayFactor* DelayFactorOf(const ExperimentTable& table, size_t point) {
  for (const DelayFactor& factor : table.delay_factors) {
    if (factor.point == point) return &factor;
  }
  return nullptr;
}

bool IsPaced(const DelayFactor& factor) { return factor.measured.high < kPacedBelow; }

}  // namespace coz::report
