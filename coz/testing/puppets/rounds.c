/*
 * Two threads work beside each other and meet after each round, by spinning.
 *
 *   rounds SECONDS [told | unhinted | counted | tries]
 *
 * The main thread visits "rounds" after each, and has less to do. With `told` the loops that spin
 * say that they wait. With `unhinted` they do not even give the CPU the hint `pause`. With
 * `counted` they count their rounds in memory instead. With `tries` they try to take a lock that
 * the other holds until it has finished.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "coz.h"

static atomic_int started;
static atomic_int finished;
static int told;
static int unhinted;
static int counted;
static int tries;
/* In each round the helper holds one while it works, and the main thread waits for it by trying. */
static pthread_mutex_t working = PTHREAD_MUTEX_INITIALIZER;

__attribute__((noinline)) static uint64_t short_half(uint64_t x) {
  for (int i = 0; i < 300000; ++i) x = x * 6364136223846793005u + (x >> 29);
  return x;
}

__attribute__((noinline)) static uint64_t long_half(uint64_t x) {
  for (int i = 0; i < 600000; ++i) x = x * 6364136223846793005u + (x >> 31);
  return x;
}

static void await(atomic_int* count, int wanted) {
  while (tries && atomic_load(count) < wanted) {
    if (pthread_mutex_trylock(&working) == 0) pthread_mutex_unlock(&working);
  }
  if (unhinted) {
    while (atomic_load(count) < wanted) {
    }
  }
  if (counted) {
    for (volatile uint64_t i = 0; atomic_load(count) < wanted && i < UINT64_MAX; ++i) {
    }
  }
  if (told) {
    COZ_PRE_BLOCK;
  }
  while (atomic_load(count) < wanted) __builtin_ia32_pause();
  if (told) {
    COZ_POST_BLOCK(1);
  }
}

static void announce(atomic_int* count, int value) {
  if (told) {
    COZ_CATCH_UP;
  }
  atomic_store(count, value);
}

static void* help(void* unused) {
  (void)unused;
  volatile uint64_t x = 1;
  for (int round = 1;; ++round) {
    await(&started, round);
    if (atomic_load(&started) != round) return NULL;
    if (tries) pthread_mutex_lock(&working);
    x = long_half(x);
    if (tries) pthread_mutex_unlock(&working);
    announce(&finished, round);
  }
}

int main(int argc, char** argv) {
  const time_t end = time(NULL) + (argc > 1 ? atoi(argv[1]) : 1) + 1;
  told = argc > 2 && strcmp(argv[2], "told") == 0;
  unhinted = argc > 2 && strcmp(argv[2], "unhinted") == 0;
  counted = argc > 2 && strcmp(argv[2], "counted") == 0;
  tries = argc > 2 && strcmp(argv[2], "tries") == 0;
  pthread_t helper;
  if (pthread_create(&helper, NULL, help, NULL) != 0) return 1;
  volatile uint64_t x = 1;
  int round = 0;
  while (time(NULL) < end) {
    announce(&started, ++round);
    x = short_half(x);
    await(&finished, round);
    COZ_PROGRESS_NAMED("rounds");
  }
  announce(&started, round + 2);
  pthread_join(helper, NULL);
  return 0;
}
