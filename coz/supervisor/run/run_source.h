// Where the samples of a run come from. The user says it, or it is left to coz: perf events at
// first, and where these cost the program too much, clocks of the CPUs or CPU timers.
//
// Shape    one for a run
// Units    ns of CLOCK_MONOTONIC
// Errors   INVALID_ARGUMENT, UNAVAILABLE: a clock that the user asks for cannot be had
// Threads  compatible
// Signals  none
// Source   docs/design/sampling.md
#ifndef COZ_SUPERVISOR_RUN_RUN_SOURCE_H_
#define COZ_SUPERVISOR_RUN_RUN_SOURCE_H_

#include <cstdint>
#include <memory>
#include <optional>

#include "absl/status/status.h"
#include "coz/sampler/sampler_status.h"
#include "coz/supervisor/run/run_profile.h"
#include "coz/supervisor/target/attached_tree.h"
#include "coz/supervisor/target/cpu_clock.h"
#include "coz/supervisor/target/live_target.h"
#include "coz/supervisor/target/shared_control.h"
#include "coz/supervisor/target/source_choice.h"

namespace coz::supervisor {

class RunSource {
 public:
  // Both outlive it, and so does what is handed over later.
  RunSource(const RunOptions* options, SharedControl* control);

  bool IsClock() const { return options_->sampling_source == sampler::SamplingSource::kCpuClock; }

  // For a program that is to be started, where IsClock(): before it starts, and once it has.
  absl::Status PrepareClock();
  void StartClock(LiveTarget* target);

  // For a process that runs already, and joins the profile.
  absl::Status Join(AttachedTree* attached, LiveTarget* target);

  bool UsesPerfEvents() const;

  // Whether it was left to coz, and what is in use may cost the program much.
  bool MayChange() const;
  // See SourceChoice. `live_processes` of the program run.
  void NoteSlowdown(double at_least, int live_processes);

  // To be called from time to time.
  void VaryClock(uint64_t now_ns) {
    if (clock_ != nullptr) clock_->Vary(now_ns);
  }

  struct Change {
    SourceChoice::Finding finding;
    sampler::SamplingSource source;
  };
  // Changes the source where the one in use is found to cost too much. To be called where
  // MayChange().
  std::optional<Change> Poll(uint64_t now_ns, int live_processes, LiveTarget* target);

 private:
  absl::Status OpenClock();
  void TellClock();
  SourceChoice::By WhatTells(int live_processes) const;
  bool ChangeToClock(const SourceChoice::Finding& finding, LiveTarget* target);
  bool ChangeToTimers();

  const RunOptions* options_;
  SharedControl* control_;
  AttachedTree* attached_ = nullptr;  // null: the child was started here
  SourceChoice choice_;
  std::unique_ptr<CpuClock> clock_;  // null: not that source
};

}  // namespace coz::supervisor

#endif  // COZ_SUPERVISOR_RUN_RUN_SOURCE_H_
