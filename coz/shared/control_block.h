// The memory that the supervisor and the profiled processes share: orders, ledger, threads, progress points, samples.
//
// Shape    one fixed-size block at the start of a memfd of the supervisor; all zero but for what the supervisor fills in before the
//          target starts. Tables in it only grow; an entry is read when its state says so. Strings end in NUL.
// Units    ns of CLOCK_MONOTONIC; runtime addresses of the process that announced them; counters are cumulative
// Errors   a full table is counted in the block, never fatal
// Threads  every field that changes after start is atomic; the comment of each says who writes
// Signals  lock-free, so usable from handlers
// Source   docs/design.md, "Shared memory"
#ifndef COZ_SHARED_CONTROL_BLOCK_H_
#define COZ_SHARED_CONTROL_BLOCK_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "coz/sampler/sampler_status.h"
#include "coz/sampler/shared_event.h"
#include "coz/sync/delay/delay_ledger.h"
#include "coz/sync/delay/io_tables.h"

namespace coz::shared {

// Names a process of the target by where it finds the block.
inline constexpr char kControlVariable[] = "COZ_CONTROL";
// In its place: there is no block. The library only keeps breakpoints that others set from ending the process (IsLostBreakpoint).
inline constexpr char kGuardOnly[] = "guard";

inline constexpr uint64_t kControlMagic = 0x316c6f72746e6f43;  // "Control1"
inline constexpr uint32_t kControlVersion = 12;                // of this layout

inline constexpr uint32_t kMaxModules = 256;
inline constexpr uint32_t kMaxPoints = 256;
inline constexpr uint32_t kMaxThreads = 8192;
inline constexpr uint32_t kMaxProcesses = 1024;  // at a time
inline constexpr uint32_t kSampleRingEntries = 1 << 16;
inline constexpr uint32_t kModulePathBytes = 1024;
inline constexpr uint32_t kPointNameBytes = 232;

inline constexpr uint32_t kNoUnit = 0xffffffff;

// A file that target processes have loaded. Announced by the first of them when a sample falls into it (their program: at start, the
// first program by the supervisor); the supervisor answers with a line table, or that it is out of scope.
enum class ModuleState : uint32_t { kFree, kBeingWritten, kAnnounced, kTableReady, kNotMapped };

struct ModuleSlot {
  std::atomic<ModuleState> state;
  uint32_t is_program;  // the executable of a process
  // Which file `path` is, as paths may name different files to different processes and at different times; 0 where it could not be
  // asked.
  uint64_t device;
  uint64_t inode;
  uint64_t modified_ns;
  uint64_t load_bias;  // in the process that announced it
  char path[kModulePathBytes];
  // The answer. The first lines of every table are the same units 0, 1 ... of all; line `common_units + i` is unit `first_unit + i`.
  uint64_t table_offset;  // from the start of the block, which it lies behind
  uint32_t first_unit;
  uint32_t common_units;
  uint64_t table_bytes;
};

enum class PointKind : uint32_t {
  kThroughput = 1,
  kBegin = 2,
  kEnd = 3
};  // as the original numbers them
enum class PointState : uint32_t { kFree, kBeingWritten, kReady };

// The original's counter type: what _coz_get_counter returns.
struct CompatibleCounter {
  std::atomic<size_t> count;
  size_t backoff;
};
static_assert(sizeof(CompatibleCounter) == 16,
              "programs built with the original's coz.h rely on it");

// Kind and name identify a point; BEGIN and END of one name are two slots. Its visits are the sum of `shared`, and of every thread
// slot's counter and timed cell.
struct PointSlot {
  std::atomic<PointState> state;
  PointKind kind;
  char name[kPointNameBytes];
  CompatibleCounter shared;
  std::atomic<uint32_t> timed_cell;  // of thread slots, + 1, once there was a timed visit
};

// A pair whose visits have no times. With each delay that is imposed, its number under way is noted. Set up by the supervisor; written by
// the target.
inline constexpr uint32_t kMaxChargedPairs = 8;
inline constexpr uint32_t kAtPlaces = 0xffffffff;
struct ChargedPair {
  uint32_t begin;  // point slots; or kAtPlaces: counted by lent counters
  uint32_t end;
  uint32_t point;                            // the supervisor's number of the pair
  std::atomic<uint64_t> delay_ns;            // imposed
  std::atomic<uint64_t> delay_in_flight_ns;  // each times the number under way; modulo 2^64
};

// Counters of visits to places that the supervisor lets processes read: breakpoints, each of one program; probes, which count in all.
// Written by the supervisor, before a program that it is news to goes on. A point's visits are the sum over its entries.
enum class PairEnd : uint32_t { kBegin, kEnd };
inline constexpr uint32_t kMaxLentCounters = 32;
struct LentCounter {
  std::atomic<int32_t> fd;      // of the supervisor; -1: nobody adds to `visits_before` any more
  std::atomic<uint32_t> point;  // its number of the pair
  std::atomic<PairEnd> end;
  std::atomic<uint64_t> event;          // the kernel's number of it: `fd` may be another's by now
  std::atomic<uint64_t> visits_before;  // to be added
};
struct LentCounters {
  std::atomic<uint32_t> version;  // odd while it is written
  std::atomic<uint32_t> used;     // 0: they cannot be read
  LentCounter counters[kMaxLentCounters];
};

// Visits of BEGIN and END whose times are known. Written by the thread alone: `changes` is odd meanwhile.
inline constexpr uint32_t kMaxTimedPoints = 64;
struct TimedCell {
  std::atomic<uint64_t> changes;
  std::atomic<uint64_t> visits;
  std::atomic<uint64_t>
      time_sum_ns;  // of virtual times: CLOCK_MONOTONIC - local delay; modulo 2^64
};

// Times between BEGIN and END of one request, where the program names requests. Bucket by LatencyBucket.
inline constexpr uint32_t kLatencyBuckets = 1024;
struct LatencyHistogram {
  std::atomic<uint64_t> requests[kLatencyBuckets];
};

// Sixteen buckets to every power of two: each is about 4 to 6 % wide.
inline constexpr uint32_t LatencyBucket(uint64_t ns) {
  if (ns < 16) return static_cast<uint32_t>(ns);
  const uint32_t exponent = 63 - static_cast<uint32_t>(__builtin_clzll(ns));
  return (exponent - 3) << 4 | (static_cast<uint32_t>(ns >> (exponent - 4)) & 15);
}
static_assert(LatencyBucket(~uint64_t{0}) < kLatencyBuckets);
// The least latency of the bucket.
inline constexpr uint64_t LatencyOfBucket(uint32_t bucket) {
  return bucket < 16 ? bucket : uint64_t{16 | (bucket & 15)} << ((bucket >> 4) - 1);
}
static_assert(LatencyBucket(LatencyOfBucket(500)) == 500);
static_assert(LatencyBucket(LatencyOfBucket(501) - 1) == 500);

// kChanging: in an exec, or in the profile no more: its threads do not pay.
enum class ProcessState : uint32_t { kFree, kBeingWritten, kRunning, kChanging };

inline constexpr uint32_t kMaxCountedPlaces = 16;

// A profiled process. Taken by the process itself, freed by the supervisor alone, who so sees each.
struct ProcessSlot {
  std::atomic<ProcessState> state;
  int32_t pid;
  int32_t parent_pid;
  std::atomic<uint32_t> image;  // of ControlBlock.images: changes with each exec
  uint32_t program;             // module slot of its executable, + 1; 0 where there is none
  uint64_t load_bias;           // of its executable
  uint64_t start_ns;
  // `image` + 1 when the supervisor has set the breakpoints of its program. Written by the supervisor.
  std::atomic<uint32_t> armed;
  // Where threads stop that breakpoints count, or go on that probes have counted; 0: nowhere. A sample at such an address fell into what
  // counting costs. Of more probes than have room the rest are missing. Written by the supervisor; a child of fork begins with its parent's.
  std::atomic<uint64_t> counted_places[kMaxCountedPlaces];
  sampler::SharedEvent event;  // by which the supervisor suspends its sampling
};

enum class ThreadState : uint32_t { kFree, kReserved, kRunning };

// Address space for the block and the tables behind it. It is there from the start, as processes may lose the right to map more: they
// change their user or their root folder, or close every descriptor.
inline constexpr uint64_t kControlMappingBytes = uint64_t{1} << 30;

// A thread's own page. A freed slot keeps its counters and goes on to another thread. A page, so that the child of fork can put
// another slot in the place of the one whose addresses it has inherited (thread_slots.h).
inline constexpr size_t kThreadSlotBytes = 4096;
struct alignas(kThreadSlotBytes) ThreadSlot {
  delay::ThreadLedger ledger;  // first, so that the ledger's address is the slot's
  std::atomic<ThreadState> state;
  std::atomic<uint32_t> next_free;  // number of the next slot in the free list
  std::atomic<uint32_t> number;     // index in the block + 1, from when it was first taken
  uint32_t process;                 // index of the process slot
  int32_t pid;
  int32_t tid;
  uint32_t blocks_reserved_signal;  // what the program believes, handed to the threads it creates
  TimedCell timed[kMaxTimedPoints];
  alignas(64) std::atomic<uint64_t> visits[kMaxPoints];
};
static_assert(offsetof(ThreadSlot, ledger) == 0);
static_assert(sizeof(ThreadSlot) == kThreadSlotBytes);

// A sample is `lap of the ring:24 | weight:8 | unit:32`, so that the reader can tell an entry of this lap from an old one.
struct SampleRing {
  alignas(64) std::atomic<uint64_t> next;
  alignas(64) std::atomic<uint64_t> entries[kSampleRingEntries];
};

struct SampleCounters {
  std::atomic<uint64_t> in_scope;      // sampling periods, as are the others
  std::atomic<uint64_t> selected;      // in the selected unit
  std::atomic<uint64_t> given;         // in the given unit, while delays were on
  std::atomic<uint64_t> spinning;      // of all: in loops that wait on their CPU (spin_hint.h)
  std::atomic<uint64_t> out_of_scope;  // no frame of the callchain in scope
  std::atomic<uint64_t>
      unmapped;  // the line table was not there yet, or the code belongs to no file
};

// Which processes are profiled.
enum class Follow : uint32_t {
  kFirst,  // the one that was started, whatever it becomes by exec
  kAll,    // and every process that it starts, and they start
  kOne     // the one that was started, until it becomes another program by exec
};

struct ControlBlock {
  // Written by the supervisor before the target starts.
  uint64_t magic;
  uint32_t version;
  int32_t supervisor_pid;
  uint64_t bytes;
  uint64_t sampling_period_ns;
  sampler::SamplingSource wanted_source;  // kNone: the best
  uint32_t wanted_unwinder;               // UnwinderKind; 0: the best
  uint32_t exclude_kernel;
  Follow follow;
  uint32_t
      awaits_breakpoints;  // programs that attach wait until the supervisor has set breakpoints in them, or lent them what it counts
  uint64_t
      pid_namespace;  // inode; processes of another one are not profiled, as their pids say nothing here
  uint32_t innermost_only;  // a sample counts where its own address is in scope, never a caller's

  // Written by the supervisor's child before it becomes the target: the first process.
  std::atomic<int32_t> target_pid;

  // Written by the supervisor at any time. As the ledger's selection, which is `(unit + 1) << 32 | delay per sample in ns`: what is sped up in every experiment, baselines too. 0 when there is none.
  std::atomic<uint64_t> given;
  std::atomic<uint64_t>
      selection_deadline_ns;  // no delay is imposed after this, should the supervisor be gone
  std::atomic<uint64_t> heartbeat_ns;
  std::atomic<uint32_t> stop;            // the target samples no more
  sampler::SuspensionCount suspensions;  // of sampling
  std::atomic<uint32_t> use_cpu_timers;  // 1: in place of perf events, which cost too much

  // Written by the target.
  std::atomic<uint32_t> images;  // programs that have attached: 1, and 1 more after each exec
  std::atomic<uint32_t>
      sampler_ready;  // images of the first process whose sampler_status is written
  sampler::SamplerStatus sampler_status;  // of the newest of these
  std::atomic<uint64_t> dropped_samples;
  std::atomic<uint64_t> lost_periods;
  std::atomic<uint64_t> unsampled_ns;
  std::atomic<uint64_t> broken_unwinds;
  std::atomic<uint32_t> threads_without_slot;
  std::atomic<uint32_t> points_without_slot;
  std::atomic<uint32_t> modules_without_slot;
  std::atomic<uint32_t> processes_without_slot;
  std::atomic<uint32_t> processes_without_sampling;
  std::atomic<uint32_t>
      processes_unfollowed;  // made by a raw clone that shares memory or descriptors
  std::atomic<uint32_t>
      programs_unreachable;  // 1: some were started by who had changed its user, root or mounts
  std::atomic<uint32_t> threads_started;
  std::atomic<uint32_t> threads_high_water;        // slots below this index have been used
  alignas(64) std::atomic<uint64_t> free_threads;  // head of the free list: tag:32 | index + 1
  alignas(64) std::atomic<uint32_t> module_count;  // slots below this index have been taken
  std::atomic<uint32_t> processes_high_water;      // slots below this index have been used
  alignas(64) SampleCounters samples;

  delay::GlobalLedger ledger;
  delay::IoTables io;
  SampleRing ring;
  ModuleSlot modules[kMaxModules];
  ProcessSlot processes[kMaxProcesses];
  PointSlot points[kMaxPoints];
  std::atomic<uint32_t> timed_cells;         // that points have taken
  std::atomic<uint32_t> charged_pairs_used;  // written by the supervisor
  ChargedPair charged_pairs[kMaxChargedPairs];
  LentCounters lent_counters;
  LatencyHistogram latencies[kMaxTimedPoints];  // by the timed cell of the END
  ThreadSlot threads[kMaxThreads];
};

static_assert(sizeof(ControlBlock) < kControlMappingBytes);

inline constexpr uint64_t PackSelection(uint32_t unit, uint32_t delay_per_sample_ns) {
  return (uint64_t{unit} + 1) << 32 | delay_per_sample_ns;
}
inline constexpr uint32_t SelectedUnit(uint64_t selection) {
  return static_cast<uint32_t>((selection >> 32) - 1);  // kNoUnit when there is none
}
inline constexpr uint32_t SelectedDelayNs(uint64_t selection) {
  return static_cast<uint32_t>(selection);
}

}  // namespace coz::shared

#endif  // COZ_SHARED_CONTROL_BLOCK_H_
