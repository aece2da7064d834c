// Finds the sanitizer's library that a program is linked with (gcc links it as a shared object). It
// has to be the first in the process: otherwise the address sanitizer ends the program, and the
// thread sanitizer reports what it misses as mistakes. So it stands before libcoz.so in LD_PRELOAD,
// in that program's environment alone.
//
// Shape    a name as in the program's list of needed libraries
// Units    bytes
// Errors   what is no ELF file of this machine, or cannot be read, needs none
// Threads  safe
// Signals  async-signal-safe; fit for a child of vfork: no heap, no lock
// Source   elf(5); asan_linux.cpp, AsanCheckDynamicRTPrereqs
#ifndef COZ_BASE_SANITIZER_RUNTIME_H_
#define COZ_BASE_SANITIZER_RUNTIME_H_

#include <cstddef>

namespace coz {

struct SanitizerRuntime {
  char name[48] = "";  // empty: none
};

// True for libasan.so.8, /usr/lib/…/libtsan.so.2, libclang_rt.asan-x86_64.so and the like. `length`
// characters of `library`.
bool IsSanitizerRuntime(const char* library, size_t length);

// What the program at `path`, relative to `folder` (a descriptor or AT_FDCWD), needs.
SanitizerRuntime FindSanitizerRuntime(int folder, const char* path);

}  // namespace coz

#endif  // COZ_BASE_SANITIZER_RUNTIME_H_
