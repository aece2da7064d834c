#include "coz/report/wording/baseline_use.h"

#include <algorithm>
#include <cstdint>

#include "absl/container/flat_hash_map.h"

namespace coz::report {
namespace {

double Ratio(double part, double whole) { return whole > 0 ? part / whole : 0; }

// The CPU time of others by the run time: what is known of it where samples are of waits.
double CpusOfNeighbours(const profile::Profile& profile) {
  double cpu_ns = 0;
  double run_time_ns = 0;
  for (const profile::SessionEnd& end : profile.session_end()) {
    run_time_ns += static_cast<double>(end.run_time_ns());
    for (const profile::Neighbour& one : end.neighbour()) {
      cpu_ns += static_cast<double>(one.cpu_ns());
    }
  }
  return Ratio(cpu_ns, run_time_ns);
}

// CPU time of the program's threads.
double RunningNs(const ExperimentRow& row, double period_ns, double cpus_of_neighbours) {
  if (row.speeds_up_waits) {
    return std::max(0.0, static_cast<double>(row.busy_cpu_ns) -
                             cpus_of_neighbours * static_cast<double>(row.elapsed_ns));
  }
  const double sampled = static_cast<double>(row.total_samples) +
                         static_cast<double>(row.lost_samples) +
                         static_cast<double>(row.lost_periods);
  return sampled * period_ns + static_cast<double>(row.unsampled_ns);
}

double Whole(const BaselineUse& use) { return use.busy_ns + use.idle_ns + use.stolen_ns; }

}  // namespace

double BaselineUse::OthersShare() const {
  return Ratio(std::max(0.0, busy_ns - running_ns), Whole(*this));
}

double BaselineUse::IdleShare() const { return Ratio(idle_ns, Whole(*this)); }

double BaselineUse::LeftShare() const { return elapsed_ns > 0 ? left_ns / elapsed_ns : 1; }

double BaselineUse::ThrottledShare() const { return Ratio(throttled_ns, elapsed_ns); }

double BaselineUse::StolenShare() const { return Ratio(stolen_ns, Whole(*this)); }

BaselineUse SumBaselines(const profile::Profile& profile, const ExperimentTable& table) {
  absl::flat_hash_map<uint64_t, double> periods;
  for (const profile::Session& session : profile.session()) {
    periods[session.id()] = static_cast<double>(session.sampling_period_ns());
  }
  const double cpus_of_neighbours = CpusOfNeighbours(profile);
  BaselineUse use;
  for (const ExperimentRow& row : table.experiments) {
    const auto period = periods.find(row.session);
    if (row.virtual_speedup != 0 || period == periods.end()) continue;
    // Imported experiments know only the samples of the selected line.
    if (row.total_samples == 0 && !row.unit_samples.empty()) continue;
    use.elapsed_ns += static_cast<double>(row.elapsed_ns);
    use.left_ns += row.share_left * static_cast<double>(row.elapsed_ns);
    use.throttled_ns += row.share_throttled * static_cast<double>(row.elapsed_ns);
    use.unsampled_ns += static_cast<double>(row.unsampled_ns);
    use.running_ns += RunningNs(row, period->second, cpus_of_neighbours);
    use.quota_throttled_ns += static_cast<double>(row.quota_throttled_ns);
    use.busy_ns += static_cast<double>(row.busy_cpu_ns);
    use.idle_ns += static_cast<double>(row.idle_cpu_ns);
    use.stolen_ns += static_cast<double>(row.stolen_cpu_ns);
    use.baselines += row.pooled;
    use.with_busy_cpus += row.HasBusyCpus() ? row.pooled : 0;
    use.with_waits += row.speeds_up_waits ? row.pooled : 0;
  }
  return use;
}

}  // namespace coz::report
