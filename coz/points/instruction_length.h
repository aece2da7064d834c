// Length of one x86-64 instruction, and where a thread goes on after it.
//
// A thread that has run a probed instruction is sampled at the next one. These functions find that
// next place from the bytes in the file.
//
// Shape    one instruction in 64-bit mode, at the start of the bytes
// Units    bytes
// Errors   0 or nothing where the bytes are no known instruction, or are cut off
// Threads  safe: pure functions
// Signals  not safe; only the supervisor needs them
// Source   Zydis/Decoder.h; Intel's manual, volume 2; arch/x86/kernel/uprobes.c
#ifndef COZ_POINTS_INSTRUCTION_LENGTH_H_
#define COZ_POINTS_INSTRUCTION_LENGTH_H_

#include <cstddef>
#include <cstdint>
#include <optional>

namespace coz::points {

size_t InstructionLength(const uint8_t* code, size_t bytes);

// Of the instructions at the start that do nothing: compilers fill up with them.
size_t PaddingLength(const uint8_t* code, size_t bytes);

// Whether a thread comes from the last instruction to what is behind `bytes`. The code begins at an
// instruction.
bool ReachesEnd(const uint8_t* code, size_t bytes);

// Distance from `code` to the next instruction that the thread runs: the target of a direct jump or
// call, else the instruction behind. A conditional jump counts as not taken. Nothing for returns
// and for jumps and calls through a register or memory, whose target is known only when they run.
std::optional<int64_t> DistanceToNext(const uint8_t* code, size_t bytes);

// Distance from `code` to the target of a direct jump, conditional or not. Nothing for all others.
std::optional<int64_t> DistanceOfJump(const uint8_t* code, size_t bytes);

// Where a thread goes from one instruction on, within its function.
struct InstructionFlow {
  size_t length;
  bool goes_on;                 // to the instruction behind; so calls do
  bool leads_anywhere;          // jumps to what a register or memory says
  bool does_nothing;            // padding
  std::optional<int64_t> jump;  // distance to the target of a direct jump
};
std::optional<InstructionFlow> FlowOf(const uint8_t* code, size_t bytes);

}  // namespace coz::points

#endif  // COZ_POINTS_INSTRUCTION_LENGTH_H_
