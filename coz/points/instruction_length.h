// Where a thread goes on after the instruction that a probe was put at: there it is sampled for the time that the kernel took to count it
// and to run that instruction in its place.
//
// Shape    one x86-64 instruction: lengths by the opcode maps, no meaning
// Units    bytes
// Errors   0 where the bytes are no instruction that is known, or cut off
// Threads  safe: pure functions
// Signals  async-signal-safe
// Source   Intel's manual, volume 2, chapter 2 and appendix A; arch/x86/kernel/uprobes.c
#ifndef COZ_POINTS_INSTRUCTION_LENGTH_H_
#define COZ_POINTS_INSTRUCTION_LENGTH_H_

#include <cstddef>
#include <cstdint>
#include <optional>

namespace coz::points {

size_t InstructionLength(const uint8_t* code, size_t bytes);

// From `code`: behind the instruction, or where it jumps to or calls at a fixed distance. Nothing where that is not known before it runs.
std::optional<int64_t> DistanceToNext(const uint8_t* code, size_t bytes);

}  // namespace coz::points

#endif  // COZ_POINTS_INSTRUCTION_LENGTH_H_
