// Futexes by way of libc's syscall(): C++20's atomic wait, Rust's std, absl::Mutex, folly, TBB.
// Process: target. Context: the program's threads.
//
// What the program does before and after, in its own atomics, is not seen: a lock that it releases
// there is free before the wake has been paid for.
#include <linux/futex.h>
#include <sys/syscall.h>
#include <sys/types.h>

#include <cstdint>

#include "coz/sync/thread_sync.h"
#include "coz/sync/wrapped_calls.h"

// Missing in Debian 12's headers.
#ifndef SYS_futex_wake
#define SYS_futex_wake 454
#define SYS_futex_wait 455
#define SYS_futex_requeue 456
#endif
#ifndef FUTEX_LOCK_PI2
#define FUTEX_LOCK_PI2 13
#endif

namespace coz {
namespace {

struct SystemCall {
  long number;
  long a, b, c, d, e, f;

  long operator()() const { return g_real.syscall(number, a, b, c, d, e, f); }
};

const void* AsObject(uint64_t address) {
  return reinterpret_cast<const void*>(static_cast<uintptr_t>(address));
}

// A wait that a wake ends with a result of 0 or more; on a time-out, a signal or a value that has
// changed already it is -1.
long Wait(const void* word, const SystemCall& call) {
  BlockedScope blocked;
  const long result = call();
  blocked.End(result >= 0, word);
  return result;
}

long Wake(const void* word, const SystemCall& call) {
  PayBeforeWake(word);
  return call();
}

long WaitForAnyOf(const struct futex_waitv* words, const SystemCall& call) {
  BlockedScope blocked;
  const long index = call();
  blocked.End(index >= 0, index >= 0 ? AsObject(words[index].uaddr) : nullptr);
  return index;
}

long Futex(const SystemCall& call) {
  const void* word = AsObject(static_cast<uint64_t>(call.a));
  switch (call.b & FUTEX_CMD_MASK) {
    case FUTEX_WAIT:
    case FUTEX_WAIT_BITSET:
    case FUTEX_WAIT_REQUEUE_PI:
      return Wait(word, call);
    case FUTEX_LOCK_PI:
    case FUTEX_LOCK_PI2:
      PayIfBehind();  // whoever gets the lock overtakes others
      return Wait(word, call);
    case FUTEX_TRYLOCK_PI:
      PayIfBehind();
      return call();
    case FUTEX_REQUEUE:
    case FUTEX_CMP_REQUEUE:
    case FUTEX_CMP_REQUEUE_PI:
    case FUTEX_WAKE_OP:
      PayBeforeWake(AsObject(static_cast<uint64_t>(call.e)));
      return Wake(word, call);
    case FUTEX_WAKE:
    case FUTEX_WAKE_BITSET:
    case FUTEX_UNLOCK_PI:
      return Wake(word, call);
    default:
      return call();
  }
}

[[gnu::noinline]] long FutexCall(const SystemCall& call) {
  if (CurrentThreadLedger() == nullptr) return call();
  switch (call.number) {
    case SYS_futex:
      return Futex(call);
    case SYS_futex_waitv:
      return WaitForAnyOf(static_cast<const struct futex_waitv*>(AsObject(call.a)), call);
    case SYS_futex_wait:
      return Wait(AsObject(call.a), call);
    default:  // futex_wake, futex_requeue
      return Wake(AsObject(call.a), call);
  }
}

inline bool IsFutexCall(long number) {
  return number == SYS_futex || number == SYS_futex_waitv ||
         (number >= SYS_futex_wake && number <= SYS_futex_requeue);
}

}  // namespace
}  // namespace coz

// Not variadic, so that six arguments arrive whatever the caller gave, and every other system call
// is a jump that leaves registers and stack as they are: clone and vfork need that.
extern "C" long CozSyscall(long number, long a, long b, long c, long d, long e,
                           long f) asm("syscall");

long CozSyscall(long number, long a, long b, long c, long d, long e, long f) {
  if (__builtin_expect(coz::IsFutexCall(number), 0)) {
    return coz::FutexCall({number, a, b, c, d, e, f});
  }
  return coz::g_real.syscall(number, a, b, c, d, e, f);
}
