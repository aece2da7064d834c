/*
 * Makes machine code while it runs, names it in a perf map as Node does, and calls it.
 *
 *   jit SECONDS
 *
 * A round calls "hot" for twice as long as "warm", then "outer", which calls "inner", and then
 * "outer" again, which calls a function of this file. In the first half it also calls "gone". In
 * the second half "moved" lies at its place. "never" is not called. Each round visits "rounds".
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "coz.h"

enum { FUNCTION_BYTES = 64, FUNCTIONS = 6, ROUNDS_OF_LOOP = 200000 };

typedef uint64_t (*loop_function)(uint64_t);
typedef uint64_t (*calling_function)(loop_function, uint64_t);

/* mov rax, rdi; 1: imul rax, rax, 0x61c88647; dec rdi; jnz 1b; ret */
static const unsigned char loop_code[] = {0x48, 0x89, 0xf8, 0x48, 0x69, 0xc0, 0x47, 0x86,
                                          0xc8, 0x61, 0x48, 0xff, 0xcf, 0x75, 0xf4, 0xc3};
/* push rbp; mov rbp, rsp; mov rax, rdi; mov rdi, rsi; call rax; pop rbp; ret */
static const unsigned char calling_code[] = {0x55, 0x48, 0x89, 0xe5, 0x48, 0x89, 0xf8,
                                             0x48, 0x89, 0xf7, 0xff, 0xd0, 0x5d, 0xc3};

static FILE* map;

static void* name(void* at, const void* code, size_t bytes, const char* as) {
  if (mprotect(at, 1, PROT_READ | PROT_WRITE) != 0) abort();
  memcpy(at, code, bytes);
  if (mprotect(at, 1, PROT_READ | PROT_EXEC) != 0) abort();
  fprintf(map, "%lx %x JS:*%s /app/jit.js:%d:1\n", (unsigned long)at, FUNCTION_BYTES, as,
          (int)strlen(as));
  fflush(map);
  return at;
}

__attribute__((noinline)) static uint64_t work_of_outer(uint64_t n) {
  uint64_t x = n;
  for (uint64_t i = 0; i < n; ++i) x = x * 6364136223846793005u + (x >> 29);
  return x;
}

int main(int argc, char** argv) {
  const int seconds = argc > 1 ? atoi(argv[1]) : 1;
  char path[64];
  snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
  map = fopen(path, "w");
  if (map == NULL) return 1;
  const size_t page = (size_t)sysconf(_SC_PAGESIZE);
  char* const pages = mmap(NULL, FUNCTIONS * page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) return 1;
  const loop_function hot = name(pages, loop_code, sizeof(loop_code), "hot");
  const loop_function warm = name(pages + page, loop_code, sizeof(loop_code), "warm");
  const loop_function inner = name(pages + 2 * page, loop_code, sizeof(loop_code), "inner");
  const loop_function changing = name(pages + 3 * page, loop_code, sizeof(loop_code), "gone");
  const calling_function outer =
      name(pages + 4 * page, calling_code, sizeof(calling_code), "outer");
  name(pages + 5 * page, loop_code, sizeof(loop_code), "never");

  const time_t start = time(NULL) + 1;
  volatile uint64_t x = 0;
  int has_moved = 0;
  while (time(NULL) < start + seconds) {
    if (!has_moved && time(NULL) >= start + seconds / 2) {
      name(pages + 3 * page, loop_code, sizeof(loop_code), "moved");
      has_moved = 1;
    }
    x += hot(2 * ROUNDS_OF_LOOP) + warm(ROUNDS_OF_LOOP) + changing(ROUNDS_OF_LOOP);
    x += outer(inner, ROUNDS_OF_LOOP) + outer(work_of_outer, ROUNDS_OF_LOOP);
    COZ_PROGRESS_NAMED("rounds");
  }
  fclose(map);
  unlink(path);
  return 0;
}
