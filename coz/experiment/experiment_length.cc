#include "coz/experiment/experiment_length.h"

#include <algorithm>

namespace coz::experiment {
namespace {

// Parts of an experiment. At full length the options' own values are less.
constexpr uint64_t kLeadIns = 10;
constexpr uint64_t kCooloffs = 20;
constexpr uint64_t kLooks = 20;
// The most of an experiment that a lead-in takes.
constexpr uint64_t kMostLeadIns = 4;
// What threads owe at the start of a lead-in is paid after so many sampling periods.
constexpr uint64_t kPeriodsOfLeadIn = 4;
// With fewer visits to a point an experiment says nothing about it (AnalysisOptions::min_visits).
constexpr double kUsefulVisits = 5;

}  // namespace

ExperimentLength::ExperimentLength(const SchedulerOptions& options)
    : options_(options), ns_(options.min_experiment_ns) {}

uint64_t ExperimentLength::lead_in_ns() const {
  const uint64_t by_time_ns =
      std::min(options_.lead_in_ns,
               std::max(ns_ / kLeadIns, kPeriodsOfLeadIn * options_.sampling_period_ns));
  // The lease is not prolonged in the lead-in.
  const uint64_t most_ns = std::min(ns_ / kMostLeadIns, options_.lease_ns / 2);
  const uint64_t by_visits_ns = std::min(options_.lead_in_visits * visit_ns_, most_ns);
  return std::max(by_time_ns, by_visits_ns);
}

uint64_t ExperimentLength::cooloff_ns() const {
  return std::min(options_.cooloff_ns,
                  std::max(ns_ / kCooloffs, kPeriodsOfLeadIn * options_.sampling_period_ns));
}

uint64_t ExperimentLength::look_ns() const {
  return std::min(options_.look_ns, std::max<uint64_t>(ns_ / kLooks, options_.latency_look_ns));
}

uint64_t ExperimentLength::Wanted(const ExperimentRecord& record) const {
  const uint64_t full_ns = options_.min_experiment_ns;
  const double effective_ns = static_cast<double>(record.effective_duration_ns);
  if (effective_ns <= 0 || record.total_samples == 0) return full_ns;
  double busiest = 0;
  for (const PointDelta& point : record.points) {
    // Requests under way at both ends weigh more, the shorter an experiment is.
    if (point.arrivals + point.departures != 0) return full_ns;
    busiest = std::max(busiest, static_cast<double>(point.visits));
  }
  const double wanted_periods =
      static_cast<double>(options_.samples_of_short_experiment) * record.periods_per_sample;
  double wanted_ns = wanted_periods * static_cast<double>(record.elapsed_ns) /
                     static_cast<double>(record.total_samples);
  for (const PointDelta& point : record.points) {
    const double visits = static_cast<double>(point.visits);
    const double visits_at_full = visits * static_cast<double>(full_ns) / effective_ns;
    // A point that is too rare for any experiment of full length does not count.
    const bool counts = visits_at_full >= kUsefulVisits || visits == busiest;
    if (!counts) continue;
    wanted_ns = std::max(wanted_ns, static_cast<double>(options_.visits_of_short_experiment) *
                                        effective_ns / std::max(visits, 1.0));
  }
  const uint64_t shortest_ns = std::min(options_.shortest_experiment_ns, full_ns);
  return static_cast<uint64_t>(
      std::clamp(wanted_ns, static_cast<double>(shortest_ns), static_cast<double>(full_ns)));
}

void ExperimentLength::Learn(const ExperimentRecord& record) {
  uint64_t busiest = 0;
  for (const PointDelta& point : record.points) {
    busiest = std::max(busiest, point.visits + point.departures);
  }
  visit_ns_ = busiest == 0 ? 0 : record.elapsed_ns / busiest;
  if (!grown_) ns_ = Wanted(record);
}

void ExperimentLength::Grow(uint64_t ns) {
  if (ns <= ns_) return;
  ns_ = ns;
  grown_ = ns > options_.min_experiment_ns;
}

}  // namespace coz::experiment
