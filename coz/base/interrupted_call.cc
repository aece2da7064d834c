#include "coz/base/interrupted_call.h"

#include <linux/futex.h>
#include <sys/syscall.h>

#include <atomic>
#include <cerrno>
#include <cstring>

#include "coz/base/ring_wait.h"
#include "coz/base/signal_mask.h"

#ifndef SYS_futex_waitv
#define SYS_futex_waitv 449
#endif

namespace coz {
namespace {

constexpr int kSyscallBytes = 2;

std::atomic<uint64_t> signals_that_end_calls{0};
std::atomic<uint64_t> signals_that_end_ring_waits{0};
std::atomic<bool> has_ring_waits{false};

// SA_RESTART does not matter to other calls (fork, a lock with priority inheritance).
bool MayBeEndedBySignals(const greg_t* registers) {
  switch (registers[REG_RAX]) {
    case SYS_read:
    case SYS_readv:
    case SYS_pread64:
    case SYS_preadv:
    case SYS_preadv2:
    case SYS_write:
    case SYS_writev:
    case SYS_pwrite64:
    case SYS_pwritev:
    case SYS_pwritev2:
    case SYS_splice:
    case SYS_tee:
    case SYS_vmsplice:
    case SYS_sendfile:
    case SYS_ioctl:
    case SYS_open:
    case SYS_openat:
    case SYS_creat:
    case SYS_wait4:
    case SYS_waitid:
    case SYS_accept:
    case SYS_accept4:
    case SYS_connect:
    case SYS_recvfrom:
    case SYS_recvmsg:
    case SYS_recvmmsg:
    case SYS_sendto:
    case SYS_sendmsg:
    case SYS_sendmmsg:
    case SYS_flock:
    case SYS_fcntl:
    case SYS_mq_timedsend:
    case SYS_mq_timedreceive:
    case SYS_getrandom:
    case SYS_futex_waitv:
      return true;
    case SYS_futex: {
      const auto operation = registers[REG_RSI] & FUTEX_CMD_MASK;
      return operation == FUTEX_WAIT || operation == FUTEX_WAIT_BITSET;
    }
    default:
      return false;
  }
}

bool IsToBeRestarted(const ucontext_t& context) {
  const greg_t* registers = context.uc_mcontext.gregs;
  return registers[REG_RCX] == registers[REG_RIP] + kSyscallBytes &&
         registers[REG_R11] == registers[REG_EFL] && MayBeEndedBySignals(registers);
}

uint64_t MaskIn(const ucontext_t& context) {
  uint64_t mask;
  memcpy(&mask, &context.uc_sigmask, sizeof(mask));
  return mask;
}

}  // namespace

uint64_t SignalsThatEndCalls() {
  const bool rings = has_ring_waits.load(std::memory_order_relaxed);
  return (rings ? signals_that_end_ring_waits : signals_that_end_calls)
      .load(std::memory_order_relaxed);
}

void AddHandledSignal(int signo, bool restarts_calls) {
  const uint64_t signal = SignalMaskOf(signo);
  signals_that_end_ring_waits.fetch_or(signal, std::memory_order_relaxed);
  if (!restarts_calls) signals_that_end_calls.fetch_or(signal, std::memory_order_relaxed);
}

bool NoteRingWaits() {
  if (has_ring_waits.load(std::memory_order_relaxed)) return false;
  return !has_ring_waits.exchange(true, std::memory_order_relaxed);
}

InterruptedCall::InterruptedCall(ucontext_t* context)
    : context_(context), held_(SignalsThatEndCalls()), waits_for_ring_(MayBeCutRingWait(*context)) {
  if (__builtin_expect(held_ == 0, 1)) return;
  held_ &= ~MaskIn(*context);
  if (held_ == 0 || waits_for_ring_ || IsToBeRestarted(*context)) return;
  UnblockSignals(held_);
  held_ = 0;
}

void InterruptedCall::End() {
  if (!waits_for_ring_) return EndIfSignalled();
  if (held_ != 0 && (PendingSignals() & held_) != 0) return LeaveRingWait(context_);
  GoOnWithRingWait(context_, BlockedSignals() & ~held_);
}

void InterruptedCall::EndIfSignalled() {
  const uint64_t ends = held_ & signals_that_end_calls.load(std::memory_order_relaxed);
  if ((PendingSignals() & ends) != 0) EndInterruptedCall(context_);
}

void InterruptedCall::Settle() {
  if (waits_for_ring_) LeaveRingWait(context_);
  waits_for_ring_ = false;
  if (held_ == 0) return;
  EndIfSignalled();
  UnblockSignals(held_);
  held_ = 0;
}

void EndInterruptedCall(ucontext_t* context) {
  if (!IsToBeRestarted(*context)) return;
  greg_t* registers = context->uc_mcontext.gregs;
  registers[REG_RAX] = -EINTR;
  registers[REG_RIP] += kSyscallBytes;
}

}  // namespace coz
