// The environment for a program that this process becomes or starts.
//
// libcoz.so is left out where the dynamic linker could not open it, or where it could not reach the
// supervisor: the process has changed its user, its root folder or its mounts. Either would
// complain on the program's standard error. A sanitizer's library (sanitizer_runtime.h) is put
// before libcoz.so, with a space between them. By that space the new process knows who put it
// there, and takes it out of its own environment again.
//
// Shape    pointers into the given environment; what is new lies in a buffer of the caller's
// Units    bytes
// Errors   in doubt the environment stays as it is
// Threads  safe
// Signals  async-signal-safe; fit for a child of vfork: no heap, no lock
// Source   ld.so(8), which takes spaces as well as colons; measured: runuser, chroot
#ifndef COZ_SYNC_INTERPOSE_PRELOAD_ENVIRONMENT_H_
#define COZ_SYNC_INTERPOSE_PRELOAD_ENVIRONMENT_H_

#include <cstddef>

#include "coz/base/sanitizer_runtime.h"

namespace coz::interpose {

// The LD_PRELOAD entry of `environment` if it names a libcoz.so that a program of this process's
// user could not open, or not use; else null.
const char* FindUnreachablePreload(char* const* environment);

// The same whether or not it can be opened.
const char* FindPreload(char* const* environment);

// True where a sanitizer's library is the first of `preload_entry`.
bool StartsWithSanitizer(const char* preload_entry);

// How many pointers and characters the copies below need.
size_t CountEntries(char* const* environment);  // its end included
size_t PreloadBytes(const char* preload_entry);

// The environment without libcoz.so and the name of its control block. Other libraries of
// `preload_entry` go to `rest`. `copy` may be `environment`.
void CopyWithoutPreload(char* const* environment, const char* preload_entry, char** copy,
                        char* rest);

// The environment with `sanitizer` before libcoz.so; the new entry goes to `entry`.
void CopyWithSanitizer(char* const* environment, const char* preload_entry,
                       const SanitizerRuntime& sanitizer, char** copy, char* entry);

// Takes out of this process's environment, in place, what CopyWithSanitizer has put there.
void TakeOutSanitizer(char** environment);

}  // namespace coz::interpose

#endif  // COZ_SYNC_INTERPOSE_PRELOAD_ENVIRONMENT_H_
