// One run: a program that is profiled, from its start to the last record of the profile.
//
// Shape    everything that lives as long as one run. Start or Join, then Loop, Finish, Leave
// Units    ns of CLOCK_MONOTONIC
// Errors   Status of what could not be started, joined or left
// Threads  compatible
// Signals  none; signals to coz are taken by SignalInbox
// Source   docs/design/experiments.md, docs/design/attach.md
#ifndef COZ_SUPERVISOR_RUN_ONE_RUN_H_
#define COZ_SUPERVISOR_RUN_ONE_RUN_H_

#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "coz/experiment/scheduler.h"
#include "coz/report/format/profile_writer.h"
#include "coz/supervisor/points/counted_functions.h"
#include "coz/supervisor/points/outside_points.h"
#include "coz/supervisor/points/own_calls.h"
#include "coz/supervisor/run/live_display.h"
#include "coz/supervisor/run/point_requests.h"
#include "coz/supervisor/run/profile_recorder.h"
#include "coz/supervisor/run/run_profile.h"
#include "coz/supervisor/run/run_source.h"
#include "coz/supervisor/run/until_goal.h"
#include "coz/supervisor/target/attached_tree.h"
#include "coz/supervisor/target/live_target.h"
#include "coz/supervisor/target/neighbours.h"
#include "coz/supervisor/target/process_watch.h"
#include "coz/supervisor/target/shared_control.h"
#include "coz/supervisor/target/signal_inbox.h"
#include "coz/supervisor/target/switch_cost.h"
#include "coz/supervisor/target/thread_watch.h"
#include "coz/supervisor/units/perf_map_watch.h"
#include "coz/supervisor/units/unit_index.h"

namespace coz::supervisor {

class Run : public experiment::ExperimentSink {
 public:
  Run(const RunOptions& options, Series series, SharedControl control, UnitIndex units,
      std::unique_ptr<OutsidePoints> outside, std::unique_ptr<CountedFunctions> counted)
      : options_(options),
        series_(std::move(series)),
        control_(std::move(control)),
        units_(std::move(units)),
        outside_(std::move(outside)),
        counted_(std::move(counted)),
        display_(STDERR_FILENO, options.live) {}

  absl::Status Start(const std::string& program, report::ProfileWriter writer);
  // The same for a process that runs already.
  absl::Status Join(std::unique_ptr<AttachedTree> attached, report::ProfileWriter writer);
  absl::Status Leave();
  void AwaitStopped();
  RunResult Finish();
  void Loop();

 private:
  void OnExperimentStarted(experiment::UnitId unit, double virtual_speedup,
                           uint64_t start_ns) override;
  void OnExperiment(const experiment::ExperimentRecord& record) override;
  void OnExperimentDropped() override { current_.clear(); }
  void OnBareIntervalStarted(uint64_t start_ns) override;
  void OnBareInterval(const experiment::ExperimentRecord& record) override;
  void OnControlStarted(uint64_t start_ns) override;
  void OnControl(const experiment::ExperimentRecord& record) override;
  void OnNoProgress(uint64_t waited_ns) override;

  void AnswerRequests();
  absl::Status ChooseSchedule();
  void JoinDescendants();
  void LookForUnpreloaded(uint64_t now_ns);
  bool OthersRan() const;
  bool HasUnreachable() const;
  bool IsWorkerElsewhere() const;
  void PollAttached();
  void SayReplaced();
  void FillBlock();
  void TakeSlots();
  void BeginRecords(report::ProfileWriter writer);
  void WriteHead();
  // See sampler::SamplerStatus::awaits_handler.
  void SayIfItAwaitsHandler();
  bool ChooseUnits();
  bool IsToGoOn();
  void Wait(uint64_t until_ns);
  void Say(const std::string& message);
  void RefreshDisplay();
  void StartExperiments();
  void SayWhetherItIsWritten();
  bool MayChangeSource() const;
  void ChooseSource(uint64_t now_ns);
  void LookForNeighbours();
  SwitchLoad SwitchesOfRun(const experiment::TargetSnapshot& last) const;
  void PursueGoal(bool at_end = false);
  void SayGoalIsReached(bool at_end);
  void SayWhatIsNotFoundYet(uint64_t now_ns);
  void SayWhatIsMissing(const std::vector<ThreadUse>& threads);
  std::vector<uint32_t> FoundPoints() const;
  std::vector<std::string> PointNames() const;

  RunOptions options_;
  Series series_;  // `earlier` is the recorder's
  SharedControl control_;
  UnitIndex units_;
  std::unique_ptr<OutsidePoints> outside_;
  std::unique_ptr<CountedFunctions> counted_;
  OwnCalls own_calls_;
  PerfMapWatch perf_maps_{&units_};
  LiveDisplay display_;
  SignalInbox inbox_;
  experiment::SchedulerOptions scheduler_options_;
  std::unique_ptr<AttachedTree> attached_;  // null: the child was started here
  std::optional<ChildProcess> child_;
  std::optional<LiveTarget> target_;
  std::optional<ProcessWatch> processes_;
  std::optional<ThreadWatch> threads_;
  std::optional<ProfileRecorder> recorder_;
  std::optional<PointRequests> requests_;
  std::optional<experiment::Scheduler> scheduler_;
  RunSource source_{&options_, &control_};
  NeighbourWatch neighbours_{UsableCpus()};
  uint64_t start_ns_ = 0;
  uint64_t duration_from_ns_ = 0;
  uint64_t switches_before_ = SwitchesOfChildren();
  uint64_t alone_since_ns_ = 0;  // the first process has ended, and no other is to be seen
  std::string current_;
  bool head_written_ = false;
  bool says_it_awaits_handler_ = false;
  UnpreloadedProgram unpreloaded_;
  uint64_t looked_ns_ = 0;  // for that
  bool ended_by_duration_ = false;
  std::optional<UntilGoal> until_;
  std::optional<UntilGoal> verdicts_;  // where `until_` is not there
  bool ended_by_goal_ = false;
  bool said_what_is_not_found_ = false;
  bool is_written_ = true;               // all that was measured, as far as it was said
  uint32_t units_known_ = ~uint32_t{0};  // growth() when units were last sought by name
};

}  // namespace coz::supervisor

#endif  // COZ_SUPERVISOR_RUN_ONE_RUN_H_
