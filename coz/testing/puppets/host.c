/*
 * Works in a library that it opens while it runs.
 *
 *   host LIBRARY SECONDS
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "coz.h"

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  void* library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  void* symbol = library != NULL ? dlsym(library, "plugin_work") : NULL;
  if (symbol == NULL) {
    fprintf(stderr, "host: %s\n", dlerror());
    return 2;
  }
  uint64_t (*work)(uint64_t);
  memcpy(&work, &symbol, sizeof(work));
  struct timespec start, now;
  clock_gettime(CLOCK_MONOTONIC, &start);
  volatile uint64_t x = 1;
  do {
    x = work(x);
    COZ_PROGRESS_NAMED("work");
    clock_gettime(CLOCK_MONOTONIC, &now);
  } while ((double)(now.tv_sec - start.tv_sec) + (double)(now.tv_nsec - start.tv_nsec) / 1e9 <
           atof(argv[2]));
  return 0;
}
