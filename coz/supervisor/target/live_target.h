// A running program as the experiment scheduler sees it.
//
// Shape    implements ExperimentTarget over the control block of the program's runtime, and /proc
// Units    ns of CLOCK_MONOTONIC
// Errors   none: what cannot be read of a program that is ending stays as it was
// Threads  compatible
// Signals  none
// Source   docs/design.md, "Shared memory"; proc(5)
#ifndef COZ_SUPERVISOR_TARGET_LIVE_TARGET_H_
#define COZ_SUPERVISOR_TARGET_LIVE_TARGET_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "coz/experiment/target.h"
#include "coz/shared/control_block.h"
#include "coz/supervisor/target/beside_watch.h"
#include "coz/supervisor/target/call_latencies.h"
#include "coz/supervisor/target/cpu_quota.h"
#include "coz/supervisor/target/cpu_use.h"
#include "coz/supervisor/target/quota_watch.h"
#include "coz/supervisor/target/sampling_switch.h"
#include "coz/supervisor/target/target_points.h"
#include "coz/supervisor/target/thread_load.h"
#include "coz/supervisor/target/unit_samples.h"

namespace coz::supervisor {

class LiveTarget : public experiment::ExperimentTarget {
 public:
  using Point = TargetPoint;
  using CountVisits = TargetPoints::CountVisits;

  explicit LiveTarget(shared::ControlBlock* control, CpuQuota quota = CpuQuota());

  // Takes what has happened since the last call: samples and new points. It is also the sign of
  // life for the target. At least every 50 ms.
  void Poll();

  // As in TargetPoints.
  void FollowBegunBefore() { points_.FollowBegunBefore(); }

  // How many CPUs other programs that hardly wait keep busy. Where waits are units that changes
  // nothing: a delay is time by the clock then, as a wait is, and pauses need not hold their CPUs.
  void SetBeside(double cpus) { beside_.SetCpus(control_.waits_are_units != 0 ? 0 : cpus); }

  // How often the target was stopped. Whoever reaps it knows.
  void set_stops(uint64_t stops) { stops_ = stops; }

  // As in SamplingSwitch.
  void SetClocks(std::function<void(bool on)> set) { sampling_.SetClocks(std::move(set)); }
  void SetOwnEvents(std::function<void(bool on)> set) { sampling_.SetOwnEvents(std::move(set)); }

  // As in UnitSamples.
  void SetUnits(std::function<bool(experiment::UnitId unit)> has) {
    samples_.SetUnits(std::move(has));
  }

  // From now on every experiment speeds `unit` up by `delay_per_sample_ns`, and none draws it.
  void SpeedUpAlways(experiment::UnitId unit, uint64_t delay_per_sample_ns);

  // As in TargetPoints.
  uint32_t AddPoint(const Point& point, CountVisits visits_or_arrivals, CountVisits departures) {
    return points_.Add(point, std::move(visits_or_arrivals), std::move(departures));
  }
  uint32_t AddCalls(const Point& point, std::function<CallLatencySums()> calls) {
    return points_.AddCalls(point, std::move(calls));
  }
  void SetCounting(uint32_t point, const Point& counting) { points_.SetCounting(point, counting); }
  void LeaveUncharged(uint32_t point) { points_.LeaveUncharged(point); }
  uint64_t VisitsOfMark(const std::string& name) const { return points_.VisitsOfMark(name); }
  std::vector<std::string> Marks() const { return points_.Marks(); }
  const std::vector<Point>& points() const { return points_.points(); }
  // Now, beside what Read has returned.
  std::vector<experiment::PointCounts> CountPoints() const {
    std::vector<experiment::PointCounts> counts;
    points_.Count(&counts);
    return counts;
  }

  // What Read returned last. Experiments begin and end with it, and so does the record of the time
  // between them.
  const experiment::TargetSnapshot& last_read() const { return last_read_; }
  // At that time, as in TargetPoints.
  const std::vector<uint64_t>& Latencies(uint32_t point) const { return points_.Latencies(point); }

  // Samples per unit since the last call.
  absl::flat_hash_map<experiment::UnitId, uint64_t> TakeUnitSamples() { return samples_.TakeNew(); }
  // Samples per unit since the start.
  const absl::flat_hash_map<experiment::UnitId, uint64_t>& unit_samples() const {
    return samples_.total();
  }
  // As in UnitSamples.
  const absl::flat_hash_map<experiment::UnitId, uint64_t>& own_waits() const {
    return samples_.own_waits();
  }
  // Samples in loops that wait for something on their CPU, by unit, since the start.
  std::map<experiment::UnitId, uint64_t> SpinningUnits() const;
  // What most of the unit's waits wait for, where waits are units.
  std::optional<delay::WaitKind> WaitKindOf(experiment::UnitId unit) const {
    return samples_.WaitKindOf(unit);
  }
  uint64_t samples_lost_in_ring() const { return samples_.lost(); }
  int threads_started() const;
  // 0: none.
  double quota_cpus() const { return quota_.quota().cpus(); }

  uint64_t NowNs() override;
  void Select(experiment::UnitId unit, uint64_t delay_per_sample_ns, uint64_t deadline_ns) override;
  void Extend(uint64_t deadline_ns) override;
  void StopDelays() override;
  bool DelayAll(uint64_t delay_per_sample_ns, uint64_t deadline_ns) override;
  bool SuspendSampling() override { return sampling_.Suspend(); }
  void ResumeSampling() override { sampling_.Resume(); }
  bool samples_are_suspended() const { return sampling_.is_suspended(); }
  experiment::TargetSnapshot Read() override;
  bool Settled() override;
  std::optional<experiment::UnitId> RandomSampledUnit(Random& random) override;

 private:
  struct Debts {
    uint64_t sum_ns = 0;
    uint64_t max_ns = 0;
    uint64_t max_asleep_ns = 0;
  };

  void ReadCounters(experiment::TargetSnapshot* snapshot) const;
  void ReadPayments(experiment::TargetSnapshot* snapshot) const;
  double PeriodsPerSample() const;
  // What running threads owe. A thread that sleeps in the kernel, other than to pay, is waiting.
  Debts ReadDebts() const;
  bool SleepsInKernel(const shared::ThreadSlot& slot) const;

  shared::ControlBlock& control_;
  SamplingSwitch sampling_;
  TargetPoints points_;
  UnitSamples samples_;
  ThreadLoad load_;
  QuotaWatch quota_;
  CpuUseWatch cpu_use_;
  BesideWatch beside_;
  uint64_t stops_ = 0;
  experiment::TargetSnapshot last_read_;
  uint64_t given_delay_ns_ = 0;
  uint64_t selection_start_delay_ns_ = 0;  // global delay when the current experiment began
};

}  // namespace coz::supervisor

#endif  // COZ_SUPERVISOR_TARGET_LIVE_TARGET_H_
