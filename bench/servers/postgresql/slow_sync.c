// Put behind coz's library in LD_PRELOAD, stands for a disk on which each fdatasync() and fsync()
// takes SLOW_SYNC_US microseconds, whatever was written. Nothing is synced really.
//
// coz's library sees the call first, and finds a wait for the disk. The sleep is a bare system
// call, for coz would see nanosleep().
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static struct timespec sync_takes;

__attribute__((constructor)) static void read_environment(void) {
  const char* text = getenv("SLOW_SYNC_US");
  const long us = text != NULL ? atol(text) : 0;
  sync_takes.tv_sec = us / 1000000;
  sync_takes.tv_nsec = us % 1000000 * 1000;
}

static int wait_for_disk(void) {
  syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &sync_takes, NULL);
  return 0;
}

int fdatasync(int fd) {
  (void)fd;
  return wait_for_disk();
}

int fsync(int fd) {
  (void)fd;
  return wait_for_disk();
}
