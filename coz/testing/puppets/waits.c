/*
 * Waits for the clock, for another process, and for its own thread.
 *
 *   waits SECONDS
 *
 * Each round is a visit to "rounds". The child answers each byte after 2 ms.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "coz/runtime/coz.h"

static int to_child[2], from_child[2], to_thread[2], from_thread[2];

static void answer(const struct timespec* delay) {
  char byte;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  close(to_child[1]);
  close(from_child[0]);
  while (read(to_child[0], &byte, 1) == 1) {
    nanosleep(delay, NULL);
    if (write(from_child[1], &byte, 1) != 1) break;
  }
  _exit(0);
}

static void* work(void* unused) {
  char byte;
  volatile unsigned long sum = 1;
  while (read(to_thread[0], &byte, 1) == 1) { /* IDLE */
    for (int i = 0; i < 100000; ++i) sum = sum * 3 + 1;
    if (write(from_thread[1], &byte, 1) != 1) break;
  }
  return unused;
}

__attribute__((noinline)) static void nap(const struct timespec* length) {
  if (nanosleep(length, NULL) != 0) _exit(2); /* NAP */
}

int main(int argc, char** argv) {
  const struct timespec two_ms = {0, 2000000};
  const double seconds = argc > 1 ? atof(argv[1]) : 1;
  if (pipe(to_child) != 0 || pipe(from_child) != 0) return 2;
  const pid_t child = fork();
  if (child == 0) answer(&two_ms);
  close(to_child[0]);
  close(from_child[1]);
  if (pipe(to_thread) != 0 || pipe(from_thread) != 0) return 2;
  pthread_t thread;
  pthread_create(&thread, NULL, work, NULL);
  struct timespec start, now;
  clock_gettime(CLOCK_MONOTONIC, &start);
  do {
    char byte = 1;
    if (write(to_thread[1], &byte, 1) != 1 || write(to_child[1], &byte, 1) != 1) return 2;
    if (read(from_child[0], &byte, 1) != 1) return 2; /* ASK */
    nap(&two_ms);
    if (read(from_thread[0], &byte, 1) != 1) return 2; /* JOIN */
    COZ_PROGRESS_NAMED("rounds");
    clock_gettime(CLOCK_MONOTONIC, &now);
  } while ((double)(now.tv_sec - start.tv_sec) + 1e-9 * (double)(now.tv_nsec - start.tv_nsec) <
           seconds);
  close(to_thread[1]);
  pthread_join(thread, NULL);
  return 0;
}
