/*
 * Requests that come and go, marked in every way that coz can tell them by.
 *
 *   backlog SECONDS ARRIVALS [REST]
 *
 * In each round ARRIVALS requests begin, some 4 ms are worked, and one request ends: with 1 the
 * latency is that of the work, with 2 requests pile up; then it works REST times as long for
 * nobody. "marked" is a pair of marks, "numbered" one of numbered requests, "in" and "out" are
 * marks of their own, arrive() and depart() are functions. Built with -DORIGINAL it has the
 * original's header, which cannot number requests, and "timed" is a pair of marks of ours.
 */
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#ifdef ORIGINAL
#include "backlog_timed.h"
#include "original/coz.h"
#define COZ_BEGIN_ID(name, id) (void)(id)
#define COZ_END_ID(name, id) (void)(id)
#else
#include "coz.h"
static void arrive_timed(void) {}
static void depart_timed(void) {}
#endif

static volatile uint64_t requests;

__attribute__((noinline)) static void arrive(uint64_t number) {
  requests = number;
  arrive_timed();
  COZ_BEGIN("marked");
  COZ_BEGIN_ID("numbered", number);
  COZ_PROGRESS_NAMED("in");
}

__attribute__((noinline)) static void depart(uint64_t number) {
  requests = number;
  COZ_END("marked");
  depart_timed();
  COZ_END_ID("numbered", number);
  COZ_PROGRESS_NAMED("out");
}

static const int kServed = 3000000;

__attribute__((noinline)) static uint64_t serve(uint64_t x) {
  for (int i = 0; i < kServed; ++i) x = x * 6364136223846793005u + (x >> 29);
  return x;
}

__attribute__((noinline)) static uint64_t rest(uint64_t x, double part) {
  for (int i = 0; i < part * kServed; ++i) x = x * 6364136223846793005u + (x >> 29);
  return x;
}

int main(int argc, char** argv) {
  const double seconds = argc > 1 ? atof(argv[1]) : 1;
  const int arrivals = argc > 2 ? atoi(argv[2]) : 1;
  const double rest_part = argc > 3 ? atof(argv[3]) : 0;
  struct timespec start, now;
  clock_gettime(CLOCK_MONOTONIC, &start);
  volatile uint64_t x = 1;
  uint64_t arrived = 0;
  uint64_t departed = 0;
  do {
    for (int i = 0; i < arrivals; ++i) arrive(arrived++);
    x = serve(x);
    depart(departed++);
    x = rest(x, rest_part);
    clock_gettime(CLOCK_MONOTONIC, &now);
  } while ((double)(now.tv_sec - start.tv_sec) + (double)(now.tv_nsec - start.tv_nsec) / 1e9 <
           seconds);
  return 0;
}
