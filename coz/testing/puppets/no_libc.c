/*
 * A program that has a loader but no library, as Go makes them with -buildmode=pie: it starts
 * without libc, has a thread pointer of its own, and takes SIGTRAP by the system call. It works for
 * some 300 ms of CPU time, prints what came, and ends with status 7.
 */
#include <stdint.h>

enum { WRITE = 1, RT_SIGACTION = 13, EXIT_GROUP = 231, ARCH_PRCTL = 158, CLOCK_GETTIME = 228 };
enum { SET_FS = 0x1002, TRAP = 5, RESTORER = 0x04000000, THREAD_CPU = 3 };

static long call(long number, long a, long b, long c, long d) {
  register long fourth __asm__("r10") = d;
  __asm__ volatile("syscall"
                   : "+a"(number)
                   : "D"(a), "S"(b), "d"(c), "r"(fourth)
                   : "rcx", "r11", "memory");
  return number;
}

static void say(const char* text) {
  long length = 0;
  while (text[length] != 0) ++length;
  call(WRITE, 1, (long)text, length, 0);
}

static void on_trap(int signal) {
  say(signal == TRAP ? "a trap came\n" : "a signal came\n");
  call(EXIT_GROUP, 9, 0, 0, 0);
}

static long cpu_ms(void) {
  long now[2];
  call(CLOCK_GETTIME, THREAD_CPU, (long)now, 0, 0);
  return now[0] * 1000 + now[1] / 1000000;
}

static char thread_block[4096];

__attribute__((used)) static void begin(void) {
  const struct {
    void (*handler)(int);
    uint64_t flags;
    void (*restorer)(void);
    uint64_t mask;
  } action = {on_trap, RESTORER, 0, 0};
  call(ARCH_PRCTL, SET_FS, (long)(thread_block + sizeof(thread_block) / 2), 0, 0);
  call(RT_SIGACTION, TRAP, (long)&action, 0, sizeof(action.mask));
  while (cpu_ms() < 300) {
  }
  for (unsigned i = 0; i < sizeof(thread_block); ++i) {
    if (thread_block[i] != 0) say("its thread block was written to\n");
  }
  say("done\n");
  call(EXIT_GROUP, 7, 0, 0, 0);
}

__asm__(".text\n.globl _start\n_start:\n  and $-16, %rsp\n  call begin\n");
