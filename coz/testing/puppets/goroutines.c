/*
 * Two threads that take turns as goroutines of Go do.
 *   goroutines SECONDS
 *
 * Work of 2 ms in `heavy` alternates with a little work of the other thread. They wait by futexes
 * that they call themselves, and pass functions named and called like those of Go's scheduler. To
 * whoever looks at its file it is a Go program. With COZ_OTHER_VERSION its scheduler lacks a
 * function. Each round is a progress point. It prints "done", and its exit status is 7.
 */
#define _GNU_SOURCE
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "coz.h"

__attribute__((section(".note.go.buildid"), used, aligned(4))) static const struct {
  uint32_t name_bytes, description_bytes, type;
  char name[4], description[4];
} go_note = {4, 4, 4, "Go", "abc"};

/* Arguments of the first are on the stack, of the others in rax and rbx. r14 is the running
   goroutine, which has the limit of the stack. */
__asm__(
    ".macro SCHEDULER name\n"
    ".globl runtime.\\name\n"
    ".type runtime.\\name, @function\n"
    "runtime.\\name:\n"
    "  cmp 16(%r14), %rsp\n"
    "  jbe 1f\n"
    "  mov %rax, %rcx\n"
    "  mov %rbx, %rdx\n"
    "  ret\n"
    "1: ud2\n"
    ".size runtime.\\name, . - runtime.\\name\n"
    ".p2align 4\n"
    ".endm\n"
    ".text\n"
    ".p2align 4\n"
    ".globl runtime.futex.abi0\n"
    ".type runtime.futex.abi0, @function\n"
    "runtime.futex.abi0:\n"
    "  mov 8(%rsp), %rdi\n"
    "  mov 16(%rsp), %esi\n"
    "  mov 20(%rsp), %edx\n"
    "  mov 24(%rsp), %r10\n"
    "  mov $202, %eax\n"
    "  syscall\n"
    "  mov %eax, 48(%rsp)\n"
    "  ret\n"
    ".size runtime.futex.abi0, . - runtime.futex.abi0\n"
    ".p2align 4\n"
    "SCHEDULER park_m\n"
    "SCHEDULER exitsyscall0\n"
    "SCHEDULER preemptPark\n"
    "SCHEDULER goyield_m\n"
    "SCHEDULER goschedImpl\n"
#ifndef COZ_OTHER_VERSION
    "SCHEDULER goexit0\n"
#endif
    "SCHEDULER runqput\n"
    "SCHEDULER execute\n"
    "SCHEDULER gcBgMarkWorker.func1\n"
    "SCHEDULER netpollblockcommit\n"
    "SCHEDULER stopTheWorldWithSema\n"
    "SCHEDULER forEachP\n"
    ".globl call_futex\n"
    ".type call_futex, @function\n"
    "call_futex:\n"
    "  sub $56, %rsp\n"
    "  mov %rdi, (%rsp)\n"
    "  mov %esi, 8(%rsp)\n"
    "  mov %edx, 12(%rsp)\n"
    "  movq $0, 16(%rsp)\n"
    "  call runtime.futex.abi0\n"
    "  mov 40(%rsp), %eax\n"
    "  add $56, %rsp\n"
    "  ret\n"
    ".size call_futex, . - call_futex\n"
    ".globl call_scheduler\n"
    ".type call_scheduler, @function\n"
    "call_scheduler:\n"
    "  push %rbx\n"
    "  push %r14\n"
    "  lea no_limit(%rip), %r14\n"
    "  mov %rsi, %rax\n"
    "  mov %rdx, %rbx\n"
    "  call *%rdi\n"
    "  pop %r14\n"
    "  pop %rbx\n"
    "  ret\n"
    ".size call_scheduler, . - call_scheduler\n"
    ".local no_limit\n"
    ".comm no_limit, 32\n");

int call_futex(uint32_t* word, int operation, uint32_t value);
void call_scheduler(void (*function)(void), uint64_t first, uint64_t second);
void park_m(void) __asm__("runtime.park_m");
void runqput(void) __asm__("runtime.runqput");
void execute(void) __asm__("runtime.execute");

struct goroutine {
  uint32_t word;
  uint64_t address;
} goroutines[2] = {{0, 0xc000001000}, {0, 0xc000002000}};

static void make_ready(struct goroutine* other) {
  call_scheduler(runqput, 0xc000040000, other->address);
  __atomic_store_n(&other->word, 1, __ATOMIC_SEQ_CST);
  call_futex(&other->word, FUTEX_WAKE_PRIVATE, 1);
}

static void wait_until_ready(struct goroutine* own) {
  call_scheduler(park_m, own->address, 0);
  while (__atomic_load_n(&own->word, __ATOMIC_SEQ_CST) == 0) {
    call_futex(&own->word, FUTEX_WAIT_PRIVATE, 0);
  }
  __atomic_store_n(&own->word, 0, __ATOMIC_SEQ_CST);
  call_scheduler(execute, own->address, 0);
}

static double now(clockid_t clock) {
  struct timespec time;
  clock_gettime(clock, &time);
  return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

__attribute__((noinline)) static void heavy(void) {
  const double end = now(CLOCK_THREAD_CPUTIME_ID) + 2e-3;
  while (now(CLOCK_THREAD_CPUTIME_ID) < end) {
    for (volatile int i = 0; i < 10000; ++i) {
    }
  }
}

__attribute__((noinline)) static void light(void) {
  for (volatile int i = 0; i < 20000; ++i) {
  }
}

static int ended;

static void* answer(void* unused) {
  for (;;) {
    wait_until_ready(&goroutines[1]);
    if (__atomic_load_n(&ended, __ATOMIC_SEQ_CST)) return unused;
    light();
    make_ready(&goroutines[0]);
  }
}

static void on_trap(int signal) { _exit(signal); }

int main(int argc, char** argv) {
  const struct sigaction action = {.sa_handler = on_trap}; /* as Go's runtime does with cgo */
  sigaction(SIGTRAP, &action, NULL);
  const double end = now(CLOCK_MONOTONIC) + (argc > 1 ? atof(argv[1]) : 1);
  pthread_t thread;
  pthread_create(&thread, NULL, answer, NULL);
  while (now(CLOCK_MONOTONIC) < end) {
    heavy();
    make_ready(&goroutines[1]);
    wait_until_ready(&goroutines[0]);
    COZ_PROGRESS_NAMED("rounds");
  }
  __atomic_store_n(&ended, 1, __ATOMIC_SEQ_CST);
  make_ready(&goroutines[1]);
  pthread_join(thread, NULL);
  puts("done");
  return 7;
}
