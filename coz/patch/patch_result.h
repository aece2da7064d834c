// What became of a change of code.
//
// Shape    a number that may lie in shared memory, and its words
// Units    none
// Errors   none
// Threads  safe
// Signals  async-signal-safe
// Source   none
#ifndef COZ_PATCH_PATCH_RESULT_H_
#define COZ_PATCH_PATCH_RESULT_H_

#include <cstdint>

namespace coz::patch {

enum class PatchResult : uint32_t {
  kDone,
  kAlready,      // the same place is counted by the same counter
  kFull,         // kMaxPatches
  kBusy,         // another change is under way, or a library is being unloaded
  kOtherCode,    // the bytes are not those that the supervisor has seen
  kNoStubSpace,  // the stub's address is in use
  kMayNotWrite,  // the system forbids to change code
  kNoBarrier,    // the kernel cannot make all CPUs see new code
  kManyThreads,  // it has to be done while there is one
  kShadowStack,  // a copy of a call would not return
  kNoSuchPatch,
  kOverlaps,  // another change is made of bytes there, or leans on them
};

// A clause, such as "it is there already".
const char* Describe(PatchResult result);

}  // namespace coz::patch

#endif  // COZ_PATCH_PATCH_RESULT_H_
