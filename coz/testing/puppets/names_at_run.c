/*
 * Marks whose names are made while the program runs, in memory that is used for something else
 * afterwards.
 *   names_at_run THREADS VISITS
 *
 * Each thread works for some 100 us before each of its visits to "stage-7", and begins and ends
 * "order-7" then.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coz.h"

static int visits;

__attribute__((noinline)) static uint64_t work(uint64_t x) {
  for (int i = 0; i < 100000; ++i) x = x * 6364136223846793005u + (x >> 29);
  return x;
}

__attribute__((noinline)) static void visit(void) {
  char stage[16];
  char order[16];
  snprintf(stage, sizeof(stage), "stage-%d", 7);
  snprintf(order, sizeof(order), "order-%d", 7);
  COZ_BEGIN(order);
  COZ_END(order);
  COZ_PROGRESS_NAMED(stage);
  memset(stage, '?', sizeof(stage) - 1);
  memset(order, '?', sizeof(order) - 1);
  __asm__ volatile("" : : "r"(stage), "r"(order) : "memory");
}

static void* worker(void* none) {
  volatile uint64_t x = 1;
  for (int i = 0; i < visits; ++i) {
    x = work(x);
    visit();
  }
  return none;
}

int main(int argc, char** argv) {
  pthread_t threads[16];
  const int count = argc > 1 ? atoi(argv[1]) : 1;
  visits = argc > 2 ? atoi(argv[2]) : 1;
  for (int i = 0; i < count && i < 16; ++i) pthread_create(&threads[i], NULL, worker, NULL);
  for (int i = 0; i < count && i < 16; ++i) pthread_join(threads[i], NULL);
  return 0;
}
