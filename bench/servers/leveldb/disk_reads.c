// Put behind coz's library in LD_PRELOAD, makes LevelDB read its tables from the disk, not from
// the page cache, where DISK_READS is 1. Each such read takes SLOW_READ_US microseconds more, as
// on a slower disk.
//
// coz's library sees pread() first, and finds a wait for the disk. The sleep is a bare system call,
// for coz would see nanosleep().
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

// Of a direct read: its place, size and buffer are multiples of it. A table's block is smaller
// than kMostBytes.
enum { kPageBytes = 4096, kMostBytes = 1 << 16 };

static int (*next_open)(const char*, int, ...);
static ssize_t (*next_pread)(int, void*, size_t, off_t);
static int from_disk;
static struct timespec slower_by;

__attribute__((constructor)) static void start(void) {
  const char* disk = getenv("DISK_READS");
  from_disk = disk != NULL && atoi(disk) != 0;
  const char* slow = getenv("SLOW_READ_US");
  slower_by.tv_nsec = slow != NULL ? 1000 * atol(slow) : 0;
  void* symbol = dlsym(RTLD_NEXT, "open");
  memcpy(&next_open, &symbol, sizeof(next_open));
  symbol = dlsym(RTLD_NEXT, "pread");
  memcpy(&next_pread, &symbol, sizeof(next_pread));
}

static int is_table(const char* path) {
  const char* end = strrchr(path, '.');
  return end != NULL && strcmp(end, ".ldb") == 0;
}

int open(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  const int reads_only = (flags & O_ACCMODE) == O_RDONLY;
  if (from_disk && reads_only && is_table(path)) flags |= O_DIRECT;
  return next_open(path, flags, mode);
}

ssize_t pread(int fd, void* data, size_t size, off_t place) {
  if (!from_disk) return next_pread(fd, data, size, place);
  if (slower_by.tv_nsec > 0) syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &slower_by, NULL);
  char pages[kMostBytes] __attribute__((aligned(kPageBytes)));
  const off_t from = place / kPageBytes * kPageBytes;
  const off_t before = place - from;
  const size_t whole = (before + size + kPageBytes - 1) / kPageBytes * kPageBytes;
  if (whole > sizeof(pages)) return next_pread(fd, data, size, place);
  const ssize_t found = next_pread(fd, pages, whole, from) - before;
  if (found <= 0) return found + before < 0 ? -1 : 0;
  const ssize_t taken = found < (ssize_t)size ? found : (ssize_t)size;
  memcpy(data, pages + before, taken);
  return taken;
}
