// Finds in a program's file the ways to wait that the runtime does not see, and so cannot credit.
//
// Shape    names of calls, of libraries and of system calls, each once
// Units    none
// Errors   none: what is no readable ELF file has none
// Threads  safe
// Signals  none
// Source   docs/design/waits-and-credit.md, "Waits that are not seen"; elf(5)
#ifndef COZ_SUPERVISOR_DOCTOR_UNSEEN_WAITS_H_
#define COZ_SUPERVISOR_DOCTOR_UNSEEN_WAITS_H_

#include <cstdint>
#include <set>
#include <string>
#include <string_view>

namespace coz::supervisor {

struct UnseenWaits {
  std::set<std::string> calls;             // "mq_receive"
  std::set<std::string> libraries;         // "libomp.so.5"
  std::set<std::string> own_system_calls;  // made without libc: "futex"

  bool Any() const { return !calls.empty() || !libraries.empty() || !own_system_calls.empty(); }
};

UnseenWaits FindUnseenWaits(const std::string& path);

// In machine code: `mov $NUMBER, %eax` shortly before `syscall`, for calls that wait.
std::set<std::string> OwnSystemCalls(std::string_view code);

}  // namespace coz::supervisor

#endif  // COZ_SUPERVISOR_DOCTOR_UNSEEN_WAITS_H_
