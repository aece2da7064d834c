// Stores changes of code in the process that runs it, while its threads run, and handles their
// int3s.
//
// Shape    one table for the process; stubs and their entries stay for good. A place is changed so
//          that a thread at any instruction of it goes on right: int3s first, then, when every CPU
//          has seen them, the other bytes, and last the first one. Removal is the reverse
// Units    runtime addresses; bytes
// Errors   a PatchResult; code is changed wholly or not at all
// Threads  safe: one thread at a time changes code, another one is told kBusy
// Signals  all functions are async-signal-safe: no heap, no lock that waits, raw system calls only.
//          A thread that would execute a changed place must not block SIGTRAP
// Source   Intel SDM volume 3, 9.1.3 "Cross-Modifying Code"; membarrier(2); docs/design/patching.md
#ifndef COZ_PATCH_CODE_PATCHER_H_
#define COZ_PATCH_CODE_PATCHER_H_

#include <signal.h>
#include <ucontext.h>

#include <cstddef>
#include <cstdint>

#include "coz/patch/code_patch.h"
#include "coz/patch/patch_result.h"

namespace coz::patch {

inline constexpr uint32_t kMaxPatches = 2048;

PatchResult InsertPatch(const CodePatch& patch);
PatchResult RemovePatch(uint64_t address);

// In the handler of SIGTRAP: whether it comes from an int3 of ours. If so, has counted the visit,
// and the handler has only to return.
bool TakeTrap(const siginfo_t& info, ucontext_t* context);
// A handler of the program for SIGTRAP may itself come to an int3.
bool HasTraps();

// What an address within a stub, or an int3 of ours, stands for.
struct Original {
  uint64_t address;
  uint32_t pushed_bytes;  // by the stub
  bool is_counting;       // the thread spends its time on an int3
};
bool OriginalOf(uint64_t ip, Original* original);

// Around a call that may unmap code. Between the two nothing is inserted.
void BeginUnmap();
void EndUnmap();

// For a process that is not to count any more: restores all code. False where that is not possible;
// the handler then has to stay. Where other threads run, one may have taken an int3 and not come to
// the handler yet.
bool RestoreCode();

// For the child of fork: changes that another thread had under way in the parent are not.
void OnForkInChild();

}  // namespace coz::patch

#endif  // COZ_PATCH_CODE_PATCHER_H_
