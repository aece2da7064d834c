#include "hooks.h"

#include <stdio.h>
#include <time.h>

static double start_s;

static double now_s(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

void __parsec_bench_begin(enum __parsec_benchmark benchmark) { (void)benchmark; }
void __parsec_bench_end(void) {}
void __parsec_roi_begin(void) { start_s = now_s(); }
void __parsec_roi_end(void) { fprintf(stderr, "region: %.6f s\n", now_s() - start_s); }
