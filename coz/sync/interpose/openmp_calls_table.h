// All symbols of libgomp that the runtime wraps.
//
// Shape    COZ_OPENMP_CALLS(X): X(shape, version, result, name, parameters, arguments). `version`
//          is libgomp's symbol version. `shape` says how openmp.cc handles the call:
//          REGION         starts a parallel region. `run` and `region` in `arguments` replace
//                         `body` and `data`
//          BARRIER        waits until all of the team have come. CANCELLABLE_BARRIER also returns
//                         a bool
//          TEAM_WAIT      waits for others of the team
//          ACQUIRE        waits for the owner of a lock; RELEASE lets the next thread have it
//          TASK           makes a task whose beginning the runtime sees
//          UNSEEN_TASKS   makes tasks whose beginning it does not see
// Units    those of the calls
// Errors   none: see wrapped_calls_table.h
// Threads  none
// Signals  none
// Source   libgomp.map and libgomp_g.h of gcc 12
#ifndef COZ_SYNC_INTERPOSE_OPENMP_CALLS_TABLE_H_
#define COZ_SYNC_INTERPOSE_OPENMP_CALLS_TABLE_H_

namespace coz::interpose {

// The compiler turns the body of a region or task into a function of the first type, and the
// copying of its arguments into one of the second.
using Outlined = void (*)(void*);
using CopyArguments = void (*)(void*, void*);

}  // namespace coz::interpose

// clang-format off
#define COZ_LOOP(X, version, name)                                                                                      \
  X(REGION, version, void, name, (Outlined body, void* data, unsigned threads, long start, long end, long step, long chunk, \
   unsigned flags), (run, region, threads, start, end, step, chunk, flags))
#define COZ_RUNTIME_LOOP(X, version, name)                                                                              \
  X(REGION, version, void, name, (Outlined body, void* data, unsigned threads, long start, long end, long step,         \
   unsigned flags), (run, region, threads, start, end, step, flags))
#define COZ_TASK_LOOP(X, version, name)                                                                                 \
  X(UNSEEN_TASKS, version, void, name, (Outlined body, void* data, CopyArguments copy, long bytes, long alignment,      \
   unsigned flags, unsigned long tasks, long priority, long start, long end, long step),                                \
   (body, data, copy, bytes, alignment, flags, tasks, priority, start, end, step))

#define COZ_OPENMP_CALLS(X)                                                                                             \
  X(REGION, "GOMP_4.0", void, GOMP_parallel, (Outlined body, void* data, unsigned threads, unsigned flags),             \
    (run, region, threads, flags))                                                                                      \
  X(REGION, "GOMP_4.0", void, GOMP_parallel_sections,                                                                   \
    (Outlined body, void* data, unsigned threads, unsigned count, unsigned flags), (run, region, threads, count, flags)) \
  COZ_LOOP(X, "GOMP_4.0", GOMP_parallel_loop_static)                                                                    \
  COZ_LOOP(X, "GOMP_4.0", GOMP_parallel_loop_dynamic)                                                                   \
  COZ_LOOP(X, "GOMP_4.0", GOMP_parallel_loop_guided)                                                                    \
  COZ_LOOP(X, "GOMP_4.5", GOMP_parallel_loop_nonmonotonic_dynamic)                                                      \
  COZ_LOOP(X, "GOMP_4.5", GOMP_parallel_loop_nonmonotonic_guided)                                                       \
  COZ_RUNTIME_LOOP(X, "GOMP_4.0", GOMP_parallel_loop_runtime)                                                           \
  COZ_RUNTIME_LOOP(X, "GOMP_5.0", GOMP_parallel_loop_nonmonotonic_runtime)                                              \
  COZ_RUNTIME_LOOP(X, "GOMP_5.0", GOMP_parallel_loop_maybe_nonmonotonic_runtime)                                        \
  X(BARRIER, "GOMP_1.0", void, GOMP_barrier, (), ())                                                                    \
  X(BARRIER, "GOMP_1.0", void, GOMP_loop_end, (), ())                                                                   \
  X(BARRIER, "GOMP_1.0", void, GOMP_sections_end, (), ())                                                               \
  X(CANCELLABLE_BARRIER, "GOMP_4.0", bool, GOMP_barrier_cancel, (), ())                                                 \
  X(CANCELLABLE_BARRIER, "GOMP_4.0", bool, GOMP_loop_end_cancel, (), ())                                                \
  X(CANCELLABLE_BARRIER, "GOMP_4.0", bool, GOMP_sections_end_cancel, (), ())                                            \
  X(TEAM_WAIT, "GOMP_1.0", void, GOMP_ordered_start, (), ())                                                            \
  X(TEAM_WAIT, "GOMP_2.0", void, GOMP_taskwait, (), ())                                                                 \
  X(TEAM_WAIT, "GOMP_4.0", void, GOMP_taskgroup_end, (), ())                                                            \
  X(ACQUIRE, "GOMP_1.0", void, GOMP_critical_start, (), ())                                                             \
  X(ACQUIRE, "GOMP_1.0", void, GOMP_critical_name_start, (void** name), (name))                                         \
  X(ACQUIRE, "GOMP_1.0", void, GOMP_atomic_start, (), ())                                                               \
  X(ACQUIRE, "OMP_3.0", void, omp_set_lock, (void* lock), (lock))                                                       \
  X(ACQUIRE, "OMP_3.0", void, omp_set_nest_lock, (void* lock), (lock))                                                  \
  X(RELEASE, "GOMP_1.0", void, GOMP_critical_end, (), ())                                                               \
  X(RELEASE, "GOMP_1.0", void, GOMP_critical_name_end, (void** name), (name))                                           \
  X(RELEASE, "GOMP_1.0", void, GOMP_atomic_end, (), ())                                                                 \
  X(RELEASE, "GOMP_1.0", void, GOMP_ordered_end, (), ())                                                                \
  X(RELEASE, "OMP_3.0", void, omp_unset_lock, (void* lock), (lock))                                                     \
  X(RELEASE, "OMP_3.0", void, omp_unset_nest_lock, (void* lock), (lock))                                                \
  X(TASK, "GOMP_2.0", void, GOMP_task, (Outlined body, void* data, CopyArguments copy, long bytes, long alignment,      \
    bool may_defer, unsigned flags, void** depend, long priority, void* detach),                                        \
    (body, data, copy, bytes, alignment, may_defer, flags, depend, priority, detach))                                   \
  COZ_TASK_LOOP(X, "GOMP_4.5", GOMP_taskloop)                                                                           \
  COZ_TASK_LOOP(X, "GOMP_4.5", GOMP_taskloop_ull)
// clang-format on

#endif  // COZ_SYNC_INTERPOSE_OPENMP_CALLS_TABLE_H_
