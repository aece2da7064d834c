// Finds experiments that cannot show the gain of threads that often wait for each other. A CPU
// timer's sample stands for 4 ms, one of a clock of the CPUs for a sampling period. A thread that
// waits again long before that cannot use such an advance; the rest is lost, and effects look too
// small. Perf events that are set anew at each switch between processes cost more than such a
// thread gains. The length of a wait needs no samples, so a session whose units are waits is fine
// enough.
//
// Shape    by session: from when on, and how long its threads run between two waits
// Units    ns of CPU time; ns since the session's start
// Errors   none: a session whose switches are unknown (it has no end, or is old) counts as fine
//          enough
// Threads  compatible
// Signals  not async-signal-safe
// Source   docs/results.md, "PostgreSQL"
#ifndef COZ_REPORT_ANALYSIS_COARSE_SAMPLES_H_
#define COZ_REPORT_ANALYSIS_COARSE_SAMPLES_H_

#include <cstdint>

#include "absl/container/flat_hash_map.h"
#include "coz/report/analysis/experiment_table.h"
#include "coz/report/format/profile.pb.h"

namespace coz::report {

class CoarseSamples {
 public:
  explicit CoarseSamples(const profile::Profile& profile);

  // How long threads ran between two switches if the experiment's samples were too coarse for that;
  // else 0.
  double StretchNs(const ExperimentRow& row) const;
  // Whether perf events cause that by their cost, and not CPU timers.
  bool IsByPerfEvents(const ExperimentRow& row) const;
  // Of the first session whose timers or clocks were too coarse; zeros: none was.
  struct Lengths {
    double stretch_ns = 0;
    double sample_ns = 0;  // the CPU time that a sample stands for
  };
  const Lengths& First() const { return first_; }

 private:
  struct Coarse {
    uint64_t from_ns = 0;
    double stretch_ns = 0;
    bool by_perf_events = false;
  };

  void AddCoarse(const profile::Session& session, profile::SamplingSource source, uint64_t from_ns,
                 double stretch_ns);
  const Coarse* Find(const ExperimentRow& row) const;

  absl::flat_hash_map<uint64_t, Coarse> sessions_;
  Lengths first_;
};

}  // namespace coz::report

#endif  // COZ_REPORT_ANALYSIS_COARSE_SAMPLES_H_
