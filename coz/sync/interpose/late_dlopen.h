// dlopen in a process that is attached to: the calls of what it has loaded lead through the library
// before the program goes on. Where the profiler was there first, the loader does that.
//
// Shape    a function that stands in the place of libc's
// Units    none
// Errors   those of dlopen
// Threads  safe
// Signals  as dlopen
// Source   dlopen(3); glibc elf/dl-load.c: what a plain name means depends on who calls
#ifndef COZ_SYNC_INTERPOSE_LATE_DLOPEN_H_
#define COZ_SYNC_INTERPOSE_LATE_DLOPEN_H_

#include <cstdint>

namespace coz::interpose {

// Address of the function; `of_libc` is that of libc's.
uint64_t LateDlopen(uint64_t of_libc);

}  // namespace coz::interpose

#endif  // COZ_SYNC_INTERPOSE_LATE_DLOPEN_H_
