// The profiled processes, in shared memory.
//
// Shape    a table of slots; process_slots.h takes one, the supervisor frees it
// Units    ns of CLOCK_MONOTONIC; runtime addresses of the process
// Errors   none; a full table is counted in the block
// Threads  `state` says who may read or write the other fields
// Signals  lock-free
// Source   docs/design/processes.md
#ifndef COZ_SHARED_PROCESSES_H_
#define COZ_SHARED_PROCESSES_H_

#include <atomic>
#include <cstdint>

#include "coz/sampler/shared_event.h"

namespace coz::shared {

inline constexpr uint32_t kMaxProcesses = 1024;  // at a time
inline constexpr uint32_t kMaxCountedPlaces = 16;

// Which processes are profiled.
enum class Follow : uint32_t {
  kFirst,  // the one that was started, whatever it becomes by exec
  kAll,    // it, and every process that it or they start
  kOne     // the one that was started, until an exec makes it another program
};

// kChanging: the process is in an exec, or has left the profile. Its threads do not pay.
enum class ProcessState : uint32_t { kFree, kBeingWritten, kRunning, kChanging };

// See ProcessSlot.armed.
inline constexpr uint32_t kArmedForExec = ~uint32_t{0};
inline constexpr uint32_t kWithoutEvents = kArmedForExec - 1;

// The process itself takes the slot. Only the supervisor frees it, so that it sees each process.
struct ProcessSlot {
  std::atomic<ProcessState> state;
  int32_t pid;
  int32_t parent_pid;
  std::atomic<uint32_t> image;  // a number from ControlBlock.images; each exec takes a new one
  uint32_t program;             // module slot of its executable + 1; 0: none
  uint64_t load_bias;           // of its executable
  uint64_t start_ns;
  // `image` + 1 once the supervisor has set the breakpoints of its program; kArmedForExec once it
  // has switched off the events that it has opened in the process, which is in state kChanging. The
  // supervisor writes. A child of fork of a process that is attached to begins with kWithoutEvents:
  // the supervisor, which opens its events, has opened none yet. Such a child first changes its
  // state and then reads this; the supervisor first writes this and then reads the state.
  std::atomic<uint32_t> armed;
  // Where a thread stops for a breakpoint to count, or goes on after a probe has counted; 0: none.
  // A sample at such an address fell into the cost of counting. Probes beyond the room here are
  // missing. The supervisor writes; a child of fork starts with its parent's.
  std::atomic<uint64_t> counted_places[kMaxCountedPlaces];
  // Where changed code finds a thread's counters, from its thread pointer; 0: code is not to be
  // changed.
  int32_t counters_fs_offset;
  // Routines that note the begin and the end of a call: for stubs, and for the handler of an int3.
  uint64_t begin_call;
  uint64_t end_call;
  uint64_t begin_call_in_handler;
  uint64_t end_call_in_handler;
  // The same for a call into a library, whose end is seen or not (api_calls.h).
  uint64_t begin_api_call;
  uint64_t count_api_call;
  uint64_t begin_api_call_in_handler;
  // The routine that makes system calls in the place of instructions of the program; 0: it makes
  // none itself. The process waits at its start until `armed`.
  uint64_t own_call;
  uint64_t goroutine;  // the routine that notes moments of Go's scheduler (goroutines.h)
  // 1 once the code is changed at all of these moments: the routine does nothing before. Written by
  // the supervisor.
  std::atomic<uint32_t> notes_goroutines;
  // Of the slot's JitCode (jit_code.h), from the start of the block; 0: none. Written by the
  // supervisor.
  std::atomic<uint64_t> jit_code;
  std::atomic<uint32_t> unloads;      // of libraries, whose places may have gone
  std::atomic<uint32_t> uses_timers;  // 1: it is attached to, and CPU timers sample it
  // Address of a byte of the process. The supervisor sets it to 1 where the process has to leave
  // the profile at once, and does not know that. 0: the process was not attached to.
  uint64_t left_for_good;
  sampler::SharedEvent event;  // by which the supervisor suspends its sampling
};

}  // namespace coz::shared

#endif  // COZ_SHARED_PROCESSES_H_
