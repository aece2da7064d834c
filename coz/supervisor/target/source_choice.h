// Tells whether perf events are the right source of samples for what runs. At each switch between
// processes the kernel sets the timer of a sampled thread. Where that takes a large share of the
// CPU time, CPU timers disturb less: they come with the kernel's tick. And where threads are
// created often, an event for each costs more than a clock of the CPU does.
//
// Shape    SwitchMeter counts, IsTooDear judges, SourceChoice does both from time to time until it
//          has found that perf events are too dear; or until it is told that they are
// Units    ns of CLOCK_MONOTONIC; CPU ns; switches of profiled threads onto a CPU; shares of time
// Errors   none: where the kernel counts no switches, nothing is ever too dear
// Threads  compatible
// Signals  none
// Source   docs/design/sampling.md
#ifndef COZ_SUPERVISOR_TARGET_SOURCE_CHOICE_H_
#define COZ_SUPERVISOR_TARGET_SOURCE_CHOICE_H_

#include <cstdint>
#include <functional>
#include <optional>

#include "coz/shared/control_block.h"
#include "coz/supervisor/target/switch_cost.h"
#include "coz/supervisor/target/thread_times.h"

namespace coz::supervisor {

struct SwitchRates {
  double switches_per_second = 0;
  double cpu_ns_per_second = 0;   // of the same threads
  double threads_per_second = 0;  // that began
};

// For the threads that ThreadTimesMeter sees; of new ones for all.
class SwitchMeter {
 public:
  explicit SwitchMeter(const shared::ControlBlock* control) : control_(*control), times_(control) {}

  // Since the last call; nothing at the first.
  std::optional<SwitchRates> Read(uint64_t now_ns);

 private:
  const shared::ControlBlock& control_;
  ThreadTimesMeter times_;
  uint64_t read_ns_ = 0;
  uint32_t threads_started_ = 0;
};

// Whether switches take more than a fiftieth of the CPU time, and of a CPU, where
// sampling makes each longer by `switch_cost_ns`.
bool IsTooDear(const SwitchRates& rates, uint64_t switch_cost_ns);

// What the event of a new thread costs, beside its switches.
inline constexpr double kSwitchesOfThread = 6;

// Whether new threads take more than a tenth of both.
bool ThreadsAreTooDear(const SwitchRates& rates, uint64_t switch_cost_ns);

class SourceChoice {
 public:
  struct Finding {
    SwitchRates rates;
    uint64_t switch_cost_ns = 0;
    double slowdown = 0;      // see NoteSlowdown; 0: switches or threads told
    bool by_threads = false;  // new threads alone told
  };

  // `measure_cost` is called at most once, when it matters; not where `known_cost_ns` is given.
  SourceChoice(const shared::ControlBlock* control, std::optional<uint64_t> known_cost_ns,
               std::function<uint64_t()> measure_cost)
      : meter_(control), measure_cost_(std::move(measure_cost)), cost_ns_(known_cost_ns) {}

  // Sampling takes this share of a visit's time at least. What is known of switches beforehand is a
  // lower bound.
  void NoteSlowdown(double at_least) { slowdown_ = at_least; }

  // What may tell.
  enum class By { kAnything, kThreads };

  // To be called as often as one likes. Returns a finding once: perf events were too dear in two
  // looks, 0.2 s apart, or the slowdown is more than a twentieth.
  std::optional<Finding> Poll(uint64_t now_ns, By by = By::kAnything);

  // Nothing was done about a finding by threads. They tell no more, and the rest may.
  void IgnoreThreads();

 private:
  SwitchMeter meter_;
  std::function<uint64_t()> measure_cost_;
  std::optional<uint64_t> cost_ns_;
  uint64_t next_look_ns_ = 0;
  int dear_looks_ = 0;
  bool threads_tell_ = true;
  double slowdown_ = 0;
  bool has_found_ = false;
};

// What clocks of the CPUs take.
struct ClockCost {
  uint64_t switch_ns = 0;  // of each switch; 0: not known
  uint64_t expiry_ns = 0;  // of each sampling period of CPU time, without the sample
};

// Whether clocks of the CPUs, which are finer than CPU timers, cost little enough to be preferred
// to them; of a finding by threads, whether they cost less than events.
bool ClocksAreCheap(const SourceChoice::Finding& finding, const ClockCost& cost,
                    uint64_t sampling_period_ns);

}  // namespace coz::supervisor

#endif  // COZ_SUPERVISOR_TARGET_SOURCE_CHOICE_H_
