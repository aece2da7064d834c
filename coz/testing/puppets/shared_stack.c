/*
 * A program that gives all of its threads one alternate signal stack, as Varnish does.
 *   shared_stack
 *
 * Four threads work. It prints "intact". Its exit status is 7.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "coz.h"

enum { THREADS = 4, ROUNDS = 2500, STACK_BYTES = 1 << 16 };

static stack_t alternate;

__attribute__((noinline)) static void work(long rounds) {
  uint64_t x = 1;
  for (long i = 0; i < rounds; ++i) __asm__ volatile("imul $7, %0, %0" : "+r"(x));
}

static void* thread_main(void* unused) {
  sigaltstack(&alternate, NULL);
  for (int i = 0; i < ROUNDS; ++i) {
    COZ_PROGRESS;
    work(100000);
  }
  return unused;
}

int main(void) {
  alternate.ss_sp = malloc(STACK_BYTES);
  alternate.ss_size = STACK_BYTES;
  pthread_t threads[THREADS];
  for (int i = 0; i < THREADS; ++i) pthread_create(&threads[i], NULL, thread_main, NULL);
  for (int i = 0; i < THREADS; ++i) pthread_join(threads[i], NULL);
  puts("intact");
  return 7;
}
