// The list of the target's counters, and their values as plain numbers.
//
// Shape    X(name, from) for each counter. From the lists follow the fields of the control block
//          (coz/shared/counters.h), what a process adds to them
//          (coz/runtime/published_counters.cc), TargetSnapshot and ExperimentRecord
//          (coz/experiment), and the experiment's Validity in the profile
//          (coz/supervisor/run/profile_recorder.cc)
// Units    as each comment says; cumulative since the target's start
// Errors   none
// Threads  values
// Signals  none
// Source   coz/report/format/profile.proto
#ifndef COZ_BASE_TARGET_COUNTERS_H_
#define COZ_BASE_TARGET_COUNTERS_H_

#include <cstdint>

// `from` is an expression of the process's own counters, `sampler` and `unwinder`. Each process
// adds to the block what the expression has grown by. Where there is no `from`, whoever sees the
// event adds to the block at once.

// Reported for each experiment. Validity in profile.proto has a field of the same name.
#define COZ_PUBLISHED_EXPERIMENT_COUNTERS(X)                                      \
  X(lost_samples, sampler.dropped)      /* by the sampler or the full ring */     \
  X(lost_periods, sampler.lost_periods) /* of CPU time, ended without a sample */ \
  X(unsampled_ns, sampler.unsampled_ns) /* of ended threads since their last period's end */
#define COZ_EXPERIMENT_COUNTERS(X)                                                            \
  COZ_PUBLISHED_EXPERIMENT_COUNTERS(X)                                                        \
  X(unmapped_samples) /* no line table yet, or code of no file */                             \
  X(spinning_samples) /* of all, in loops that wait on their CPU; no wrapped call tells it */ \
  X(spinning_outside_samples) /* of these, in code out of scope, a library's mostly */        \
  X(other_thread_samples)     /* of threads that are not in scope, in any code */

// Reported for a whole run, if at all.
#define COZ_PUBLISHED_RUN_COUNTERS(X) \
  X(broken_unwinds, unwinder.no_cfi + unwinder.bad_cfi + unwinder.bad_memory + unwinder.too_deep)
#define COZ_RUN_COUNTERS(X)                                                                \
  COZ_PUBLISHED_RUN_COUNTERS(X)                                                            \
  X(threads_without_slot)                                                                  \
  X(points_without_slot)                                                                   \
  X(modules_without_slot)                                                                  \
  X(paths_without_slot) /* samples whose call path found no room */                        \
  X(processes_without_slot)                                                                \
  X(processes_without_sampling)                                                            \
  X(processes_restricted) /* left the profile, as their own system calls became limited */ \
  X(threads_by_clone)     /* raw ones, with the thread-local data of another thread */     \
  X(libraries_unloaded)                                                                    \
  X(processes_unfollowed) /* made by a raw clone that shares memory or descriptors */      \
  X(programs_unreachable) /* 1: who started some had changed its user, root or mounts */   \
  X(programs_foreign)     /* 1: some have another C library or 32 bits */                  \
  X(processes_elsewhere)  /* 1: some are in another PID namespace */

#define COZ_PUBLISHED_COUNTERS(X)      \
  COZ_PUBLISHED_EXPERIMENT_COUNTERS(X) \
  COZ_PUBLISHED_RUN_COUNTERS(X)

namespace coz {

#define COZ_FIELD(name, ...) uint64_t name = 0;
struct ExperimentCounters {
  COZ_EXPERIMENT_COUNTERS(COZ_FIELD)
};
struct RunCounters {
  COZ_RUN_COUNTERS(COZ_FIELD)
};
#undef COZ_FIELD

// What was counted from `start` to `end`.
inline ExperimentCounters CountedBetween(const ExperimentCounters& start,
                                         const ExperimentCounters& end) {
  ExperimentCounters counted;
#define COZ_DIFFERENCE(name, ...) counted.name = end.name - start.name;
  COZ_EXPERIMENT_COUNTERS(COZ_DIFFERENCE)
#undef COZ_DIFFERENCE
  return counted;
}

}  // namespace coz

#endif  // COZ_BASE_TARGET_COUNTERS_H_
