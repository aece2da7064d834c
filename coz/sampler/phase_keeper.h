// Keeps a thread's sampling phase where it is while the thread creates others.
//
// To the kernel the perf contexts of two threads are clones where one has inherited all events from
// the other, or both from a third. When it switches between clones on one CPU, it swaps the
// contexts and does not stop their events. So each thread goes on with the other's phase. Between
// long threads that is cheap and evens out. But a creator of one thread per round goes on with a
// young phase, the same in every round: some of its code is sampled too often, the rest never.
// While an event is open that is not inherited, no new thread's context is a clone of the
// creator's.
//
// Shape    one keeper per thread, zeros: it holds nothing. At most one descriptor
// Units    none
// Errors   Hold returns -errno; the thread is then sampled as without a keeper
// Threads  owner
// Signals  async-signal-safe
// Source   kernel/events/core.c: perf_event_context_sched_out, context_equiv, inherit_task_group
#ifndef COZ_SAMPLER_PHASE_KEEPER_H_
#define COZ_SAMPLER_PHASE_KEEPER_H_

#include <cstdint>

#include "coz/sampler/short_threads.h"

namespace coz::sampler {

class PhaseKeeper {
 public:
  constexpr PhaseKeeper() = default;

  // Holds the event from now on. 0, or -errno. Free of charge where it is held already.
  int Hold();
  void Release();
  // In the child of fork, where the descriptor is closed.
  void Forget() { fd_plus_1_ = 0; }
  // The event has been moved from descriptor `from` to `to`.
  void NoteMove(int from, int to) {
    if (fd_plus_1_ == from + 1) fd_plus_1_ = to + 1;
  }

 private:
  int fd_plus_1_ = 0;
};

// Whether threads come and go so fast that their creators are to hold their phase. Threads that are
// created once, as for a pool, are better left alone: in a virtual machine a switch between
// them costs 13 us more without a swap (docs/design/sampling.md).
bool CreatorsNeedPhaseKeepers(const EndedThreads& ended, uint64_t sampling_period_ns);

}  // namespace coz::sampler

#endif  // COZ_SAMPLER_PHASE_KEEPER_H_
