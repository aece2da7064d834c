/*
 * Spends its time half in a function that is inlined into another, half in a function of libc that
 * it calls.
 *
 *   layers SECONDS       of CPU time
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "coz.h"

static double cpu_s(void) {
  struct timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

__attribute__((always_inline)) static inline uint64_t inner(uint64_t x) {
  for (int i = 0; i < 100000; ++i) x = x * 6364136223846793005u + (x >> 29);
  return x;
}

__attribute__((noipa)) static uint64_t outer(uint64_t x) { return inner(x) + 1; }

/* The call is not the last act, as that is a jump: a caller off the stack gets no samples. */
__attribute__((noipa)) static void clear(char* bytes, size_t count) {
  memset(bytes, 0, count);
  __asm__ volatile("" ::: "memory");
}

int main(int argc, char** argv) {
  const size_t bytes = 1 << 20;
  char* const block = malloc(bytes);
  const double end = cpu_s() + (argc > 1 ? atof(argv[1]) : 1);
  volatile uint64_t x = 1;
  double in_outer = 0;
  double in_clear = 0;
  while (cpu_s() < end) {
    const double start = cpu_s();
    if (in_outer <= in_clear) {
      x = outer(x);
      in_outer += cpu_s() - start;
    } else {
      clear(block, bytes);
      in_clear += cpu_s() - start;
    }
    COZ_PROGRESS_NAMED("work");
  }
  free(block);
  return 0;
}
