// Finds where the calls of a function end, and where its return address lies there.
//
// Shape    one list of candidates for each end, the instruction that leaves first, then those from
//          which on the code runs straight to it. An end is a return, or a jump out of the function
// Units    offsets from the function's begin; bytes
// Errors   `why_none`: a clause, where not every end can be seen
// Threads  safe
// Signals  not safe
// Source   System V ABI for x86-64, section 3.2; Zydis; docs/threads.md
#ifndef COZ_PATCH_FUNCTION_ENDS_H_
#define COZ_PATCH_FUNCTION_ENDS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "coz/patch/code_patch.h"

namespace coz::patch {

struct FunctionEnd {
  size_t offset;  // of the instruction
  FrameRule frame;
  bool is_jump = false;  // out of the function, to another one
};

struct FunctionEnds {
  std::vector<std::vector<FunctionEnd>> ends;
  std::string why_none;
};

// `code` is the function's whole code.
FunctionEnds FindFunctionEnds(const uint8_t* code, size_t bytes);

}  // namespace coz::patch

#endif  // COZ_PATCH_FUNCTION_ENDS_H_
