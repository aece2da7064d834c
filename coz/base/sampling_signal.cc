#include "coz/base/sampling_signal.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

#include "coz/base/interrupted_call.h"
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
constexpr unsigned long kSaRestorer = 0x04000000;

struct KernelSigaction {
  SiginfoHandler handler;
  unsigned long flags;
  void (*restorer)();
  uint64_t mask;
};

constexpr int kMaxSignal = 64;

int installed_signo = 0;
SiginfoHandler installed_handler = nullptr;

int Install() {
  const KernelSigaction action = {installed_handler,
                                  SA_SIGINFO | SA_RESTART | SA_ONSTACK | kSaRestorer,
                                  &coz_sampler_return_from_signal, SignalsThatEndCalls()};
  return static_cast<int>(
      RawSyscall(SYS_rt_sigaction, installed_signo, &action, nullptr, sizeof(action.mask)));
}

// A thread's own instructions raise these. If one is raised while blocked, the process ends.
constexpr uint64_t kSynchronous = SignalMaskOf(SIGSEGV) | SignalMaskOf(SIGBUS) |
                                  SignalMaskOf(SIGILL) | SignalMaskOf(SIGTRAP) |
                                  SignalMaskOf(SIGFPE) | SignalMaskOf(SIGSYS);

// SIG_DFL and SIG_IGN are 0 and 1.
bool EndsCalls(const KernelSigaction& action) {
  return reinterpret_cast<uintptr_t>(action.handler) > 1 && (action.flags & SA_RESTART) == 0;
}

bool NoteIfItEndsCalls(int signo) {
  KernelSigaction action = {};
  if ((kSynchronous & SignalMaskOf(signo)) != 0 || signo == installed_signo) return false;
  if (RawSyscall(SYS_rt_sigaction, signo, nullptr, &action, sizeof(action.mask)) != 0) return false;
  if (!EndsCalls(action)) return false;
  AddSignalThatEndsCalls(signo);
  return true;
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

void TakeDefaultAction(int signo) {
  const KernelSigaction action = {nullptr, kSaRestorer, &coz_sampler_return_from_signal, 0};
  RawSyscall(SYS_rt_sigaction, signo, &action, nullptr, sizeof(action.mask));
  RawSyscall(SYS_tgkill, RawSyscall(SYS_getpid), RawSyscall(SYS_gettid), signo);
  UnblockSignal(signo);
}

void UnblockSignal(int signo) { UnblockSignals(SignalMaskOf(signo)); }

}  // namespace coz
