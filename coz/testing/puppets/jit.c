/*
 * Makes machine code while it runs, names it in a perf map as Node does, and calls it.
 *
 *   jit SECONDS [dump]
 *
 * With `dump` it writes a jitdump instead, in the current folder. Of the code that it makes, the
 * Nth piece is of the lines 10 N, and from its work on 10 N + 1.
 *
 * A round calls "hot" for twice as long as "warm", then "outer", which calls "inner", and then
 * "outer" again, which calls a function of this file. In the first half it also calls "gone". In
 * the second half "moved" lies at its place. "never" is not called. Each round visits "rounds".
 */
#include <fcntl.h>
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

/* Where the loop begins, and where the arguments of the call are in place. */
enum { WORK_OF_LOOP_AT = 3, WORK_OF_CALL_AT = 10 };

/* V8's lines are so many bytes too high: those of an ELF header. */
enum { V8_OFFSET = 0x40, MACHINE_X86_64 = 62 };

static FILE* map;
static FILE* dump;

static void put32(uint32_t value) { fwrite(&value, sizeof(value), 1, dump); }
static void put64(uint64_t value) { fwrite(&value, sizeof(value), 1, dump); }

/* The mapping of it tells coz where it is. */
static void begin_dump(void) {
  char path[64];
  snprintf(path, sizeof(path), "jit-%d.dump", (int)getpid());
  const int fd = open(path, O_CREAT | O_TRUNC | O_RDWR | O_CLOEXEC, 0600);
  const size_t page = (size_t)sysconf(_SC_PAGESIZE);
  if (fd < 0 || mmap(NULL, page, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) == MAP_FAILED) abort();
  dump = fdopen(fd, "w");
  put32(0x4a695444); /* magic */
  put32(1);          /* version */
  put32(40);         /* bytes of this header */
  put32(MACHINE_X86_64);
  put32(0);
  put32((uint32_t)getpid());
  put64(0); /* time */
  put64(0); /* flags */
}

static void put_head(uint32_t kind, size_t bytes_of_body) {
  put32(kind);
  put32((uint32_t)(16 + bytes_of_body));
  put64(0); /* time */
}

static void put_line(const char* at, uint32_t line, const char* file) {
  put64((uintptr_t)at + V8_OFFSET);
  put32(line);
  put32(0); /* discriminator */
  fwrite(file, strlen(file) + 1, 1, dump);
}

static void put_code(const char* at, size_t bytes, size_t work_at, const char* as) {
  static const char file[] = "/app/jit.js";
  static uint32_t pieces;
  const uint32_t line = 10 * ++pieces;
  put_head(2, 16 + 2 * (16 + sizeof(file))); /* lines */
  put64((uintptr_t)at);
  put64(2);
  put_line(at, line, file);
  put_line(at + work_at, line + 1, file);
  char whole[64];
  const int length = snprintf(whole, sizeof(whole), "JS:*%s %s:%u:1", as, file, line);
  put_head(0, 40 + (size_t)length + 1 + bytes); /* code */
  put32((uint32_t)getpid());
  put32((uint32_t)getpid());
  put64((uintptr_t)at);
  put64((uintptr_t)at);
  put64(bytes);
  put64(pieces);
  fwrite(whole, (size_t)length + 1, 1, dump);
  fwrite(at, bytes, 1, dump);
  fflush(dump);
}

static void* name(void* at, const void* code, size_t bytes, const char* as) {
  if (mprotect(at, 1, PROT_READ | PROT_WRITE) != 0) abort();
  memcpy(at, code, bytes);
  if (mprotect(at, 1, PROT_READ | PROT_EXEC) != 0) abort();
  if (dump != NULL) {
    put_code(at, bytes, code == loop_code ? WORK_OF_LOOP_AT : WORK_OF_CALL_AT, as);
    return at;
  }
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
  if (argc > 2 && strcmp(argv[2], "dump") == 0) {
    begin_dump();
  } else {
    map = fopen(path, "w");
    if (map == NULL) return 1;
  }
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
  if (map != NULL) {
    fclose(map);
    unlink(path);
  }
  return 0;
}
