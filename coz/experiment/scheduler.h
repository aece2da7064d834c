// Runs the experiments of a profile: chooses unit and speedup, times, drains and measures them.
//
// Shape    a state machine without threads or sleeps, driven by Step
// Units    ns of the target's clock; speedups as fractions
// Errors   options are checked by their own Check(); afterwards taints in the records
// Threads  compatible: one thread steps
// Signals  none
// Source   docs/design/experiments.md; Curtsinger and Berger, SOSP 2015, section 3.4
//
//   Scheduler scheduler(options, &target, &sink);
//   while (!scheduler.done()) SleepUntil(scheduler.Step());
//
// with Stop() at Ctrl-C or --duration, and Finish() when the target has exited.
#ifndef COZ_EXPERIMENT_SCHEDULER_H_
#define COZ_EXPERIMENT_SCHEDULER_H_

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "coz/base/random.h"
#include "coz/experiment/experiment_length.h"
#include "coz/experiment/options.h"
#include "coz/experiment/record.h"
#include "coz/experiment/recorder.h"
#include "coz/experiment/speedup_deck.h"
#include "coz/experiment/target.h"

namespace coz::experiment {

class Scheduler {
 public:
  // `options` must pass Check(). Target and sink must outlive the scheduler. Nothing happens before
  // the first Step.
  Scheduler(const SchedulerOptions& options, ExperimentTarget* target, ExperimentSink* sink);
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  // Does what is due and returns when it wants to be called next. Calls before that time are
  // harmless. Once done, it returns UINT64_MAX.
  uint64_t Step();

  // Ends the profile while the target lives on. Delays end at once. An experiment in progress that
  // is long enough is drained and kept, else dropped. Step on until done().
  void Stop();

  // Ends the profile at once, because the target has ended. An experiment in progress that is long
  // enough is kept.
  void Finish();

  // Drops the experiment in progress, unless it is the whole run, and begins another. So none holds
  // both what ran before and what runs now.
  void StartAfresh();

  // Units to try more often, each with its weight; replaces those of the last call. They get the
  // share of experiments that SchedulerOptions::uniform_share leaves.
  void Focus(std::vector<std::pair<UnitId, double>> units) { focus_ = std::move(units); }

  bool done() const { return state_ == State::kDone; }
  bool waiting_for_progress() const { return state_ == State::kWaitingForProgress; }
  uint64_t seed() const { return seed_; }  // given or drawn: to be recorded
  uint64_t experiments() const { return next_index_; }
  uint64_t experiment_length_ns() const { return length_.ns(); }

 private:
  enum class State {
    kIdle,
    kWaitingForProgress,
    kWaitingForSample,
    kLeadIn,
    kRunning,
    kDraining,
    kBareLeadIn,
    kBare,
    kCooloff,
    kDone
  };

  // Each does what its state asks for and returns the time of the next step.
  uint64_t Start();
  uint64_t WaitForProgress();
  uint64_t WaitForSample();
  uint64_t StartMeasuring(const TargetSnapshot& start);
  uint64_t Run();
  uint64_t Drain();
  uint64_t StartBareInterval();
  uint64_t StartMeasuringBare();
  uint64_t RunBare();

  uint64_t Begin(UnitId unit, const TargetSnapshot& start);
  bool InBareInterval() const { return state_ == State::kBareLeadIn || state_ == State::kBare; }
  uint64_t DrawBareInterval();
  uint64_t DrawControl();
  bool MakesControls() const;
  bool StartControl();
  uint64_t StartLeadIn(const TargetSnapshot& start);
  uint64_t NextLook(const TargetSnapshot& now);
  bool BareLongEnough(const TargetSnapshot& now) const;
  bool LongEnough(const TargetSnapshot& now);
  uint64_t LeastKeptNs() const;  // of an experiment that something else ends
  uint64_t StartDrain(uint64_t max_owed_ns);
  uint64_t End(const TargetSnapshot& end, bool settled);
  void Drop();
  std::optional<UnitId> ChooseUnit();
  SpeedupDeck MakeDeck() const;
  double ChooseSpeedup(UnitId unit);
  UnitId OrFocused(UnitId sampled);

  const SchedulerOptions options_;
  ExperimentTarget* const target_;
  ExperimentSink* const sink_;
  const uint64_t seed_;
  Random unit_random_;
  Random speedup_random_;
  Random look_random_;
  Random focus_random_;
  Random bare_random_;
  Random control_random_;

  State state_ = State::kIdle;
  uint64_t next_step_ns_ = 0;
  uint64_t run_start_ns_ = 0;
  bool warned_ = false;
  bool stopping_ = false;
  std::map<UnitId, SpeedupDeck> decks_;
  std::vector<std::pair<UnitId, double>> focus_;
  ExperimentPlan plan_;  // of the experiment in progress
  uint64_t next_index_ = 0;
  uint64_t bare_blocks_ = 0;  // of experiments begun; each has one bare interval
  uint64_t next_bare_;        // index of the experiment before which the next bare interval comes
  uint64_t early_controls_ = 0;  // that were drawn
  uint64_t control_block_start_ = 0;
  uint64_t next_control_;      // as next_bare_
  bool in_control_ = false;    // what is in progress, as an experiment is
  double samples_per_ns_ = 0;  // in the last experiment without delays
  ExperimentLength length_;    // of experiments to come
  uint64_t planned_ns_ = 0;    // length of the one in progress
  uint64_t deadline_ns_ = 0;   // of the target's last Select or Extend
  uint64_t drain_start_ns_ = 0;
  uint64_t drain_end_ns_ = 0;                   // gives up then
  std::optional<TargetSnapshot> run_start_;     // end to end: the experiment covers the whole run
  std::optional<ExperimentRecorder> recorder_;  // of the experiment in progress
};

}  // namespace coz::experiment

#endif  // COZ_EXPERIMENT_SCHEDULER_H_
