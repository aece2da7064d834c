// The system call futex, whoever makes it: a wait or a wake of the program's threads.
//
// Shape    arguments as the kernel has them; `site` is where the program goes on
// Units    none
// Errors   as syscall(2): -1 and errno
// Threads  safe
// Signals  async-signal-safe
// Source   futex(2)
#ifndef COZ_SYNC_INTERPOSE_FUTEX_CALLS_H_
#define COZ_SYNC_INTERPOSE_FUTEX_CALLS_H_

namespace coz::interpose {

long FutexCall(long a, long b, long c, long d, long e, long f, const void* site);

}  // namespace coz::interpose

#endif  // COZ_SYNC_INTERPOSE_FUTEX_CALLS_H_
