// sigaction and its relatives, signal masks, signalfd. Process: target. Context: the program's
// threads and signal handlers; DeliverForeignSignal: the sampling signal's handler.
#include "coz/sync/interpose/signal_shield.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>

#include "coz/base/interrupted_call.h"
#include "coz/base/kernel_sigaction.h"
#include "coz/base/raw_syscall.h"
#include "coz/base/readable.h"
#include "coz/base/sampling_signal.h"
#include "coz/sync/interpose/io_object.h"
#include "coz/sync/interpose/reserved_signals.h"
#include "coz/sync/interpose/wrapped_calls.h"

namespace coz::interpose {
namespace {

// Guards g_disposition. The lock is held with all signals blocked, so a handler of the same thread
// never finds it taken.
class DispositionLock {
 public:
  DispositionLock() {
    sigset_t all;
    sigfillset(&all);
    g_real.pthread_sigmask(SIG_BLOCK, &all, &saved_);
    while (busy_.test_and_set(std::memory_order_acquire)) {
    }
  }
  ~DispositionLock() {
    busy_.clear(std::memory_order_release);
    g_real.pthread_sigmask(SIG_SETMASK, &saved_, nullptr);
  }
  DispositionLock(const DispositionLock&) = delete;
  DispositionLock& operator=(const DispositionLock&) = delete;

  static void Break() { busy_.clear(std::memory_order_relaxed); }

 private:
  static std::atomic_flag busy_;
  sigset_t saved_;
};
std::atomic_flag DispositionLock::busy_ = ATOMIC_FLAG_INIT;

int g_reserved_signal = 0;       // 0: no shield
struct sigaction g_disposition;  // of the reserved signal, as the program sees it
bool g_keeps_masks = true;       // threads' masks and those of handlers have it, too
bool g_interrupts = false;       // what siginterrupt has set for it, for the next signal()
void (*g_restorer)() = nullptr;  // libc's, which libc sets in each action
std::atomic<void (*)()> g_on_action{nullptr};
std::atomic<bool>
    g_mask_has_reserved[_NSIG];  // for the mask of each other signal, as the program has set it
__thread uint32_t t_blocks_reserved __attribute__((tls_model("initial-exec"))) = 0;
// The number of a reserved signal that came while the program blocked it, until it is let in.
__thread int t_held_signal __attribute__((tls_model("initial-exec"))) = 0;
__thread siginfo_t t_held_info __attribute__((tls_model("initial-exec")));

bool Contains(const sigset_t* set) { return sigismember(set, g_reserved_signal) == 1; }

constexpr unsigned kRestorer = 0x04000000;

// Returns what sigaction reads back for `action`. libc adds the restorer. The kernel drops flags
// that it does not know and signals that cannot be blocked.
struct sigaction AsKept(const struct sigaction& action) {
  constexpr unsigned kExposeTagBits = 0x800;
  constexpr unsigned kKnown =
      static_cast<unsigned>(SA_NOCLDSTOP) | static_cast<unsigned>(SA_NOCLDWAIT) |
      static_cast<unsigned>(SA_SIGINFO) | static_cast<unsigned>(SA_ONSTACK) |
      static_cast<unsigned>(SA_RESTART) | static_cast<unsigned>(SA_NODEFER) |
      static_cast<unsigned>(SA_RESETHAND) | kExposeTagBits;
  struct sigaction kept = action;
  kept.sa_flags = static_cast<int>((static_cast<unsigned>(action.sa_flags) & kKnown) | kRestorer);
  kept.sa_restorer = g_restorer;
  sigdelset(&kept.sa_mask, SIGKILL);
  sigdelset(&kept.sa_mask, SIGSTOP);
  return kept;
}

void TellOfAction(int signal) {
  if (__builtin_expect(g_on_action.load(std::memory_order_relaxed) == nullptr, 1)) return;
  if (signal != g_reserved_signal) return;
  if (void (*const then)() = g_on_action.exchange(nullptr)) then();
}

int SwapDisposition(const struct sigaction* action, struct sigaction* old_action) {
  const DispositionLock lock;
  const struct sigaction old = g_disposition;
  if (action != nullptr) g_disposition = AsKept(*action);
  if (old_action != nullptr) *old_action = old;
  return 0;
}

// Notes that a signal other than the reserved one has a new action.
void NoteAction(int signal) {
  const DispositionLock lock;
  if (g_reserved_signal != 0) NoteSignalAction(signal);
}

// sigaction for a signal other than the reserved one.
int SetOwnAction(int signal, const struct sigaction* action, struct sigaction* old_action) {
  const bool in_range = signal > 0 && signal < _NSIG;
  const bool old_mask_had = in_range && g_mask_has_reserved[signal].load(std::memory_order_relaxed);
  int result;
  if (action != nullptr) {
    struct sigaction without = *action;
    if (g_keeps_masks) without.sa_mask = WithoutReservedSignals(action->sa_mask);
    const bool mask_has = g_keeps_masks && Contains(&action->sa_mask);
    result = g_real.sigaction(signal, &without, old_action);
    if (result == 0 && in_range) {
      g_mask_has_reserved[signal].store(mask_has, std::memory_order_relaxed);
      NoteAction(signal);
    }
  } else {
    result = g_real.sigaction(signal, nullptr, old_action);
  }
  if (result == 0 && old_action != nullptr && old_mask_had) {
    sigaddset(&old_action->sa_mask, g_reserved_signal);
  }
  return result;
}

// signal() for the reserved signal.
SignalHandler SetReservedHandler(SignalHandler handler, int flags) {
  if (handler == SIG_ERR) {
    errno = EINVAL;
    return SIG_ERR;
  }
  struct sigaction action = {};
  action.sa_handler = handler;
  action.sa_flags = flags;
  if ((flags & SA_NODEFER) == 0) sigaddset(&action.sa_mask, g_reserved_signal);
  struct sigaction old = {};
  SwapDisposition(&action, &old);
  return old.sa_handler;
}

// signal() for another signal, by libc's call. The handler's mask then has only the signal itself.
SignalHandler SetOwnHandler(SignalHandler (*real_call)(int, SignalHandler), int number,
                            SignalHandler handler) {
  const SignalHandler old = real_call(number, handler);
  if (old == SIG_ERR) return old;
  g_mask_has_reserved[number].store(false, std::memory_order_relaxed);
  NoteAction(number);
  return old;
}

// Returns the virtual mask bit after a call of sigprocmask.
uint32_t BlocksAfter(int how, const sigset_t* set, uint32_t before) {
  if (set == nullptr) return before;
  const uint32_t in_set = Contains(set) ? 1 : 0;
  switch (how) {
    case SIG_BLOCK:
      return before | in_set;
    case SIG_UNBLOCK:
      return before & ~in_set;
    default:
      return in_set;
  }
}

// Sends the held signal again, with its siginfo.
void RaiseHeldSignal() {
  const int signal = t_held_signal;
  t_held_signal = 0;
  RawSyscall(SYS_rt_tgsigqueueinfo, RawSyscall(SYS_getpid), RawSyscall(SYS_gettid), signal,
             &t_held_info);
}

template <typename RealCall>
int ChangeMask(RealCall real_call, int how, const sigset_t* set, sigset_t* old_set) {
  if (g_reserved_signal == 0 || !g_keeps_masks) return real_call(how, set, old_set);
  const uint32_t before = t_blocks_reserved;
  const uint32_t after =
      BlocksAfter(how, set, before);  // `set` and `old_set` may be the same object
  int result;
  if (set != nullptr) {
    const sigset_t without = WithoutReservedSignals(*set);
    result = real_call(how, &without, old_set);
  } else {
    result = real_call(how, nullptr, old_set);
  }
  if (result != 0) return result;
  t_blocks_reserved = after;
  if (after == 0 && t_held_signal != 0) RaiseHeldSignal();
  if (old_set != nullptr && before != 0) sigaddset(old_set, g_reserved_signal);
  return 0;
}

}  // namespace

namespace {

// Takes over the disposition that the signal has.
void TakeDisposition(int reserved_signal) {
  g_real.sigaction(reserved_signal, nullptr, &g_disposition);
  struct sigaction same = g_disposition;
  g_real.sigaction(reserved_signal, &same, nullptr);
  g_real.sigaction(reserved_signal, nullptr, &same);
  g_restorer = same.sa_restorer;
}

void Reserve(int reserved_signal) {
  sigset_t reserved;
  sigemptyset(&reserved);
  sigaddset(&reserved, reserved_signal);
  SetReservedSignals(reserved);
  g_reserved_signal = reserved_signal;
}

}  // namespace

void InitSignalShield(int reserved_signal) {
  TakeDisposition(reserved_signal);
  sigset_t mask;
  g_real.pthread_sigmask(SIG_BLOCK, nullptr, &mask);
  t_blocks_reserved = sigismember(&mask, reserved_signal) == 1 ? 1 : 0;
  Reserve(reserved_signal);
}

void InitSignalShieldLate(int reserved_signal) {
  if (HasSignalShield()) return;
  g_keeps_masks = false;
  TakeDisposition(reserved_signal);
  Reserve(reserved_signal);
}

namespace {

bool g_lets_in_late = false;  // since LetReservedSignalIn

// Puts the signal into the masks of other signals' handlers, or takes it out.
template <typename Change>
void ChangeHandlerMasks(Change change) {
  for (int signal = 1; signal < _NSIG; ++signal) {
    struct sigaction action = {};
    if (signal == g_reserved_signal || g_real.sigaction(signal, nullptr, &action) != 0) continue;
    if (change(signal, &action.sa_mask)) g_real.sigaction(signal, &action, nullptr);
  }
}

}  // namespace

void LetReservedSignalIn() {
  if (g_keeps_masks || g_reserved_signal == 0) return;
  g_keeps_masks = true;
  g_lets_in_late = true;
  ChangeHandlerMasks([](int signal, sigset_t* mask) {
    if (!Contains(mask)) return false;
    sigdelset(mask, g_reserved_signal);
    g_mask_has_reserved[signal].store(true, std::memory_order_relaxed);
    return true;
  });
}

void GiveMasksBack() {
  if (!g_lets_in_late || g_reserved_signal == 0) return;
  g_keeps_masks = false;
  g_lets_in_late = false;
  ChangeHandlerMasks([](int signal, sigset_t* mask) {
    if (!g_mask_has_reserved[signal].exchange(false, std::memory_order_relaxed)) return false;
    sigaddset(mask, g_reserved_signal);
    return true;
  });
}

bool HasSignalShield() { return g_reserved_signal != 0; }

void AwaitReservedAction(void (*then)()) { g_on_action.store(then); }

bool AwaitsReservedAction() { return g_on_action.load(std::memory_order_relaxed) != nullptr; }

namespace {

// The kernel adds no restorer, and keeps the one that it gets.
KernelSigaction SwapKernelDisposition(const KernelSigaction* action) {
  const DispositionLock lock;
  KernelSigaction old = {};
  old.handler = reinterpret_cast<uint64_t>(g_disposition.sa_handler);
  old.flags = static_cast<uint32_t>(g_disposition.sa_flags);
  old.restorer = reinterpret_cast<uint64_t>(g_disposition.sa_restorer);
  memcpy(&old.mask, &g_disposition.sa_mask, sizeof(old.mask));
  if (action == nullptr) return old;
  struct sigaction wanted = {};
  wanted.sa_handler = reinterpret_cast<SignalHandler>(action->handler);
  wanted.sa_flags = static_cast<int>(action->flags);
  memcpy(&wanted.sa_mask, &action->mask, sizeof(action->mask));
  g_disposition = AsKept(wanted);
  g_disposition.sa_restorer = reinterpret_cast<void (*)()>(action->restorer);
  const uint64_t without_restorer = ~uint64_t{kRestorer} | action->flags;
  g_disposition.sa_flags &= static_cast<int>(without_restorer);
  return old;
}

}  // namespace

long RtSigaction(long signal, long action, long old_action, long mask_bytes) {
  const auto system_call = [=](long new_action) {
    return g_real.syscall(SYS_rt_sigaction, signal, new_action, old_action, mask_bytes, 0L, 0L);
  };
  const auto* const given = reinterpret_cast<const KernelSigaction*>(action);
  auto* const old = reinterpret_cast<KernelSigaction*>(old_action);
  const int number = static_cast<int>(signal);
  if (given != nullptr) TellOfAction(number);
  // The kernel says what is wrong with the arguments.
  const bool is_ours = g_reserved_signal != 0 && number == g_reserved_signal &&
                       mask_bytes == sizeof(KernelSigaction::mask) &&
                       (given == nullptr || IsReadable(given, sizeof(*given)));
  if (!is_ours) {
    const long result = system_call(action);
    if (result == 0 && given != nullptr && number != g_reserved_signal) NoteAction(number);
    return result;
  }
  KernelSigaction copy = {};
  if (given != nullptr) copy = *given;
  const KernelSigaction before = SwapKernelDisposition(given != nullptr ? &copy : nullptr);
  if (old == nullptr) return 0;
  const long result = system_call(0);  // whether it can be written
  if (result == 0) *old = before;
  return result;
}

namespace {

// Sets the mask that the kernel would set while a handler of `action` runs. The return from the
// signal restores the old mask.
void MaskForHandler(const struct sigaction& action) {
  const sigset_t also = WithoutReservedSignals(action.sa_mask);
  g_real.pthread_sigmask(SIG_BLOCK, &also, nullptr);
  if ((action.sa_flags & SA_NODEFER) == 0 || Contains(&action.sa_mask)) return;
  sigset_t only;
  sigemptyset(&only);
  sigaddset(&only, g_reserved_signal);
  g_real.pthread_sigmask(SIG_UNBLOCK, &only, nullptr);
}

}  // namespace

void DeliverForeignSignal(int signal, siginfo_t* info, void* context) {
  // A mask blocks only signals that are sent. It does not block one that the program's own
  // instruction raises, such as int3; that one has si_code > 0.
  if (t_blocks_reserved != 0 && info->si_code <= 0) {
    t_held_info = *info;
    t_held_signal = signal;
    return;
  }
  struct sigaction action;
  SwapDisposition(nullptr, &action);
  // The kernel does not let a program ignore such a signal either.
  const bool ignored = action.sa_handler == SIG_IGN && info->si_code <= 0;
  if (ignored) return;
  if (action.sa_handler == SIG_DFL || action.sa_handler == SIG_IGN) {
    TakeDefaultAction(signal);
    return;
  }
  if ((action.sa_flags & static_cast<int>(SA_RESETHAND)) != 0) {
    struct sigaction standard = action;  // the kernel keeps its flags and mask
    standard.sa_handler = SIG_DFL;
    SwapDisposition(&standard, nullptr);
  }
  if ((action.sa_flags & SA_RESTART) == 0) EndInterruptedCall(static_cast<ucontext_t*>(context));
  MaskForHandler(action);
  if ((action.sa_flags & SA_SIGINFO) != 0) {
    action.sa_sigaction(signal, info, context);
  } else {
    action.sa_handler(signal);
  }
}

void LiftSignalShield() {
  if (g_reserved_signal == 0) return;
  const int signal = g_reserved_signal;
  {
    const DispositionLock lock;
    g_reserved_signal = 0;
  }
  sigset_t none;
  sigemptyset(&none);
  SetReservedSignals(none);
  g_real.sigaction(signal, &g_disposition, nullptr);
  if (t_blocks_reserved != 0) {
    sigset_t only;
    sigemptyset(&only);
    sigaddset(&only, signal);
    g_real.pthread_sigmask(SIG_BLOCK, &only, nullptr);
  }
}

void OnForkInSignalShield() { DispositionLock::Break(); }

uint32_t BlocksReservedSignal() { return t_blocks_reserved; }
void SetBlocksReservedSignal(uint32_t blocks) { t_blocks_reserved = blocks; }

}  // namespace coz::interpose

using coz::interpose::g_real;
using coz::interpose::g_reserved_signal;

extern "C" {

int sigaction(int signal, const struct sigaction* action, struct sigaction* old_action) noexcept {
  if (action != nullptr) coz::interpose::TellOfAction(signal);
  if (g_reserved_signal == 0) return g_real.sigaction(signal, action, old_action);
  if (signal == g_reserved_signal) return coz::interpose::SwapDisposition(action, old_action);
  return coz::interpose::SetOwnAction(signal, action, old_action);
}
COZ_SECOND_NAME(__sigaction, sigaction);

coz::interpose::SignalHandler signal(int number, coz::interpose::SignalHandler handler) noexcept {
  coz::interpose::TellOfAction(number);
  if (g_reserved_signal == 0) return g_real.signal(number, handler);
  if (number != g_reserved_signal)
    return coz::interpose::SetOwnHandler(g_real.signal, number, handler);
  return coz::interpose::SetReservedHandler(handler, coz::interpose::g_interrupts ? 0 : SA_RESTART);
}
COZ_SECOND_NAME(ssignal, signal);
COZ_SECOND_NAME(bsd_signal, signal);

coz::interpose::SignalHandler sysv_signal(int number,
                                          coz::interpose::SignalHandler handler) noexcept {
  coz::interpose::TellOfAction(number);
  if (g_reserved_signal == 0) return g_real.sysv_signal(number, handler);
  if (number != g_reserved_signal)
    return coz::interpose::SetOwnHandler(g_real.sysv_signal, number, handler);
  return coz::interpose::SetReservedHandler(handler, static_cast<int>(SA_RESETHAND | SA_NODEFER));
}
// signal() is this call where _XOPEN_SOURCE is defined.
COZ_SECOND_NAME(__sysv_signal, sysv_signal);

int siginterrupt(int number, int interrupt) noexcept {
  if (g_reserved_signal != 0 && number == g_reserved_signal) {
    coz::interpose::g_interrupts = interrupt != 0;
    struct sigaction action;
    coz::interpose::SwapDisposition(nullptr, &action);
    action.sa_flags = interrupt != 0 ? action.sa_flags & ~SA_RESTART : action.sa_flags | SA_RESTART;
    return coz::interpose::SwapDisposition(&action, nullptr);
  }
  const int result = g_real.siginterrupt(number, interrupt);
  if (result == 0) coz::interpose::NoteAction(number);
  return result;
}

int sigprocmask(int how, const sigset_t* set, sigset_t* old_set) noexcept {
  return coz::interpose::ChangeMask(g_real.sigprocmask, how, set, old_set);
}

int pthread_sigmask(int how, const sigset_t* set, sigset_t* old_set) noexcept {
  return coz::interpose::ChangeMask(g_real.pthread_sigmask, how, set, old_set);
}

int sigpending(sigset_t* set) noexcept {
  const long result = coz::RawSyscall(SYS_rt_sigpending, set, sizeof(uint64_t));
  if (result < 0) {
    errno = static_cast<int>(-result);
    return -1;
  }
  if (coz::interpose::t_held_signal != 0) sigaddset(set, coz::interpose::t_held_signal);
  return 0;
}

int signalfd(int fd, const sigset_t* mask, int flags) noexcept {
  if (g_reserved_signal == 0 || !coz::interpose::IsReadableSet(mask)) {
    return g_real.signalfd(fd, mask, flags);
  }
  const sigset_t without = coz::interpose::WithoutReservedSignals(*mask);
  const int result = g_real.signalfd(fd, &without, flags);
  if (result >= 0) coz::interpose::NoteSignalDescriptor(result);
  return result;
}

}  // extern "C"
