// The memory that the supervisor and the profiled processes share, assembled from its parts.
//
// Shape    one block of fixed size at the start of a memfd of the supervisor. It is all zero but
//          for what the supervisor fills in before the target starts. Tables only grow; an entry
//          is read when its state says so. Strings end in NUL
// Units    ns of CLOCK_MONOTONIC; runtime addresses of the process that announced them; counters
//          are cumulative
// Errors   a full table is counted in the block, never fatal
// Threads  every field that changes after start is atomic; a comment says who writes
// Signals  lock-free, so usable from handlers
// Source   docs/design.md, "Shared memory"
#ifndef COZ_SHARED_CONTROL_BLOCK_H_
#define COZ_SHARED_CONTROL_BLOCK_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "coz/base/spared_calls.h"
#include "coz/sampler/clock_expiry.h"
#include "coz/sampler/sampler_status.h"
#include "coz/sampler/shared_event.h"
#include "coz/shared/api_calls.h"
#include "coz/shared/call_paths.h"
#include "coz/shared/call_timers.h"
#include "coz/shared/counters.h"
#include "coz/shared/modules.h"
#include "coz/shared/pairs.h"
#include "coz/shared/patches.h"
#include "coz/shared/points.h"
#include "coz/shared/processes.h"
#include "coz/shared/sample_ring.h"
#include "coz/shared/selection.h"
#include "coz/shared/spinning_units.h"
#include "coz/shared/thread_figures.h"
#include "coz/shared/thread_groups.h"
#include "coz/shared/thread_scope.h"
#include "coz/shared/threads.h"
#include "coz/shared/timer_request.h"
#include "coz/sync/delay/delay_ledger.h"
#include "coz/sync/delay/io_tables.h"

namespace coz::shared {

// Its value tells a process of the target where it finds the block.
inline constexpr char kControlVariable[] = "COZ_CONTROL";
// The value where there is no block. The library then only keeps breakpoints that others set from
// ending the process (coz/base/lost_breakpoint.h).
inline constexpr char kGuardOnly[] = "guard";

inline constexpr uint64_t kControlMagic = 0x316c6f72746e6f43;  // "Control1"
inline constexpr uint32_t kControlVersion = 39;                // of this layout

// Address space for the block and the tables behind it. A process maps all of it at its start,
// because it may lose the right to map more: it may change its user or its root folder, or close
// every descriptor.
inline constexpr uint64_t kControlMappingBytes = uint64_t{1} << 30;

struct ControlBlock {
  // The supervisor writes these before the target starts.
  uint64_t magic;
  uint32_t version;
  int32_t supervisor_pid;
  uint64_t bytes;        // sizeof(ControlBlock)
  uint64_t start_ns;     // of the session
  uint64_t start_ticks;  // of the CPU's time-stamp counter at that time
  uint64_t sampling_period_ns;
  sampler::SamplingSource wanted_source;  // kNone: the best
  uint32_t wanted_unwinder;               // UnwinderKind; 0: the best
  uint32_t exclude_kernel;
  // That a filter would end the program for, which has inherited it from the supervisor.
  CallSet deadly_calls;
  Follow follow;
  // A program that attaches waits until the supervisor has set its breakpoints, or lent its
  // counters.
  std::atomic<uint32_t> awaits_breakpoints;
  // 1: breakpoints may be anywhere, and a lost one is none of the program's own.
  uint32_t guards_breakpoints;
  // An inode. Processes of another namespace are not profiled, as their pids say nothing here.
  uint64_t pid_namespace;
  uint32_t innermost_only;  // a sample counts where its own address is in scope, never a caller's
  uint32_t path_callers;    // units are call paths with so many callers; 0: they are not
  // 1: waits that the outside ends are the units, and samples are none. Where no line in scope has
  // made the call, the unit is `first_wait_kind` plus the number of the delay::WaitKind.
  uint32_t waits_are_units;
  uint32_t first_wait_kind;
  ThreadScope thread_scope;
  ThreadGroups thread_groups;

  // The supervisor's child writes this before it becomes the target: the first process.
  std::atomic<int32_t> target_pid;

  // The supervisor writes these at any time.
  // A Selection: the unit that every experiment speeds up, baselines too.
  std::atomic<uint64_t> given;
  // No delay is imposed after this, so delays end if the supervisor dies.
  std::atomic<uint64_t> selection_deadline_ns;
  // When the unit was selected.
  std::atomic<uint64_t> selection_start_ns;
  std::atomic<uint64_t> heartbeat_ns;
  std::atomic<uint32_t> stop;            // the target samples no more
  sampler::SuspensionCount suspensions;  // of sampling
  std::atomic<uint32_t> use_cpu_timers;  // 1: in place of perf events (docs/design/sampling.md)
  std::atomic<uint32_t> use_cpu_clock;   // 1: in place of perf events of threads
  sampler::ClockExpiry clock_expiry;     // written before `use_cpu_clock` is set

  // The target writes these.
  // 1: it has said on standard error why it runs without the profiler.
  std::atomic<uint32_t> has_complained;
  std::atomic<uint32_t> images;  // programs that have attached: 1, and 1 more after each exec
  std::atomic<uint32_t> clock_refusals;  // processes in which CPU timers take the clocks' place
  // Images of the first process that have written sampler_status. It holds the newest one's.
  std::atomic<uint32_t> sampler_ready;
  sampler::SamplerStatus sampler_status;
  std::atomic<uint32_t> threads_started;
  std::atomic<uint32_t> threads_high_water;        // slots below this index have been used
  alignas(64) std::atomic<uint64_t> free_threads;  // head of the free list: tag:32 | index + 1
  alignas(64) std::atomic<uint32_t> module_count;  // slots below this index have been taken
  std::atomic<uint32_t> processes_high_water;      // slots below this index have been used
  alignas(64) SampleCounters samples;
  alignas(64) BlockCounters counters;

  // Both sides write these.
  delay::GlobalLedger ledger;  // its `selection` is a Selection
  delay::IoTables io;
  SampleRing ring;
  CallPaths paths;
  SpinningUnits spinning_units;
  ModuleSlot modules[kMaxModules];
  ProcessSlot processes[kMaxProcesses];
  PointSlot points[kMaxPoints];
  std::atomic<uint32_t> timed_cells;         // that points have taken
  std::atomic<uint32_t> charged_pairs_used;  // the supervisor writes it
  ChargedPair charged_pairs[kMaxChargedPairs];
  LentCounters lent_counters;
  PatchRequest patch_request;
  TimerRequest timer_request;
  // Point slots of the functions whose calls are timed + 1. The supervisor writes it, and a process
  // for calls into libraries.
  std::atomic<uint32_t> timed_functions[kMaxTimedFunctions];
  ApiFunctions api;
  LatencyHistogram latencies[kMaxTimedPoints];  // by the timed cell of the END
  EndedThreads ended_threads;
  ThreadSlot threads[kMaxThreads];
};

static_assert(sizeof(ControlBlock) < kControlMappingBytes);

}  // namespace coz::shared

#endif  // COZ_SHARED_CONTROL_BLOCK_H_
