// Lets the experiment scheduler experiment on a simulated program.
//
// Shape    an adapter; a unit is a line of the program
// Units    ns of simulated time
// Errors   none
// Threads  compatible
// Signals  none
// Source   none
#ifndef COZ_TESTING_SIM_SIMULATED_TARGET_H_
#define COZ_TESTING_SIM_SIMULATED_TARGET_H_

#include <cstdint>
#include <numeric>
#include <optional>
#include <vector>

#include "coz/experiment/target.h"
#include "coz/testing/sim/simulator.h"

namespace coz::sim {

class SimulatedTarget : public experiment::ExperimentTarget {
 public:
  explicit SimulatedTarget(Simulator* simulator) : simulator_(simulator) {}

  uint64_t NowNs() override { return simulator_->now_ns(); }
  void Select(experiment::UnitId unit, uint64_t delay_per_sample_ns,
              uint64_t deadline_ns) override {
    simulator_->Select(unit, delay_per_sample_ns, deadline_ns);
  }
  void Extend(uint64_t deadline_ns) override { simulator_->Extend(deadline_ns); }
  void StopDelays() override { simulator_->StopDelays(); }
  experiment::TargetSnapshot Read() override { return simulator_->Snapshot(); }
  bool Settled() override { return simulator_->Settled(); }

  std::optional<experiment::UnitId> RandomSampledUnit(Random& random) override {
    const std::vector<uint64_t> samples = simulator_->TakeLineSamples();
    const uint64_t total = std::accumulate(samples.begin(), samples.end(), uint64_t{0});
    if (total == 0) return std::nullopt;
    uint64_t draw = random.Below(total);
    experiment::UnitId line = 0;
    while (draw >= samples[line]) draw -= samples[line++];
    return line;
  }

 private:
  Simulator* const simulator_;
};

}  // namespace coz::sim

#endif  // COZ_TESTING_SIM_SIMULATED_TARGET_H_
