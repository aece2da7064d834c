// Put before a program's libc (LD_PRELOAD), makes each send() and sendto() take SLOW_SEND_US
// microseconds more of CPU time. The time is spent in user mode, since not every user may sample
// the kernel.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

enum { kCalibrationRounds = 20, kCalibrationSpins = 100000 };

static int64_t slow_spins;
static ssize_t (*next_send)(int, const void*, size_t, int);
static ssize_t (*next_sendto)(int, const void*, size_t, int, const struct sockaddr*, socklen_t);

static int64_t now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

// A chain of multiplications in a register takes the same number of cycles each time. A counter in
// memory does not: some processors at times forward its stores faster.
static void spin(int64_t times) {
  uint64_t chain = 1;
  for (int64_t i = 0; i < times; ++i) {
    chain *= UINT64_C(0x9E3779B97F4A7C15);
    __asm__ volatile("" : "+r"(chain));
  }
}

// In the first process, before it forks: the others inherit what it finds. The shortest of some
// rounds is the one that nothing disturbed.
__attribute__((constructor)) static void calibrate(void) {
  const char* text = getenv("SLOW_SEND_US");
  const int64_t slow_ns = text != NULL ? 1000 * atoll(text) : 0;
  int64_t shortest_ns = INT64_MAX;
  for (int round = 0; slow_ns > 0 && round < kCalibrationRounds; ++round) {
    const int64_t start_ns = now_ns();
    spin(kCalibrationSpins);
    const int64_t took_ns = now_ns() - start_ns;
    if (took_ns < shortest_ns) shortest_ns = took_ns;
  }
  if (slow_ns > 0) slow_spins = slow_ns * kCalibrationSpins / shortest_ns;
  void* symbol = dlsym(RTLD_NEXT, "send");
  memcpy(&next_send, &symbol, sizeof(next_send));
  symbol = dlsym(RTLD_NEXT, "sendto");
  memcpy(&next_sendto, &symbol, sizeof(next_sendto));
}

ssize_t send(int fd, const void* data, size_t size, int flags) {
  spin(slow_spins);
  return next_send(fd, data, size, flags);
}

ssize_t sendto(int fd, const void* data, size_t size, int flags, const struct sockaddr* to,
               socklen_t length) {
  spin(slow_spins);
  return next_sendto(fd, data, size, flags, to, length);
}
