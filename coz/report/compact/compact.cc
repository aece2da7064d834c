#include "coz/report/compact/compact.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/string_view.h"
#include "coz/report/compact/pooled_group.h"
#include "coz/report/compact/pooled_sums.h"
#include "coz/report/statistics/statistics.h"
#include "coz/report/statistics/time_blocks.h"

namespace coz::report {
namespace {

constexpr uint32_t kMostBits = 24;
// With fewer blocks, machines are put together first.
constexpr uint32_t kLeastBits = 6;
// As AnalysisOptions.min_visits: of fewer, nothing is used.
constexpr uint64_t kMinVisits = 5;
// Baselines in which the same units have such a part of the samples are summed up together, so that
// phases of the program stay apart.
constexpr double kMuchOfSamples = 0.25;

template <typename Record>
uint32_t TaintsOf(const Record& record) {
  uint32_t bits = 0;
  for (const profile::Taint& taint : record.taint()) bits |= 1u << (taint.reason() & 31);
  return bits;
}

// What sessions of one group have in common.
profile::Session CommonPart(profile::Session session) {
  session.clear_id();
  session.clear_start_unix_ns();
  session.clear_seed();
  session.clear_pooled_session();
  session.clear_pooled_bits();
  session.clear_pooled_machines();
  session.mutable_machine()->clear_calibration();
  session.mutable_options()->clear_repetition();
  session.mutable_options()->clear_attached_pid();
  return session;
}

// `session` is a common part.
std::string GroupName(const profile::Session& session, const profile::Binary* binary) {
  std::string bytes;
  session.SerializeToString(&bytes);
  if (binary != nullptr) bytes += binary->build_id().empty() ? binary->path() : binary->build_id();
  return bytes;
}

// Everything of one session in an input.
struct SessionRecords {
  profile::Session session;
  const profile::Binary* binary = nullptr;
  std::vector<const profile::Experiment*> experiments;
  std::vector<const profile::BareInterval*> bare;
  std::vector<const profile::Experiment*> controls;
  std::vector<const profile::SampleCounts*> counts;
  const profile::SessionEnd* end = nullptr;
  std::vector<uint64_t> source_changes;
  std::vector<const profile::PointChange*> point_changes;
  absl::flat_hash_map<uint32_t, uint32_t> units;   // to those of all sessions
  absl::flat_hash_map<uint32_t, uint32_t> points;  // the same
};

}  // namespace

class Compactor::Impl {
 public:
  explicit Impl(size_t most) : most_(most) {}

  void Add(const profile::Profile& record) {
    for (const profile::Experiment& experiment : record.experiment()) {
      experiments_ += std::max(1u, experiment.pooled());
    }
    input_.MergeFrom(record);
  }

  void EndInput() {
    if (!is_pooled_ && experiments_ <= most_) {
      whole_.MergeFrom(input_);
      input_.Clear();
      return;
    }
    if (!is_pooled_) {
      is_pooled_ = true;
      Pool(whole_);
      whole_.Clear();
    }
    Pool(input_);
    input_.Clear();
  }

  absl::Status Finish(const Sink& sink) {
    if (!is_pooled_) return sink(whole_);
    const GroupWriter writer(units_, points_);
    for (const auto& [name, group] : groups_) {
      profile::Profile record;
      writer.Write(Hash(name), group, &record);
      record.mutable_session(0)->set_pooled_bits(bits_);
      record.mutable_session(0)->set_pooled_machines(machines_);
      if (absl::Status status = sink(record); !status.ok()) return status;
    }
    return absl::OkStatus();
  }

  bool pooled_machines() const { return machines_; }

 private:
  void Pool(const profile::Profile& input) {
    std::map<uint64_t, SessionRecords> sessions;
    for (const auto& one : input.session()) sessions[one.id()].session = one;
    for (const auto& one : input.binary()) {
      SessionRecords& records = sessions[one.session()];
      if (records.binary == nullptr) records.binary = &one;
    }
    for (const auto& one : input.unit()) {
      profile::Unit named = one;
      named.clear_binary_index();  // only the program is kept
      sessions[one.session()].units[one.id()] = units_.Of(named);
    }
    for (const auto& one : input.progress_point()) {
      sessions[one.session()].points[one.id()] = points_.Of(one);
    }
    absl::flat_hash_set<std::pair<uint64_t, uint32_t>> seen;
    for (const auto& one : input.experiment()) {
      const bool possible = one.virtual_speedup() >= 0 && one.virtual_speedup() <= 1;
      if (possible && seen.insert({one.session(), one.index()}).second) {
        sessions[one.session()].experiments.push_back(&one);
      }
    }
    for (const auto& one : input.bare_interval()) sessions[one.session()].bare.push_back(&one);
    for (const auto& one : input.control()) sessions[one.session()].controls.push_back(&one);
    for (const auto& one : input.sample_counts()) sessions[one.session()].counts.push_back(&one);
    for (const auto& one : input.session_end()) sessions[one.session()].end = &one;
    for (const auto& one : input.source_change()) {
      sessions[one.session()].source_changes.push_back(one.at_ns());
    }
    for (const auto& one : input.point_change()) {
      sessions[one.session()].point_changes.push_back(&one);
    }
    for (auto& [id, records] : sessions) {
      if (id != 0 && records.session.id() == id) PoolSession(&records);
    }
    Shrink();
  }

  void PoolSession(SessionRecords* records) {
    profile::Session& session = records->session;
    const bool pooled = session.pooled_session_size() != 0;
    if (session.pooled_machines()) machines_ = true;
    if (pooled) bits_ = std::min(bits_, session.pooled_bits());
    Group& group = GroupOf(session, records->binary);
    if (pooled) {
      group.sessions.insert(session.pooled_session().begin(), session.pooled_session().end());
    } else {
      group.sessions.insert(session.id());
    }
    AddSession(*records, &group);
    if (pooled) {
      for (const auto* one : records->experiments) {
        AddExperiment(*records, *one, one->block(), {}, &group);
      }
      for (const auto* one : records->bare) AddBare(*records, *one, one->block(), {}, &group);
      for (const auto* one : records->controls) {
        AddControl(*records, *one, one->block(), {}, &group);
      }
    } else {
      AddBlocks(records, &group);
    }
  }

  Group& GroupOf(const profile::Session& session, const profile::Binary* binary) {
    profile::Session common = CommonPart(session);
    if (machines_) common.clear_machine();
    Group& group = groups_[GroupName(common, binary)];
    const uint64_t start_ns = group.session.start_unix_ns();
    group.session = std::move(common);
    group.session.set_start_unix_ns(start_ns == 0 ? session.start_unix_ns()
                                                  : std::min(start_ns, session.start_unix_ns()));
    if (binary != nullptr && !group.has_binary) {
      group.binary = *binary;
      group.has_binary = true;
    }
    return group;
  }

  static void AddSession(const SessionRecords& records, Group* group) {
    profile::SessionEnd end;
    if (records.end != nullptr) end = *records.end;
    // One that was cut short counts to the end of its last experiment.
    if (records.end == nullptr) {
      for (const auto* one : records.experiments) {
        end.set_run_time_ns(std::max(end.run_time_ns(), one->start_ns() + one->elapsed_ns()));
      }
    }
    AddEnd(end, &group->end);
    AddOwnWaits(end, group);
    for (const auto* one : records.counts) {
      AddTotals(*one, &group->outside);
      for (int i = 0; i < std::min(one->unit_id_size(), one->unit_samples_size()); ++i) {
        const auto unit = records.units.find(one->unit_id(i));
        if (unit != records.units.end()) {
          group->outside_samples[unit->second] += one->unit_samples(i);
        }
      }
      for (int i = 0; i < std::min(one->spinning_unit_id_size(), one->spinning_unit_samples_size());
           ++i) {
        const auto unit = records.units.find(one->spinning_unit_id(i));
        if (unit != records.units.end()) {
          group->spinning_samples[unit->second] += one->spinning_unit_samples(i);
        }
      }
      for (const profile::PointCounts& counts : one->point()) AddOutside(records, counts, group);
    }
  }

  static void AddOutside(const SessionRecords& records, const profile::PointCounts& counts,
                         Group* group) {
    const auto point = records.points.find(counts.point());
    if (point == records.points.end()) return;
    profile::PointCounts plain;
    plain.set_visits(counts.visits());
    plain.set_arrivals(counts.arrivals());
    plain.set_departures(counts.departures());
    AddCounts(plain, 0, &group->outside_points[point->second]);
  }

  profile::ProgressPointKind KindOf(uint32_t point) const { return points_.records[point].kind(); }

  // The divisor of a rate, as PointSeen.visits; 0: too few to be used.
  double VisitsOf(const profile::PointCounts& counts, uint32_t point) const {
    const profile::ProgressPointKind kind = KindOf(point);
    if (kind == profile::PROGRESS_POINT_KIND_LATENCY) {
      if (std::min(counts.arrivals(), counts.departures()) < kMinVisits) return 0;
      return (static_cast<double>(counts.arrivals()) + static_cast<double>(counts.departures())) /
             2;
    }
    const uint64_t least = kind == profile::PROGRESS_POINT_KIND_END_TO_END ? 1 : kMinVisits;
    return counts.visits() < least ? 0 : static_cast<double>(counts.visits());
  }

  double DurationOf(const profile::PointCounts& counts, uint32_t point, uint64_t ns) const {
    const auto duration = static_cast<double>(ns);
    if (KindOf(point) != profile::PROGRESS_POINT_KIND_LATENCY) return duration;
    return std::isfinite(counts.in_flight_average()) ? duration * counts.in_flight_average() : 0;
  }

  // Whether the point was counted from here to there.
  static bool WasThere(const SessionRecords& records, uint32_t point, uint64_t from_ns,
                       uint64_t to_ns) {
    bool there = true;
    bool is_first = true;
    uint64_t last_ns = 0;
    for (const profile::PointChange* change : records.point_changes) {
      if (change->point() != point) continue;
      if (is_first) there = !change->added();
      is_first = false;
      if (change->at_ns() > from_ns && change->at_ns() < to_ns) return false;
      if (change->at_ns() <= from_ns && change->at_ns() >= last_ns) {
        there = change->added();
        last_ns = change->at_ns();
      }
    }
    return there;
  }

  // Time of a visit at 0 %, by point; a point that is missing has none.
  using Levels = std::map<uint32_t, double>;

  void AddBlocks(SessionRecords* records, Group* group) {
    const auto part = [records](uint64_t start_ns) {
      return std::count_if(records->source_changes.begin(), records->source_changes.end(),
                           [start_ns](uint64_t at_ns) { return at_ns <= start_ns; });
    };
    // `duration` is the place of the record: experiments come first. A tainted experiment is no
    // baseline.
    std::vector<TimedObservation> timed;
    // Bare intervals and controls belong to the block that they are in, and count for none.
    for (const auto* one : records->experiments) {
      const bool is_good = one->validity().taint_size() == 0;
      timed.push_back({static_cast<uint64_t>(part(one->start_ns())), one->start_ns(), {}});
      timed.back().observation.virtual_speedup = is_good ? one->virtual_speedup() : 1;
      timed.back().observation.duration = static_cast<double>(timed.size() - 1);
    }
    const size_t experiments = timed.size();
    const auto add_beside = [&](uint64_t start_ns) {
      timed.push_back({static_cast<uint64_t>(part(start_ns)), start_ns, {}});
      timed.back().observation.virtual_speedup = 1;
      timed.back().observation.duration = static_cast<double>(timed.size() - 1);
    };
    for (const auto* one : records->bare) add_beside(one->start_ns());
    const size_t controls = timed.size();
    for (const auto* one : records->controls) add_beside(one->start_ns());
    const std::vector<RateObservation> placed = InBlocks(std::move(timed));
    std::vector<Levels> levels = LevelsOf(*records, placed, experiments);
    for (const RateObservation& o : placed) {
      const auto i = static_cast<size_t>(o.duration);
      const auto number = static_cast<size_t>(o.block);
      const uint64_t block = Hash(number, Hash(records->session.id(), 0));
      if (i < experiments) {
        AddExperiment(*records, *records->experiments[i], block, levels[number], group);
      } else if (i < controls) {
        AddBare(*records, *records->bare[i - experiments], block, levels[number], group);
      } else {
        AddControl(*records, *records->controls[i - controls], block, levels[number], group);
      }
    }
  }

  std::vector<Levels> LevelsOf(const SessionRecords& records,
                               const std::vector<RateObservation>& placed,
                               size_t experiments) const {
    std::vector<Levels> levels(BlockCount(placed));
    std::vector<Levels> visits(levels.size());
    for (const RateObservation& o : placed) {
      const auto i = static_cast<size_t>(o.duration);
      if (i >= experiments || !IsBaseline(o)) continue;
      const profile::Experiment& one = *records.experiments[i];
      for (const profile::PointCounts& counts : one.point()) {
        const auto point = records.points.find(counts.point());
        if (point == records.points.end() || !IsThere(records, counts, one)) continue;
        const double n = VisitsOf(counts, point->second);
        const double ns = DurationOf(counts, point->second, one.effective_duration_ns());
        if (n == 0 || ns <= 0) continue;
        levels[static_cast<size_t>(o.block)][point->second] += ns;
        visits[static_cast<size_t>(o.block)][point->second] += n;
      }
    }
    for (size_t block = 0; block < levels.size(); ++block) {
      for (auto& [point, level] : levels[block]) level /= visits[block][point];
    }
    return levels;
  }

  template <typename Record>
  static bool IsThere(const SessionRecords& records, const profile::PointCounts& counts,
                      const Record& one) {
    return WasThere(records, counts.point(), one.start_ns(), one.start_ns() + one.elapsed_ns());
  }

  // What visits take by the level of their block; 0: they are of no use.
  double TimeOf(const profile::PointCounts& counts, uint32_t point, const Levels& levels) const {
    if (counts.pooled_time_ns() > 0) return counts.pooled_time_ns();
    const double visits = VisitsOf(counts, point);
    // A run ends once, so its experiments are compared with those of other runs.
    if (KindOf(point) == profile::PROGRESS_POINT_KIND_END_TO_END) return visits * 1e9;
    const auto level = levels.find(point);
    return level == levels.end() ? 0 : visits * level->second;
  }

  // Sorts counts into those that can be compared, and those that count for totals alone.
  template <typename Record>
  void TakePoints(const SessionRecords& records, const Record& one, uint64_t duration_ns,
                  bool is_good, const Levels& levels,
                  std::map<uint32_t, profile::PointCounts>* points, Group* group) const {
    for (const profile::PointCounts& counts : one.point()) {
      const auto point = records.points.find(counts.point());
      if (point == records.points.end()) continue;
      const double time_ns = is_good ? TimeOf(counts, point->second, levels) : 0;
      if (time_ns <= 0 || (counts.pooled_time_ns() <= 0 && !IsThere(records, counts, one))) {
        AddOutside(records, counts, group);
        continue;
      }
      profile::PointCounts& own = (*points)[point->second];
      own = counts;
      own.clear_point();
      own.set_pooled_time_ns(time_ns);
      if (counts.pooled_time_ns() <= 0) {
        own.set_pooled_duration_ns(DurationOf(counts, point->second, duration_ns));
      }
    }
  }

  PooledExperiment PooledOf(const SessionRecords& records, const profile::Experiment& one,
                            const Levels& levels, Group* group) const {
    PooledExperiment added;
    added.sum.set_virtual_speedup(one.virtual_speedup());
    AddFigures(one, &added.sum);
    for (int i = 0; i < std::min(one.unit_id_size(), one.unit_samples_size()); ++i) {
      const auto sampled = records.units.find(one.unit_id(i));
      if (sampled != records.units.end()) added.samples[sampled->second] += one.unit_samples(i);
    }
    TakePoints(records, one, one.effective_duration_ns(), TaintsOf(one.validity()) == 0, levels,
               &added.points, group);
    return added;
  }

  void AddControl(const SessionRecords& records, const profile::Experiment& one, uint64_t block,
                  const Levels& levels, Group* group) {
    Combine(PooledOf(records, one, levels, group),
            &group->controls[{Prefix(block, bits_), TaintsOf(one.validity())}]);
  }

  void AddExperiment(const SessionRecords& records, const profile::Experiment& one, uint64_t block,
                     const Levels& levels, Group* group) {
    const auto unit = records.units.find(one.selected_unit());
    if (unit == records.units.end()) return;
    const PooledExperiment added = PooledOf(records, one, levels, group);
    const uint32_t taints = TaintsOf(one.validity());
    const int speedup = SpeedupKey(one.virtual_speedup());
    const PoolKey key(Prefix(block, bits_), unit->second, speedup, taints,
                      ActiveIn(added, unit->second, speedup == 0));
    Combine(added, &group->experiments[key]);
  }

  void AddBare(const SessionRecords& records, const profile::BareInterval& one, uint64_t block,
               const Levels& levels, Group* group) {
    PooledBare added;
    added.sum.set_elapsed_ns(one.elapsed_ns());
    added.sum.set_total_samples(one.total_samples());
    added.sum.set_pooled(one.pooled());
    const uint32_t taints = TaintsOf(one);
    for (const profile::Taint& taint : one.taint())
      added.sum.add_taint()->set_reason(taint.reason());
    TakePoints(records, one, one.elapsed_ns(), taints == 0, levels, &added.points, group);
    Combine(added, &group->bare[{Prefix(block, bits_), taints}]);
  }

  // Which units had much of the samples; of experiments with a speedup, whether their own had any.
  // Crowded experiments, which count otherwise, are apart.
  uint64_t ActiveIn(const PooledExperiment& one, uint32_t unit, bool is_baseline) const {
    const profile::Validity& validity = one.sum.validity();
    const double n = one.sum.pooled();
    const double threads = validity.runnable_threads_average() + validity.threads_beside_average();
    const bool crowded = threads / n > validity.cpus() / n + 0.5;
    const auto own = one.samples.find(unit);
    const bool active = own != one.samples.end() && own->second > 0;
    uint64_t key = (active ? 1 : 0) + (crowded ? 2 : 0);
    if (!is_baseline) return key;
    double all = 0;
    for (const auto& [sampled, samples] : one.samples) all += static_cast<double>(samples);
    for (const auto& [sampled, samples] : one.samples) {
      if (static_cast<double>(samples) >= kMuchOfSamples * all && samples > 0) {
        key += units_.hashes[sampled] << 2;
      }
    }
    return key;
  }

  size_t Count() const {
    size_t count = 0;
    for (const auto& [name, group] : groups_) {
      count += group.experiments.size() + group.bare.size() + group.controls.size();
    }
    return count;
  }

  void Shrink() {
    // An input may have been halved further, or its machines put together.
    if (machines_ && !are_together_) PoolMachines();
    if (bits_ < halved_to_) Halve();
    while (Count() > most_) {
      if (bits_ > kLeastBits || (machines_ && bits_ > 0)) {
        --bits_;
        Halve();
      } else if (!machines_) {
        machines_ = true;
        PoolMachines();
      } else {
        return;  // more units and speedups than that
      }
    }
  }

  void Halve() {
    halved_to_ = bits_;
    for (auto& [name, group] : groups_) ShortenBlocks(bits_, &group);
  }

  void PoolMachines() {
    are_together_ = true;
    std::map<std::string, Group> apart = std::move(groups_);
    groups_.clear();
    for (auto& [name, one] : apart) {
      Group& group = GroupOf(one.session, one.has_binary ? &one.binary : nullptr);
      Combine(one, &group);
    }
  }

  const size_t most_;
  uint64_t experiments_ = 0;
  bool is_pooled_ = false;
  profile::Profile input_;
  profile::Profile whole_;  // until there is too much of it
  uint32_t bits_ = kMostBits;
  uint32_t halved_to_ = kMostBits;  // by groups_
  bool machines_ = false;
  bool are_together_ = false;  // in groups_
  Names<profile::Unit> units_;
  Names<profile::ProgressPoint> points_;
  std::map<std::string, Group> groups_;
};

Compactor::Compactor(size_t most) : impl_(std::make_unique<Impl>(most)) {}

Compactor::~Compactor() = default;

void Compactor::Add(const profile::Profile& record) { impl_->Add(record); }

void Compactor::EndInput() { impl_->EndInput(); }

absl::Status Compactor::Finish(const Sink& sink) { return impl_->Finish(sink); }

bool Compactor::ArePooledMachines() const { return impl_->pooled_machines(); }

}  // namespace coz::report
