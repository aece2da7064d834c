/*
 * Calls functions a known number of times, in many ways, and prints how often.
 *
 *   called
 *
 * Five functions `step_…`, and `looped`, whose first bytes a loop leads back to. They are called by
 * four threads, by a child of fork, in a handler of SIGTRAP (raised, and by an int3 of the
 * program's own), and while SIGTRAP is blocked. Each step also visits the mark "step". Prints the
 * calls of all steps together, then those of looped. A wrong result ends it with status 1.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "coz.h"

enum { kThreads = 4, kRounds = 20000 };

struct counts {
  atomic_long steps;
  atomic_long loops;
};
static struct counts* counts;

#define STEP(name, by)                                     \
  __attribute__((noipa)) static long step_##name(long x) { \
    COZ_PROGRESS_NAMED("step");                            \
    return x + (by);                                       \
  }
STEP(a, 1)
STEP(b, 2)
STEP(c, 3)
STEP(d, 4)
STEP(e, 5)

/* Returns 0 when it has counted down. Before the loop are two instructions of a byte each, where no
 * jump has room, so that only an int3 can count it. */
long looped(long rounds);
__asm__(
    ".text\n"
    ".globl looped\n"
    ".type looped, @function\n"
    "looped:\n"
    "  push %rbx\n"
    "  push %rbx\n"
    "1:\n"
    "  dec %edi\n"
    "  jnz 1b\n"
    "  pop %rbx\n"
    "  pop %rbx\n"
    "  mov %edi, %eax\n"
    "  ret\n"
    ".size looped, .-looped\n");

static void check(int is_right) {
  if (!is_right) _exit(1);
}

static void call_all(void) {
  check(step_e(step_d(step_c(step_b(step_a(0))))) == 15);
  check(looped(3) == 0);
  atomic_fetch_add(&counts->steps, 5);
  atomic_fetch_add(&counts->loops, 1);
}

static void* work(void* unused) {
  for (int i = 0; i < kRounds; ++i) call_all();
  return unused;
}

static void on_trap(int signal) {
  (void)signal;
  call_all();
}

int main(void) {
  counts = mmap(NULL, sizeof(*counts), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  const struct sigaction action = {.sa_handler = on_trap};
  sigaction(SIGTRAP, &action, NULL);
  pthread_t threads[kThreads];
  for (int i = 0; i < kThreads; ++i) pthread_create(&threads[i], NULL, work, NULL);
  for (int i = 0; i < 100; ++i) {
    raise(SIGTRAP);
    __asm__ volatile("int3");
  }
  sigset_t trap;
  sigemptyset(&trap);
  sigaddset(&trap, SIGTRAP);
  pthread_sigmask(SIG_BLOCK, &trap, NULL);
  for (int i = 0; i < 100; ++i) call_all();
  const pid_t child = fork();
  if (child == 0) {
    for (int i = 0; i < 1000; ++i) call_all();
    exit(0);
  }
  int status = 1;
  waitpid(child, &status, 0);
  for (int i = 0; i < kThreads; ++i) pthread_join(threads[i], NULL);
  printf("%ld %ld\n", atomic_load(&counts->steps), atomic_load(&counts->loops));
  return status == 0 ? 0 : 1;
}
