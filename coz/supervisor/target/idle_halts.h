// Whether idle CPUs may halt in a virtual machine, where the host takes them and is slow to give
// them back.
//
// Shape    two facts of the machine
// Units    none
// Errors   false and "" where nothing can be read
// Threads  safe
// Signals  none
// Source   /proc/cpuinfo; Documentation/admin-guide/pm/cpuidle.rst of the kernel
#ifndef COZ_SUPERVISOR_TARGET_IDLE_HALTS_H_
#define COZ_SUPERVISOR_TARGET_IDLE_HALTS_H_

#include <string>

#include "absl/strings/string_view.h"

namespace coz::supervisor {

// By the text of /proc/cpuinfo: a hypervisor says so in the CPU's flags (x86-64).
bool IsVirtual(absl::string_view cpuinfo);

inline constexpr char kNoIdleDriver[] = "none";

struct IdleMachine {
  bool is_virtual = false;
  std::string idle_driver;  // "haltpoll", "intel_idle", …; kNoIdleDriver; empty: unknown
};
// `root`: what stands for "/", in tests.
IdleMachine LookAtIdleMachine(const std::string& root = "");
std::string IdleDriver(const std::string& root = "");

}  // namespace coz::supervisor

#endif  // COZ_SUPERVISOR_TARGET_IDLE_HALTS_H_
