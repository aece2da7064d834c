// What a machine allows and does, looked at and measured in two or three seconds.
//
// Shape    plain data, so that tests make their own
// Units    in the names
// Errors   what cannot be known is empty or 0
// Threads  LookAtMachine: where there is one thread, since it forks
// Signals  none
// Source   proc(5), capabilities(7); the sources of its parts
#ifndef COZ_SUPERVISOR_DOCTOR_MACHINE_FACTS_H_
#define COZ_SUPERVISOR_DOCTOR_MACHINE_FACTS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "coz/supervisor/doctor/sampling_trial.h"
#include "coz/supervisor/target/idle_halts.h"
#include "coz/supervisor/target/neighbours.h"
#include "coz/supervisor/target/wake_cost.h"

namespace coz::supervisor {

struct MachineFacts {
  std::string kernel;  // uname -r
  std::optional<int> perf_event_paranoid;
  bool has_perfmon = false;   // CAP_PERFMON or CAP_SYS_ADMIN is effective
  bool is_container = false;  // a container runtime has left its marks
  bool is_filtered = false;   // a filter of system calls (seccomp) forbids perf_event_open
  SamplingTrial sampling;
  uint64_t sample_rate_limit = 0;  // a second, 0: unknown
  uint64_t thread_switch_cost_ns = 0;
  uint64_t process_switch_cost_ns = 0;
  // Of processes that clocks of the CPUs sample; not given where this user may not have them.
  std::optional<uint64_t> clock_switch_cost_ns;
  IdleMachine idle;
  std::optional<WakeCost> wake_cost;
  bool may_keep_awake = false;
  int cpus = 0;            // that this process may use
  double cpu_quota = 0;    // CPUs, 0: none
  double others_cpus = 0;  // that other programs use at the moment, of these CPUs
  double stolen_share = 0;
  std::vector<NeighbourWatch::Neighbour> neighbours;  // busiest first
  double watched_s = 0;                               // how long for the three above
};

MachineFacts LookAtMachine();

// "6.1.0-18-amd64" is {6, 1}; zeros where that is no version.
struct KernelVersion {
  int major = 0;
  int minor = 0;
};
KernelVersion ParseKernelVersion(const std::string& release);

// Of /proc/self/status: whether a capability is in CapEff.
bool HasCapability(const std::string& status, int capability);

}  // namespace coz::supervisor

#endif  // COZ_SUPERVISOR_DOCTOR_MACHINE_FACTS_H_
