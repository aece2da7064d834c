/*
 * Serves numbered orders for a while, two at a time: every order is under way while the next one is
 * served.
 *
 *   orders SECONDS
 */
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#include "coz.h"

int main(int argc, char** argv) {
  const double seconds = argc > 1 ? atof(argv[1]) : 1;
  struct timespec start, now;
  clock_gettime(CLOCK_MONOTONIC, &start);
  volatile uint64_t x = 1;
  uint64_t order = 0;
  do {
    COZ_BEGIN_ID("order", order);
    uint64_t y = x;
    for (int i = 0; i < 100000; ++i) y = y * 6364136223846793005u + (y >> 29);
    x = y;
    if (order > 0) COZ_END_ID("order", order - 1);
    ++order;
    clock_gettime(CLOCK_MONOTONIC, &now);
  } while ((double)(now.tv_sec - start.tv_sec) + (double)(now.tv_nsec - start.tv_nsec) / 1e9 <
           seconds);
  COZ_END_ID("order", order - 1);
  return 0;
}
