// What a profile says about the latency of requests, besides how it changes: mean, median, 99th
// percentile, and whether it is stable.
//
// Shape    one summary of a latency pair: over the baselines, or over the experiments of a unit at
//          a speedup
// Units    ns of effective time (delay left out); requests per second of it
// Errors   figures that the profile does not have are NaN
// Threads  safe: pure functions
// Signals  not async-signal-safe
// Source   Little's law: mean latency = mean number under way / departures per time
#ifndef COZ_REPORT_ANALYSIS_LATENCY_SUMMARY_H_
#define COZ_REPORT_ANALYSIS_LATENCY_SUMMARY_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "coz/report/analysis/experiment_table.h"

namespace coz::report {

// Over all experiments, whatever was sped up: whether as many requests end as begin.
struct RequestBalance {
  double arrivals = 0;  // counts
  double departures = 0;
  double most_in_flight = 0;  // of an experiment, on average
  int experiments = 0;
  int with_more_arrivals = 0;  // of the experiments
  int with_more_departures = 0;
};

struct LatencySummary {
  double mean_ns = 0;
  double median_ns = 0;  // of numbered requests
  double p99_ns = 0;
  double arrivals_per_second = 0;
  double departures_per_second = 0;
  double arrivals = 0;  // counts
  double departures = 0;
  int experiments = 0;  // of which these are the sums
  double in_flight = 0;
  RequestBalance balance;
  bool has_baseline = false;
  bool by_looks = false;  // the number under way was looked at now and then; else its mean is exact
  // If by_looks: standard error of the mean, as a share of it. Requests come and go between looks.
  double looks_error = 0;
  // If by_looks: in some experiment, how many were under way when delay was inserted is unknown.
  bool evened_out = false;
};

// How looks blur the figures: a sentence without a full stop; empty where the mean is exact, or
// means nothing.
std::string ErrorOfLooks(const LatencySummary& summary);

// Over the baselines; without any, over all experiments. `evened_out` and `balance` are always over
// all.
LatencySummary SummarizeLatency(const ExperimentTable& table, size_t point);

// By unit and virtual speedup, in one pass over the table.
class LatencyBySpeedup {
 public:
  LatencyBySpeedup(const ExperimentTable& table, size_t point);
  LatencySummary Of(size_t unit, double virtual_speedup) const;

 private:
  std::map<std::pair<size_t, int64_t>, LatencySummary> summaries_;  // speedup in thousandths
};

// More requests came than left, by more than where experiments begin and end explains: latency
// grows as long as the load lasts.
bool IsUnstable(const LatencySummary& summary);

// Why begin and end cannot be those of the same requests, so that the mean latency means nothing: a
// sentence without a full stop; empty where they may be. Requests that never end are told from a
// backlog where requests are numbered: those that end take far less time than the mean.
std::string MismatchOf(const LatencySummary& summary);

}  // namespace coz::report

#endif  // COZ_REPORT_ANALYSIS_LATENCY_SUMMARY_H_
