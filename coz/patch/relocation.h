// Copies machine instructions to another address, so that they do there what they did before.
//
// Shape    one instruction at a time: operands relative to the instruction pointer, short and long
//          branches, loops, calls. A copy of a call pushes the original return address and jumps,
//          so that unwinders never see an address of a copy
// Units    runtime addresses; bytes
// Errors   `why_not` is a clause such as "it is a system call", to be put behind a subject
// Threads  safe
// Signals  not safe
// Source   Intel SDM volume 2; Zydis
#ifndef COZ_PATCH_RELOCATION_H_
#define COZ_PATCH_RELOCATION_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace coz::patch {

enum class Flow : uint8_t { kOn, kBranch, kJump, kCall, kReturn };

struct Instruction {
  size_t bytes = 0;
  Flow flow = Flow::kOn;
  bool is_indirect = false;  // a jump or call whose target is not in the instruction
  bool is_locked = false;
  bool is_padding = false;  // a nop of any length, or int3
  bool is_endbr64 = false;
  bool reads_flags = false;
  bool sets_flags = false;        // at least the arithmetic ones, whatever they were before
  std::optional<int64_t> target;  // of a branch, jump or call: distance from the instruction
  std::string why_not;            // it cannot be copied; empty: it can
};

// Nothing where the bytes are no instruction.
std::optional<Instruction> Decode(const uint8_t* code, size_t bytes);

// A copy, and the number of bytes of it after which the stack is one word deeper (0: never).
struct Copy {
  std::vector<uint8_t> bytes;
  size_t pushed_from = 0;
};

// The instruction at `from`, for the address `to`. Nothing where an operand would be out of reach,
// or where Decode gives a reason.
std::optional<Copy> Relocate(const uint8_t* code, size_t bytes, uint64_t from, uint64_t to);

}  // namespace coz::patch

#endif  // COZ_PATCH_RELOCATION_H_
