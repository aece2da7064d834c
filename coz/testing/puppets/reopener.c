/*
 * Opens two libraries in turn, works in each and closes it, so that they come to lie at the same place.
 *
 *   reopener LIBRARY LIBRARY TIMES MS
 *
 * MS is the CPU time in each. A second thread works all the while, so that samples are taken during dlopen and dlclose. Prints
 * how often a library lay where the other one had been.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "coz.h"

static atomic_int stop;

static void* background(void* unused) {
  volatile uint64_t x = 1;
  while (!atomic_load(&stop)) x = x * 6364136223846793005u + 1;
  return unused;
}

static double thread_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

/* Where the library lay, or NULL. */
static void* work_in(const char* path, double ms) {
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  void* symbol = library != NULL ? dlsym(library, "plugin_work") : NULL;
  if (symbol == NULL) {
    fprintf(stderr, "reopener: %s\n", dlerror());
    return NULL;
  }
  uint64_t (*work)(uint64_t);
  memcpy(&work, &symbol, sizeof(work));
  volatile uint64_t x = 1;
  const double start = thread_ms();
  do {
    x = work(x);
    COZ_PROGRESS_NAMED("work");
  } while (thread_ms() - start < ms);
  Dl_info info;
  void* base = dladdr(symbol, &info) != 0 ? info.dli_fbase : NULL;
  dlclose(library);
  return base;
}

int main(int argc, char** argv) {
  if (argc < 5) return 2;
  pthread_t other;
  pthread_create(&other, NULL, background, NULL);
  void* before = NULL;
  int same_place = 0;
  for (int i = 0; i < atoi(argv[3]); ++i) {
    void* at = work_in(argv[1 + i % 2], atof(argv[4]));
    if (at == NULL) return 2;
    same_place += at == before;
    before = at;
  }
  atomic_store(&stop, 1);
  pthread_join(other, NULL);
  printf("%d\n", same_place);
  return 0;
}
