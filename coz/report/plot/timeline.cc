#include "coz/report/plot/timeline.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "absl/container/flat_hash_map.h"

namespace coz::report {
namespace {

struct Placement {
  absl::flat_hash_map<uint64_t, uint64_t> starts;  // by session
  std::vector<uint64_t> in_order;
  uint64_t end_ns = 0;
};

// Sessions one after the other, whatever lay between them.
Placement PlaceSessions(const profile::Profile& profile, const ExperimentTable& table) {
  absl::flat_hash_map<uint64_t, uint64_t> lengths;
  for (const ExperimentRow& row : table.experiments) {
    uint64_t& length = lengths[row.session];
    length = std::max(length, row.start_ns + row.elapsed_ns);
  }
  for (const profile::SessionEnd& end : profile.session_end()) {
    uint64_t& length = lengths[end.session()];
    length = std::max(length, end.run_time_ns());
  }
  Placement placement;
  for (const profile::Session& session : profile.session()) {
    if (!placement.starts.emplace(session.id(), placement.end_ns).second) continue;
    placement.in_order.push_back(placement.end_ns);
    placement.end_ns += lengths[session.id()];
  }
  return placement;
}

std::vector<size_t> BusiestUnits(const ExperimentTable& table, size_t count) {
  std::vector<size_t> units(table.units.size());
  std::iota(units.begin(), units.end(), 0);
  std::stable_sort(units.begin(), units.end(), [&table](size_t a, size_t b) {
    return table.units[a].samples > table.units[b].samples;
  });
  units.resize(std::min(count, units.size()));
  while (!units.empty() && table.units[units.back()].samples == 0) units.pop_back();
  return units;
}

// Each bin gets an experiment's figures by the part of the experiment that lies in it.
class Bins {
 public:
  Bins(uint64_t end_ns, size_t count) : end_ns_(end_ns), count_(count) {}

  std::vector<double> Ratio(const std::vector<TimelineExperiment>& experiments,
                            const std::vector<double>& above,
                            const std::vector<double>& below) const {
    std::vector<double> sums_above(count_), sums_below(count_);
    for (size_t i = 0; i < experiments.size(); ++i) {
      const double length =
          static_cast<double>(experiments[i].end_ns) - static_cast<double>(experiments[i].start_ns);
      if (!(length > 0)) continue;
      const double first = Position(experiments[i].start_ns);
      const double last = Position(experiments[i].end_ns);
      for (size_t bin = static_cast<size_t>(first); bin < count_; ++bin) {
        const double left = std::max(first, static_cast<double>(bin));
        const double right = std::min(last, static_cast<double>(bin + 1));
        if (right <= left) break;
        const double part = (right - left) / (last - first);
        sums_above[bin] += above[i] * part;
        sums_below[bin] += below[i] * part;
      }
    }
    std::vector<double> ratios(count_, -1);
    for (size_t bin = 0; bin < count_; ++bin) {
      if (sums_below[bin] > 0) ratios[bin] = sums_above[bin] / sums_below[bin];
    }
    return ratios;
  }

 private:
  double Position(uint64_t ns) const {
    const double share = static_cast<double>(ns) / static_cast<double>(end_ns_);
    return std::min(share, 1.0) * static_cast<double>(count_);
  }

  const uint64_t end_ns_;
  const size_t count_;
};

}  // namespace

Timeline BuildTimeline(const profile::Profile& profile, const ExperimentTable& table, size_t bins,
                       size_t max_units) {
  const Placement placement = PlaceSessions(profile, table);
  Timeline timeline;
  timeline.end_ns = placement.end_ns;
  timeline.session_starts_ns = placement.in_order;
  if (placement.end_ns == 0) return timeline;
  std::vector<double> samples;
  std::vector<double> seconds;
  for (size_t i = 0; i < table.experiments.size(); ++i) {
    const ExperimentRow& row = table.experiments[i];
    const auto start = placement.starts.find(row.session);
    if (start == placement.starts.end()) continue;
    const uint64_t begin = std::min(start->second + row.start_ns, placement.end_ns);
    const uint64_t end = std::min(begin + row.elapsed_ns, placement.end_ns);
    timeline.experiments.push_back({begin, end, i});
    samples.push_back(static_cast<double>(row.total_samples));
    seconds.push_back(static_cast<double>(row.effective_duration_ns) / 1e9);
  }
  const Bins all(placement.end_ns, bins);
  std::vector<double> values(timeline.experiments.size());
  for (size_t unit : BusiestUnits(table, max_units)) {
    for (size_t i = 0; i < values.size(); ++i) {
      const ExperimentRow& row = table.experiments[timeline.experiments[i].row];
      values[i] = static_cast<double>(row.unit_samples.Of(unit));
    }
    timeline.units.push_back({unit, all.Ratio(timeline.experiments, values, samples)});
  }
  for (size_t point = 0; point < table.points.size(); ++point) {
    if (table.points[point].visits == 0) continue;
    for (size_t i = 0; i < values.size(); ++i) {
      values[i] = 0;
      for (const PointSeen& seen : table.experiments[timeline.experiments[i].row].points) {
        if (seen.point == point) values[i] = seen.visits;
      }
    }
    timeline.points.push_back({point, all.Ratio(timeline.experiments, values, seconds)});
  }
  return timeline;
}

}  // namespace coz::report
