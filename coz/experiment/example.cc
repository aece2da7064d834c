// The scheduler over a target that is computed: a program that makes 1000 visits a second, and
// whose one thread spends half of its time in unit 0 and half in unit 1. Prints what each
// experiment saw.
#include <cstdint>
#include <cstdio>
#include <optional>

#include "coz/base/clock.h"
#include "coz/base/random.h"
#include "coz/experiment/options.h"
#include "coz/experiment/record.h"
#include "coz/experiment/scheduler.h"
#include "coz/experiment/target.h"

namespace {

using coz::kNsPerMs;
using coz::kNsPerSecond;
using coz::experiment::UnitId;

// Time moves only when it is told to. A real target reads a clock, and its samples impose delay.
class ComputedTarget : public coz::experiment::ExperimentTarget {
 public:
  ComputedTarget() { now_.points.resize(1); }

  // One sample each millisecond, in turns in unit 0 and unit 1.
  void AdvanceTo(uint64_t time_ns) {
    for (; now_.now_ns < time_ns; now_.now_ns += kNsPerMs) {
      const auto unit = static_cast<UnitId>(++now_.total_samples % 2);
      const bool pauses = delay_ns_ >= kNsPerMs;
      if (pauses) delay_ns_ -= kNsPerMs;
      if (!pauses) ++now_.points[0].visits;
      if (!is_selected_ || unit != selected_ || now_.now_ns >= deadline_ns_) continue;
      ++now_.selected_samples;
      now_.global_delay_ns += delay_per_sample_ns_;
      now_.imposed_ns += delay_per_sample_ns_;
      now_.paid_ns += delay_per_sample_ns_;
      delay_ns_ += delay_per_sample_ns_;
    }
  }

  uint64_t NowNs() override { return now_.now_ns; }
  void Select(UnitId unit, uint64_t delay_per_sample_ns, uint64_t deadline_ns) override {
    is_selected_ = true;
    selected_ = unit;
    delay_per_sample_ns_ = delay_per_sample_ns;
    deadline_ns_ = deadline_ns;
  }
  void Extend(uint64_t deadline_ns) override { deadline_ns_ = deadline_ns; }
  void StopDelays() override { is_selected_ = false; }
  coz::experiment::TargetSnapshot Read() override { return now_; }
  bool Settled() override { return true; }
  std::optional<UnitId> RandomSampledUnit(coz::Random& random) override {
    return static_cast<UnitId>(random.Below(2));
  }

 private:
  coz::experiment::TargetSnapshot now_;
  bool is_selected_ = false;
  UnitId selected_ = 0;
  uint64_t delay_per_sample_ns_ = 0;
  uint64_t deadline_ns_ = 0;
  uint64_t delay_ns_ = 0;  // still to be paid by not making visits
};

class PrintingSink : public coz::experiment::ExperimentSink {
 public:
  void OnExperimentStarted(UnitId, double, uint64_t) override {}
  void OnExperimentDropped() override {}
  void OnNoProgress(uint64_t) override {}
  void OnExperiment(const coz::experiment::ExperimentRecord& record) override {
    ++experiments;
    printf("unit %u at %3.0f %%: %4llu visits in %6.1f ms of effective time, %zu taints\n",
           record.unit, record.virtual_speedup * 100,
           static_cast<unsigned long long>(record.points[0].visits),
           static_cast<double>(record.effective_duration_ns) / kNsPerMs, record.taints.size());
  }

  int experiments = 0;
};

}  // namespace

int main() {
  coz::experiment::SchedulerOptions options;
  options.seed = 1;  // the same run each time
  if (const absl::Status status = options.Check(); !status.ok()) {
    fprintf(stderr, "%s\n", status.ToString().c_str());
    return 1;
  }
  ComputedTarget target;
  PrintingSink sink;
  coz::experiment::Scheduler scheduler(options, &target, &sink);
  while (target.NowNs() < 10 * kNsPerSecond) target.AdvanceTo(scheduler.Step());
  scheduler.Finish();
  return sink.experiments > 10 ? 0 : 1;
}
