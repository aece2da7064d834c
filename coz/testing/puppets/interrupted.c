/*
 * Calls visit() over and over, interrupted by signals of its own. Many come while the kernel counts
 * a breakpoint there. Then the thread stands before visit()'s first instruction, with the resume
 * flag set, so that it does not stop there again.
 *
 *   interrupted keep|clear
 *
 * ends when that has happened 100 times, or after a million visits. With `clear` the handler clears
 * the flag, as no handler should: then each of these visits is counted twice. Prints the number of
 * visits, and of such signals.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <ucontext.h>

static const greg_t kResumeFlag = 1 << 16;
static volatile int clears;
static volatile long interrupted;

__attribute__((noipa)) void visit(void) { __asm__ volatile(""); }

static void on_signal(int signo, siginfo_t* info, void* context) {
  (void)signo;
  (void)info;
  greg_t* registers = ((ucontext_t*)context)->uc_mcontext.gregs;
  if (registers[REG_RIP] != (greg_t)(uintptr_t)&visit) return;
  if ((registers[REG_EFL] & kResumeFlag) == 0) return;
  ++interrupted;
  if (clears) registers[REG_EFL] &= ~kResumeFlag;
}

int main(int argc, char** argv) {
  clears = argc > 1 && strcmp(argv[1], "clear") == 0;
  struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_RESTART};
  sigaction(SIGALRM, &action, NULL);
  const struct itimerval every = {{0, 200}, {0, 200}};
  setitimer(ITIMER_REAL, &every, NULL);
  long visits = 0;
  for (; interrupted < 100 && visits < 1000000; ++visits) visit();
  const struct itimerval never = {{0, 0}, {0, 0}};
  setitimer(ITIMER_REAL, &never, NULL);
  printf("%ld %ld\n", visits, interrupted);
  return 0;
}
