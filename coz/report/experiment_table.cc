#include "coz/report/experiment_table.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <tuple>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "coz/report/profile.pb.h"

namespace coz {
namespace {

using SessionAndId = std::pair<uint64_t, uint32_t>;
using UnitKey = std::tuple<int, std::string, uint32_t, std::string>;
using PointKey = std::pair<std::string, int>;

class Builder {
 public:
  explicit Builder(const profile::Profile& profile) : profile_(profile) {}

  ExperimentTable Build() {
    for (const profile::Session& session : profile_.session()) {
      session_starts_[session.id()] = session.start_unix_ns();
    }
    for (const profile::SourceChange& change : profile_.source_change()) {
      source_changes_[change.session()].push_back(change.at_ns());
    }
    for (const profile::Unit& unit : profile_.unit()) AddUnit(unit);
    for (const profile::ProgressPoint& point : profile_.progress_point()) AddPoint(point);
    for (const profile::Experiment& experiment : profile_.experiment()) AddExperiment(experiment);
    for (const profile::SampleCounts& counts : profile_.sample_counts()) AddCounts(counts);
    return std::move(table_);
  }

 private:
  void AddUnit(const profile::Unit& unit) {
    // Within a line the name of the function may be spelled in several ways (inlined copies, compilers).
    const bool named = unit.kind() != profile::UNIT_KIND_LINE;
    const UnitKey key(unit.kind(), unit.file(), unit.line(), named ? unit.function() : "");
    const auto [it, added] = units_.try_emplace(key, table_.units.size());
    if (added) {
      table_.units.push_back(
          {unit.kind(), unit.file(), unit.line(), unit.function(), 0, unit.id()});
    }
    table_.units[it->second].id = unit.id();
    unit_ids_[{unit.session(), unit.id()}] = it->second;
  }

  void AddPoint(const profile::ProgressPoint& point) {
    const PointKey key(point.name(), point.kind());
    const auto [it, added] = points_.try_emplace(key, table_.points.size());
    if (added) {
      table_.points.push_back(
          {point.name(), point.kind(), 0, point.counted_by(), point.visit_cost_ns()});
    }
    point_ids_[{point.session(), point.id()}] = it->second;
  }

  // -1 and one more orphan if it was never defined.
  template <typename Map>
  int64_t Find(const Map& map, uint64_t session, uint32_t id) {
    const auto it = map.find({session, id});
    if (it != map.end()) return static_cast<int64_t>(it->second);
    ++table_.orphans;
    return -1;
  }

  void AddVisits(uint64_t session, const profile::PointCounts& counts) {
    const int64_t point = Find(point_ids_, session, counts.point());
    if (point < 0) return;
    PointRow& row = table_.points[static_cast<size_t>(point)];
    row.visits +=
        row.kind == profile::PROGRESS_POINT_KIND_LATENCY ? counts.arrivals() : counts.visits();
  }

  void AddSeen(const profile::Experiment& record, int index, ExperimentRow* row) {
    const profile::PointCounts& counts = record.point(index);
    const double in_flight = counts.in_flight_average();
    if (!std::isfinite(in_flight) || in_flight < 0) return;
    const auto it = point_ids_.find({record.session(), counts.point()});
    if (it == point_ids_.end()) return;
    PointSeen seen;
    seen.point = it->second;
    seen.record_index = static_cast<size_t>(index);
    seen.duration = static_cast<double>(record.effective_duration_ns());
    if (table_.points[it->second].kind == profile::PROGRESS_POINT_KIND_LATENCY) {
      // Requests cut by either end of the experiment are in one of the two counts: their mean is even-handed.
      seen.visits =
          (static_cast<double>(counts.arrivals()) + static_cast<double>(counts.departures())) / 2;
      seen.least_visits = std::min(counts.arrivals(), counts.departures());
      seen.duration *= in_flight;
    } else {
      seen.visits = static_cast<double>(counts.visits());
      seen.least_visits = counts.visits();
    }
    row->points.push_back(seen);
  }

  void AddExperiment(const profile::Experiment& record) {
    if (!(record.virtual_speedup() >= 0 && record.virtual_speedup() <= 1)) {
      ++table_.invalid;
      return;
    }
    if (!seen_.insert({record.session(), record.index()}).second) {
      ++table_.duplicates;
      return;
    }
    uint64_t known = 0;
    for (uint64_t samples : record.unit_samples()) known += samples;
    // Imported experiments do not know their total.
    table_.samples += std::max(record.total_samples(), known);
    table_.unmapped_samples += record.validity().unmapped_samples();
    table_.lost_samples += record.validity().lost_samples();
    for (const profile::PointCounts& counts : record.point()) AddVisits(record.session(), counts);
    ExperimentRow row;
    row.record = &record;
    const auto start = session_starts_.find(record.session());
    row.start_unix_ns = (start == session_starts_.end() ? 0 : start->second) + record.start_ns();
    const auto changes = source_changes_.find(record.session());
    if (changes != source_changes_.end()) {
      row.part = static_cast<uint32_t>(
          std::count_if(changes->second.begin(), changes->second.end(),
                        [&](uint64_t at_ns) { return at_ns <= record.start_ns(); }));
    }
    for (int i = 0; i < std::min(record.unit_id_size(), record.unit_samples_size()); ++i) {
      const int64_t unit = Find(unit_ids_, record.session(), record.unit_id(i));
      if (unit < 0) continue;
      row.unit_samples.emplace_back(static_cast<size_t>(unit), record.unit_samples(i));
      table_.units[static_cast<size_t>(unit)].samples += record.unit_samples(i);
    }
    std::sort(row.unit_samples.begin(), row.unit_samples.end());
    const int64_t selected = Find(unit_ids_, record.session(), record.selected_unit());
    if (selected < 0) return;
    row.unit = static_cast<size_t>(selected);
    for (int i = 0; i < record.point_size(); ++i) AddSeen(record, i, &row);
    table_.experiments.push_back(std::move(row));
  }

  void AddCounts(const profile::SampleCounts& counts) {
    for (int i = 0; i < std::min(counts.unit_id_size(), counts.unit_samples_size()); ++i) {
      table_.samples += counts.unit_samples(i);
      const int64_t unit = Find(unit_ids_, counts.session(), counts.unit_id(i));
      if (unit >= 0) table_.units[static_cast<size_t>(unit)].samples += counts.unit_samples(i);
    }
    table_.samples += counts.out_of_scope_samples() + counts.unmapped_samples();
    table_.out_of_scope_samples += counts.out_of_scope_samples();
    table_.unmapped_samples += counts.unmapped_samples();
    table_.lost_samples += counts.lost_samples();
    for (const profile::PointCounts& point : counts.point()) AddVisits(counts.session(), point);
  }

  const profile::Profile& profile_;
  ExperimentTable table_;
  absl::flat_hash_map<uint64_t, uint64_t> session_starts_;
  absl::flat_hash_map<uint64_t, std::vector<uint64_t>> source_changes_;  // when, by session
  absl::flat_hash_map<UnitKey, size_t> units_;
  absl::flat_hash_map<PointKey, size_t> points_;
  absl::flat_hash_map<SessionAndId, size_t> unit_ids_;
  absl::flat_hash_map<SessionAndId, size_t> point_ids_;
  absl::flat_hash_set<SessionAndId> seen_;
};

}  // namespace

std::string UnitRow::Name() const {
  switch (kind) {
    case profile::UNIT_KIND_FUNCTION:
    case profile::UNIT_KIND_GROUP:
      return function;
    case profile::UNIT_KIND_FILE:
    case profile::UNIT_KIND_LIBRARY:
      return file;
    default:
      return absl::StrCat(file, ":", line);
  }
}

uint64_t ExperimentRow::SamplesOf(size_t wanted) const {
  const auto it = std::lower_bound(unit_samples.begin(), unit_samples.end(),
                                   std::pair<size_t, uint64_t>(wanted, 0));
  return it != unit_samples.end() && it->first == wanted ? it->second : 0;
}

ExperimentTable BuildExperimentTable(const profile::Profile& profile) {
  return Builder(profile).Build();
}

uint64_t TotalRunTimeNs(const profile::Profile& profile) {
  absl::flat_hash_map<uint64_t, uint64_t> last;
  for (const profile::Experiment& experiment : profile.experiment()) {
    uint64_t& end = last[experiment.session()];
    end = std::max(end, experiment.start_ns() + experiment.elapsed_ns());
  }
  for (const profile::SessionEnd& end : profile.session_end()) {
    last[end.session()] = end.run_time_ns();
  }
  uint64_t total = 0;
  for (const auto& [session, end] : last) total += end;
  return total;
}

}  // namespace coz
