// A running program as the experiment scheduler sees it: the control block of its runtime, and /proc.
//
// Shape    implements ExperimentTarget; also takes samples out of the ring and counts them per unit
// Units    ns of CLOCK_MONOTONIC
// Errors   none: what cannot be read of a program that is ending stays as it was
// Threads  compatible
// Signals  none
// Source   docs/design.md, "Shared memory"; proc(5)
#ifndef COZ_TOOLS_SUPERVISOR_LIVE_TARGET_H_
#define COZ_TOOLS_SUPERVISOR_LIVE_TARGET_H_

#include <sys/types.h>

#include <bitset>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "coz/experiment/target.h"
#include "coz/shared/control_block.h"
#include "coz/supervisor/target/sampling_switch.h"

namespace coz::supervisor {

// How the visits of a point are counted that the program's source does not mark.
enum class OutsideKind { kNone, kBreakpoint, kSampled };

class LiveTarget : public experiment::ExperimentTarget {
 public:
  struct Point {
    std::string name;
    bool is_latency = false;
    OutsideKind kind = OutsideKind::kNone;
    std::string counted_by;      // in words; empty for marks
    uint64_t visit_cost_ns = 0;  // what counting costs the program; 0: nothing to speak of
    // Of a pair, the ends that are marks, no pair in the source; the others are places, where it is counted by something.
    std::string begin_mark = "";
    std::string end_mark = "";
  };
  using CountVisits = std::function<uint64_t()>;

  explicit LiveTarget(shared::ControlBlock* control);

  // Takes what has happened since the last call: samples, new points, sign of life. At least every 50 ms.
  void Poll();

  // Times that the target was stopped, by whoever reaps it.
  void set_stops(uint64_t stops) { stops_ = stops; }

  // From now on `unit` is sped up in every experiment by `delay_per_sample_ns`, and is not drawn.
  void SpeedUpAlways(experiment::UnitId unit, uint64_t delay_per_sample_ns);
  // Before the program runs. Visits, or arrivals and departures, are asked for at every Read. Returns the point's id.
  uint32_t AddPoint(const Point& point, CountVisits visits_or_arrivals, CountVisits departures);
  // Visits of the marks of this name that are no pairs.
  uint64_t VisitsOfMark(const std::string& name) const;
  // Names of the marks seen so far that are no pairs.
  std::vector<std::string> Marks() const;

  // What Read returned last: experiments begin and end with it, and what is told of the time between them is to begin and end there too.
  const experiment::TargetSnapshot& last_read() const { return last_read_; }
  // At that time, requests of the pair since the start, by latency bucket; empty where the program does not number them.
  const std::vector<uint64_t>& Latencies(uint32_t point) const { return latencies_[point]; }

  // By point id, in the order of discovery. BEGIN and END of one name are one point.
  const std::vector<Point>& points() const { return points_; }
  // Samples per unit since the last call.
  absl::flat_hash_map<experiment::UnitId, uint64_t> TakeUnitSamples();
  // Samples of every unit since the start.
  const absl::flat_hash_map<experiment::UnitId, uint64_t>& unit_samples() const {
    return total_samples_;
  }
  uint64_t samples_lost_in_ring() const { return lost_in_ring_; }
  int threads_started() const;

  uint64_t NowNs() override;
  void Select(experiment::UnitId unit, uint64_t delay_per_sample_ns, uint64_t deadline_ns) override;
  void Extend(uint64_t deadline_ns) override;
  void StopDelays() override;
  bool SuspendSampling() override { return sampling_.Suspend(); }
  void ResumeSampling() override { sampling_.Resume(); }
  experiment::TargetSnapshot Read() override;
  bool Settled() override;
  std::optional<experiment::UnitId> RandomSampledUnit(Random& random) override;

 private:
  struct PointSource {
    uint32_t point;
    shared::PointKind kind;
    uint32_t slot;
  };
  struct OutsideSource {
    uint32_t point;
    CountVisits visits_or_arrivals;
    CountVisits departures;  // null where the point is no pair
  };
  struct Debts {
    uint64_t sum_ns = 0;
    uint64_t max_ns = 0;
    uint64_t max_asleep_ns = 0;
  };

  void DrainRing();
  bool AwaitsSample(uint64_t written);
  void DiscoverPoints();
  // Has the target note how many requests of pairs without times are under way when delay is imposed.
  void ChargePairs();
  std::optional<uint32_t> SlotOf(uint32_t point, shared::PointKind kind) const;
  std::optional<uint32_t> SlotOfMark(const std::string& name) const;
  // As ChargedPair has it.
  std::optional<uint32_t> ChargedEnd(uint32_t point, shared::PairEnd end) const;
  void ReadCharges(std::vector<experiment::PointCounts>* counts) const;
  void CountPoints(std::vector<experiment::PointCounts>* counts) const;
  struct TimedVisits {
    uint64_t visits = 0;
    uint64_t time_sum_ns = 0;
  };
  TimedVisits ReadTimed(uint32_t slot) const;
  void ReadLatencies();
  // What running threads owe. A thread that sleeps in the kernel, other than to pay, waits for something.
  Debts ReadDebts() const;
  bool SleepsInKernel(const shared::ThreadSlot& slot) const;
  // Threads that compete for the target's CPUs, other programs' included.
  void CountRunnable(uint64_t now_ns);

  shared::ControlBlock& control_;
  SamplingSwitch sampling_;
  uint64_t stops_ = 0;
  uint64_t ring_read_ = 0;
  uint64_t lost_in_ring_ = 0;
  uint64_t ring_stuck_ns_ = 0;  // since when the next sample is awaited that another has overtaken
  std::vector<Point> points_;
  std::vector<PointSource> sources_;
  std::vector<OutsideSource> outside_sources_;
  experiment::TargetSnapshot last_read_;
  std::vector<std::vector<uint64_t>> latencies_;  // by point
  std::bitset<shared::kMaxPoints> discovered_;    // by point slot
  std::vector<uint32_t> charged_;                 // points, by charged pair
  absl::flat_hash_map<experiment::UnitId, uint64_t> total_samples_;
  absl::flat_hash_map<experiment::UnitId, uint64_t> new_samples_;
  std::vector<experiment::UnitId> recent_;  // units of the last samples, a bounded number of them
  uint64_t recent_next_ = 0;
  std::optional<experiment::UnitId> given_unit_;
  uint64_t given_delay_ns_ = 0;
  uint64_t selection_start_delay_ns_ = 0;  // global delay when the current experiment began
  uint64_t runnable_read_ns_ = 0;
  uint32_t runnable_cursor_ = 0;
  int runnable_ = 0;
  int live_ = 0;
  int cpus_ = 1;
};

}  // namespace coz::supervisor

#endif  // COZ_TOOLS_SUPERVISOR_LIVE_TARGET_H_
