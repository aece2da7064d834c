// Wraps libc's clone(), where the child is a copy of the process. Sandboxes make their processes by
// it, since it takes flags that fork has not. Process: target. Context: the program's threads.
#include <sys/syscall.h>

#include <cerrno>

#include "coz/base/raw_syscall.h"
#include "coz/sync/interpose/process_end.h"
#include "coz/sync/interpose/raw_clone.h"
#include "coz/sync/interpose/thread_sync.h"
#include "coz/sync/interpose/wrapped_calls.h"

// Calls function(argument) on `stack`. Nothing lies behind it.
extern "C" __attribute__((visibility("hidden"))) void coz_run_on_stack(void* stack,
                                                                       int (*function)(void*),
                                                                       void* argument);

asm(".text\n"
    ".p2align 4\n"
    ".hidden coz_run_on_stack\n"
    ".globl coz_run_on_stack\n"
    ".type coz_run_on_stack, @function\n"
    "coz_run_on_stack:\n"
    "  .cfi_startproc\n"
    "  .cfi_undefined rip\n"
    "  movq %rdi, %rsp\n"
    "  andq $-16, %rsp\n"
    "  xorl %ebp, %ebp\n"
    "  movq %rdx, %rdi\n"
    "  call *%rsi\n"
    "  movl %eax, %edi\n"
    "  call coz_end_of_clone\n"
    "  hlt\n"
    "  .cfi_endproc\n"
    ".size coz_run_on_stack, . - coz_run_on_stack\n");

// As libc ends it: no handler runs, and nothing is written out.
extern "C" __attribute__((visibility("hidden"), used)) void coz_end_of_clone(int status) {
  coz::interpose::PayBeforeProcessEnds();
  coz::RawSyscall(SYS_exit, status);
  __builtin_unreachable();
}

namespace coz::interpose {
namespace {

// The child learns that it is new on its copy of the parent's stack. The one that the program gives
// it may have room for little more than a longjmp.
[[gnu::noinline]] int CopyProcess(int (*function)(void*), void* stack, int flags, void* argument,
                                  void* parent_tid, void* tls, void* child_tid) {
  BeforeRawFork();
  const long child = RawSyscall(SYS_clone, flags, nullptr, parent_tid, child_tid, tls);
  AfterRawFork(child);
  if (child == 0) coz_run_on_stack(stack, function, argument);
  if (child > 0) return static_cast<int>(child);
  errno = static_cast<int>(-child);
  return -1;
}

}  // namespace
}  // namespace coz::interpose

// Not variadic: all arguments arrive, whatever the caller has passed, and the kernel reads those
// for which a flag is set.
extern "C" int CozClone(int (*function)(void*), void* stack, int flags, void* argument,
                        void* parent_tid, void* tls, void* child_tid) asm("clone");

int CozClone(int (*function)(void*), void* stack, int flags, void* argument, void* parent_tid,
             void* tls, void* child_tid) {
  using namespace coz::interpose;  // NOLINT(google-build-using-namespace)
  const bool is_valid = function != nullptr && stack != nullptr;
  if (is_valid && !HasLeftThreadSync() && CopiesProcess(SYS_clone, flags, 0)) {
    return CopyProcess(function, stack, flags, argument, parent_tid, tls, child_tid);
  }
  return g_real.clone(function, stack, flags, argument, parent_tid, tls, child_tid);
}
COZ_SECOND_NAME(__clone, clone);
