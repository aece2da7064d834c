// Signals by which threads wake each other and for which they wait. Process: target. Context: the
// program's threads, and its signal handlers.
//
// The signal's origin tells whether a profiled thread ended a wait for a signal, where the call
// gives the origin. Else the time tells at which a wrapped call last sent one.
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>

#include "coz/sync/delay/io_tables.h"
#include "coz/sync/interpose/alternate_stacks.h"
#include "coz/sync/interpose/blocked_scope.h"
#include "coz/sync/interpose/io_wait.h"
#include "coz/sync/interpose/reserved_signals.h"
#include "coz/sync/interpose/thread_sync.h"
#include "coz/sync/interpose/virtual_timeout.h"
#include "coz/sync/interpose/wrapped_calls.h"

namespace coz::interpose {
namespace {

// A process group counts as one process with its number, and "all" as none. Threads that such a
// signal wakes get no credit.
void PayBeforeSignal(pid_t pid) {
  if (CurrentThreadLedger() == nullptr) return;
  PayBeforeWaking(SignalKey(pid));
  TheIoTables().SignalSentNs(pid).store(MonotonicNowNs(), std::memory_order_relaxed);
}

bool WasSentSince(uint64_t start_ns) {
  return TheIoTables().SignalSentNs(getpid()).load(std::memory_order_relaxed) >= start_ns;
}

bool SentByProfiled(const siginfo_t& info, uint64_t start_ns) {
  if (info.si_code == CLD_EXITED && info.si_signo == SIGCHLD) return WasSentSince(start_ns);
  return (info.si_code == SI_USER || info.si_code == SI_TKILL || info.si_code == SI_QUEUE) &&
         (info.si_pid == getpid() || WasSentSince(start_ns));
}

const void* OwnSignalKey() {
  return reinterpret_cast<const void*>(static_cast<uintptr_t>(SignalKey(getpid())));
}

template <typename WaitCall>
int WaitForSignal(const sigset_t* set, siginfo_t* info, WaitCall wait_call) {
  if (CurrentThreadLedger() == nullptr || !IsReadableSet(set)) return wait_call(set, info);
  PayIfBehind();
  const sigset_t without_ours = WithoutReservedSignals(*set);
  siginfo_t own_info = {};
  siginfo_t* const told = info != nullptr ? info : &own_info;
  BlockedScope blocked;
  const int result = wait_call(&without_ours, told);
  blocked.End(result > 0 && SentByProfiled(*told, blocked.start_ns()), OwnSignalKey());
  return result;
}

int WaitForSignalInfo(const sigset_t* set, siginfo_t* info) {
  return WaitForSignal(set, info,
                       [](const sigset_t* s, siginfo_t* i) { return g_real.sigwaitinfo(s, i); });
}

// Waits with `mask` until a handled signal ends the wait. The mask also keeps samples out: a sample
// that comes in the wait must not end it.
int WaitForHandler(const sigset_t& mask) {
  PayIfBehind();
  const sigset_t with_ours = WithReservedSignals(mask);
  BlockedScope blocked;
  const int result = g_real.sigsuspend(&with_ours);
  blocked.End(WasSentSince(blocked.start_ns()), OwnSignalKey());
  return result;
}

}  // namespace
}  // namespace coz::interpose

using coz::interpose::g_real;

extern "C" {

int kill(pid_t pid, int signal) noexcept {
  coz::interpose::PayBeforeSignal(pid);
  return g_real.kill(pid, signal);
}

int killpg(pid_t group, int signal) noexcept {
  coz::interpose::PayBeforeSignal(-group);  // kill numbers a group so
  return g_real.killpg(group, signal);
}

int tgkill(pid_t pid, pid_t tid, int signal) {
  coz::interpose::PayBeforeSignal(pid);
  return g_real.tgkill(pid, tid, signal);
}

int raise(int signal) noexcept {
  coz::interpose::PayBeforeSignal(getpid());
  return g_real.raise(signal);
}
COZ_SECOND_NAME(gsignal, raise);

int pthread_kill(pthread_t thread, int signal) noexcept {
  coz::interpose::PayBeforeSignal(getpid());
  return g_real.pthread_kill(thread, signal);
}

int pthread_sigqueue(pthread_t thread, int signal, const union sigval value) noexcept {
  coz::interpose::PayBeforeSignal(getpid());
  return g_real.pthread_sigqueue(thread, signal, value);
}

int sigqueue(pid_t pid, int signal, const union sigval value) noexcept {
  coz::interpose::PayBeforeSignal(pid);
  return g_real.sigqueue(pid, signal, value);
}

int sigwaitinfo(const sigset_t* set, siginfo_t* info) {
  return coz::interpose::WaitForSignalInfo(set, info);
}

int sigtimedwait(const sigset_t* set, siginfo_t* info, const timespec* timeout) {
  return coz::interpose::WaitForSignal(set, info, [timeout](const sigset_t* s, siginfo_t* i) {
    return coz::interpose::WaitForInVirtualTime(
        timeout, [=](const timespec* most) { return g_real.sigtimedwait(s, i, most); },
        [](int result) { return result < 0 && errno == EAGAIN; });
  });
}

// Made of sigwaitinfo, which tells who sent the signal. In all else it follows POSIX: it does not
// fail with EINTR, and returns the error.
int sigwait(const sigset_t* set, int* signal) {
  if (coz::interpose::CurrentThreadLedger() == nullptr) return g_real.sigwait(set, signal);
  const int saved_errno = errno;
  int result;
  do {
    result = coz::interpose::WaitForSignalInfo(set, nullptr);
  } while (result < 0 && errno == EINTR);
  const int error = result < 0 ? errno : 0;
  errno = saved_errno;
  if (result > 0) *signal = result;
  return error;
}

int sigsuspend(const sigset_t* mask) {
  if (coz::interpose::CurrentThreadLedger() == nullptr || !coz::interpose::IsReadableSet(mask)) {
    return g_real.sigsuspend(mask);
  }
  return coz::interpose::WaitForHandler(*mask);
}
COZ_SECOND_NAME(__sigsuspend, sigsuspend);

// Made of sigsuspend with the current mask, which does the same but can keep samples out.
int pause() {
  sigset_t mask;
  if (coz::interpose::CurrentThreadLedger() == nullptr ||
      g_real.pthread_sigmask(SIG_BLOCK, nullptr, &mask) != 0) {
    return g_real.pause();
  }
  return coz::interpose::WaitForHandler(mask);
}

}  // extern "C"

namespace coz::interpose {
namespace {

int WaitWithout(int signal) {
  sigset_t mask;
  if (pthread_sigmask(SIG_BLOCK, nullptr, &mask) != 0 || sigdelset(&mask, signal) != 0) return -1;
  return sigsuspend(&mask);
}

// Waits with a mask of the first 32 signals, which BSD's call keeps in an int.
int WaitWithMask(int first_signals) {
  sigset_t mask;
  sigemptyset(&mask);
  for (int i = 0; i < 32; ++i) {
    if ((static_cast<unsigned>(first_signals) >> i & 1) != 0) sigaddset(&mask, i + 1);
  }
  return sigsuspend(&mask);
}

}  // namespace
}  // namespace coz::interpose

// sigpause of X/Open and of BSD. libc makes them of its own sigsuspend, which samples would end.
// libc's headers give both the same name.
extern "C" {

int __xpg_sigpause(int signal) { return coz::interpose::WaitWithout(signal); }

int CozBsdSigpause(int mask) asm("sigpause");
int CozBsdSigpause(int mask) { return coz::interpose::WaitWithMask(mask); }

int __sigpause(int signal_or_mask, int is_signal) {
  return is_signal != 0 ? coz::interpose::WaitWithout(signal_or_mask)
                        : coz::interpose::WaitWithMask(signal_or_mask);
}

int sigaltstack(const stack_t* stack, stack_t* old_stack) noexcept {
  coz::interpose::AlternateStackChange change(stack);
  const int result = coz::interpose::g_real.sigaltstack(stack, old_stack);
  change.End(result == 0);
  return result;
}

int munmap(void* begin, size_t bytes) noexcept {
  if (coz::interpose::NoteUnmapped(begin, bytes)) return 0;
  return coz::interpose::g_real.munmap(begin, bytes);
}

}  // extern "C"
