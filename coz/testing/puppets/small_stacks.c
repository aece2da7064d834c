/*
 * A program whose threads run on small stacks, as Go's do: below each, in the same memory, is that
 * of another. Signals get an alternate stack.
 *   small_stacks
 *
 * Two threads work, half of the time on stacks of 2 KiB and else on their own. It prints "ready",
 * and at a line of standard input or its end "intact" where nobody has written below a stack. Its
 * exit status is 7.
 */
#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "coz.h"

enum { THREADS = 2, STACKS = 64, STACK_BYTES = 2048, USED_BYTES = 512, PATTERN = 0x5a };

static char* memory;
static atomic_int stop;
static atomic_int is_broken;
static atomic_int working;

/* Calls function(argument) on the stack that ends at `top`. */
void call_on_stack(void* top, void (*function)(long), long argument);
__asm__(
    ".text\n.type call_on_stack, @function\ncall_on_stack:\n"
    "  .cfi_startproc\n"
    "  push %rbp\n  .cfi_adjust_cfa_offset 8\n  .cfi_rel_offset %rbp, 0\n"
    "  mov %rsp, %rbp\n  .cfi_def_cfa_register %rbp\n"
    "  mov %rdi, %rsp\n  mov %rdx, %rdi\n  call *%rsi\n"
    "  mov %rbp, %rsp\n  pop %rbp\n  .cfi_def_cfa %rsp, 8\n  ret\n"
    "  .cfi_endproc\n");

static char* stack(int number) { return memory + (long)number * STACK_BYTES; }

__attribute__((noinline)) static void work(long rounds) {
  uint64_t x = 1;
  for (long i = 0; i < rounds; ++i) __asm__ volatile("imul $7, %0, %0" : "+r"(x));
}

static int has_input(void) {
  struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
  return poll(&input, 1, 0) == 1;
}

static void* thread_main(void* opaque) {
  const int first = (int)(intptr_t)opaque;
  stack_t alternate = {.ss_sp = malloc(1 << 16), .ss_size = 1 << 16};
  sigaltstack(&alternate, NULL);
  ++working;
  for (unsigned i = 0; !stop; ++i) {
    COZ_PROGRESS;
    const int number = first + 1 + (int)(i % (STACKS / THREADS - 1));
    call_on_stack(stack(number) + STACK_BYTES, work, 300000);
    for (int at = 0; at < STACK_BYTES - USED_BYTES; ++at) {
      if (stack(number)[at] != PATTERN) is_broken = 1;
    }
    work(300000);
    if (has_input()) stop = 1;
  }
  return NULL;
}

int main(void) {
  const size_t bytes = (size_t)STACKS * STACK_BYTES;
  memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  memset(memory, PATTERN, bytes);
  pthread_t threads[THREADS];
  for (intptr_t i = 1; i < THREADS; ++i) {
    pthread_create(&threads[i], NULL, thread_main, (void*)(i * (STACKS / THREADS)));
  }
  while (working < THREADS - 1) sched_yield();
  printf("ready\n");
  fflush(stdout);
  thread_main(0);
  for (int i = 1; i < THREADS; ++i) pthread_join(threads[i], NULL);
  puts(is_broken ? "broken" : "intact");
  return 7;
}
