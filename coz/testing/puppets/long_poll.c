/*
 * A program that works in the kernel before it waits there, for tests that attach to it: it polls
 * one eventfd by as many entries as it may, which takes some milliseconds, and then waits up to 100
 * ms. A sample that comes meanwhile becomes a signal only when the wait is over.
 *
 * It begins with "ready". Lines of standard input:
 *   rounds  prints how many waits have timed out
 *   end     ends; prints "right" if none ended otherwise, with an error above all
 */
#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>

static volatile int stop;
static volatile int rounds;
static volatile int wrong;

static void* poller(void* none) {
  const rlim_t most = 200000;
  struct rlimit limit;
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max < most ? limit.rlim_max : most;
  setrlimit(RLIMIT_NOFILE, &limit);
  const int event = eventfd(0, 0);
  struct pollfd* entries = malloc(limit.rlim_cur * sizeof(*entries));
  for (rlim_t i = 0; i < limit.rlim_cur; ++i) entries[i] = (struct pollfd){event, POLLIN, 0};
  while (!stop) {
    const struct timespec duration = {0, 100000000};
    if (ppoll(entries, limit.rlim_cur, &duration, NULL) == 0) {
      ++rounds;
    } else {
      wrong = 1;
    }
  }
  free(entries);
  return none;
}

int main(void) {
  char line[64];
  pthread_t thread;
  pthread_create(&thread, NULL, poller, NULL);
  while (rounds == 0) {
  }
  printf("ready\n");
  fflush(stdout);
  while (fgets(line, sizeof(line), stdin) != NULL && strcmp(line, "end\n") != 0) {
    printf("%d\n", rounds);
    fflush(stdout);
  }
  stop = 1;
  pthread_join(thread, NULL);
  printf(wrong ? "wrong\n" : "right\n");
  return wrong;
}
