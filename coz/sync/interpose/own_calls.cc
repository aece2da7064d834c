// Process: target. Context: the program's threads, in the place of an instruction.
#include "coz/sync/interpose/own_calls.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>

#include "coz/base/errno_saver.h"
#include "coz/base/raw_syscall.h"
#include "coz/sync/delay/delay_ledger.h"
#include "coz/sync/interpose/call_stacks.h"
#include "coz/sync/interpose/goroutines.h"
#include "coz/sync/interpose/system_call.h"
#include "coz/sync/interpose/thread_sync.h"

namespace coz::interpose {
namespace {

static_assert(offsetof(CallStacks, top) == 0 && offsetof(CallStacks, limit) == 8);
static_assert(kCallStackBytes == 32768, "the routine below has the number, too");

template <typename T>
T* AsPointer(long value) {
  return reinterpret_cast<T*>(static_cast<uintptr_t>(value));
}

// Calls by libc's names, before which ours stand: X(number, call).
#define COZ_OWN_CALLS(X)                                                                          \
  X(SYS_read, read(fd, AsPointer<void>(b), size))                                                 \
  X(SYS_write, write(fd, AsPointer<void>(b), size))                                               \
  X(SYS_readv, readv(fd, AsPointer<iovec>(b), static_cast<int>(c)))                               \
  X(SYS_writev, writev(fd, AsPointer<iovec>(b), static_cast<int>(c)))                             \
  X(SYS_pread64, pread(fd, AsPointer<void>(b), size, d))                                          \
  X(SYS_pwrite64, pwrite(fd, AsPointer<void>(b), size, d))                                        \
  X(SYS_recvfrom, recvfrom(fd, AsPointer<void>(b), size, static_cast<int>(d),                     \
                           AsPointer<sockaddr>(e), AsPointer<socklen_t>(f)))                      \
  X(SYS_sendto, sendto(fd, AsPointer<void>(b), size, static_cast<int>(d), AsPointer<sockaddr>(e), \
                       static_cast<socklen_t>(f)))                                                \
  X(SYS_recvmsg, recvmsg(fd, AsPointer<msghdr>(b), static_cast<int>(c)))                          \
  X(SYS_sendmsg, sendmsg(fd, AsPointer<msghdr>(b), static_cast<int>(c)))                          \
  X(SYS_accept, accept(fd, AsPointer<sockaddr>(b), AsPointer<socklen_t>(c)))                      \
  X(SYS_accept4,                                                                                  \
    accept4(fd, AsPointer<sockaddr>(b), AsPointer<socklen_t>(c), static_cast<int>(d)))            \
  X(SYS_connect, connect(fd, AsPointer<sockaddr>(b), static_cast<socklen_t>(c)))                  \
  X(SYS_close, close(fd))                                                                         \
  X(SYS_dup2, dup2(fd, static_cast<int>(b)))                                                      \
  X(SYS_dup3, dup3(fd, static_cast<int>(b), static_cast<int>(c)))                                 \
  X(SYS_fsync, fsync(fd))                                                                         \
  X(SYS_fdatasync, fdatasync(fd))                                                                 \
  X(SYS_flock, flock(fd, static_cast<int>(b)))                                                    \
  X(SYS_nanosleep, nanosleep(AsPointer<timespec>(a), AsPointer<timespec>(b)))                     \
  X(SYS_epoll_create1, epoll_create1(fd))                                                         \
  X(SYS_eventfd2, eventfd(static_cast<unsigned>(a), static_cast<int>(b)))                         \
  X(SYS_epoll_ctl,                                                                                \
    epoll_ctl(fd, static_cast<int>(b), static_cast<int>(c), AsPointer<epoll_event>(d)))           \
  X(SYS_epoll_wait,                                                                               \
    epoll_wait(fd, AsPointer<epoll_event>(b), static_cast<int>(c), static_cast<int>(d)))          \
  X(SYS_epoll_pwait, epoll_pwait(fd, AsPointer<epoll_event>(b), static_cast<int>(c),              \
                                 static_cast<int>(d), AsPointer<sigset_t>(e)))

constexpr size_t kNumbers = 512;

struct Seen {
  uint64_t words[kNumbers / 64] = {};
};

constexpr Seen SeenNumbers() {
  Seen seen;
#define COZ_X(number, call) seen.words[(number) / 64] |= uint64_t{1} << ((number) % 64);
  COZ_OWN_CALLS(COZ_X)
  COZ_X(SYS_futex, )
  COZ_X(SYS_seccomp, )
  COZ_X(SYS_prctl, )
#undef COZ_X
  return seen;
}

long Make(long number, long a, long b, long c, long d, long e, long f, const void* site) {
  const auto fd = static_cast<int>(a);
  const auto size = static_cast<size_t>(c);
  switch (number) {
#define COZ_X(number, call) \
  case number:              \
    return call;
    COZ_OWN_CALLS(COZ_X)
#undef COZ_X
    default:
      return WatchedSystemCall(number, a, b, c, d, e, f, site);
  }
}

void NoteIfWouldBlock(long number, int fd) {
  if (errno != EAGAIN && errno != EINPROGRESS) return;
  switch (number) {
    case SYS_read:
    case SYS_readv:
    case SYS_recvfrom:
    case SYS_recvmsg:
    case SYS_accept:
    case SYS_accept4:
      return NoteWouldBlock(fd, IoSide::kInput);
    case SYS_write:
    case SYS_writev:
    case SYS_sendto:
    case SYS_sendmsg:
    case SYS_connect:
      return NoteWouldBlock(fd, IoSide::kOutput);
    default:
      return;
  }
}

// The calling thread owes nothing.
void CreditAll() {
  delay::ThreadLedger* const thread = CurrentThreadLedger();
  if (thread == nullptr) return;
  delay::GlobalLedger& global = *sync_internal::g_ledger;
  delay::CreditOwed(global, *thread, global.global_delay_ns.load(std::memory_order_relaxed));
}

}  // namespace

// Whether the routine takes the call, a bit for each number.
extern "C" __attribute__((visibility("hidden"), used)) const Seen coz_own_calls_seen =
    SeenNumbers();

extern "C" __attribute__((visibility("hidden"), used)) long coz_make_own_call(
    long a, long b, long c, long d, long e, long f, const void* site, long number) {
  if (SeeksGoroutine()) return RawSyscall(number, a, b, c, d, e, f);
  if (IsOfGosRuntime()) CreditAll();
  const ErrnoSaver errno_saver;
  const long result = Make(number, a, b, c, d, e, f, site);
  if (result == -1) NoteIfWouldBlock(number, static_cast<int>(a));
  return result == -1 ? -static_cast<long>(errno) : result;
}

// Registers are those of a system call: the number in rax, arguments in rdi, rsi, rdx, r10, r8 and
// r9; the kernel changes rax, rcx and r11 alone. The caller's stack is left alone. Its top word is
// read as the place that the call is made from. Vector registers are not kept, but for xmm15, which
// is zero in Go: no function of Go's keeps one across a call.
asm(".text\n"
    ".p2align 4\n"
    ".hidden coz_own_call\n"
    ".globl coz_own_call\n"
    ".type coz_own_call, @function\n"
    "coz_own_call:\n"
    "  .cfi_startproc\n"
    "  .cfi_undefined rip\n"
    "  cmpq $511, %rax\n"
    "  ja 1f\n"
    "  leaq coz_own_calls_seen(%rip), %r11\n"
    "  btq %rax, (%r11)\n"
    "  jnc 1f\n"
    "  movq %rax, %xmm0\n"
    "  movq coz_call_stacks@gottpoff(%rip), %r11\n"
    "  movq %fs:(%r11), %rax\n"
    "  cmpq %fs:8(%r11), %rax\n"
    "  jbe 2f\n"
    // One instruction: a handler that comes before it uses this stack, and has left it when the
    // thread goes on.
    "  subq $32768, %fs:(%r11)\n"
    "  movq %rsp, -8(%rax)\n"
    "  leaq -8(%rax), %rsp\n"
    "  pushq %rcx\n"
    "  pushq %rdi\n"
    "  pushq %rsi\n"
    "  pushq %rdx\n"
    "  pushq %r10\n"
    "  pushq %r8\n"
    "  pushq %r9\n"
    // The last two arguments, on a stack that is aligned then.
    "  movq 56(%rsp), %rax\n"
    "  subq $8, %rsp\n"
    "  movq %xmm0, (%rsp)\n"
    "  pushq (%rax)\n"
    "  movq %r10, %rcx\n"
    "  call coz_make_own_call\n"
    "  addq $16, %rsp\n"
    "  popq %r9\n"
    "  popq %r8\n"
    "  popq %r10\n"
    "  popq %rdx\n"
    "  popq %rsi\n"
    "  popq %rdi\n"
    "  popq %rcx\n"
    "  popq %rsp\n"
    "  movq coz_call_stacks@gottpoff(%rip), %r11\n"
    "  addq $32768, %fs:(%r11)\n"
    "  xorps %xmm15, %xmm15\n"
    "  addq $2, %rcx\n"
    "  jmpq *%rcx\n"
    "2:\n"
    "  movq %xmm0, %rax\n"
    "1:\n"
    "  jmpq *%rcx\n"
    "  .cfi_endproc\n"
    ".size coz_own_call, . - coz_own_call\n");

extern "C" __attribute__((visibility("hidden"))) void coz_own_call();

uint64_t OwnCallRoutine() {
  GiveCallStacksToThreads();
  TakeCallStacksIfGiven();
  return reinterpret_cast<uint64_t>(&coz_own_call);
}

}  // namespace coz::interpose
