/*
 * Works for 2 ms of CPU time in each round, and visits "tick".
 *   ticks SECONDS clock | free
 *
 * With `clock` a round begins each 5 ms by the clock, whatever the work took; with `free` at once.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "coz.h"

static int64_t now_ns(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

__attribute__((noinline)) static void work(void) {
  volatile uint64_t x = 1;
  const int64_t end_ns = now_ns(CLOCK_THREAD_CPUTIME_ID) + 2000000;
  while (now_ns(CLOCK_THREAD_CPUTIME_ID) < end_ns) {
    for (int i = 0; i < 10000; ++i) x = x * 6364136223846793005u + (x >> 29);
  }
}

int main(int argc, char** argv) {
  const int is_clocked = argc > 2 && strcmp(argv[2], "clock") == 0;
  int64_t next_ns = now_ns(CLOCK_MONOTONIC);
  const int64_t end_ns = next_ns + (int64_t)((argc > 1 ? atof(argv[1]) : 1) * 1e9);
  while (now_ns(CLOCK_MONOTONIC) < end_ns) {
    work();
    COZ_PROGRESS_NAMED("tick");
    next_ns += 5000000;
    const struct timespec next = {next_ns / 1000000000, next_ns % 1000000000};
    if (is_clocked) clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
  }
  return 0;
}
