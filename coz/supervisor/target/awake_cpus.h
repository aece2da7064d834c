// Keeps idle CPUs from halting. A CPU that has nothing to do then polls for work. Where CPUs are virtual, a halted one comes back when the
// host has time for it, after milliseconds at worst, and whatever waits for another thread takes as much longer.
//
// Shape    a request to the kernel that holds as long as the descriptor is open
// Units    none
// Errors   PERMISSION_DENIED, NOT_FOUND or INTERNAL, in one sentence with the next command
// Threads  safe
// Signals  none
// Source   Documentation/power/pm_qos_interface.rst of the kernel
#ifndef COZ_TOOLS_SUPERVISOR_AWAKE_CPUS_H_
#define COZ_TOOLS_SUPERVISOR_AWAKE_CPUS_H_

#include <string>

#include "absl/status/statusor.h"
#include "coz/base/unique_fd.h"

namespace coz::supervisor {

absl::StatusOr<UniqueFd> KeepCpusAwake(const std::string& device = "/dev/cpu_dma_latency");

}  // namespace coz::supervisor

#endif  // COZ_TOOLS_SUPERVISOR_AWAKE_CPUS_H_
