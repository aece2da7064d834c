// System calls that wait, wake or install a filter of system calls, whoever makes them.
//
// Shape    arguments as the kernel has them; `site` is where the program goes on
// Units    none
// Errors   as syscall(2): -1 and errno
// Threads  safe
// Signals  async-signal-safe
// Source   futex(2), seccomp(2)
#ifndef COZ_SYNC_INTERPOSE_SYSTEM_CALL_H_
#define COZ_SYNC_INTERPOSE_SYSTEM_CALL_H_

namespace coz::interpose {

// `number`: of a futex call, seccomp or prctl.
long WatchedSystemCall(long number, long a, long b, long c, long d, long e, long f,
                       const void* site);

}  // namespace coz::interpose

#endif  // COZ_SYNC_INTERPOSE_SYSTEM_CALL_H_
