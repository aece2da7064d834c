/*
 * A program that handles SIGTRAP by the system call itself, or becomes another program by it.
 *   own_signals libc | syscall | inline | exec N
 *
 * It sets its handler by sigaction(), by syscall() or by an instruction of its own (where it is
 * built with COZ_INLINE_CALL), works, and raises SIGTRAP twice, by raise() and by int3. It prints
 * how often the handler ran and what the disposition reads back as. With "exec" two threads work,
 * and it becomes itself N times. Its exit status is 7. With COZ_GO_NOTE it is a Go program to
 * whoever looks at its file.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "coz.h"

#ifdef COZ_GO_NOTE
__attribute__((section(".note.go.buildid"), used, aligned(4))) static const struct {
  uint32_t name_bytes, description_bytes, type;
  char name[4], description[4];
} go_note = {4, 4, 4, "Go", "abc"};
#endif

struct kernel_sigaction {
  void (*handler)(int);
  uint64_t flags;
  void (*restorer)(void);
  uint64_t mask;
};
static const uint64_t FROM_LIBC = 0x04000000; /* SA_RESTORER */

static volatile int trapped;
static void on_trap(int signal) { trapped += signal == SIGTRAP; }

void return_from_handler(void);
__asm__(".text\nreturn_from_handler:\n  mov $15, %eax\n  syscall\n");

static long call(const char* way, const struct kernel_sigaction* action,
                 struct kernel_sigaction* old) {
#ifdef COZ_INLINE_CALL
  if (strcmp(way, "inline") == 0) {
    long result = SYS_rt_sigaction;
    register uint64_t bytes __asm__("r10") = sizeof(action->mask);
    __asm__ volatile("syscall"
                     : "+a"(result)
                     : "D"((long)SIGTRAP), "S"(action), "d"(old), "r"(bytes)
                     : "rcx", "r11", "memory");
    return result;
  }
#else
  (void)way;
#endif
  return syscall(SYS_rt_sigaction, SIGTRAP, action, old, sizeof(action->mask));
}

__attribute__((noinline)) static void work(int ms) {
  struct timespec now, start;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &start);
  do {
    COZ_PROGRESS;
    for (volatile int i = 0; i < 100000; ++i) {
    }
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  } while ((now.tv_sec - start.tv_sec) * 1000 + (now.tv_nsec - start.tv_nsec) / 1000000 < ms);
}

static void* work_on(void* unused) {
  for (;;) work(100);
  return unused;
}

static void become(char** argv) {
  const int left = atoi(argv[2]);
  pthread_t thread;
  pthread_create(&thread, NULL, work_on, NULL);
  work(2);
  if (left == 0) return;
  char number[16];
  snprintf(number, sizeof(number), "%d", left - 1);
  char* arguments[] = {argv[0], argv[1], number, NULL};
  syscall(SYS_execve, "/proc/self/exe", arguments, environ);
  perror("execve");
}

int main(int argc, char** argv) {
  const char* const way = argc > 1 ? argv[1] : "libc";
  if (strcmp(way, "exec") == 0) {
    become(argv);
    puts("became itself");
    return 7;
  }
  struct kernel_sigaction old = {0}, action = {on_trap, FROM_LIBC | SA_NODEFER, return_from_handler,
                                               1 << (SIGUSR1 - 1)};
  if (strcmp(way, "libc") == 0) {
    struct sigaction by_libc = {.sa_handler = on_trap};
    sigaction(SIGTRAP, &by_libc, NULL);
  } else {
    if (call(way, &action, &old) != 0) perror("rt_sigaction");
    printf("before: %d %llx\n", old.handler == SIG_DFL,
           (unsigned long long)(old.flags & ~FROM_LIBC));
    call(way, NULL, &old);
    printf("then: %d\n", memcmp(&old, &action, sizeof(old)));
    printf("bad: %ld %ld\n", call(way, NULL, (void*)16), call(way, (void*)16, NULL));
  }
  work(300);
  raise(SIGTRAP);
  __asm__ volatile("int3");
  work(100);
  printf("handled %d\n", trapped);
  return 7;
}
