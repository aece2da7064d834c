// Where experiments and bare intervals stand in time, for their blocks.
//
// Shape    a row's observation, with its sequence and series
// Units    ns
// Errors   none
// Threads  safe: pure functions
// Signals  not async-signal-safe
// Source   docs/design/statistics.md, "A slope"
#ifndef COZ_REPORT_ANALYSIS_TIMED_OBSERVATION_H_
#define COZ_REPORT_ANALYSIS_TIMED_OBSERVATION_H_

#include <cstdint>

#include "coz/report/analysis/experiment_table.h"
#include "coz/report/statistics/statistics.h"
#include "coz/report/statistics/time_blocks.h"

namespace coz::report {

// `row` is an ExperimentRow or a BareRow. A pooled one is compared with those of its block alone.
template <typename Row>
TimedObservation AtItsTime(const Row& row, const RateObservation& observation) {
  TimedObservation timed = {row.session + row.part, row.start_ns, observation};
  if (row.block != 0) {
    timed.sequence = row.session ^ (row.block * 0x9E3779B97F4A7C15u);
    timed.start_ns = 0;
    timed.whole = true;
    return timed;
  }
  timed.series = row.series;
  if (row.series != 0) timed.sequence_start_ns = row.session_start_unix_ns;
  return timed;
}

}  // namespace coz::report

#endif  // COZ_REPORT_ANALYSIS_TIMED_OBSERVATION_H_
