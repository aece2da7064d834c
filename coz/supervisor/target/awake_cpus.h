// Keeps idle CPUs from halting: a CPU that has nothing to do then polls for work. The host may take
// milliseconds to resume a virtual CPU that has halted. A thread that waits for another one then
// waits that much longer.
//
// Shape    a request to the kernel that holds as long as the descriptor is open
// Units    none
// Errors   FAILED_PRECONDITION where nothing in the kernel would heed the request, else
//          PERMISSION_DENIED, NOT_FOUND or INTERNAL, in one sentence with the next command
// Threads  safe
// Signals  none
// Source   Documentation/power/pm_qos_interface.rst of the kernel
#ifndef COZ_SUPERVISOR_TARGET_AWAKE_CPUS_H_
#define COZ_SUPERVISOR_TARGET_AWAKE_CPUS_H_

#include <string>

#include "absl/status/statusor.h"
#include "coz/base/unique_fd.h"
#include "coz/supervisor/target/idle_halts.h"

namespace coz::supervisor {

// `idle_driver`: the kernel's, by whose choice idle CPUs halt; "none" halts them without a choice.
absl::StatusOr<UniqueFd> KeepCpusAwake(const std::string& device = "/dev/cpu_dma_latency",
                                       const std::string& idle_driver = IdleDriver());

}  // namespace coz::supervisor

#endif  // COZ_SUPERVISOR_TARGET_AWAKE_CPUS_H_
