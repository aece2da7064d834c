// Waits in ways that the runtime does not see; it is never run.
#define _GNU_SOURCE
#include <aio.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/syscall.h>

static int word;

int main(void) {
  long result;
  __asm__ volatile(
      "movl %1, %%eax\n\t"
      "xorl %%edx, %%edx\n\t"
      "syscall"
      : "=a"(result)
      : "i"(SYS_futex), "D"(&word), "S"(0)
      : "rcx", "r11", "rdx", "memory");
  flockfile(stdin);
  struct aiocb64* none[1] = {0};
  // Of flock coz knows.
  return flock(0, LOCK_EX) + lio_listio64(LIO_WAIT, none, 1, 0) + (int)result;
}
