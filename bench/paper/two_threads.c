/* The example of the paper's introduction: two threads of nearly the same length, a round of which
 * is done when both are.
 *
 *   two_threads ROUNDS STEPS_OF_A STEPS_OF_B
 */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

#include "coz.h"
#include "hooks.h"

static pthread_barrier_t round_begins, round_ends;
static long rounds, steps_of_a, steps_of_b;

static void a(void) {
  for (volatile long i = 0; i < steps_of_a; ++i) {
  }
}

static void b(void) {
  for (volatile long i = 0; i < steps_of_b; ++i) {
  }
}

static void* repeat(void* work) {
  for (long i = 0; i < rounds; ++i) {
    pthread_barrier_wait(&round_begins);
    ((void (*)(void))work)();
    pthread_barrier_wait(&round_ends);
  }
  return NULL;
}

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  rounds = atol(argv[1]);
  steps_of_a = atol(argv[2]);
  steps_of_b = atol(argv[3]);
  pthread_barrier_init(&round_begins, NULL, 3);
  pthread_barrier_init(&round_ends, NULL, 3);
  pthread_t threads[2];
  pthread_create(&threads[0], NULL, repeat, (void*)a);
  pthread_create(&threads[1], NULL, repeat, (void*)b);
  __parsec_roi_begin();
  for (long i = 0; i < rounds; ++i) {
    pthread_barrier_wait(&round_begins);
    pthread_barrier_wait(&round_ends);
    COZ_PROGRESS_NAMED("rounds");
  }
  __parsec_roi_end();
  pthread_join(threads[0], NULL);
  pthread_join(threads[1], NULL);
  return 0;
}
