#include "coz/experiment/recorder.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_format.h"
#include "coz/base/target_counters.h"

namespace coz::experiment {
namespace {

// Shares from which a figure is worth a warning; each shifts a prediction by about as much.
constexpr double kOversubscribedShare = 0.2;
constexpr double kOwedShare = 0.05;
constexpr double kLostShare = 0.05;
constexpr double kQuotaShare = 0.05;

double Ratio(double part, double whole) { return whole > 0 ? part / whole : 0; }

PointCounts CountsAt(const TargetSnapshot& snapshot, size_t point) {
  return point < snapshot.points.size() ? snapshot.points[point] : PointCounts();
}

double InFlight(const TargetSnapshot& snapshot, size_t point) {
  const PointCounts counts = CountsAt(snapshot, point);
  const uint64_t begun = counts.arrivals + counts.begun_before;
  // The two counters are not read at one moment: a departure can be seen before its arrival.
  return begun > counts.departures ? static_cast<double>(begun - counts.departures) : 0;
}

// The integral of arrivals - departures over effective time, where the time of each is known:
// N(end)·end − N(start)·start + departure times − arrival times, with N the number under way.
void CorrectByTimes(const TargetSnapshot& start, const TargetSnapshot& end, size_t point,
                    PointDelta* delta) {
  const PointCounts before = CountsAt(start, point);
  const PointCounts after = CountsAt(end, point);
  const uint64_t arrivals = after.arrivals - before.arrivals;
  const uint64_t departures = after.departures - before.departures;
  if (after.timed_arrivals + after.timed_departures == 0 ||
      arrivals != after.timed_arrivals - before.timed_arrivals ||
      departures != after.timed_departures - before.timed_departures) {
    return;
  }
  const uint64_t start_ns = start.now_ns - start.global_delay_ns;
  const uint64_t end_ns = end.now_ns - end.global_delay_ns;
  // Modulo 2^64: the sums of times have long overflown, the result has not.
  // Who was under way before is known best at the end.
  const uint64_t begun_before = after.begun_before;
  const uint64_t integral_ns = (begun_before + after.arrivals - after.departures) * end_ns -
                               (begun_before + before.arrivals - before.departures) * start_ns +
                               (after.departure_time_sum_ns - before.departure_time_sum_ns) -
                               (after.arrival_time_sum_ns - before.arrival_time_sum_ns);
  // Below 0 where marks do not pair: then looks are as good a guess.
  const auto by_times_ns = static_cast<int64_t>(integral_ns);
  if (by_times_ns < 0) return;
  delta->in_flight_ns = static_cast<double>(by_times_ns);
  delta->in_flight_by_times = true;
  delta->in_flight_evened_out = false;
}

// Whether the target noted the number under way at each delay.
bool IsCharged(const PointCounts& before, const PointCounts& after) {
  return after.charged_delay_ns != before.charged_delay_ns;
}

uint64_t VisitsBetween(const PointCounts& start, const PointCounts& end) {
  return (end.visits - start.visits) + (end.departures - start.departures);
}

int64_t EffectiveBetween(const TargetSnapshot& start, const TargetSnapshot& end) {
  // Modulo 2^64: the target may write any delay.
  return static_cast<int64_t>((end.now_ns - start.now_ns) -
                              (end.global_delay_ns - start.global_delay_ns));
}

// The share that running threads served, by pause or credit, of what they were to serve.
double ServedShare(const ExperimentRecord& record) {
  const double served =
      static_cast<double>(record.paid_ns) + static_cast<double>(record.credited_ns);
  const double unserved =
      static_cast<double>(record.owed_at_end_ns) - static_cast<double>(record.owed_at_start_ns);
  if (unserved <= 0) return 1;
  return served / (served + unserved);
}

// The share of this time in which samples imposed delay. In the drain they impose none.
double SpedUpShare(const ExperimentRecord& record) {
  return 1 - Ratio(static_cast<double>(record.drain_ns), static_cast<double>(record.elapsed_ns));
}

// The kernel's own figures fall now and then: proc(5) on iowait.
CpuUse UseBetween(const CpuUse& start, const CpuUse& end) {
  const auto grown = [](uint64_t from, uint64_t to) { return to > from ? to - from : 0; };
  return {grown(start.busy_ns, end.busy_ns), grown(start.idle_ns, end.idle_ns),
          grown(start.stolen_ns, end.stolen_ns)};
}

QuotaUse UseBetween(const QuotaUse& start, const QuotaUse& end) {
  QuotaUse use;
  use.throttled_ns = end.throttled_ns - start.throttled_ns;
  use.throttled_elsewhere_ns = end.throttled_elsewhere_ns - start.throttled_elsewhere_ns;
  use.periods = end.periods - start.periods;
  use.throttled_periods = end.throttled_periods - start.throttled_periods;
  use.used_ns = end.used_ns - start.used_ns;
  use.allowed_ns = end.allowed_ns - start.allowed_ns;
  return use;
}

// The share of the time for which threads wanted to run that CPU quotas took from them whose use is
// not recorded. At least the time of one thread is wanted: figures are by the clock, and so are
// their errors.
double QuotaShare(const SchedulerOptions& options, const ExperimentRecord& record) {
  const double ran_ns =
      static_cast<double>((record.total_samples + record.lost_samples + record.lost_periods) *
                              options.sampling_period_ns +
                          record.unsampled_ns);
  const double throttled_ns = static_cast<double>(record.quota.throttled_elsewhere_ns);
  return Ratio(throttled_ns,
               throttled_ns + std::max(ran_ns, static_cast<double>(record.elapsed_ns)));
}

}  // namespace

ExperimentRecorder::ExperimentRecorder(const ExperimentPlan& plan, const TargetSnapshot& start)
    : plan_(plan), start_(start), last_(start) {}

void ExperimentRecorder::Look(const TargetSnapshot& now) {
  const double effective_ns = static_cast<double>(EffectiveBetween(last_, now));
  const double elapsed_ns = static_cast<double>(now.now_ns - last_.now_ns);
  in_flight_ns_.resize(std::max(in_flight_ns_.size(), now.points.size()));
  in_flight_on_clock_ns_.resize(in_flight_ns_.size());
  for (size_t point = 0; point < in_flight_ns_.size(); ++point) {
    const double in_flight = (InFlight(last_, point) + InFlight(now, point)) / 2;
    in_flight_ns_[point] += in_flight * effective_ns;
    in_flight_on_clock_ns_[point] += in_flight * elapsed_ns;
  }
  ++looks_;
  if (now.runnable_threads > now.cpus) ++oversubscribed_looks_;
  live_thread_sum_ += static_cast<uint64_t>(std::max(now.live_threads, 0));
  most_realtime_threads_ = std::max(most_realtime_threads_, now.realtime_threads);
  runnable_thread_sum_ += static_cast<uint64_t>(std::max(now.runnable_threads, 0));
  thread_beside_sum_ += static_cast<uint64_t>(std::max(now.threads_beside, 0));
  last_ = now;
}

// Effective time leaves out delays. More may be under way then than on average: a request is being
// served. Looks are too far apart to tell, but the target may have noted the number at each delay.
double ExperimentRecorder::InFlightByLooks(const TargetSnapshot& end, size_t point) const {
  const PointCounts before = CountsAt(start_, point);
  const PointCounts after = CountsAt(end, point);
  if (!IsCharged(before, after)) return in_flight_ns_[point];
  const uint64_t delay_ns = after.charged_delay_ns - before.charged_delay_ns;
  const auto requests_ns = static_cast<int64_t>(
      after.charged_in_flight_ns - before.charged_in_flight_ns + after.begun_before * delay_ns);
  const double in_delays =
      std::max(0.0, static_cast<double>(requests_ns) / static_cast<double>(delay_ns));
  const double inserted_ns = static_cast<double>(end.global_delay_ns - start_.global_delay_ns);
  return std::max(0.0, in_flight_on_clock_ns_[point] - in_delays * inserted_ns);
}

void ExperimentRecorder::NoteLate(uint64_t late_ns) { late_ns_ = std::max(late_ns_, late_ns); }

uint64_t ExperimentRecorder::BusiestVisits(const TargetSnapshot& now) const {
  uint64_t busiest = 0;
  for (size_t point = 0; point < now.points.size(); ++point) {
    busiest = std::max(busiest, VisitsBetween(CountsAt(start_, point), CountsAt(now, point)));
  }
  return busiest;
}

int64_t ExperimentRecorder::EffectiveNs(const TargetSnapshot& now) const {
  return EffectiveBetween(start_, now);
}

bool ExperimentRecorder::HasLatencyPairs(const TargetSnapshot& now) const {
  return std::any_of(now.points.begin(), now.points.end(),
                     [](const PointCounts& counts) { return counts.arrivals > 0; });
}

ExperimentRecord ExperimentRecorder::Finish(const SchedulerOptions& options,
                                            const TargetSnapshot& end, uint64_t drain_start_ns,
                                            bool settled) {
  Look(end);
  ExperimentRecord record;
  record.index = plan_.index;
  record.unit = plan_.unit;
  record.virtual_speedup = plan_.virtual_speedup;
  record.delay_per_sample_ns = plan_.delay_per_sample_ns;
  record.selected_after_ns = plan_.selected_after_ns;
  record.start_ns = start_.now_ns;
  record.elapsed_ns = end.now_ns - start_.now_ns;
  record.drain_ns = end.now_ns > drain_start_ns ? end.now_ns - drain_start_ns : 0;
  record.inserted_delay_ns = end.global_delay_ns - start_.global_delay_ns;
  record.effective_duration_ns = EffectiveBetween(start_, end);

  for (size_t point = 0; point < end.points.size(); ++point) {
    const PointCounts before = CountsAt(start_, point);
    const PointCounts& after = end.points[point];
    record.points.push_back({after.visits - before.visits, after.arrivals - before.arrivals,
                             after.departures - before.departures, InFlightByLooks(end, point),
                             false, record.inserted_delay_ns != 0 && !IsCharged(before, after)});
    CorrectByTimes(start_, end, point, &record.points.back());
  }
  record.selected_samples = end.selected_samples - start_.selected_samples;
  record.total_samples = end.total_samples - start_.total_samples;
  static_cast<ExperimentCounters&>(record) = CountedBetween(start_, end);

  record.settled = settled;
  record.owed_at_start_ns = start_.owed_ns;
  record.owed_at_end_ns = end.owed_ns;
  record.max_owed_at_end_ns = end.max_owed_ns;
  record.max_owed_asleep_at_end_ns = end.max_owed_asleep_ns;
  record.paid_ns = end.paid_ns - start_.paid_ns;
  record.credited_ns = end.credited_ns - start_.credited_ns;
  record.pause_cpu_ns = end.pause_cpu_ns - start_.pause_cpu_ns;
  // What is taken off for given speedups is counted apart, and may be read a little ahead.
  record.imposed_ns = end.imposed_ns - std::min(end.imposed_ns, start_.imposed_ns);
  // A pause in progress may be asked for and not have passed yet.
  record.excess_ns = end.excess_ns - std::min(end.excess_ns, start_.excess_ns);

  const double looks = static_cast<double>(looks_);
  record.periods_per_sample = end.periods_per_sample;
  record.mean_live_threads = static_cast<double>(live_thread_sum_) / looks;
  record.mean_runnable_threads = static_cast<double>(runnable_thread_sum_) / looks;
  record.mean_threads_beside = static_cast<double>(thread_beside_sum_) / looks;
  record.oversubscribed_share = static_cast<double>(oversubscribed_looks_) / looks;
  record.cpus = end.cpus;
  record.quota = UseBetween(start_.quota, end.quota);
  record.cpu_use = UseBetween(start_.cpu_use, end.cpu_use);
  record.beside = {
      end.beside.cpu_ns - start_.beside.cpu_ns, end.beside.busy_ns - start_.beside.busy_ns,
      end.beside.ran_ns - start_.beside.ran_ns, end.beside.queued_ns - start_.beside.queued_ns,
      end.beside.queued_for_others_ns - start_.beside.queued_for_others_ns};
  record.most_realtime_threads = most_realtime_threads_;

  // Not by what was inserted: delays that threads impose on each other cancel.
  const uint64_t wait_ns = end.selected_wait_ns - start_.selected_wait_ns;
  const uint64_t selected_ns =
      wait_ns != 0 ? wait_ns : record.selected_samples * options.sampling_period_ns;
  record.achieved_virtual_speedup =
      Ratio(static_cast<double>(record.imposed_ns), static_cast<double>(selected_ns)) *
      ServedShare(record) * SpedUpShare(record);
  AddTaints(options, end, &record);
  return record;
}

void ExperimentRecorder::AddTaints(const SchedulerOptions& options, const TargetSnapshot& end,
                                   ExperimentRecord* record) const {
  const auto taint = [record](TaintKind kind, std::string reason) {
    record->taints.push_back({kind, std::move(reason)});
  };
  const uint64_t owed_ns = std::max(record->max_owed_at_end_ns, record->max_owed_asleep_at_end_ns);
  const double owed_share =
      Ratio(static_cast<double>(owed_ns), static_cast<double>(record->elapsed_ns));
  const double lost_share =
      Ratio(static_cast<double>(record->lost_samples),
            static_cast<double>(record->lost_samples + record->total_samples));
  const uint64_t busiest = BusiestVisits(end);

  if (record->oversubscribed_share > kOversubscribedShare) {
    taint(TaintKind::kOversubscribed,
          absl::StrFormat("More threads were runnable than CPUs (%d) at %.0f %% of the looks; on "
                          "average %.1f were.",
                          record->cpus, record->oversubscribed_share * 100,
                          record->mean_runnable_threads));
  }
  if (owed_share > kOwedShare) {
    taint(TaintKind::kDelayOwed,
          absl::StrFormat("A thread still owed %.1f ms of delay at the end, %.0f %% of the "
                          "experiment.",
                          static_cast<double>(owed_ns) / kNsPerMs, owed_share * 100));
  }
  if (lost_share > kLostShare) {
    taint(TaintKind::kSamplesLost,
          absl::StrFormat("%d of %d samples were lost.", record->lost_samples,
                          record->lost_samples + record->total_samples));
  }
  if (plan_.virtual_speedup > 0 && record->selected_samples == 0) {
    taint(TaintKind::kUnitInactive, "No sample was taken in the unit.");
  }
  if (!options.end_to_end && busiest < options.min_visits) {
    taint(TaintKind::kTooFewVisits,
          absl::StrFormat("The busiest progress point had %d visits, of %d wanted.", busiest,
                          options.min_visits));
  }
  if (target_ended_ && !options.end_to_end) {
    taint(TaintKind::kTargetEnded, "The target ended during the experiment.");
  }
  if (end.interruptions > start_.interruptions) {
    taint(TaintKind::kInterrupted, absl::StrFormat("The target was stopped or suspended %d times.",
                                                   end.interruptions - start_.interruptions));
  }
  if (const double share = QuotaShare(options, *record); share > kQuotaShare) {
    taint(TaintKind::kCpuQuota,
          absl::StrFormat(
              "The quota of an outer cgroup stopped threads for %.0f %% of the time for "
              "which they wanted to run (%.1f ms).",
              share * 100, static_cast<double>(record->quota.throttled_elsewhere_ns) / kNsPerMs));
  }
  if (late_ns_ > 0) {
    taint(TaintKind::kSupervisorLate,
          absl::StrFormat("The supervisor came %.1f ms too late to prolong the experiment, and "
                          "delays had stopped.",
                          static_cast<double>(late_ns_) / kNsPerMs));
  }
}

}  // namespace coz::experiment
