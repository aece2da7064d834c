#include "coz/patch/patch_result.h"

namespace coz::patch {

const char* Describe(PatchResult result) {
  switch (result) {
    case PatchResult::kDone:
      return "done";
    case PatchResult::kAlready:
      return "it is there already";
    case PatchResult::kFull:
      return "there are too many places";
    case PatchResult::kBusy:
      return "other code is being changed";
    case PatchResult::kOtherCode:
      return "the process has other code there than its file";
    case PatchResult::kNoStubSpace:
      return "no memory near the code is free";
    case PatchResult::kMayNotWrite:
      return "the system forbids programs to change their code";
    case PatchResult::kNoBarrier:
      return "the kernel has no membarrier for changed code";
    case PatchResult::kManyThreads:
      return "threads run that may be there";
    case PatchResult::kShadowStack:
      return "the processor guards return addresses";
    case PatchResult::kNoSuchPatch:
      return "nothing was changed there";
    case PatchResult::kOverlaps:
      return "the bytes are part of another change";
  }
  return "";
}

}  // namespace coz::patch
