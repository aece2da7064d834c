// Whether the supervisor can attach to a process, found out before anything in it is touched.
//
// Shape    one question; what it looks at can be given instead (Facts), for tests
// Units    none
// Errors   NOT_FOUND, PERMISSION_DENIED, FAILED_PRECONDITION, UNIMPLEMENTED: one sentence with what
//          was seen and what to type next
// Threads  safe
// Signals  none
// Source   ptrace(2), "Ptrace access mode checking"; proc(5); docs/design/attach.md
#ifndef COZ_ATTACH_REFUSALS_H_
#define COZ_ATTACH_REFUSALS_H_

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "coz/attach/process_view.h"

namespace coz::attach {

struct Facts {
  pid_t pid = 0;
  StatusFields status;
  std::string executable;  // what /proc/PID/exe leads to; empty: it may not be read
  std::string elf_head;    // the first bytes of that file
  std::vector<Mapping> mappings;
  // One of the files in /proc that cannot be read, though the process is there; empty: none.
  std::string unreadable;
  int unreadable_errno = 0;
  bool may_trace = false;
  std::optional<int> yama_scope;  // kernel.yama.ptrace_scope, where the kernel has it
  bool is_in_our_pid_namespace = true;
  std::string root;          // its root folder, as it is named here
  bool sees_library = true;  // the library's path leads to the same file for it
  uid_t our_uid = 0;
  uint64_t our_capabilities = ~uint64_t{0};  // as CapEff of a status file has them
  // Filters of system calls that all processes of this container have: as many as the first of its
  // PID namespace.
  int64_t container_filters = 0;
  bool may_read_filters = false;  // see TracedThread::CallFilters
};

// A container's filters of system calls let calls fail, and kill nobody.
bool HasOnlyFiltersOfContainer(const Facts& facts);

Facts GatherFacts(pid_t pid, const std::string& library);

// OK, or why not. `library` is the path of libcoz.so.
absl::Status WhyNotAttach(const Facts& facts, const std::string& library);

}  // namespace coz::attach

#endif  // COZ_ATTACH_REFUSALS_H_
