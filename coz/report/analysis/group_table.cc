#include "coz/report/analysis/group_table.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "coz/report/statistics/group_fit.h"
#include "coz/report/statistics/multiple_testing.h"
#include "coz/report/statistics/student.h"

namespace coz::report {
namespace {

constexpr int kLeastBaselines = 3;
constexpr size_t kBuildIdDigits = 12;

// Of the first binary of each session, which is its program.
absl::flat_hash_map<uint64_t, std::string> BinaryNames(const profile::Profile& profile) {
  absl::flat_hash_map<uint64_t, std::string> names;
  for (const profile::Binary& binary : profile.binary()) {
    const std::string& path = binary.path();
    std::string name = path.substr(path.rfind('/') + 1);
    if (!binary.build_id().empty()) {
      absl::StrAppend(&name, " ",
                      absl::BytesToHexString(binary.build_id()).substr(0, kBuildIdDigits));
    }
    names.try_emplace(binary.session(), std::move(name));
  }
  return names;
}

// The sessions of one group, as a profile and its table.
struct GroupPart {
  GroupRow row;
  profile::Profile profile;
  ExperimentTable table;
};

std::map<std::string, GroupPart> Split(const profile::Profile& profile, ExperimentTable* table,
                                       GroupBy by) {
  absl::flat_hash_map<uint64_t, std::string> binaries;
  if (by == GroupBy::kBinary) binaries = BinaryNames(profile);
  std::map<std::string, GroupPart> by_name;
  absl::flat_hash_map<uint64_t, GroupPart*> by_session;
  for (const profile::Session& session : profile.session()) {
    std::string name = by == GroupBy::kHost ? session.machine().host() : session.machine().kernel();
    if (by == GroupBy::kBinary) name = binaries[session.id()];
    GroupPart& part = by_name[name];
    part.row.name = name;
    if (!by_session.try_emplace(session.id(), &part).second) continue;
    part.row.sessions += static_cast<uint64_t>(std::max(1, session.pooled_session_size()));
    *part.profile.add_session() = session;
  }
  const auto part_of = [&](uint64_t session) {
    const auto found = by_session.find(session);
    return found == by_session.end() ? nullptr : found->second;
  };
  for (const profile::SessionEnd& end : profile.session_end()) {
    if (GroupPart* part = part_of(end.session())) *part->profile.add_session_end() = end;
  }
  for (const profile::SourceChange& change : profile.source_change()) {
    if (GroupPart* part = part_of(change.session())) *part->profile.add_source_change() = change;
  }
  // Rows are moved one by one, so that no row is in memory twice.
  for (; !table->experiments.empty(); table->experiments.pop_front()) {
    ExperimentRow& row = table->experiments.front();
    if (GroupPart* part = part_of(row.session)) part->table.experiments.push_back(std::move(row));
  }
  for (; !table->controls.empty(); table->controls.pop_front()) {
    ExperimentRow& row = table->controls.front();
    if (GroupPart* part = part_of(row.session)) part->table.controls.push_back(std::move(row));
  }
  for (; !table->bare.empty(); table->bare.pop_front()) {
    BareRow& row = table->bare.front();
    if (GroupPart* part = part_of(row.session)) part->table.bare.push_back(std::move(row));
  }
  return by_name;
}

// What was counted. Those of a pooled row are at the pace of the baselines near them, so that they
// are much the same at all hosts.
double CountedVisits(const ExperimentRow& row, const PointSeen& seen) {
  if (row.block == 0) return seen.visits;
  if (seen.latency == nullptr) return static_cast<double>(seen.least_visits);
  return (static_cast<double>(seen.latency->arrivals()) +
          static_cast<double>(seen.latency->departures())) /
         2;
}

// Cochran's ratio estimate from the untainted baselines of one group.
struct Pace {
  uint64_t baselines = 0;
  double degrees = 0;
  double ns_per_visit = 0;
  double relative_error = 0;
};

Pace PaceOf(const ExperimentTable& table, size_t point) {
  std::vector<std::pair<double, double>> baselines;  // duration, visits
  double duration = 0;
  double visits = 0;
  Pace pace;
  for (const ExperimentRow& row : table.experiments) {
    if (!row.IsBaseline() || row.taints != 0) continue;
    for (const PointSeen& seen : row.points) {
      if (seen.point != point || seen.visits <= 0) continue;
      baselines.emplace_back(seen.duration, CountedVisits(row, seen));
      duration += seen.duration;
      visits += baselines.back().second;
      pace.baselines += row.pooled;
    }
  }
  const auto n = static_cast<double>(baselines.size());
  if (n < kLeastBaselines || duration <= 0) return pace;
  pace.degrees = n - 1;
  pace.ns_per_visit = duration / visits;
  double squares = 0;
  for (const auto& [took, made] : baselines) {
    squares += std::pow(took - pace.ns_per_visit * made, 2);
  }
  pace.relative_error = std::sqrt(squares * n / (n - 1)) / duration;
  return pace;
}

Estimate PaceEstimate(const Pace& pace) {
  const double half = pace.ns_per_visit * pace.relative_error * StudentQuantile(pace.degrees);
  return {pace.ns_per_visit, pace.ns_per_visit - half, pace.ns_per_visit + half};
}

GroupFigure SlopeFigure(const LineAnalysis& line) {
  const Estimate& slope = line.statistical_slope;
  return {slope.value, (slope.high - slope.low) / 2 / StudentQuantile(line.slope_df),
          line.slope_df};
}

// A line in the lines of one group's analysis; nullptr if it has no figure there.
const LineAnalysis* FindLine(const Analysis& analysis, size_t point, size_t unit) {
  for (const PointAnalysis& one : analysis.points) {
    if (one.point != point) continue;
    for (const LineAnalysis& line : one.lines) {
      if (line.unit == unit) return &line;
    }
  }
  return nullptr;
}

class GroupTableBuilder {
 public:
  GroupTableBuilder(const Analysis& whole, GroupBy by, double gain_at, int max_lines)
      : whole_(whole) {
    table_.by = by;
    table_.gain_at = gain_at;
    for (const PointAnalysis& point : whole.points) {
      PointByGroup& shown = table_.points.emplace_back();
      shown.point = point.point;
      for (const LineAnalysis& line : point.lines) {
        if (max_lines != 0 && shown.lines.size() == static_cast<size_t>(max_lines)) break;
        shown.lines.push_back({line.unit, line.curve.At(gain_at), {}});
      }
    }
    figures_.resize(table_.points.size());
    for (size_t i = 0; i < table_.points.size(); ++i) {
      figures_[i].resize(table_.points[i].lines.size());
    }
    paces_.resize(table_.points.size());
  }

  // `names` has the units and points of all groups.
  void Add(GroupPart part, const ExperimentTable& names) {
    const size_t group = table_.groups.size();
    part.table.units = names.units;
    part.table.points = names.points;
    const Analysis analysis = Analyze(part.profile, part.table, whole_.options);
    part.row.experiments = analysis.experiments;
    table_.groups.push_back(part.row);
    for (size_t i = 0; i < table_.points.size(); ++i) {
      PointByGroup& point = table_.points[i];
      const Pace pace = PaceOf(part.table, point.point);
      if (pace.ns_per_visit > 0) {
        point.pace.push_back({group, static_cast<int>(pace.baselines), PaceEstimate(pace), {}});
        // Hosts differ by factors, so their logarithms are compared.
        paces_[i].push_back({std::log(pace.ns_per_visit), pace.relative_error, pace.degrees});
      }
      for (size_t k = 0; k < point.lines.size(); ++k) {
        const LineAnalysis* line = FindLine(analysis, point.point, point.lines[k].unit);
        if (line == nullptr) continue;
        point.lines[k].groups.push_back({group,
                                         line->baselines + line->others,
                                         line->slope,
                                         line->curve.At(table_.gain_at),
                                         {}});
        figures_[i][k].push_back(SlopeFigure(*line));
      }
    }
  }

  GroupTable Finish() {
    std::vector<Fit*> fits;
    for (size_t i = 0; i < table_.points.size(); ++i) {
      PointByGroup& point = table_.points[i];
      const bool enough = paces_[i].size() >= kLeastGroupsForPace;
      Compare(enough ? paces_[i] : std::vector<GroupFigure>(point.pace.size(), kNothing),
              &point.pace, &fits);
      for (GroupPace& pace : point.pace) pace.fit.others = std::exp(pace.fit.others);
      for (size_t k = 0; k < point.lines.size(); ++k) {
        Compare(figures_[i][k], &point.lines[k].groups, &fits);
      }
    }
    Adjust(fits);
    return std::move(table_);
  }

 private:
  static constexpr GroupFigure kNothing = {};

  template <typename Row>
  static void Compare(const std::vector<GroupFigure>& figures, std::vector<Row>* rows,
                      std::vector<Fit*>* fits) {
    const std::vector<GroupFit> compared = FitGroups(figures);
    for (size_t i = 0; i < rows->size(); ++i) {
      (*rows)[i].fit = {compared[i].others, compared[i].p_value,
                        std::numeric_limits<double>::quiet_NaN()};
      fits->push_back(&(*rows)[i].fit);
    }
  }

  void Adjust(const std::vector<Fit*>& fits) {
    std::vector<double> p_values;
    for (const Fit* fit : fits) {
      p_values.push_back(fit->p_value);
      if (!std::isnan(fit->p_value)) ++table_.comparisons;
    }
    const std::vector<double> adjusted = HolmPValues(p_values);
    for (size_t i = 0; i < fits.size(); ++i) fits[i]->adjusted_p_value = adjusted[i];
  }

  const Analysis& whole_;
  GroupTable table_;
  std::vector<std::vector<std::vector<GroupFigure>>> figures_;  // by point and line
  std::vector<std::vector<GroupFigure>> paces_;                 // by point
};

}  // namespace

const char* GroupWord(GroupBy by) {
  switch (by) {
    case GroupBy::kHost:
      return "host";
    case GroupBy::kBinary:
      return "binary";
    case GroupBy::kKernel:
      return "kernel";
  }
  return "group";
}

GroupTable BuildGroupTable(const profile::Profile& profile, ExperimentTable* table,
                           const Analysis& analysis, GroupBy by, double gain_at, int max_lines) {
  GroupTableBuilder builder(analysis, by, gain_at, max_lines);
  for (auto& [name, part] : Split(profile, table, by)) builder.Add(std::move(part), *table);
  GroupTable groups = builder.Finish();
  groups.put_together =
      by != GroupBy::kBinary &&
      std::any_of(profile.session().begin(), profile.session().end(),
                  [](const profile::Session& session) { return session.pooled_machines(); });
  return groups;
}

}  // namespace coz::report
