// Puts the wrapped calls in front of libc's in libraries that are loaded already, and takes them
// away again. The loader does the former for a library that is preloaded.
//
// Shape    every slot by which a loaded object calls a function of libc (R_X86_64_JUMP_SLOT and
//          R_X86_64_GLOB_DAT), but for those of libc, of the loader and of this library
// Units    numbers of slots
// Errors   a slot that holds another function than libc's stays as it is: another library stands in
//          front of libc there. Without memory for notes nothing is changed
// Threads  safe; other threads may make the wrapped calls meanwhile
// Signals  not async-signal-safe, as they take the loader's locks; but for UnwrapObjects and
//          OnForkInCallSlots, which take none
// Source   System V ABI, "Global Offset Table", "Procedure Linkage Table"; glibc elf/dl-runtime.c
#ifndef COZ_SYNC_INTERPOSE_CALL_SLOTS_H_
#define COZ_SYNC_INTERPOSE_CALL_SLOTS_H_

#include <cstddef>

namespace coz::interpose {

// Returns how many slots it has changed.
size_t WrapLoadedObjects();

// The same for objects that were loaded since. Nothing where UnwrapObjects was called since.
void WrapNewObjects();
// Objects have been unloaded: their slots are nobody's.
void ForgetUnloadedObjects();

// Puts back what slots held. A slot that holds anything but the wrapped call is left alone: its
// object has gone, or somebody else has changed it.
void UnwrapObjects();

// For the child of fork: another thread of the parent may have been in one of these.
void OnForkInCallSlots();

}  // namespace coz::interpose

#endif  // COZ_SYNC_INTERPOSE_CALL_SLOTS_H_
