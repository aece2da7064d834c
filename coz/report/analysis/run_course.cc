#include "coz/report/analysis/run_course.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "coz/report/analysis/experiment_table.h"
#include "coz/report/statistics/median.h"

namespace coz::report {
namespace {

constexpr size_t kLeastRuns = 4;
constexpr size_t kLeastExperiments = 4;  // of a run
constexpr size_t kLeastAtAPlace = 8;
constexpr size_t kLeastPlaces = 3;
constexpr size_t kMostPlaces = 24;
// The course that other runs tell leaves this part of the deviation at most.
constexpr double kMostLeft = 0.7;
constexpr int kRoundsOfPolish = 4;

struct Visit {
  size_t run;
  size_t tried;     // a number for what was tried often; 0: something else
  double place;     // in the run, 0 to 1
  double log_time;  // that it takes, less what is known of it
};

double PlaceOf(uint64_t start_ns, uint64_t elapsed_ns, uint64_t end_ns) {
  const double middle_ns = static_cast<double>(start_ns) + static_cast<double>(elapsed_ns) / 2;
  return std::min(1.0, middle_ns / static_cast<double>(end_ns));
}

// Takes the median of each group off its members. Returns the medians, by group.
template <typename GroupOf>
std::vector<double> Polish(GroupOf group_of, std::vector<Visit>* visits) {
  std::vector<std::vector<double>> times;
  for (size_t i = 0; i < visits->size(); ++i) {
    times.resize(std::max(times.size(), group_of(i) + 1));
    times[group_of(i)].push_back((*visits)[i].log_time);
  }
  std::vector<double> medians;
  medians.reserve(times.size());
  for (std::vector<double>& of_group : times) {
    medians.push_back(of_group.empty() ? 0 : Median(std::move(of_group)));
  }
  for (size_t i = 0; i < visits->size(); ++i) (*visits)[i].log_time -= medians[group_of(i)];
  return medians;
}

// Takes out how fast each run is, and what speedups do.
void PolishRunsAndSpeedups(std::vector<Visit>* visits) {
  Polish([visits](size_t i) { return (*visits)[i].run; }, visits);
  Polish([visits](size_t i) { return (*visits)[i].tried; }, visits);
}

double Deviation(std::vector<Visit> visits) {
  for (int round = 0; round < kRoundsOfPolish; ++round) PolishRunsAndSpeedups(&visits);
  std::vector<double> times;
  times.reserve(visits.size());
  for (const Visit& visit : visits) times.push_back(visit.log_time);
  return DeviationAround(0, std::move(times));
}

// As many neighbours each make a place: the middle of each, and the time of a visit there.
class Course {
 public:
  explicit Course(std::vector<Visit> visits)
      : middles_(PlacesIn(visits)), log_times_(middles_.size()) {
    std::sort(visits.begin(), visits.end(),
              [](const Visit& a, const Visit& b) { return a.place < b.place; });
    const size_t places = middles_.size();
    const auto place_of = [&](size_t i) { return i * places / visits.size(); };
    for (int round = 0; round < kRoundsOfPolish; ++round) {
      PolishRunsAndSpeedups(&visits);
      const std::vector<double> more = Polish(place_of, &visits);
      for (size_t p = 0; p < places; ++p) log_times_[p] += more[p];
    }
    std::vector<double> counts(places);
    for (size_t i = 0; i < visits.size(); ++i) {
      middles_[place_of(i)] += visits[i].place;
      ++counts[place_of(i)];
    }
    for (size_t p = 0; p < places; ++p) middles_[p] /= counts[p];
  }

  static size_t PlacesIn(const std::vector<Visit>& visits) {
    return std::min(kMostPlaces, visits.size() / kLeastAtAPlace);
  }

  // Of a visit, as a logarithm. Between two places as far as it is from each.
  double LogTimeAt(double place) const {
    const auto after = std::lower_bound(middles_.begin(), middles_.end(), place);
    if (after == middles_.begin()) return log_times_.front();
    if (after == middles_.end()) return log_times_.back();
    const auto i = static_cast<size_t>(after - middles_.begin());
    const double part = (place - middles_[i - 1]) / (middles_[i] - middles_[i - 1]);
    return log_times_[i - 1] + part * (log_times_[i] - log_times_[i - 1]);
  }

 private:
  std::vector<double> middles_;
  std::vector<double> log_times_;
};

// The course of each run, as all others tell it. An experiment has no part in what it is compared
// with: else it would look more usual than it is.
class Courses {
 public:
  explicit Courses(const std::vector<Visit>& visits) {
    for (size_t part = 0; part < kParts; ++part) {
      std::vector<Visit> others;
      for (const Visit& visit : visits) {
        if (visit.run % kParts != part) others.push_back(visit);
      }
      if (Course::PlacesIn(others) < kLeastPlaces) return;
      courses_.emplace_back(std::move(others));
    }
    std::vector<Visit> rest = visits;
    for (Visit& visit : rest) visit.log_time -= LogTimeAt(visit.run, visit.place);
    are_alike_ = Deviation(std::move(rest)) <= kMostLeft * Deviation(visits);
  }

  // Whether runs have the course that others tell.
  bool are_alike() const { return are_alike_; }
  double LogTimeAt(size_t run, double place) const {
    return courses_[run % kParts].LogTimeAt(place);
  }

 private:
  static constexpr size_t kParts = 8;

  std::vector<Course> courses_;
  bool are_alike_ = false;
};

// A row of a run whose program has ended. Pooled ones have no place.
template <typename Row>
std::optional<double> PlaceIn(const std::map<uint64_t, uint64_t>& ends_ns, const Row& row) {
  const auto end = ends_ns.find(row.session);
  if (end == ends_ns.end() || end->second == 0 || row.block != 0) return std::nullopt;
  return PlaceOf(row.start_ns, row.elapsed_ns, end->second);
}

// What was tried, roughly: a unit, and quarters of its time.
using Tried = std::pair<size_t, int>;
Tried TriedBy(const ExperimentRow& row) {
  if (row.IsBaseline()) return {0, 0};
  return {row.unit, 1 + static_cast<int>(4 * std::min(row.virtual_speedup, 1.0))};
}

// What experiments have seen of the point. Runs with few of them tell nothing.
class VisitsOf {
 public:
  VisitsOf(size_t point, const std::map<uint64_t, uint64_t>& ends_ns,
           const ExperimentTable& table) {
    std::map<uint64_t, std::vector<std::pair<Visit, Tried>>> by_session;
    std::map<Tried, size_t> often;
    for (const ExperimentRow& row : table.experiments) {
      const std::optional<double> place = PlaceIn(ends_ns, row);
      if (!place.has_value() || row.taints != 0) continue;
      for (const PointSeen& seen : row.points) {
        if (seen.point != point || seen.visits <= 0 || seen.duration <= 0) continue;
        const Visit visit = {0, 0, *place, std::log(seen.duration / seen.visits)};
        by_session[row.session].emplace_back(visit, TriedBy(row));
        ++often[TriedBy(row)];
      }
    }
    size_t numbers = 0;
    for (auto& [tried, times] : often) times = times >= kLeastAtAPlace ? ++numbers : 0;
    for (auto& [session, of_run] : by_session) {
      if (of_run.size() < kLeastExperiments) continue;
      const size_t run = runs_.size();
      runs_[session] = run;
      for (auto& [visit, tried] : of_run) {
        visits_.push_back({run, often[tried], visit.place, visit.log_time});
      }
    }
  }

  const std::vector<Visit>& visits() const { return visits_; }
  const std::map<uint64_t, size_t>& runs() const { return runs_; }

 private:
  std::vector<Visit> visits_;
  std::map<uint64_t, size_t> runs_;  // by session
};

class PointCourse {
 public:
  PointCourse(size_t point, const std::map<uint64_t, uint64_t>& ends_ns,
              const ExperimentTable& table)
      : point_(point), ends_ns_(ends_ns), seen_(point, ends_ns, table), courses_(seen_.visits()) {}

  bool IsKnown() const { return seen_.runs().size() >= kLeastRuns && courses_.are_alike(); }

  // So that the sum of durations stays about what it is.
  RunCourse SetMean() {
    double sum = 0;
    double shortest = std::numeric_limits<double>::infinity();
    double longest = 0;
    for (const Visit& visit : seen_.visits()) {
      const double time = std::exp(courses_.LogTimeAt(visit.run, visit.place));
      sum += time;
      shortest = std::min(shortest, time);
      longest = std::max(longest, time);
    }
    mean_ = sum / static_cast<double>(seen_.visits().size());
    return {point_, longest / shortest};
  }

  template <typename Rows>
  void TakeOut(Rows* rows) const {
    for (auto& row : *rows) {
      const std::optional<double> place = PlaceIn(ends_ns_, row);
      const auto run = seen_.runs().find(row.session);
      if (!place.has_value() || run == seen_.runs().end()) continue;
      for (PointSeen& seen : row.points) {
        if (seen.point != point_) continue;
        seen.duration *= mean_ / std::exp(courses_.LogTimeAt(run->second, *place));
      }
    }
  }

 private:
  const size_t point_;
  const std::map<uint64_t, uint64_t>& ends_ns_;
  const VisitsOf seen_;
  const Courses courses_;
  double mean_ = 1;
};

}  // namespace

void TakeOutCourse(const std::map<uint64_t, uint64_t>& ends_ns, ExperimentTable* table) {
  for (size_t point = 0; point < table->points.size(); ++point) {
    if (table->points[point].kind != profile::PROGRESS_POINT_KIND_THROUGHPUT) continue;
    PointCourse course(point, ends_ns, *table);
    if (!course.IsKnown()) continue;
    table->courses.push_back(course.SetMean());
    course.TakeOut(&table->experiments);
    course.TakeOut(&table->bare);
    course.TakeOut(&table->controls);
  }
}

}  // namespace coz::report
