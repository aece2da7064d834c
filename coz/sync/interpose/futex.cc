// libc's syscall() and prctl(). Programs use syscall() for futexes (C++20's atomic wait, Rust's
// std, absl::Mutex, folly, TBB), for input and output (libuv's datagrams), to make processes and
// become other programs, to handle signals, and to install seccomp filters. prctl() installs such
// filters too, and diverts system calls. Process: target. Context: the program's threads.
//
// The runtime does not see what the program does in its own atomics before and after a call. So a
// lock that the program releases there is free before the waker has paid.
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/types.h>

#include <cerrno>
#include <cstdint>

#include "coz/sync/interpose/alternate_stacks.h"
#include "coz/sync/interpose/blocked_scope.h"
#include "coz/sync/interpose/process_hooks.h"
#include "coz/sync/interpose/raw_clone.h"
#include "coz/sync/interpose/signal_shield.h"
#include "coz/sync/interpose/system_call.h"
#include "coz/sync/interpose/thread_sync.h"
#include "coz/sync/interpose/virtual_timeout.h"
#include "coz/sync/interpose/wrapped_calls.h"

// Missing in Debian 12's headers.
#ifndef SYS_futex_wake
#define SYS_futex_wake 454
#define SYS_futex_wait 455
#define SYS_futex_requeue 456
#endif
#ifndef FUTEX_LOCK_PI2
#define FUTEX_LOCK_PI2 13
#endif

namespace coz::interpose {
namespace {

const void* AsObject(uint64_t address) {
  return reinterpret_cast<const void*>(static_cast<uintptr_t>(address));
}

// How a call gives its time-out.
enum class Timeout { kNone, kDuration, kDeadline };

// Makes `call`, whose time-out is the argument `place`, so that it times out in virtual time. If
// the word changes before the wait goes on, the kernel's answer to the next call says so.
long CallInVirtualTime(const SystemCall& call, Timeout timeout, long SystemCall::*place) {
  const auto timed_out = [](long result) { return result < 0 && errno == ETIMEDOUT; };
  const long result = call();
  if (timeout == Timeout::kNone || !timed_out(result)) return result;
  // The pointer is readable: the kernel has read from it.
  const auto* given = static_cast<const timespec*>(AsObject(static_cast<uint64_t>(call.*place)));
  timespec until = *given;
  SystemCall again = call;
  again.*place = reinterpret_cast<long>(&until);
  return GoOnInVirtualTime(
      result,
      [&](uint64_t owed_ns) {
        until = timeout == Timeout::kDeadline ? DeadlineAfter(until, owed_ns) : DurationOf(owed_ns);
        return again();
      },
      timed_out);
}

// A thread that begins to wait need not pay. But it imposes what has accrued, so that the others
// see how far it has come.
void EndStretchBeforeWait(const SystemCall& call) {
  NoteCallHere(*CurrentThreadLedger(), call.site, CallsThatEnd::kEach);
}

void PayBefore(const SystemCall& call) {
  delay::ThreadLedger& thread = *CurrentThreadLedger();
  if (CallerIsBehind(thread)) {
    PayAtCall(thread, call.site, CallsThatEnd::kEach);
  } else {
    NoteCall(thread, call.site);
  }
}

// Makes a wait. Where a wake ends it, the result is 0 or more. After a time-out, a signal, or where
// the value has already changed, it is -1. So a result of 0 or more means that the thread has
// waited for another.
long Wait(const void* word, const SystemCall& call, Timeout timeout,
          long SystemCall::*place = &SystemCall::d) {
  EndStretchBeforeWait(call);
  BlockedScope blocked(WaitStart::kIsAhead);
  const long result = CallInVirtualTime(call, timeout, place);
  blocked.End(result >= 0, word);
  return result;
}

long Wake(const void* word, const SystemCall& call) {
  PayBeforeWakeAt(word, call.site, CallsThatEnd::kEach);
  return call();
}

long WaitForAnyOf(const struct futex_waitv* words, const SystemCall& call) {
  EndStretchBeforeWait(call);
  BlockedScope blocked(WaitStart::kIsAhead);
  const long index = CallInVirtualTime(call, Timeout::kDeadline, &SystemCall::d);
  blocked.End(index >= 0, index >= 0 ? AsObject(words[index].uaddr) : nullptr);
  return index;
}

long Futex(const SystemCall& call) {
  const void* word = AsObject(static_cast<uint64_t>(call.a));
  switch (call.b & FUTEX_CMD_MASK) {
    case FUTEX_WAIT:
      return Wait(word, call, Timeout::kDuration);
    case FUTEX_WAIT_BITSET:
      return Wait(word, call, Timeout::kDeadline);
    // No virtual time: the waiter may have been moved to another futex meanwhile, and to wait on
    // for that one would take another call.
    case FUTEX_WAIT_REQUEUE_PI:
      return Wait(word, call, Timeout::kNone);
    case FUTEX_LOCK_PI:
    case FUTEX_LOCK_PI2:
      PayBefore(call);  // a thread that gets the lock overtakes others
      return Wait(word, call, Timeout::kDeadline);
    case FUTEX_TRYLOCK_PI:
      PayBefore(call);
      return call();
    case FUTEX_REQUEUE:
    case FUTEX_CMP_REQUEUE:
    case FUTEX_CMP_REQUEUE_PI:
    case FUTEX_WAKE_OP:
      PayBeforeWakeAt(AsObject(static_cast<uint64_t>(call.e)), call.site, CallsThatEnd::kEach);
      return Wake(word, call);
    case FUTEX_WAKE:
    case FUTEX_WAKE_BITSET:
    case FUTEX_UNLOCK_PI:
      return Wake(word, call);
    default:
      return call();
  }
}

void BeforeRestriction() {
  if (sync_internal::g_hooks.before_restriction != nullptr) {
    sync_internal::g_hooks.before_restriction();
  }
}

// A call without a filter only asks whether filters are supported. libseccomp does that.
bool InstallsSeccompFilter(unsigned long mode, unsigned long filter) {
  return mode == SECCOMP_MODE_STRICT || (mode == SECCOMP_MODE_FILTER && filter != 0);
}

// From then on the kernel sends SIGSYS in place of the thread's system calls, as Wine has it.
bool DivertsCalls(unsigned long mode) { return mode != PR_SYS_DISPATCH_OFF; }

// Whether the process will not, or not always, be allowed to make system calls.
bool RestrictsCalls(long option, unsigned long a, unsigned long b) {
  return (option == PR_SET_SECCOMP && InstallsSeccompFilter(a, b)) ||
         (option == PR_SET_SYSCALL_USER_DISPATCH && DivertsCalls(a));
}

bool RestrictsCalls(const SystemCall& call) {
  if (call.number == SYS_prctl) return RestrictsCalls(call.a, call.b, call.c);
  return call.number == SYS_seccomp &&
         (call.a == SECCOMP_SET_MODE_STRICT || (call.a == SECCOMP_SET_MODE_FILTER && call.c != 0));
}

[[gnu::noinline]] long OurCall(const SystemCall& call) {
  if (RestrictsCalls(call)) BeforeRestriction();
  if (CurrentThreadLedger() == nullptr) return call();
  switch (call.number) {
    case SYS_futex:
      return Futex(call);
    case SYS_futex_waitv:
      return WaitForAnyOf(static_cast<const struct futex_waitv*>(AsObject(call.a)), call);
    case SYS_futex_wait:
      return Wait(AsObject(call.a), call, Timeout::kDeadline, &SystemCall::e);
    case SYS_seccomp:
    case SYS_prctl:
      return call();
    default:  // futex_wake, futex_requeue
      return Wake(AsObject(call.a), call);
  }
}

// Not inlined, since the child goes on with a copy of this frame.
[[gnu::noinline]] long ForkCall(const SystemCall& call) {
  BeforeRawFork();
  const long child = call();
  AfterRawFork(child);
  return child;
}

// See ExecUnsampled in exec.cc. The environment stays as it is.
[[gnu::noinline]] long ExecCall(const SystemCall& call) {
  PayIfBehind();
  if (!g_process_hooks.is_profiled()) return call();
  g_process_hooks.prepare_for_exec();
  const long result = call();
  g_process_hooks.resume_after_failed_exec();
  return result;
}

inline bool IsOurs(long number) {
  return number == SYS_futex || number == SYS_futex_waitv ||
         (number >= SYS_futex_wake && number <= SYS_futex_requeue) || number == SYS_seccomp ||
         number == SYS_prctl;
}

[[gnu::noinline]] long SigAltStack(const SystemCall& call) {
  AlternateStackChange change(static_cast<const stack_t*>(AsObject(call.a)));
  const long result = call();
  change.End(result == 0);
  return result;
}

}  // namespace

long WatchedSystemCall(long number, long a, long b, long c, long d, long e, long f,
                       const void* site) {
  return OurCall({number, a, b, c, d, e, f, site});
}

}  // namespace coz::interpose

// Not variadic, for two reasons. All six arguments arrive, whatever the caller has passed. And any
// other system call is a jump that leaves registers and stack as they are, which vfork and clone
// onto another stack need.
extern "C" long CozSyscall(long number, long a, long b, long c, long d, long e,
                           long f) asm("syscall");

long CozSyscall(long number, long a, long b, long c, long d, long e, long f) {
  if (__builtin_expect(coz::interpose::IsOurs(number), 0)) {
    return coz::interpose::OurCall({number, a, b, c, d, e, f, COZ_CALL_SITE()});
  }
  if (__builtin_expect(coz::interpose::MovesData(number), 0)) {
    return coz::interpose::MoveData({number, a, b, c, d, e, f, nullptr});
  }
  // After LeaveThreadSyncForGood the process may not be allowed to make our system calls. Then the
  // arguments are not inspected.
  if (__builtin_expect(coz::interpose::IsCloneCall(number), 0) &&
      !coz::interpose::HasLeftThreadSync() && coz::interpose::CopiesProcess(number, a, b)) {
    return coz::interpose::ForkCall({number, a, b, c, d, e, f, nullptr});
  }
  if (__builtin_expect(number == SYS_execve || number == SYS_execveat, 0)) {
    return coz::interpose::ExecCall({number, a, b, c, d, e, f, nullptr});
  }
  if (__builtin_expect(number == SYS_rt_sigaction, 0)) {
    return coz::interpose::RtSigaction(a, b, c, d);
  }
  if (__builtin_expect(number == SYS_sigaltstack, 0)) {
    return coz::interpose::SigAltStack({number, a, b, c, d, e, f, nullptr});
  }
  return coz::interpose::g_real.syscall(number, a, b, c, d, e, f);
}

// Not variadic either. The kernel reads only those arguments that the option has.
extern "C" int CozPrctl(int option, unsigned long a, unsigned long b, unsigned long c,
                        unsigned long d) asm("prctl");

int CozPrctl(int option, unsigned long a, unsigned long b, unsigned long c, unsigned long d) {
  if (__builtin_expect(coz::interpose::RestrictsCalls(option, a, b), 0)) {
    coz::interpose::BeforeRestriction();
  }
  return coz::interpose::g_real.prctl(option, a, b, c, d);
}
