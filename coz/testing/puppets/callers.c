/*
 * Two threads that share functions: only the first one's calls of `helper` matter for the progress
 * point "round".
 *
 *   callers SECONDS [PERCENT]      of CPU time of each thread; of the work that `helper` does for
 *                                  `serve`, to see what a faster one is really worth
 *
 * `serve` spends 3 parts of 5 in `helper`, the rest in `own`. `sweep` spends half of its time in
 * `helper`, and a sixth each in `inner`, which is inlined into `pack`; in `deep`, which calls
 * itself; and in `well`, which does so 1,000 times. Prints the rounds of `serve` for each second of
 * its CPU time.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "coz.h"

enum { kPart = 20000 };

static double seconds = 1;
static int percent = 100;

static double cpu_s(void) {
  struct timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Rounds of one length may keep step with the samples. */
static int next_part(unsigned* seed) { return kPart / 2 + rand_r(seed) % kPart; }

#define WORK(x, count) \
  for (int i = 0; i < (count); ++i) x = x * 6364136223846793005u + (x >> 29)

__attribute__((noipa)) static uint64_t helper(uint64_t x, int count) {
  WORK(x, count);
  return x;
}

__attribute__((noipa)) static uint64_t own(uint64_t x, int count) {
  WORK(x, count);
  return x;
}

__attribute__((always_inline)) static inline uint64_t inner(uint64_t x, int count) {
  WORK(x, count);
  return x;
}

/* Calls are never the last act, as that is a jump: a caller off the stack gets no samples. */
__attribute__((noipa)) static uint64_t pack(uint64_t x, int count) {
  x = inner(x, count);
  __asm__ volatile("" ::: "memory");
  return x + 1;
}

__attribute__((noipa)) static uint64_t deep(uint64_t x, int count, int depth) {
  if (depth > 0) {
    x = deep(x, count, depth - 1);
    __asm__ volatile("" ::: "memory");
    return x + 1;
  }
  WORK(x, count);
  return x;
}

__attribute__((noipa)) static uint64_t well(uint64_t x, int count, int depth) {
  if (depth > 0) {
    x = well(x, count, depth - 1);
    __asm__ volatile("" ::: "memory");
    return x + 1;
  }
  WORK(x, count);
  return x;
}

static void* serve(void* unused) {
  volatile uint64_t x = 1;
  unsigned seed = 1;
  long rounds = 0;
  const double start = cpu_s();
  while (cpu_s() < start + seconds) {
    const int part = next_part(&seed);
    x = helper(x, 3 * part * percent / 100);
    x = own(x, 2 * part);
    ++rounds;
    COZ_PROGRESS_NAMED("round");
  }
  printf("%.1f\n", (double)rounds / (cpu_s() - start));
  return unused;
}

static void* sweep(void* unused) {
  volatile uint64_t x = 1;
  unsigned seed = 2;
  const double start = cpu_s();
  while (cpu_s() < start + seconds) {
    const int part = next_part(&seed);
    x = helper(x, 3 * part);
    x = pack(x, part);
    x = deep(x, part, 20);
    x = well(x, part, 1000);
  }
  return unused;
}

int main(int argc, char** argv) {
  pthread_t threads[2];
  if (argc > 1) seconds = atof(argv[1]);
  if (argc > 2) percent = atoi(argv[2]);
  pthread_create(&threads[0], NULL, serve, NULL);
  pthread_create(&threads[1], NULL, sweep, NULL);
  pthread_join(threads[0], NULL);
  pthread_join(threads[1], NULL);
  return 0;
}
