#include "coz/base/sampling_signal.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>

#include "coz/base/interrupted_call.h"
#include "coz/base/kernel_sigaction.h"
#include "coz/base/raw_syscall.h"
#include "coz/base/signal_mask.h"

// Unwinders and debuggers that find no call frame information know a return from a signal handler
// by exactly these bytes. They look up the return address - 1, hence the nop before the label.
asm(R"(
  .text
  .balign 16
  nop
  .hidden coz_sampler_return_from_signal
  .globl coz_sampler_return_from_signal
  .type coz_sampler_return_from_signal, @function
coz_sampler_return_from_signal:
  movq $15, %rax
  syscall
  .size coz_sampler_return_from_signal, . - coz_sampler_return_from_signal
)");

extern "C" void coz_sampler_return_from_signal();

namespace coz {
namespace {

static_assert(SYS_rt_sigreturn == 15);
constexpr uint64_t kSaRestorer = 0x04000000;

constexpr int kMaxSignal = 64;

int installed_signo = 0;
SiginfoHandler installed_handler = nullptr;
std::atomic<uint64_t> on_stack{SA_ONSTACK};

KernelSigaction ActionOf(SiginfoHandler handler, uint64_t flags, uint64_t mask) {
  return {reinterpret_cast<uint64_t>(handler), flags | kSaRestorer,
          reinterpret_cast<uint64_t>(&coz_sampler_return_from_signal), mask};
}

KernelSigaction WantedAction() {
  return ActionOf(installed_handler, SA_SIGINFO | SA_RESTART | on_stack.load(),
                  SignalsThatEndCalls());
}

// Of two threads that change what is wanted, one may set its action after the other and without
// the other's change. It sees that, and sets the action again.
int Install() {
  for (;;) {
    const KernelSigaction action = WantedAction();
    const int error = static_cast<int>(SetKernelSigaction(installed_signo, action));
    const KernelSigaction wanted = WantedAction();
    if (error != 0 || (wanted.flags == action.flags && wanted.mask == action.mask)) return error;
  }
}

// A thread's own instructions raise these. If one is raised while blocked, the process ends.
constexpr uint64_t kSynchronous = SignalMaskOf(SIGSEGV) | SignalMaskOf(SIGBUS) |
                                  SignalMaskOf(SIGILL) | SignalMaskOf(SIGTRAP) |
                                  SignalMaskOf(SIGFPE) | SignalMaskOf(SIGSYS);

// Whether the handler of samples has to begin with the signal blocked.
bool NoteIfItEndsCalls(int signo) {
  KernelSigaction action = {};
  if ((kSynchronous & SignalMaskOf(signo)) != 0 || signo == installed_signo) return false;
  if (GetKernelSigaction(signo, &action) != 0 || action.handler <= 1) return false;
  AddHandledSignal(signo, (action.flags & SA_RESTART) != 0);
  return (SignalsThatEndCalls() & SignalMaskOf(signo)) != 0;
}

}  // namespace

int InstallSignalHandler(int signo, SiginfoHandler handler) {
  installed_signo = signo;
  installed_handler = handler;
  for (int other = 1; other <= kMaxSignal; ++other) NoteIfItEndsCalls(other);
  return Install();
}

void NoteSignalAction(int signo) {
  if (NoteIfItEndsCalls(signo) && installed_handler != nullptr) Install();
}

void HoldSignalsThatEndRingWaits() {
  if (NoteRingWaits() && installed_handler != nullptr) Install();
}

namespace {

// The program may have its own action back (a child of fork that is not profiled).
bool IsInstalled() {
  KernelSigaction action = {};
  return installed_handler != nullptr && GetKernelSigaction(installed_signo, &action) == 0 &&
         action.handler == reinterpret_cast<uint64_t>(installed_handler);
}

}  // namespace

void HandleOffAlternateStacks() {
  if (on_stack.exchange(0) != 0 && IsInstalled()) Install();
}

void TakeDefaultAction(int signo) {
  SetKernelSigaction(signo, ActionOf(nullptr, 0, 0));
  RawSyscall(SYS_tgkill, RawSyscall(SYS_getpid), RawSyscall(SYS_gettid), signo);
  UnblockSignal(signo);
}

void UnblockSignal(int signo) { UnblockSignals(SignalMaskOf(signo)); }

}  // namespace coz
