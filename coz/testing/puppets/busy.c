/*
 * Works for a while, visits a progress point, and ends as it was told.
 *   busy SECONDS [status N | signal N | never | lost: breakpoints without reason,
 *   coz/testing/lost_breakpoint.h | int1 | int3]
 *
 * Two threads; each visits "work" after some 100 us of CPU time. With `never` no point is visited.
 * Prints "hello" first and "bye" last, and copies standard input between them where there is any.
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "coz.h"
#include "coz/testing/lost_breakpoint.h"

static atomic_int stop;
static atomic_int visit = 1;

__attribute__((noinline)) static uint64_t spin(uint64_t x) {
  for (int i = 0; i < 100000; ++i) x = x * 6364136223846793005u + (x >> 29);
  return x;
}

static void* work(void* seed) {
  volatile uint64_t x = (uintptr_t)seed;
  while (!atomic_load(&stop)) {
    x = spin(x);
    if (atomic_load(&visit)) COZ_PROGRESS_NAMED("work");
  }
  return NULL;
}

static void copy_input(void) {
  char line[256];
  if (isatty(STDIN_FILENO)) return;
  while (fgets(line, sizeof(line), stdin)) fputs(line, stdout);
}

int main(int argc, char** argv) {
  const double seconds = argc > 1 ? atof(argv[1]) : 1;
  const char* what = argc > 2 ? argv[2] : "status";
  const int number = argc > 3 ? atoi(argv[3]) : 0;
  if (strcmp(what, "never") == 0) atomic_store(&visit, 0);
  puts("hello");
  copy_input();
  fflush(stdout);
  pthread_t other;
  pthread_create(&other, NULL, work, (void*)(uintptr_t)2);
  struct timespec end;
  clock_gettime(CLOCK_MONOTONIC, &end);
  end.tv_sec += (time_t)seconds;
  end.tv_nsec += (long)((seconds - (double)(time_t)seconds) * 1e9);
  if (end.tv_nsec >= 1000000000) {
    end.tv_sec += 1;
    end.tv_nsec -= 1000000000;
  }
  volatile uint64_t x = 1;
  for (;;) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (now.tv_sec > end.tv_sec || (now.tv_sec == end.tv_sec && now.tv_nsec >= end.tv_nsec)) break;
    x = spin(x);
    if (strcmp(what, "lost") == 0) RaiseLostBreakpoint();
    if (strcmp(what, "int1") == 0) __asm__ volatile(".byte 0xf1");
    if (strcmp(what, "int3") == 0) __asm__ volatile("int3");
    if (atomic_load(&visit)) COZ_PROGRESS_NAMED("work");
  }
  atomic_store(&stop, 1);
  pthread_join(other, NULL);
  puts("bye");
  fflush(stdout);
  if (strcmp(what, "signal") == 0) raise(number);
  return number;
}
