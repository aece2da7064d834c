// Writes a run into a profile as it happens.
//
// Shape    one session: its head, a chunk per experiment, its end. Units and points are written
//          with the first record that names them
// Units    as in coz/report/format/profile.proto
// Errors   the first failure of the writer is kept; the run goes on without a profile
// Threads  compatible
// Signals  none
// Source   coz/report/format/profile.proto
#ifndef COZ_TOOLS_SUPERVISOR_PROFILE_RECORDER_H_
#define COZ_TOOLS_SUPERVISOR_PROFILE_RECORDER_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "coz/base/target_counters.h"
#include "coz/experiment/record.h"
#include "coz/report/format/profile.pb.h"
#include "coz/report/format/profile_writer.h"
#include "coz/sampler/sampler_status.h"
#include "coz/supervisor/points/outside_points.h"
#include "coz/supervisor/target/child_process.h"
#include "coz/supervisor/target/live_target.h"
#include "coz/supervisor/target/neighbours.h"
#include "coz/supervisor/target/process_watch.h"
#include "coz/supervisor/target/source_choice.h"
#include "coz/supervisor/target/switch_cost.h"
#include "coz/supervisor/target/thread_watch.h"
#include "coz/supervisor/units/unit_index.h"

namespace coz::supervisor {

profile::UnitKind KindInProfile(sourcemap::UnitKind kind);
profile::SamplingSource SourceInProfile(sampler::SamplingSource source);
profile::Taint::Reason ReasonInProfile(experiment::TaintKind kind);

class ProfileRecorder {
 public:
  // `earlier`: what earlier runs of the same series have written.
  ProfileRecorder(report::ProfileWriter writer, const UnitIndex* units, LiveTarget* target,
                  profile::Profile earlier = {})
      : writer_(std::move(writer)),
        units_(units),
        target_(target),
        written_(std::move(earlier)),
        experiments_before_(written_.experiment_size()) {}

  // `session` is complete but for its id, which is added.
  void WriteSession(profile::Session session, uint64_t start_ns);
  // The progress point of an end-to-end run: the end of the program visits it.
  void AddEndToEndPoint() { end_to_end_ = true; }
  void WriteExperiment(const experiment::ExperimentRecord& record);
  void WriteBareInterval(const experiment::ExperimentRecord& record);
  void WriteControl(const experiment::ExperimentRecord& record);
  // Samples and visits since the last experiment, which belong to none.
  void WriteBetweenExperiments();
  // Samples come from CPU timers from now on.
  void WriteSourceChange(const SourceChoice::Finding& finding, sampler::SamplingSource source,
                         uint64_t now_ns);
  // Points that the program has, where it visited none: reports name them. Before WriteEnd.
  void WriteUnvisited(const std::vector<uint32_t>& points);
  // From then on a progress point was there, or was not.
  void WritePointChange(const PointCame& came);
  void WriteEnd(profile::EndReason reason, const ExitState& exit,
                const experiment::TargetSnapshot& last, const SwitchLoad& switches,
                const RunCounters& counters,
                const std::vector<NeighbourWatch::Neighbour>& neighbours);

  // The processes that were profiled, of which so many became other programs that are not; before
  // WriteEnd.
  void WriteProcesses(const ProcessWatch& watch, size_t replaced);

  // What its threads have done. `counters`: names of the places that `visits` are of.
  void WriteThreads(const std::vector<ThreadUse>& threads,
                    const std::vector<ThreadCounter>& counters);

  // All that this run and earlier ones have written, merged.
  const profile::Profile& written() const { return written_; }
  uint64_t session() const { return session_; }
  const absl::Status& status() const { return status_; }
  const std::string& path() const { return writer_.path(); }

 private:
  double AchievedSpeedup(const experiment::ExperimentRecord& record) const;
  uint32_t UnitOf(experiment::UnitId unit, profile::Profile* chunk);
  uint32_t PointOf(uint32_t point, profile::Profile* chunk);
  template <typename Record>
  void AddUnitSamples(const absl::flat_hash_map<experiment::UnitId, uint64_t>& samples,
                      Record* record, profile::Profile* chunk);
  void WriteMeasured(const experiment::ExperimentRecord& record, profile::Experiment* experiment,
                     profile::Profile* chunk);
  // Adds the counts of points to what is written of `record`.
  template <typename Written>
  void AddPoints(const experiment::ExperimentRecord& record, Written* written,
                 profile::Profile* chunk);
  // Latencies of requests since the last call; `counts` null: they belong to no experiment.
  void AddSpinningUnits(profile::SampleCounts* counts, profile::Profile* chunk);
  void TakeLatencies(uint32_t point, profile::PointCounts* counts);
  // Objects that have been read since the last call.
  void AddBinaries(profile::Profile* chunk);
  // The longest waits that are no units.
  void AddOwnWaits(profile::SessionEnd* end) const;
  void Append(const profile::Profile& chunk);

  report::ProfileWriter writer_;
  const UnitIndex* units_;
  LiveTarget* target_;
  profile::Profile written_;
  int experiments_before_;
  absl::Status status_;
  uint64_t session_ = 0;
  uint64_t start_ns_ = 0;
  uint64_t between_start_ns_ = 0;
  bool end_to_end_ = false;
  size_t written_binaries_ = 0;
  uint64_t processes_ = 0;
  size_t processes_replaced_ = 0;
  std::set<experiment::UnitId> written_units_;
  std::set<uint32_t> written_points_;
  experiment::TargetSnapshot between_start_;
  std::map<uint32_t, std::vector<uint64_t>> latencies_;  // taken so far, by point
  std::map<experiment::UnitId, uint64_t> spinning_before_;
};

}  // namespace coz::supervisor

#endif  // COZ_TOOLS_SUPERVISOR_PROFILE_RECORDER_H_
