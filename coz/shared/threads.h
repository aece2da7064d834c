// The profiled threads, in shared memory: ledger and counters of each.
//
// Shape    a table of slots of three pages each; thread_slots.h hands them out
// Units    slot numbers, from 1; visits; ns
// Errors   none; a full table is counted in the block
// Threads  the thread writes its own slot; everyone may read
// Signals  lock-free
// Source   docs/design.md, "Shared memory"
#ifndef COZ_SHARED_THREADS_H_
#define COZ_SHARED_THREADS_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "coz/shared/call_timers.h"
#include "coz/shared/points.h"
#include "coz/shared/thread_figures.h"
#include "coz/sync/delay/delay_ledger.h"

namespace coz::shared {

inline constexpr uint32_t kMaxThreads = 8192;

enum class ThreadState : uint32_t { kFree, kReserved, kRunning };

// A thread has pages of its own, so that the child of fork can put another slot in the place of
// the one whose addresses it has inherited (thread_slots.h). A freed slot keeps its counters and
// goes on to another thread.
inline constexpr size_t kThreadSlotBytes = 28672;
struct alignas(4096) ThreadSlot {
  // First, so that the ledger's address is the slot's. Its number is the index in the block + 1,
  // from when the slot was first taken.
  delay::ThreadLedger ledger;
  std::atomic<ThreadState> state;
  std::atomic<uint32_t> next_free;  // number of the next slot in the free list
  std::atomic<uint32_t> process;    // index of the process slot
  std::atomic<int32_t> pid;
  std::atomic<int32_t> tid;
  uint32_t blocks_reserved_signal;  // what the program believes; its new threads inherit it
  TimedCell timed[kMaxTimedPoints];
  alignas(64) std::atomic<uint64_t> visits[kMaxPoints];
  alignas(4096) ThreadFigures figures;
  alignas(64) CallTimers timers;
  std::atomic<uint64_t> visits_of_none;  // what counts for no point may be added here
};
static_assert(offsetof(ThreadSlot, ledger) == 0);
static_assert(sizeof(ThreadSlot) == kThreadSlotBytes);

}  // namespace coz::shared

#endif  // COZ_SHARED_THREADS_H_
