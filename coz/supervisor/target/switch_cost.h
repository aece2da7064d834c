// Measures what sampling adds to each switch of threads on a CPU. The kernel stops a thread's
// sampling timer when the thread leaves the CPU, and sets it when the thread comes back. Between
// threads that inherited one event it only passes the timer on; between processes it cannot. And
// what the expiry of such a timer takes, which is much in some virtual machines.
//
// Shape    one measurement takes some 50 ms of a CPU: two threads of this process take turns on it,
//          or the caller works
// Units    ns of CPU time for each switch or expiry; 0 where it is nothing or cannot be measured
// Errors   none
// Threads  compatible
// Signals  none
// Source   kernel/events/core.c, perf_event_context_sched_out; docs/design/sampling.md
#ifndef COZ_SUPERVISOR_TARGET_SWITCH_COST_H_
#define COZ_SUPERVISOR_TARGET_SWITCH_COST_H_

#include <cstdint>

namespace coz::supervisor {

enum class Switched { kThreads, kProcesses };

uint64_t MeasureSwitchCostNs(uint64_t sampling_period_ns, Switched between);
// The same where clocks of the CPUs sample, whose expiries threads count at this tracepoint.
uint64_t MeasureSwitchCostOfClocksNs(uint64_t tracepoint);

// Of the interrupt alone, without a signal.
uint64_t MeasureExpiryCostNs();

// Switches so far of children that have ended and been waited for, and of theirs.
uint64_t SwitchesOfChildren();

struct SwitchLoad {
  uint64_t switches = 0;
  uint64_t cost_ns = 0;  // of each; 0 too where there are few
};

SwitchLoad MeasureSwitchLoad(uint64_t switches, uint64_t run_time_ns, uint64_t sampling_period_ns,
                             Switched between);

}  // namespace coz::supervisor

#endif  // COZ_SUPERVISOR_TARGET_SWITCH_COST_H_
