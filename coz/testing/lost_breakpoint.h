/*
 * Raises in the calling thread the signal of a hardware breakpoint whose reason a hypervisor has
 * lost: SIGTRAP with TRAP_BRKPT, at exception 1. `int1` would be simpler, but some hypervisors
 * report it behind the instruction, others at it, again and again.
 *
 * Shape    one function, for C and C++
 * Errors   ends the process by SIGTRAP where nothing handles it
 * Threads  the handler of SIGTRAP is replaced for a moment
 * Signals  not async-signal-safe
 * Source   rt_tgsigqueueinfo(2): to itself a process may send any si_code; REG_TRAPNO is the number
 *          of the thread's last exception
 */
#ifndef COZ_TESTING_LOST_BREAKPOINT_H_
#define COZ_TESTING_LOST_BREAKPOINT_H_

#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static void LeaveTrap(int signal) { (void)signal; }

static void RaiseLostBreakpoint(void) {
  struct sigaction leave;
  struct sigaction before;
  siginfo_t info;
  memset(&leave, 0, sizeof(leave));
  leave.sa_handler = LeaveTrap;
  sigaction(SIGTRAP, &leave, &before);
  /* Single steps: also exception 1. */
  __asm__ volatile(
      "lea -128(%%rsp), %%rsp\n\t"
      "pushf; orq $0x100, (%%rsp); popf\n\t"
      "pushf; andq $~0x100, (%%rsp); popf\n\t"
      "lea 128(%%rsp), %%rsp" ::
          : "memory", "cc");
  sigaction(SIGTRAP, &before, NULL); /* NOLINT(modernize-use-nullptr): C, too */
  memset(&info, 0, sizeof(info));
  info.si_signo = SIGTRAP;
  info.si_code = 1; /* TRAP_BRKPT, which strict C does not name */
  syscall(SYS_rt_tgsigqueueinfo, getpid(), syscall(SYS_gettid), SIGTRAP, &info);
}

#endif /* COZ_TESTING_LOST_BREAKPOINT_H_ */
