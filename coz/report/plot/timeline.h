// What ran when: samples of the busiest lines, visits and experiments over the length of the
// profile, so that phases are seen.
//
// Shape    time is cut into equal bins over all sessions, one after the other; experiments in file
//          order
// Units    ns since the start of the first session, counts
// Errors   none: a profile without experiments has an empty time line
// Threads  safe: pure functions
// Signals  not async-signal-safe
// Source   docs/interpreting.md
#ifndef COZ_REPORT_PLOT_TIMELINE_H_
#define COZ_REPORT_PLOT_TIMELINE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "coz/report/analysis/experiment_table.h"
#include "coz/report/format/profile.pb.h"

namespace coz::report {

struct TimelineExperiment {
  uint64_t start_ns = 0;
  uint64_t end_ns = 0;
  size_t row = 0;  // in ExperimentTable.experiments
};

struct TimelineRow {
  size_t unit = 0;
  // Share of the samples taken during the experiments of a bin, 0-1; negative where no experiment
  // was.
  std::vector<double> share;
};

struct TimelinePoint {
  size_t point = 0;
  // Visits per second of effective duration; negative where no experiment was.
  std::vector<double> rate;
};

struct Timeline {
  uint64_t end_ns = 0;
  std::vector<uint64_t> session_starts_ns;
  std::vector<TimelineExperiment> experiments;
  std::vector<TimelineRow> units;  // most samples first
  std::vector<TimelinePoint> points;
};

Timeline BuildTimeline(const profile::Profile& profile, const ExperimentTable& table, size_t bins,
                       size_t max_units);

}  // namespace coz::report

#endif  // COZ_REPORT_PLOT_TIMELINE_H_
