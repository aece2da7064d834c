// The experiments of a profile with their names resolved: what every analysis and export works on.
//
// Shape    units and progress points are numbered over all sessions: the same file:line of two
//          sessions is one unit, points of one name and kind are one point. Experiments keep the
//          order of the file. Some 300 bytes an experiment; nothing points into the profile
// Units    ns, counts
// Errors   none: records whose unit or point is missing are counted in `orphans`; see also
//          `invalid` and `duplicates`
// Threads  compatible
// Signals  not async-signal-safe
// Source   profile.proto
#ifndef COZ_REPORT_ANALYSIS_EXPERIMENT_TABLE_H_
#define COZ_REPORT_ANALYSIS_EXPERIMENT_TABLE_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "coz/report/analysis/unit_samples.h"
#include "coz/report/format/profile.pb.h"
#include "coz/report/statistics/statistics.h"

namespace coz::report {

struct UnitRow {
  profile::UnitKind kind = profile::UNIT_KIND_UNKNOWN;
  std::string file;
  uint32_t line = 0;
  std::string function;
  std::string wait;               // of waits: what is waited for
  uint64_t samples = 0;           // of the whole run, in and outside experiments
  uint32_t id = 0;                // Unit.id, in the last session that names it
  std::string thread_group = {};  // that it is confined to; empty: it is in all threads
  uint64_t spinning_samples = 0;  // of its samples, in loops that wait for something on their CPU

  // "file:line", a function's, file's, library's or group's name, or the kind of a wait without a
  // line; "@" and the group of threads may follow.
  std::string Name() const;
  // The same without the group.
  std::string CodeName() const;
  // A line, whose function is no part of its name.
  bool IsByLine() const {
    return kind == profile::UNIT_KIND_LINE || (kind == profile::UNIT_KIND_WAIT && !file.empty());
  }
};

// From when to when a point was counted, of a session in which it was added or removed.
struct PointStay {
  uint64_t session = 0;
  uint64_t from_ns = 0;  // since session start
  uint64_t to_ns = 0;    // UINT64_MAX: to the end
};

struct PointRow {
  std::string name;
  profile::ProgressPointKind kind = profile::PROGRESS_POINT_KIND_UNKNOWN;
  uint64_t visits = 0;     // of the whole run; arrivals of latency pairs
  std::string counted_by;  // as in ProgressPoint
  uint64_t visit_cost_ns = 0;
  double breakpoint_slowdown = 0;
  std::vector<PointStay> stays;  // in order of time; sessions that are missing had it throughout

  // Whether the point was counted from here to there.
  bool WasThere(uint64_t session, uint64_t from_ns, uint64_t to_ns) const;
};

struct PointSeen {
  size_t point = 0;
  // The divisor: visits; for latency pairs the mean of arrivals and departures.
  double visits = 0;
  // Compared with AnalysisOptions.min_visits; for latency pairs the smaller of arrivals and
  // departures.
  uint64_t least_visits = 0;
  // The numerator: effective duration; for latency pairs times the average in flight (Little's law:
  // W = L·T/n).
  double duration = 0;
  // The counts as recorded, of latency pairs alone.
  std::unique_ptr<const profile::PointCounts> latency;
};

// From this share of its periods on a CPU quota is taken to be used up always.
inline constexpr double kQuotaUsedUp = 0.9;

// What is used of a profile::Experiment; fields of the same name mean the same.
struct ExperimentRow {
  size_t unit = 0;  // the selected one
  uint64_t session = 0;
  uint64_t start_ns = 0;               // since session start
  uint64_t session_start_unix_ns = 0;  // wall-clock time: only for the order of sessions
  uint64_t series = 0;                 // of its part of the session (session_series.h)
  uint64_t elapsed_ns = 0;
  uint64_t effective_duration_ns = 0;
  double virtual_speedup = 0;
  double achieved_virtual_speedup = 0;
  uint64_t selected_samples = 0;
  uint64_t total_samples = 0;
  std::vector<PointSeen> points;  // that were there throughout
  UnitSamples unit_samples;
  // Part of its session. Each part has another source of samples, and the program may run at
  // another speed.
  uint32_t part = 0;

  // From its Validity.
  uint64_t excess_ns = 0;
  uint64_t owed_ns = 0;
  uint64_t lost_samples = 0;
  uint64_t lost_periods = 0;
  uint64_t throttled = 0;
  uint64_t unsampled_ns = 0;
  uint64_t spinning_samples = 0;
  uint64_t spinning_outside_samples = 0;
  double runnable_threads_average = 0;
  double threads_beside_average = 0;
  uint32_t cpus = 0;
  uint32_t live_threads = 0;
  uint64_t paid_ns = 0;
  uint64_t quota_throttled_ns = 0;
  uint64_t busy_cpu_ns = 0;
  uint64_t idle_cpu_ns = 0;
  uint64_t stolen_cpu_ns = 0;
  uint64_t beside_cpu_ns = 0;
  uint64_t busy_beside_ns = 0;
  uint64_t ran_beside_ns = 0;
  uint64_t queued_beside_ns = 0;
  uint64_t queued_for_others_ns = 0;
  uint64_t quota_periods = 0;
  uint64_t quota_throttled_periods = 0;
  uint64_t quota_used_ns = 0;
  uint64_t quota_allowed_ns = 0;
  uint64_t pause_cpu_ns = 0;
  uint64_t imposed_ns = 0;
  uint32_t realtime_threads = 0;
  uint32_t taints = 0;  // a bit for each Taint::Reason; not 0: it must not be used

  // Of a compact profile: how many experiments this is the sum of, and which of them it is compared
  // with. Then `points` have as visits what the baselines near each experiment would have made.
  uint32_t pooled = 1;
  uint64_t block = 0;  // 0: by time

  // Its session speeds up waits: delay is time by the clock, not CPU time.
  bool speeds_up_waits = false;
  // Of the CPU time that the program's threads could use, what other programs left. Delay of CPU
  // time took so much more time by the clock (effective_durations.h).
  double share_left = 1;
  // Of the periods of a CPU quota, those in which it was used up.
  double share_throttled = 0;

  bool IsBaseline() const;
  bool IsTainted() const { return taints != 0; }
  // CPU time alone was what counted, not by when threads had paid or which of them ran.
  bool IsByQuota() const { return share_throttled >= kQuotaUsedUp; }
  // More threads of the program could run than there are CPUs.
  bool IsCrowded() const { return Outnumber(runnable_threads_average); }
  // More threads could run than there are CPUs, the program's or others'.
  bool HasBusyCpus() const { return Outnumber(runnable_threads_average + threads_beside_average); }

 private:
  // Half a thread of tolerance: the coz command itself runs now and then.
  bool Outnumber(double threads) const { return threads > cpus + 0.5 && !IsByQuota(); }
};

// What is used of a profile::BareInterval.
struct BareRow {
  uint64_t session = 0;
  uint64_t start_ns = 0;
  uint64_t session_start_unix_ns = 0;
  uint64_t series = 0;  // as ExperimentRow's
  uint64_t elapsed_ns = 0;
  std::vector<PointSeen> points;  // that were there throughout
  uint32_t part = 0;              // as ExperimentRow's
  uint32_t taints = 0;            // as ExperimentRow's
  uint32_t pooled = 1;
  uint64_t block = 0;
};

// The beginning of a session, whose experiments are not used for a point: it had another rate.
struct WarmUp {
  uint64_t session = 0;
  size_t point = 0;
  uint64_t until_ns = 0;  // since session start
  double rate = 0;        // of visits in the first baseline, by the usual rate

  bool Has(uint64_t of_session, uint64_t start_ns, uint64_t block) const {
    return of_session == session && block == 0 && start_ns < until_ns;
  }
};

// The end of runs, whose experiments are not used for a point: it came more rarely.
struct WindDown {
  size_t point = 0;
  uint64_t lasts_ns = 0;
  double rate = 0;                       // of visits in the last experiments, by the usual rate
  std::map<uint64_t, uint64_t> from_ns;  // since session start, by session

  bool Has(uint64_t session, uint64_t start_ns, uint64_t block) const {
    const auto from = from_ns.find(session);
    return from != from_ns.end() && block == 0 && start_ns >= from->second;
  }
};

// That all runs have the same course was taken out of what was seen of a point.
struct RunCourse {
  size_t point = 0;
  double range = 1;  // of the time of a visit: the longest by the shortest
};

// Forgets what an experiment or a bare interval has seen of the point.
template <typename Row>
void LeaveOutPoint(size_t point, Row* row) {
  const auto is_it = [point](const PointSeen& seen) { return seen.point == point; };
  row->points.erase(std::remove_if(row->points.begin(), row->points.end(), is_it),
                    row->points.end());
}

// By how much delays were longer, for the rate of a point, than they should have been: controls
// tell (delay_factor.h).
struct DelayFactor {
  size_t point = 0;
  Estimate measured;  // 1: as long as they should be; 0: they left no trace
  int controls = 0;   // by which it was measured
  // What durations have been computed with, and its standard error.
  double used = 1;
  double error = 0;
};

struct ExperimentTable {
  std::vector<UnitRow> units;
  std::vector<PointRow> points;
  std::deque<ExperimentRow> experiments;
  std::deque<ExperimentRow> controls;  // whose units and speedups mean nothing
  std::deque<BareRow> bare;
  std::vector<DelayFactor> delay_factors;  // of points with enough controls
  std::vector<WarmUp> warm_ups;
  std::vector<WindDown> wind_downs;
  std::vector<RunCourse> courses;
  // Sum over sessions. One that was cut short counts to the end of its last experiment.
  uint64_t run_time_ns = 0;
  uint64_t samples = 0;  // all of the run, whatever their line
  uint64_t out_of_scope_samples = 0;
  uint64_t other_thread_samples = 0;  // in any code, of threads that --thread leaves out
  uint64_t unmapped_samples = 0;
  uint64_t lost_samples = 0;
  uint64_t orphans = 0;
  uint64_t invalid =
      0;  // experiments with impossible figures (say a speedup that is no fraction); not used
  uint64_t duplicates =
      0;  // experiments that a merged profile holds twice, as a merge with its copy does; used once
};

// Makes the table from records in file order. The caller need not keep them.
class ExperimentTableBuilder {
 public:
  ExperimentTableBuilder();
  ~ExperimentTableBuilder();

  void Add(const profile::Profile& records);
  // Call it once, after the last Add.
  ExperimentTable Finish();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

ExperimentTable BuildExperimentTable(const profile::Profile& profile);

}  // namespace coz::report

#endif  // COZ_REPORT_ANALYSIS_EXPERIMENT_TABLE_H_
