/*
 * Opens two libraries in turn, works in each and closes it, so that they come to lie at the same
 * place.
 *
 *   reopener LIBRARY LIBRARY TIMES MS [elsewhere]
 *
 * MS is the CPU time in each. With `elsewhere` something else takes the place of each, so that they
 * never lie where one has been. A second thread works all the while, so that samples are taken
 * during dlopen and dlclose. Prints how often a library lay where the other one had been.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
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
static void* work_in(const char* path, double ms, int elsewhere) {
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
  if (elsewhere) {
    /* More than a library of this size needs, wherever there is room, and where it was. */
    mmap(base, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    mmap(NULL, 1 << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  }
  return base;
}

int main(int argc, char** argv) {
  if (argc < 5) return 2;
  pthread_t other;
  pthread_create(&other, NULL, background, NULL);
  void* before = NULL;
  int same_place = 0;
  for (int i = 0; i < atoi(argv[3]); ++i) {
    void* at = work_in(argv[1 + i % 2], atof(argv[4]), argc > 5);
    if (at == NULL) return 2;
    same_place += at == before;
    before = at;
  }
  atomic_store(&stop, 1);
  pthread_join(other, NULL);
  printf("%d\n", same_place);
  return 0;
}
