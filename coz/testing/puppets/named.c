/*
 * Two named threads beside the main one do the same: the same function, the same line.
 *
 *   named ROUNDS [FILE]
 *
 * "alpha" does ROUNDS rounds and "beta" twice as many; the main thread does none. Both name
 * themselves when they run already, and "beta" is "early" for its first 100 rounds. Visits "rounds"
 * after each round of either. With FILE the threads wait when they have done their rounds: FILE is
 * made then, and they end when it is gone.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "coz.h"

struct job {
  const char* name;
  const char* first_name; /* or null */
  long rounds;
};

static pthread_barrier_t done; /* rounds of both */
static pthread_barrier_t ended;

__attribute__((noinline)) uint64_t one_round(uint64_t x) {
  for (int i = 0; i < 300000; ++i) x = x * 6364136223846793005u + (x >> 29); /* the shared line */
  return x;
}

static void* work(void* opaque) {
  const struct job* job = opaque;
  volatile uint64_t x = 1;
  pthread_setname_np(pthread_self(), job->first_name != NULL ? job->first_name : job->name);
  for (long i = 0; i < job->rounds; ++i) {
    x = one_round(x);
    if (i == 100) pthread_setname_np(pthread_self(), job->name);
    COZ_PROGRESS_NAMED("rounds");
  }
  pthread_barrier_wait(&done);
  pthread_barrier_wait(&ended);
  return NULL;
}

static void wait_until_gone(const char* file) {
  const struct timespec look = {0, 5000000};
  const int fd = open(file, O_CREAT | O_WRONLY, 0600);
  if (fd < 0) exit(1);
  close(fd);
  while (access(file, F_OK) == 0) nanosleep(&look, NULL);
}

int main(int argc, char** argv) {
  const long rounds = argc > 1 ? atol(argv[1]) : 1000;
  struct job jobs[] = {{"alpha", NULL, rounds}, {"beta", "early", 2 * rounds}};
  pthread_t threads[2];
  pthread_barrier_init(&done, NULL, 3);
  pthread_barrier_init(&ended, NULL, 3);
  for (int i = 0; i < 2; ++i) {
    if (pthread_create(&threads[i], NULL, work, &jobs[i]) != 0) return 1;
  }
  pthread_barrier_wait(&done);
  if (argc > 2) wait_until_gone(argv[2]);
  pthread_barrier_wait(&ended);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  return 0;
}
