/*
 * Children that open libraries after fork, and work in them at the same time.
 *
 *   openers wait|leave MS PADS LIBRARY [PADS LIBRARY...]
 *
 * A child for each LIBRARY; PADS is how many addresses it avoids, so that libraries lie at the same
 * address or not. Each calls plugin_work() of its library for MS of its CPU time, from when all
 * have opened theirs, and visits "work" after each call in the first one's LIBRARY, "other work"
 * after others. With `leave` the first process ends as soon as it has forked, and its child does
 * the rest. Prints a line for each child: "same" if its function lies where the first child's does,
 * else "apart".
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "coz.h"

static double cpu_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static void* open_function(const char* path, int pads) {
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  void* symbol = library != NULL ? dlsym(library, "plugin_work") : NULL;
  for (; pads != 0 && symbol != NULL; --pads) {
    /* Something else comes to lie where it was. */
    Dl_info info;
    dladdr(symbol, &info);
    dlclose(library);
    mmap(info.dli_fbase, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    symbol = library != NULL ? dlsym(library, "plugin_work") : NULL;
  }
  if (symbol == NULL) {
    fprintf(stderr, "openers: %s\n", dlerror());
    _exit(1);
  }
  return symbol;
}

static void work_in(void* symbol, double ms, int is_first) {
  uint64_t (*work)(uint64_t);
  memcpy(&work, &symbol, sizeof(work));
  volatile uint64_t x = 1;
  const double end = cpu_ms() + ms;
  do {
    x = work(x);
    if (is_first) {
      COZ_PROGRESS_NAMED("work");
    } else {
      COZ_PROGRESS_NAMED("other work");
    }
  } while (cpu_ms() < end);
}

static void child(char** pads_and_library, const char* first_library, double ms, int opened,
                  int go) {
  void* symbol = open_function(pads_and_library[1], atoi(pads_and_library[0]));
  char end;
  if (write(opened, &symbol, sizeof(symbol)) != sizeof(symbol) || read(go, &end, 1) != 0) _exit(1);
  work_in(symbol, ms, strcmp(pads_and_library[1], first_library) == 0);
  _exit(0);
}

int main(int argc, char** argv) {
  if (argc < 5) return 2;
  if (strcmp(argv[1], "leave") == 0 && fork() != 0) return 0;
  int go[2];
  if (pipe(go) != 0) return 1;
  void* first = NULL;
  for (int i = 3; i + 1 < argc; i += 2) {
    int opened[2];
    if (pipe(opened) != 0) return 1;
    if (fork() == 0) {
      close(go[1]);
      child(argv + i, argv[4], atof(argv[2]), opened[1], go[0]);
    }
    close(opened[1]);
    void* symbol = NULL;
    if (read(opened[0], &symbol, sizeof(symbol)) != sizeof(symbol)) return 1;
    if (first == NULL) first = symbol;
    printf("%s\n", symbol == first ? "same" : "apart");
    close(opened[0]);
  }
  close(go[1]);
  int failed = 0;
  int status;
  while (wait(&status) > 0) failed |= status != 0;
  return failed;
}
