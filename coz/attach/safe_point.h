// Whether a stopped thread may take the locks of malloc and of the dynamic loader: it is in the
// middle of nothing that holds them.
//
// Such a thread waits for something outside, or runs code of the program; and on its whole stack is
// no function of the loader, of an allocator, or of libc that takes these locks. What cannot be
// unwound to its end is not known, and so is not safe, but for threads that Go's runtime has to
// itself. And its stack is the one that libc has given
// it: below that of a goroutine or a fiber is no room for a call.
//
// Shape    SafePoints: for one process; Check: for a thread that the caller has stopped
// Units    none
// Errors   Check: FAILED_PRECONDITION, and what was seen
// Threads  the one that traces
// Signals  none
// Source   libdwfl.h; nptl and malloc of glibc 2.36
#ifndef COZ_ATTACH_SAFE_POINT_H_
#define COZ_ATTACH_SAFE_POINT_H_

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "coz/attach/process_view.h"

namespace coz::attach {

// A frame of a thread, innermost first.
struct StackFrame {
  uint64_t address = 0;
  std::string file;      // base name; empty where no file is mapped
  std::string function;  // empty where no symbol is known
};

// What a thread does, for IsSafe.
struct ThreadState {
  int64_t waiting_call = -1;      // the system call it waits in; -1: none
  bool waits_for_thread = false;  // for the end of one, on a futex
  std::vector<StackFrame> frames;
  bool is_whole = false;  // the frames reach the thread's beginning
  // Another library than libc has the process's malloc. Its functions may have any names.
  bool has_other_malloc = false;
};

absl::Status IsSafe(const ThreadState& state);

// Whether a thread's stack pointer is on the stack that libc, or the kernel for the first thread,
// has made for it. libc puts the thread's control block, to which `thread_pointer` (fs) points, at
// the upper end of it. That of the first thread may lie beside any memory. After a fork the first
// thread may be on the stack of another, which has a guard below.
bool IsOnOwnStack(const std::vector<Mapping>& mappings, uint64_t stack_pointer,
                  uint64_t thread_pointer, bool is_first);

// Whether a thread waits in a call in which it may be safe. To choose whom to stop.
bool IsWaitForOutside(int64_t system_call);

class SafePoints {
 public:
  // Reads where the files of the process are mapped.
  explicit SafePoints(pid_t pid);
  ~SafePoints();
  SafePoints(const SafePoints&) = delete;
  SafePoints& operator=(const SafePoints&) = delete;

  struct Stopped {
    pid_t tid;
    uint64_t stack_pointer;
    uint64_t thread_pointer;
    // As in ThreadState.
    int64_t waiting_call;
    bool waits_for_thread;
  };
  absl::Status Check(const Stopped& thread);

 private:
  struct Unwinder;
  const pid_t pid_;
  std::unique_ptr<Unwinder> unwinder_;
  bool has_other_malloc_ = false;
};

}  // namespace coz::attach

#endif  // COZ_ATTACH_SAFE_POINT_H_
