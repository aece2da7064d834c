// System calls by number that wait, wake or install a filter of system calls, whoever makes them.
//
// Shape    arguments as the kernel has them
// Units    none
// Errors   as syscall(2): -1 and errno
// Threads  safe
// Signals  async-signal-safe
// Source   futex(2), seccomp(2)
#ifndef COZ_SYNC_INTERPOSE_SYSTEM_CALL_H_
#define COZ_SYNC_INTERPOSE_SYSTEM_CALL_H_

#include <sys/syscall.h>

#include <cstdint>

#include "coz/sync/interpose/wrapped_calls.h"

namespace coz::interpose {

struct SystemCall {
  long number;
  long a, b, c, d, e, f;
  const void* site;  // where the program goes on

  long operator()() const { return g_real.syscall(number, a, b, c, d, e, f); }
};

// `number`: of a futex call, seccomp or prctl.
long WatchedSystemCall(long number, long a, long b, long c, long d, long e, long f,
                       const void* site);

// Whether a call reads from or writes to a descriptor, or takes a connection. libuv sends datagrams
// so, since older libcs have no name for the call.
inline bool MovesData(long number) {
  constexpr auto kBit = [](long of) { return of < 64 ? uint64_t{1} << of : uint64_t{0}; };
  constexpr uint64_t kFirst64 = kBit(SYS_read) | kBit(SYS_write) | kBit(SYS_readv) |
                                kBit(SYS_writev) | kBit(SYS_accept) | kBit(SYS_sendto) |
                                kBit(SYS_recvfrom) | kBit(SYS_sendmsg) | kBit(SYS_recvmsg);
  const auto place = static_cast<unsigned long>(number);
  return place < 64 ? (kFirst64 >> place & 1) != 0
                    : number == SYS_accept4 || number == SYS_recvmmsg || number == SYS_sendmmsg;
}

// Makes such a call as the wrapped one of its name would, but it is no cancellation point.
long MoveData(const SystemCall& call);

}  // namespace coz::interpose

#endif  // COZ_SYNC_INTERPOSE_SYSTEM_CALL_H_
