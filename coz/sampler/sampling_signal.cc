#include "coz/sampler/sampling_signal.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

#include "coz/base/raw_syscall.h"

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
  SignalHandler handler;
  unsigned long flags;
  void (*restorer)();
  uint64_t mask;
};

constexpr uint64_t MaskOf(int signo) { return uint64_t{1} << (signo - 1); }

}  // namespace

int InstallSignalHandler(int signo, SignalHandler handler) {
  const KernelSigaction action = {handler, SA_SIGINFO | SA_RESTART | SA_ONSTACK | kSaRestorer,
                                  &coz_sampler_return_from_signal, 0};
  return static_cast<int>(
      RawSyscall(SYS_rt_sigaction, signo, &action, nullptr, sizeof(action.mask)));
}

void TakeDefaultAction(int signo) {
  const KernelSigaction action = {nullptr, kSaRestorer, &coz_sampler_return_from_signal, 0};
  RawSyscall(SYS_rt_sigaction, signo, &action, nullptr, sizeof(action.mask));
  RawSyscall(SYS_tgkill, RawSyscall(SYS_getpid), RawSyscall(SYS_gettid), signo);
  UnblockSignal(signo);
}

void UnblockSignal(int signo) {
  const uint64_t mask = MaskOf(signo);
  RawSyscall(SYS_rt_sigprocmask, SIG_UNBLOCK, &mask, nullptr, sizeof(mask));
}

}  // namespace coz
