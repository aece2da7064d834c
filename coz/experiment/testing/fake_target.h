// A target for tests of the scheduler: progress at constant rates, units with constant shares.
//
// Shape    time moves only by AdvanceTo; public fields set how the program behaves from then on
// Units    ns of the fake clock
// Errors   none
// Threads  compatible
// Signals  none
// Source   none
#ifndef COZ_EXPERIMENT_TESTING_FAKE_TARGET_H_
#define COZ_EXPERIMENT_TESTING_FAKE_TARGET_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "coz/base/clock.h"
#include "coz/experiment/record.h"
#include "coz/experiment/scheduler.h"
#include "coz/experiment/target.h"

namespace coz::experiment {

struct FakePoint {
  double visits_per_second = 0;  // of effective time
  uint64_t first_visit_ns = 0;
  uint64_t last_visit_ns = std::numeric_limits<uint64_t>::max();
};

class FakeTarget : public ExperimentTarget {
 public:
  struct Selection {
    UnitId unit;
    uint64_t delay_per_sample_ns;
    uint64_t deadline_ns;
    uint64_t at_ns;
  };

  std::vector<FakePoint> program;
  std::vector<double> unit_shares = {1.0};  // of one thread's samples, which come each millisecond
  uint64_t settle_ns = 0;                   // from StopDelays until the other threads have paid
  bool never_settles = false;
  bool may_suspend = false;
  double bare_rate = 1;  // visits without samples, for each with them
  bool may_delay_all = false;
  int controls = 0;
  int suspensions = 0;
  int resumptions = 0;
  TargetSnapshot counters;

  std::vector<Selection> selections;
  std::vector<uint64_t> stops_ns;
  uint64_t last_deadline_ns = 0;

  uint64_t NowNs() override { return counters.now_ns; }

  void Select(UnitId unit, uint64_t delay_per_sample_ns, uint64_t deadline_ns) override {
    selections.push_back({unit, delay_per_sample_ns, deadline_ns, counters.now_ns});
    last_deadline_ns = deadline_ns;
    selected_ = true;
    delays_all_ = false;
  }
  bool DelayAll(uint64_t delay_per_sample_ns, uint64_t deadline_ns) override {
    if (!may_delay_all) return false;
    Select(0, delay_per_sample_ns, deadline_ns);
    ++controls;
    delays_all_ = true;
    return true;
  }
  void Extend(uint64_t deadline_ns) override { last_deadline_ns = deadline_ns; }
  void StopDelays() override {
    selected_ = false;
    stops_ns.push_back(counters.now_ns);
  }
  bool SuspendSampling() override {
    ++suspensions;
    return suspended_ = may_suspend;
  }
  void ResumeSampling() override {
    ++resumptions;
    suspended_ = false;
  }
  bool suspended() const { return suspended_; }
  TargetSnapshot Read() override {
    counters.points.resize(std::max(counters.points.size(), program.size()));
    for (size_t i = 0; i < visits_.size(); ++i) {
      counters.points[i].visits = static_cast<uint64_t>(visits_[i]);
    }
    return counters;
  }
  bool Settled() override {
    return !never_settles && (stops_ns.empty() || counters.now_ns >= stops_ns.back() + settle_ns);
  }
  std::optional<UnitId> RandomSampledUnit(Random& random) override {
    if (!sampled_) return std::nullopt;
    sampled_ = false;
    double draw = random.Fraction();
    for (size_t unit = 0; unit < unit_shares.size(); ++unit) {
      draw -= unit_shares[unit];
      if (draw < 0) return static_cast<UnitId>(unit);
    }
    return std::nullopt;
  }

  // One sample each millisecond; between samples the program progresses unless it is paused.
  void AdvanceTo(uint64_t time_ns) {
    while (counters.now_ns < time_ns) {
      const uint64_t tick_ns = counters.now_ns / kNsPerMs * kNsPerMs + kNsPerMs;
      const uint64_t step_ns = std::min(tick_ns, time_ns) - counters.now_ns;
      Progress(step_ns);
      counters.now_ns += step_ns;
      if (counters.now_ns == tick_ns) Sample();
    }
  }

 private:
  void Progress(uint64_t step_ns) {
    const uint64_t paused_ns = std::min(step_ns, to_pause_ns_);
    to_pause_ns_ -= paused_ns;
    visits_.resize(program.size());
    for (size_t i = 0; i < program.size(); ++i) {
      const uint64_t now_ns = counters.now_ns;
      if (now_ns < program[i].first_visit_ns || now_ns > program[i].last_visit_ns) continue;
      visits_[i] += program[i].visits_per_second * (suspended_ ? bare_rate : 1) *
                    static_cast<double>(step_ns - paused_ns) / 1e9;
    }
  }
  void Sample() {
    if (suspended_) return;
    ++counters.total_samples;
    sampled_ = true;
    if (!selected_) return;
    share_sum_ += delays_all_ ? 1 : unit_shares.at(selections.back().unit);
    if (share_sum_ < 1 - 1e-9) return;
    share_sum_ -= 1;
    ++counters.selected_samples;
    if (counters.now_ns >= last_deadline_ns) return;
    counters.global_delay_ns += selections.back().delay_per_sample_ns;
    counters.imposed_ns += selections.back().delay_per_sample_ns;
    counters.paid_ns += selections.back().delay_per_sample_ns;
    to_pause_ns_ += selections.back().delay_per_sample_ns;
  }

  std::vector<double> visits_;
  double share_sum_ = 0;
  uint64_t to_pause_ns_ = 0;
  bool selected_ = false;
  bool delays_all_ = false;
  bool suspended_ = false;
  bool sampled_ = false;
};

class FakeSink : public ExperimentSink {
 public:
  struct Start {
    UnitId unit;
    double virtual_speedup;
    uint64_t start_ns;
  };
  std::vector<Start> starts;
  std::vector<ExperimentRecord> records;
  std::vector<ExperimentRecord> bare;
  std::vector<uint64_t> bare_starts_ns;
  std::vector<ExperimentRecord> controls;
  std::vector<uint64_t> control_starts_ns;
  int dropped = 0;
  std::vector<uint64_t> no_progress_ns;

  void OnExperimentStarted(UnitId unit, double virtual_speedup, uint64_t start_ns) override {
    starts.push_back({unit, virtual_speedup, start_ns});
  }
  void OnExperiment(const ExperimentRecord& record) override { records.push_back(record); }
  void OnExperimentDropped() override { ++dropped; }
  void OnBareIntervalStarted(uint64_t start_ns) override { bare_starts_ns.push_back(start_ns); }
  void OnBareInterval(const ExperimentRecord& record) override { bare.push_back(record); }
  void OnControlStarted(uint64_t start_ns) override { control_starts_ns.push_back(start_ns); }
  void OnControl(const ExperimentRecord& record) override { controls.push_back(record); }
  void OnNoProgress(uint64_t waited_ns) override { no_progress_ns.push_back(waited_ns); }
};

// Steps `scheduler` as the supervisor does, until `end_ns` or until it is done.
inline void StepUntil(Scheduler& scheduler, FakeTarget& target, uint64_t end_ns) {
  while (!scheduler.done() && target.NowNs() < end_ns) {
    target.AdvanceTo(std::min(scheduler.Step(), end_ns));
  }
}

}  // namespace coz::experiment

#endif  // COZ_EXPERIMENT_TESTING_FAKE_TARGET_H_
