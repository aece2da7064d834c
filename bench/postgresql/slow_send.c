// Loaded before a program's libc (LD_PRELOAD), this makes each send() take SLOW_SEND_US
// microseconds more CPU time.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

static int64_t now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

ssize_t send(int fd, const void* data, size_t size, int flags) {
  static int64_t slow_ns = -1;
  static ssize_t (*next)(int, const void*, size_t, int);
  if (slow_ns < 0) {
    const char* text = getenv("SLOW_SEND_US");
    slow_ns = text != NULL ? 1000 * atoll(text) : 0;
    void* symbol = dlsym(RTLD_NEXT, "send");
    memcpy(&next, &symbol, sizeof(next));
  }
  if (slow_ns > 0) {
    for (const int64_t end_ns = now_ns() + slow_ns; now_ns() < end_ns;) continue;
  }
  return next(fd, data, size, flags);
}
