#include "coz/report/analysis/experiment_table.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "coz/report/analysis/achieved_speedups.h"
#include "coz/report/analysis/delay_factor.h"
#include "coz/report/analysis/effective_durations.h"
#include "coz/report/analysis/run_course.h"
#include "coz/report/analysis/session_series.h"
#include "coz/report/analysis/unit_samples.h"
#include "coz/report/analysis/warm_up.h"
#include "coz/report/analysis/wind_down.h"
#include "coz/report/format/profile.pb.h"
#include "coz/report/statistics/statistics.h"

namespace coz::report {
namespace {

using SessionAndId = std::pair<uint64_t, uint32_t>;
using UnitKey = std::tuple<int, std::string, uint32_t, std::string, std::string>;
using PointKey = std::pair<std::string, int>;

// Samples of a unit in one experiment: 49 days of CPU time at 1 ms.
constexpr uint64_t kMaxSamples = UINT32_MAX;

template <typename Tainted>
uint32_t TaintBits(const Tainted& tainted) {
  uint32_t bits = 0;
  for (const profile::Taint& taint : tainted.taint()) {
    const int reason = profile::Taint::Reason_IsValid(taint.reason()) ? taint.reason() : 0;
    bits |= 1u << reason;
  }
  static_assert(profile::Taint::Reason_ARRAYSIZE <= 32);
  return bits;
}

// What needs neither names nor the session.
ExperimentRow FiguresOf(const profile::Experiment& record) {
  const profile::Validity& validity = record.validity();
  ExperimentRow row;
  row.session = record.session();
  row.start_ns = record.start_ns();
  row.elapsed_ns = record.elapsed_ns();
  row.effective_duration_ns = record.effective_duration_ns();
  row.virtual_speedup = record.virtual_speedup();
  row.achieved_virtual_speedup = record.achieved_virtual_speedup();
  row.selected_samples = record.selected_samples();
  row.total_samples = record.total_samples();
  row.excess_ns = validity.excess_ns();
  row.owed_ns = validity.owed_ns();
  row.lost_samples = validity.lost_samples();
  row.lost_periods = validity.lost_periods();
  row.throttled = validity.throttled();
  row.unsampled_ns = validity.unsampled_ns();
  row.spinning_samples = validity.spinning_samples();
  row.spinning_outside_samples = validity.spinning_outside_samples();
  row.runnable_threads_average = validity.runnable_threads_average();
  row.threads_beside_average = validity.threads_beside_average();
  row.cpus = validity.cpus();
  row.live_threads = validity.live_threads();
  row.paid_ns = validity.paid_ns();
  row.quota_throttled_ns = validity.quota_throttled_ns();
  row.busy_cpu_ns = validity.busy_cpu_ns();
  row.idle_cpu_ns = validity.idle_cpu_ns();
  row.stolen_cpu_ns = validity.stolen_cpu_ns();
  row.beside_cpu_ns = validity.beside_cpu_ns();
  row.busy_beside_ns = validity.busy_beside_ns();
  row.ran_beside_ns = validity.ran_beside_ns();
  row.queued_beside_ns = validity.queued_beside_ns();
  row.queued_for_others_ns = validity.queued_for_others_ns();
  row.quota_periods = validity.quota_periods();
  row.quota_throttled_periods = validity.quota_throttled_periods();
  row.quota_used_ns = validity.quota_used_ns();
  row.quota_allowed_ns = validity.quota_allowed_ns();
  row.pause_cpu_ns = validity.pause_cpu_ns();
  row.imposed_ns = validity.imposed_ns();
  row.realtime_threads = validity.realtime_threads();
  row.taints = TaintBits(validity);
  if (record.pooled() == 0) return row;
  row.pooled = record.pooled();
  row.block = record.block();
  row.runnable_threads_average /= row.pooled;
  row.threads_beside_average /= row.pooled;
  row.cpus /= row.pooled;
  row.live_threads /= row.pooled;
  return row;
}

}  // namespace

class ExperimentTableBuilder::Impl {
 public:
  void Add(const profile::Profile& records) {
    series_.Add(records);
    for (const profile::Session& session : records.session()) {
      session_starts_[session.id()] = session.start_unix_ns();
      if (session.options().unit_kind() == profile::UNIT_KIND_WAIT) {
        sessions_of_waits_.insert(session.id());
      }
    }
    for (const profile::SourceChange& change : records.source_change()) {
      source_changes_[change.session()].push_back(change.at_ns());
    }
    for (const profile::Unit& unit : records.unit()) AddUnit(unit);
    for (const profile::ProgressPoint& point : records.progress_point()) AddPoint(point);
    for (const profile::Experiment& experiment : records.experiment()) AddExperiment(experiment);
    for (const profile::BareInterval& bare : records.bare_interval()) AddBare(bare);
    for (const profile::Experiment& control : records.control()) AddControl(control);
    for (const profile::SampleCounts& counts : records.sample_counts()) AddCounts(counts);
    for (const profile::PointChange& change : records.point_change()) {
      point_changes_[{change.session(), change.point()}].emplace_back(change.at_ns(),
                                                                      change.added());
    }
    for (const profile::SessionEnd& end : records.session_end()) {
      ended_[end.session()] = end.run_time_ns();
      if (end.reason() == profile::END_REASON_TARGET_EXITED) {
        program_ends_ns_[end.session()] = end.run_time_ns();
      }
    }
  }

  ExperimentTable Finish() {
    for (auto& [point, changes] : point_changes_) AddStays(point, std::move(changes));
    for (std::deque<ExperimentRow>* rows : {&table_.experiments, &table_.controls}) {
      for (ExperimentRow& row : *rows) {
        Complete(&row);
        row.speeds_up_waits = sessions_of_waits_.contains(row.session);
        ScalePooled(&row);
      }
    }
    for (BareRow& row : table_.bare) Complete(&row);
    SetEffectiveDurations(&table_.experiments, &table_.controls);
    SteadyAchievedSpeedups(&table_.experiments);
    LeaveOutWarmUps(&table_);
    LeaveOutWindDowns(program_ends_ns_, &table_);
    TakeOutCourse(program_ends_ns_, &table_);
    for (BareRow& row : table_.bare) ScalePooled(&row);
    SetDelayFactors(&table_);
    for (const auto& [session, end_ns] : ended_) last_ns_[session] = end_ns;
    for (const auto& [session, end_ns] : last_ns_) table_.run_time_ns += end_ns;
    return std::move(table_);
  }

 private:
  void AddUnit(const profile::Unit& unit) {
    // Within a line the name of the function may be spelled in several ways (inlined copies,
    // compilers).
    const UnitRow row = {unit.kind(), unit.file(), unit.line(), unit.function(),
                         unit.wait(), 0,           unit.id(),   unit.thread_group()};
    const UnitKey key(row.kind, row.file, row.line, row.IsByLine() ? "" : row.function,
                      row.thread_group);
    const auto [it, added] = units_.try_emplace(key, table_.units.size());
    if (added) table_.units.push_back(row);
    table_.units[it->second].id = unit.id();
    unit_ids_[{unit.session(), unit.id()}] = it->second;
  }

  void AddPoint(const profile::ProgressPoint& point) {
    const PointKey key(point.name(), point.kind());
    const auto [it, added] = points_.try_emplace(key, table_.points.size());
    if (added) {
      table_.points.push_back({point.name(),
                               point.kind(),
                               0,
                               point.counted_by(),
                               point.visit_cost_ns(),
                               point.breakpoint_slowdown(),
                               {}});
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

  template <typename Row>
  uint32_t PartOf(const Row& row) const {
    const auto changes = source_changes_.find(row.session);
    if (changes == source_changes_.end()) return 0;
    return static_cast<uint32_t>(
        std::count_if(changes->second.begin(), changes->second.end(),
                      [&row](uint64_t at_ns) { return at_ns <= row.start_ns; }));
  }

  void AddStays(const SessionAndId& id, std::vector<std::pair<uint64_t, bool>> changes) {
    const int64_t point = Find(point_ids_, id.first, id.second);
    if (point < 0) return;
    std::vector<PointStay>& stays = table_.points[static_cast<size_t>(point)].stays;
    std::stable_sort(changes.begin(), changes.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    constexpr uint64_t kToTheEnd = UINT64_MAX;
    bool is_there = !changes.front().second;
    if (is_there) stays.push_back({id.first, 0, kToTheEnd});
    for (const auto& [at_ns, added] : changes) {
      if (added && !is_there) stays.push_back({id.first, at_ns, kToTheEnd});
      if (!added && is_there) stays.back().to_ns = at_ns;
      is_there = added;
    }
  }

  // What is known once all records are.
  template <typename Row>
  void Complete(Row* row) {
    row->part = PartOf(*row);
    row->series = series_.Of(row->session, row->part);
    const auto start = session_starts_.find(row->session);
    if (start != session_starts_.end()) row->session_start_unix_ns = start->second;
    const auto is_missing = [this, row](const PointSeen& seen) {
      return !table_.points[seen.point].WasThere(row->session, row->start_ns,
                                                 row->start_ns + row->elapsed_ns);
    };
    row->points.erase(std::remove_if(row->points.begin(), row->points.end(), is_missing),
                      row->points.end());
  }

  // `duration_ns`: effective, of the experiment or bare interval.
  template <typename Row>
  void AddSeen(const profile::PointCounts& counts, uint64_t duration_ns, Row* row) {
    const double in_flight = counts.in_flight_average();
    if (!std::isfinite(in_flight) || in_flight < 0) return;
    const auto it = point_ids_.find({row->session, counts.point()});
    if (it == point_ids_.end()) return;
    PointSeen seen;
    seen.point = it->second;
    seen.duration = static_cast<double>(duration_ns);
    if (table_.points[it->second].kind == profile::PROGRESS_POINT_KIND_LATENCY) {
      // A request cut by either end of the experiment is in one of the two counts, so take their
      // mean.
      seen.visits =
          (static_cast<double>(counts.arrivals()) + static_cast<double>(counts.departures())) / 2;
      seen.least_visits = std::min(counts.arrivals(), counts.departures());
      seen.duration *= in_flight;
      seen.latency = std::make_unique<const profile::PointCounts>(counts);
    } else {
      seen.visits = static_cast<double>(counts.visits());
      seen.least_visits = counts.visits();
    }
    if (counts.pooled_time_ns() > 0) {
      Pace& pace = paces_[seen.point];
      pace.visits += seen.visits;
      pace.time_ns += counts.pooled_time_ns();
      seen.visits = counts.pooled_time_ns();
      seen.duration = counts.pooled_duration_ns();
    }
    row->points.push_back(std::move(seen));
  }

  // So that the visits of pooled rows are as many as were counted.
  template <typename Row>
  void ScalePooled(Row* row) const {
    if (row->block == 0) return;
    for (PointSeen& seen : row->points) {
      const auto pace = paces_.find(seen.point);
      if (pace != paces_.end()) seen.visits *= pace->second.visits / pace->second.time_ns;
    }
  }

  UnitSamples SamplesOf(const profile::Experiment& record) {
    std::vector<std::pair<size_t, uint64_t>> counts;
    for (int i = 0; i < std::min(record.unit_id_size(), record.unit_samples_size()); ++i) {
      const int64_t unit = Find(unit_ids_, record.session(), record.unit_id(i));
      if (unit < 0) continue;
      counts.emplace_back(static_cast<size_t>(unit), record.unit_samples(i));
      table_.units[static_cast<size_t>(unit)].samples += record.unit_samples(i);
    }
    return UnitSamples(std::move(counts));
  }

  static bool IsPossible(const profile::Experiment& record) {
    // False for NaN, too.
    if (!(record.virtual_speedup() >= 0 && record.virtual_speedup() <= 1)) return false;
    return std::all_of(record.unit_samples().begin(), record.unit_samples().end(),
                       [](uint64_t samples) { return samples <= kMaxSamples; });
  }

  // Of an experiment or a control; `number` tells it from the others of its session.
  template <typename Seen>
  bool IsOneMore(const profile::Experiment& record, uint64_t number, Seen* seen) {
    uint64_t& last_ns = last_ns_[record.session()];
    last_ns = std::max(last_ns, record.start_ns() + record.elapsed_ns());
    if (!IsPossible(record)) {
      ++table_.invalid;
      return false;
    }
    if (!seen->insert({record.session(), number}).second) {
      ++table_.duplicates;
      return false;
    }
    return true;
  }

  void CountSamples(const profile::Experiment& record) {
    uint64_t known = 0;
    for (uint64_t samples : record.unit_samples()) known += samples;
    // Imported experiments do not know their total.
    table_.samples += std::max(record.total_samples(), known);
    const uint64_t others = record.validity().other_thread_samples();
    const uint64_t placed = known + record.validity().unmapped_samples() + others;
    table_.other_thread_samples += others;
    table_.out_of_scope_samples +=
        record.total_samples() - std::min(record.total_samples(), placed);
    table_.unmapped_samples += record.validity().unmapped_samples();
    table_.lost_samples += record.validity().lost_samples();
  }

  ExperimentRow RowOf(const profile::Experiment& record) {
    CountSamples(record);
    for (const profile::PointCounts& counts : record.point()) AddVisits(record.session(), counts);
    ExperimentRow row = FiguresOf(record);
    row.unit_samples = SamplesOf(record);
    return row;
  }

  void AddSeenOf(const profile::Experiment& record, ExperimentRow* row) {
    row->points.reserve(static_cast<size_t>(record.point_size()));
    for (const profile::PointCounts& counts : record.point()) {
      AddSeen(counts, record.effective_duration_ns(), row);
    }
  }

  void AddControl(const profile::Experiment& record) {
    if (!IsOneMore(record, record.start_ns() ^ record.block(), &controls_seen_)) return;
    ExperimentRow row = RowOf(record);
    AddSeenOf(record, &row);
    table_.controls.push_back(std::move(row));
  }

  void AddExperiment(const profile::Experiment& record) {
    if (!IsOneMore(record, record.index(), &seen_)) return;
    ExperimentRow row = RowOf(record);
    const int64_t selected = Find(unit_ids_, record.session(), record.selected_unit());
    if (selected < 0) return;
    row.unit = static_cast<size_t>(selected);
    AddSeenOf(record, &row);
    table_.experiments.push_back(std::move(row));
  }

  void AddBare(const profile::BareInterval& record) {
    if (!bare_seen_.insert({record.session(), record.start_ns() ^ record.block()}).second) {
      ++table_.duplicates;
      return;
    }
    for (const profile::PointCounts& counts : record.point()) AddVisits(record.session(), counts);
    BareRow row;
    row.session = record.session();
    row.start_ns = record.start_ns();
    row.elapsed_ns = record.elapsed_ns();
    row.taints = TaintBits(record);
    row.pooled = std::max(1u, record.pooled());
    row.block = record.block();
    for (const profile::PointCounts& counts : record.point()) {
      AddSeen(counts, record.elapsed_ns(), &row);
    }
    table_.bare.push_back(std::move(row));
  }

  void AddCounts(const profile::SampleCounts& counts) {
    for (int i = 0; i < std::min(counts.unit_id_size(), counts.unit_samples_size()); ++i) {
      table_.samples += counts.unit_samples(i);
      const int64_t unit = Find(unit_ids_, counts.session(), counts.unit_id(i));
      if (unit >= 0) table_.units[static_cast<size_t>(unit)].samples += counts.unit_samples(i);
    }
    for (int i = 0;
         i < std::min(counts.spinning_unit_id_size(), counts.spinning_unit_samples_size()); ++i) {
      const int64_t unit = Find(unit_ids_, counts.session(), counts.spinning_unit_id(i));
      if (unit < 0) continue;
      table_.units[static_cast<size_t>(unit)].spinning_samples += counts.spinning_unit_samples(i);
    }
    table_.samples +=
        counts.out_of_scope_samples() + counts.unmapped_samples() + counts.other_thread_samples();
    table_.other_thread_samples += counts.other_thread_samples();
    table_.out_of_scope_samples += counts.out_of_scope_samples();
    table_.unmapped_samples += counts.unmapped_samples();
    table_.lost_samples += counts.lost_samples();
    for (const profile::PointCounts& point : counts.point()) AddVisits(counts.session(), point);
  }

  // Of pooled rows, at one point.
  struct Pace {
    double visits = 0;
    double time_ns = 0;
  };

  ExperimentTable table_;
  absl::flat_hash_map<size_t, Pace> paces_;
  absl::flat_hash_map<uint64_t, uint64_t> session_starts_;
  SessionSeries series_;
  absl::flat_hash_set<uint64_t> sessions_of_waits_;
  absl::flat_hash_map<uint64_t, std::vector<uint64_t>> source_changes_;  // when, by session
  // When, and whether it was added.
  absl::flat_hash_map<SessionAndId, std::vector<std::pair<uint64_t, bool>>> point_changes_;
  absl::flat_hash_map<UnitKey, size_t> units_;
  absl::flat_hash_map<PointKey, size_t> points_;
  absl::flat_hash_map<SessionAndId, size_t> unit_ids_;
  absl::flat_hash_map<SessionAndId, size_t> point_ids_;
  absl::flat_hash_set<SessionAndId> seen_;
  absl::flat_hash_set<std::pair<uint64_t, uint64_t>> bare_seen_;      // session and start
  absl::flat_hash_set<std::pair<uint64_t, uint64_t>> controls_seen_;  // the same
  absl::flat_hash_map<uint64_t, uint64_t> last_ns_;  // end of the last experiment, by session
  absl::flat_hash_map<uint64_t, uint64_t> ended_;    // run time, of sessions that have ended
  std::map<uint64_t, uint64_t> program_ends_ns_;     // of these, where the program has
};

ExperimentTableBuilder::ExperimentTableBuilder() : impl_(std::make_unique<Impl>()) {}

ExperimentTableBuilder::~ExperimentTableBuilder() = default;

void ExperimentTableBuilder::Add(const profile::Profile& records) { impl_->Add(records); }

ExperimentTable ExperimentTableBuilder::Finish() { return impl_->Finish(); }

std::string UnitRow::Name() const {
  return thread_group.empty() ? CodeName() : absl::StrCat(CodeName(), "@", thread_group);
}

std::string UnitRow::CodeName() const {
  switch (kind) {
    case profile::UNIT_KIND_FUNCTION:
    case profile::UNIT_KIND_PATH:
    case profile::UNIT_KIND_GROUP:
      return function;
    case profile::UNIT_KIND_FILE:
    case profile::UNIT_KIND_LIBRARY:
      return file;
    case profile::UNIT_KIND_WAIT:
      return file.empty() ? function : absl::StrCat(file, ":", line);
    default:
      return absl::StrCat(file, ":", line);
  }
}

bool PointRow::WasThere(uint64_t session, uint64_t from_ns, uint64_t to_ns) const {
  bool has_changed = false;
  for (const PointStay& stay : stays) {
    if (stay.session != session) continue;
    has_changed = true;
    if (stay.from_ns <= from_ns && to_ns <= stay.to_ns) return true;
  }
  return !has_changed;
}

bool ExperimentRow::IsBaseline() const { return SpeedupKey(virtual_speedup) == 0; }

ExperimentTable BuildExperimentTable(const profile::Profile& profile) {
  ExperimentTableBuilder builder;
  builder.Add(profile);
  return builder.Finish();
}

}  // namespace coz::report
