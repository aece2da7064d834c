/*
 * Has one function that is a good progress point, and others that are not.
 *
 *   shop SECONDS
 *
 * For a second it only calls prepare_shelf(), once a millisecond or so; then serve_order(), which
 * takes some 2 ms and is the unit of work, with close_order(), which takes no time, after each.
 * serve_order() calls hash_item() a thousand times. audit() is called once a second.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static uint64_t orders;

static uint64_t work(uint64_t x, int rounds) {
  for (int i = 0; i < rounds; ++i) x = x * 6364136223846793005u + (x >> 29);
  return x;
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

__attribute__((noipa)) static uint64_t prepare_shelf(uint64_t x) { return work(x, 1000000); }
__attribute__((noipa)) static uint64_t hash_item(uint64_t x) { return work(x, 1000); }
__attribute__((noipa)) static uint64_t audit(uint64_t x) { return work(x, 1000); }
__attribute__((noipa)) static void close_order(void) { ++orders; }

__attribute__((noipa)) static uint64_t serve_order(uint64_t x) {
  for (int i = 0; i < 1000; ++i) x = hash_item(x);
  return x;
}

int main(int argc, char** argv) {
  const double start = now();
  const double end = start + (argc > 1 ? atof(argv[1]) : 3);
  double next_audit = start + 1;
  volatile uint64_t x = 1;
  while (now() < start + 1) x = prepare_shelf(x);
  while (now() < end) {
    x = serve_order(x);
    close_order();
    if (now() < next_audit) continue;
    x = audit(x);
    next_audit += 1;
  }
  puts(orders > 0 ? "served" : "served nobody");
  return 0;
}
