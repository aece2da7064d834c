// The environment for a program that this process becomes or starts.
//
// libcoz.so is left out where the dynamic linker could not open it, or where libcoz.so could not
// reach the supervisor. That is so after the process has changed its user, its root folder or its
// mounts. The linker or libcoz.so would then complain on the program's standard error. A
// sanitizer's library (preload_needs.h) goes before libcoz.so, with a space between them. The
// space tells the new process that coz has put the library there. It takes it out of its own
// environment again. Where a program has replaced LD_PRELOAD, libcoz.so goes before what it has put
// there.
//
// Shape    pointers into the given environment; new text lies in a buffer of the caller
// Units    bytes
// Errors   in doubt the environment stays as it is
// Threads  safe
// Signals  async-signal-safe, and usable in a child of vfork: no heap, no lock
// Source   ld.so(8), which accepts both spaces and colons; measured: runuser, chroot
#ifndef COZ_SYNC_INTERPOSE_PRELOAD_ENVIRONMENT_H_
#define COZ_SYNC_INTERPOSE_PRELOAD_ENVIRONMENT_H_

#include <cstddef>

#include "coz/base/preload_needs.h"

namespace coz::interpose {

// The program's, which it may have changed. An executable that names `environ` has a copy of libc's
// variable, and libcoz.so finds the one that nobody uses where it is loaded late, with names of its
// own first. So the variable is looked up then, by the program's names.
char** ProgramEnvironment();
void UseEnvironment(char*** variable);

// Returns the LD_PRELOAD entry of `environment` if it names a libcoz.so that a program of this
// process's user could not open or not use. Else returns null.
const char* FindUnreachablePreload(char* const* environment);

// The same for any libcoz.so, whether or not the program could open it.
const char* FindPreload(char* const* environment);

// True if the first library of `preload_entry` is a sanitizer's.
bool StartsWithSanitizer(const char* preload_entry);

// How many pointers and characters the copies below need.
size_t CountEntries(char* const* environment);  // counts the null at the end too
size_t PreloadBytes(const char* preload_entry);

// Copies the environment without libcoz.so and without the name of its control block. Other
// libraries of `preload_entry` go to `rest`. `copy` may be `environment`.
void CopyWithoutPreload(char* const* environment, const char* preload_entry, char** copy,
                        char* rest);

// Copies the environment with `sanitizer` before libcoz.so. The new entry goes to `entry`.
void CopyWithSanitizer(char* const* environment, const char* preload_entry,
                       const SanitizerRuntime& sanitizer, char** copy, char* entry);

// Keeps the name of libcoz.so in `environment`, which is this process's own.
void NoteOwnLibrary(char* const* environment);

// Returns the LD_PRELOAD entry of an environment in which the program has put other libraries in
// the place of libcoz.so (`LD_PRELOAD=libjemalloc.so server`): the name of the control block is
// still there. Null where there is no such entry, it is empty, or the library's name is not known.
const char* FindReplacedPreload(char* const* environment);

// How many characters the copy below needs.
size_t BytesWithOwnLibrary(const char* preload_entry);

// Copies the environment with this process's libcoz.so before what FindReplacedPreload has found.
void CopyWithOwnLibrary(char* const* environment, const char* preload_entry, char** copy,
                        char* entry);

// Removes from this process's environment, in place, what CopyWithSanitizer has put there.
void TakeOutSanitizer(char** environment);

}  // namespace coz::interpose

#endif  // COZ_SYNC_INTERPOSE_PRELOAD_ENVIRONMENT_H_
