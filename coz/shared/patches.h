// By which the supervisor asks a process to change its code, so that it counts visits to places.
//
// Shape    one request at a time, for one process. The supervisor writes it; the process answers
//          when it starts, or with its next sample
// Units    runtime addresses of the process
// Errors   a result for each patch
// Threads  `state` says who may read or write the rest
// Signals  lock-free
// Source   docs/design/points.md, "By changed code"
#ifndef COZ_SHARED_PATCHES_H_
#define COZ_SHARED_PATCHES_H_

#include <atomic>
#include <cstdint>

#include "coz/patch/code_patch.h"

namespace coz::shared {

inline constexpr uint32_t kMaxAskedPatches = 256;

// kTaken: the process is at it. A process that ends meanwhile leaves it so.
enum class PatchRequestState : uint32_t { kFree, kAsked, kTaken, kAnswered };

struct PatchRequest {
  std::atomic<PatchRequestState> state;
  std::atomic<int32_t> pid;  // of whom it is asked
  uint32_t removes;          // 1: patches are taken away, by their addresses
  uint32_t count;
  patch::CodePatch patches[kMaxAskedPatches];
  uint32_t results[kMaxAskedPatches];  // PatchResults
};

}  // namespace coz::shared

#endif  // COZ_SHARED_PATCHES_H_
