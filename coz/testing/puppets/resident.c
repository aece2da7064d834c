/*
 * A program that runs until it is told to end, for tests that attach to it while it runs.
 *   resident [THREADS [PAUSE_US]]
 *
 * Pairs of threads hand numbers over: a maker works for some 100 us of CPU time, and gives a number
 * to its taker, which waits for it. Every hand-over is a visit to "handed". With PAUSE_US the maker
 * sleeps as long after each, to leave CPU time to the test. When each pair has made one it prints
 * "ready". Lines of standard input:
 *   state   prints what a debugger or profiler might have changed: the disposition of SIGTRAP, the
 *           masks of the main thread, descriptors, and the number of mappings
 *   show N  from now on whoever takes the descriptor that it prints is shown each system call N
 *           before it is made, or each call where N is -1, but for prints
 *   forbid N   from now on a system call N ends the process; prints 0
 *   end     the threads end; prints "right" if every number has arrived once, in order
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "coz.h"
#include "show_calls.h"

struct pair {
  pthread_mutex_t mutex;
  pthread_cond_t changed;
  int full;
  int ended;
  uint64_t number;
  uint64_t taken;
  int wrong;
};

static volatile int stop;
static useconds_t pause_us;

__attribute__((noinline)) static uint64_t make(uint64_t x) {
  for (int i = 0; i < 100000; ++i) x = x * 6364136223846793005u + (x >> 29);
  return x;
}

static void* maker(void* opaque) {
  struct pair* pair = opaque;
  volatile uint64_t x = 1;
  for (uint64_t number = 0; !stop; ++number) {
    x = make(x);
    pthread_mutex_lock(&pair->mutex);
    while (pair->full) pthread_cond_wait(&pair->changed, &pair->mutex);
    pair->number = number;
    pair->full = 1;
    pthread_cond_broadcast(&pair->changed);
    pthread_mutex_unlock(&pair->mutex);
    if (pause_us != 0) usleep(pause_us);
  }
  pthread_mutex_lock(&pair->mutex);
  pair->ended = 1;
  pthread_cond_broadcast(&pair->changed);
  pthread_mutex_unlock(&pair->mutex);
  return NULL;
}

static void* taker(void* opaque) {
  struct pair* pair = opaque;
  pthread_mutex_lock(&pair->mutex);
  while (1) {
    while (!pair->full && !pair->ended) pthread_cond_wait(&pair->changed, &pair->mutex);
    if (!pair->full) break;
    if (pair->number != pair->taken) pair->wrong = 1;
    ++pair->taken;
    pair->full = 0;
    pthread_cond_broadcast(&pair->changed);
    COZ_PROGRESS_NAMED("handed");
  }
  pthread_mutex_unlock(&pair->mutex);
  return NULL;
}

static void await_first(struct pair* pair) {
  pthread_mutex_lock(&pair->mutex);
  while (pair->taken == 0) pthread_cond_wait(&pair->changed, &pair->mutex);
  pthread_mutex_unlock(&pair->mutex);
}

static void print_descriptors(void) {
  DIR* folder = opendir("/proc/self/fd");
  struct dirent* entry;
  unsigned long known[16] = {0};
  while ((entry = readdir(folder)) != NULL) {
    const int fd = atoi(entry->d_name);
    if (entry->d_name[0] != '.' && fd != dirfd(folder) && fd < 1024)
      known[fd / 64] |= 1ul << fd % 64;
    if (entry->d_name[0] != '.' && fd >= 1024) printf(" beyond:%d", fd);
  }
  closedir(folder);
  for (int fd = 0; fd < 1024; ++fd) {
    if (known[fd / 64] >> fd % 64 & 1) printf(" %d", fd);
  }
}

static void print_state(void) {
  struct {
    void* handler;
    unsigned long flags;
    void* restorer;
    unsigned long mask;
  } action = {0};
  sigset_t mask;
  syscall(SYS_rt_sigaction, SIGTRAP, NULL, &action, sizeof(action.mask));
  sigprocmask(SIG_BLOCK, NULL, &mask);
  printf("SIGTRAP %p %lx %p %lx, blocked %d, descriptors", action.handler, action.flags,
         action.restorer, action.mask, sigismember(&mask, SIGTRAP));
  print_descriptors();
  printf("\n");
  fflush(stdout);
}

static void print_number(int number) {
  printf("%d\n", number);
  fflush(stdout);
}

int main(int argc, char** argv) {
  const int pairs = argc > 1 ? atoi(argv[1]) / 2 : 1;
  if (argc > 2) pause_us = (useconds_t)atoi(argv[2]);
  struct pair* all = calloc((size_t)pairs, sizeof(*all));
  pthread_t* threads = calloc((size_t)pairs * 2, sizeof(*threads));
  char line[64];
  for (int i = 0; i < pairs; ++i) {
    pthread_mutex_init(&all[i].mutex, NULL);
    pthread_cond_init(&all[i].changed, NULL);
    pthread_create(&threads[2 * i], NULL, maker, &all[i]);
    pthread_create(&threads[2 * i + 1], NULL, taker, &all[i]);
  }
  for (int i = 0; i < pairs; ++i) await_first(&all[i]);
  printf("ready\n");
  fflush(stdout);
  while (fgets(line, sizeof(line), stdin) != NULL && strcmp(line, "end\n") != 0) {
    if (strcmp(line, "state\n") == 0) print_state();
    if (strncmp(line, "show ", 5) == 0) print_number(show_calls(atoi(line + 5)));
    if (strncmp(line, "forbid ", 7) == 0) print_number(forbid_call(atoi(line + 7)));
  }
  stop = 1;
  int wrong = 0;
  for (int i = 0; i < pairs; ++i) {
    pthread_join(threads[2 * i], NULL);
    pthread_join(threads[2 * i + 1], NULL);
    wrong |= all[i].wrong || all[i].taken == 0;
  }
  printf(wrong ? "wrong\n" : "right\n");
  return wrong;
}
