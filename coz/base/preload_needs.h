// Says what of a program's file decides how libcoz.so is preloaded into it: whether its loader can
// do that at all, and which sanitizer's library it is linked with (gcc links a shared object).
//
// A loader of 32 bits complains on the program's standard error. One of another C library than
// glibc (musl), or of a glibc before 2.35, ends the program. The sanitizer's library has to be the
// first in the process: otherwise the address sanitizer ends the program, and the thread sanitizer
// reports what it misses as mistakes. So it stands before libcoz.so in LD_PRELOAD, in that
// program's environment alone.
//
// Shape    a value; a script's needs are those of its interpreter
// Units    bytes
// Errors   what is no ELF file, or cannot be read, needs nothing
// Threads  safe
// Signals  async-signal-safe; fit for a child of vfork: no heap, no lock
// Source   elf(5); execve(2) for scripts; asan_linux.cpp, AsanCheckDynamicRTPrereqs
#ifndef COZ_BASE_PRELOAD_NEEDS_H_
#define COZ_BASE_PRELOAD_NEEDS_H_

#include <cstddef>

namespace coz {

struct SanitizerRuntime {
  char name[48] = "";  // as in the program's list of needed libraries; empty: none
};

struct PreloadNeeds {
  bool can_load = true;  // false: 32 bits, another machine, another C library, an old glibc
  SanitizerRuntime sanitizer;
};

// What the program at `path`, relative to `folder` (a descriptor or AT_FDCWD), needs.
PreloadNeeds FindPreloadNeeds(int folder, const char* path);

// Whether a program's interpreter is a glibc's that has what libcoz.so needs. True for one that has
// a name of glibc's and cannot be read.
bool CanLoadLibrary(const char* loader);

// True for libasan.so.8, /usr/lib/…/libtsan.so.2, libclang_rt.asan-x86_64.so and the like. `length`
// characters of `library`.
bool IsSanitizerRuntime(const char* library, size_t length);

}  // namespace coz

#endif  // COZ_BASE_PRELOAD_NEEDS_H_
