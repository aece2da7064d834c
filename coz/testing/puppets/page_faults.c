/*
 * Reads a file that it has mapped into memory, each page from the disk again: what waits is a page
 * fault, and no call.
 *
 *   page_faults FILE SECONDS
 *
 * Makes the file. Prints how many such faults the kernel has counted in the seconds. There are none
 * where the file system keeps its files in memory.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "coz/runtime/coz.h"

enum { kPageBytes = 4096, kPages = 64 };

static double seconds_since(const struct timespec* start) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)(now.tv_sec - start->tv_sec) + 1e-9 * (double)(now.tv_nsec - start->tv_nsec);
}

/* On the disk, so that the page cache may forget it. */
static int make_file(const char* path) {
  static const char page[kPageBytes] = "page";
  const int fd = open(path, O_CREAT | O_TRUNC | O_RDWR, 0600);
  for (int i = 0; i < kPages; ++i) {
    if (write(fd, page, kPageBytes) != kPageBytes) exit(2);
  }
  if (fsync(fd) != 0) exit(2);
  return fd;
}

static unsigned long work(unsigned long sum) {
  for (int i = 0; i < 100000; ++i) sum = sum * 3 + 1;
  return sum;
}

int main(int argc, char** argv) {
  struct timespec start;
  struct rusage use;
  volatile unsigned long sum = 1;
  if (argc != 3) return 2;
  const int fd = make_file(argv[1]);
  char* const map = mmap(NULL, kPages * kPageBytes, PROT_READ, MAP_PRIVATE, fd, 0);
  if (map == MAP_FAILED || madvise(map, kPages * kPageBytes, MADV_RANDOM) != 0) return 2;
  clock_gettime(CLOCK_MONOTONIC, &start);
  for (int page = 0; seconds_since(&start) < atof(argv[2]); page = (page + 1) % kPages) {
    char* const at = map + page * kPageBytes;
    if (madvise(at, kPageBytes, MADV_DONTNEED) != 0) return 2;
    if (posix_fadvise(fd, page * kPageBytes, kPageBytes, POSIX_FADV_DONTNEED) != 0) return 2;
    sum = work(sum + *(volatile unsigned char*)at);
    COZ_PROGRESS_NAMED("pages");
  }
  getrusage(RUSAGE_SELF, &use);
  printf("%ld\n", use.ru_majflt);
  return 0;
}
