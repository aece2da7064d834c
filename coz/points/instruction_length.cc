#include "coz/points/instruction_length.h"

#include <Zydis/Zydis.h>

namespace coz::points {
namespace {

bool Decode(const uint8_t* code, size_t bytes, ZydisDecodedInstruction* instruction) {
  ZydisDecoder decoder;
  return ZYAN_SUCCESS(
             ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)) &&
         ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&decoder, /*context=*/nullptr, code, bytes,
                                                    instruction));
}

}  // namespace

size_t InstructionLength(const uint8_t* code, size_t bytes) {
  ZydisDecodedInstruction instruction;
  return Decode(code, bytes, &instruction) ? instruction.length : 0;
}

size_t PaddingLength(const uint8_t* code, size_t bytes) {
  size_t length = 0;
  ZydisDecodedInstruction instruction;
  while (Decode(code + length, bytes - length, &instruction) &&
         instruction.mnemonic == ZYDIS_MNEMONIC_NOP) {
    length += instruction.length;
  }
  return length;
}

bool ReachesEnd(const uint8_t* code, size_t bytes) {
  ZydisDecodedInstruction instruction;
  size_t at = 0;
  bool goes_on = false;
  while (at < bytes && Decode(code + at, bytes - at, &instruction)) {
    const ZydisInstructionCategory category = instruction.meta.category;
    goes_on = category != ZYDIS_CATEGORY_UNCOND_BR && category != ZYDIS_CATEGORY_RET;
    at += instruction.length;
  }
  return at == bytes && goes_on;
}

std::optional<int64_t> DistanceToNext(const uint8_t* code, size_t bytes) {
  ZydisDecodedInstruction instruction;
  if (!Decode(code, bytes, &instruction)) return std::nullopt;
  const int64_t behind = instruction.length;
  switch (instruction.meta.category) {
    case ZYDIS_CATEGORY_CALL:
    case ZYDIS_CATEGORY_UNCOND_BR:
      // Only a direct jump or call has its distance as a constant in the instruction.
      if (!instruction.raw.imm[0].is_relative) return std::nullopt;
      return behind + instruction.raw.imm[0].value.s;
    case ZYDIS_CATEGORY_RET:
      return std::nullopt;
    default:
      return behind;
  }
}

std::optional<int64_t> DistanceOfJump(const uint8_t* code, size_t bytes) {
  ZydisDecodedInstruction instruction;
  if (!Decode(code, bytes, &instruction) || !instruction.raw.imm[0].is_relative) {
    return std::nullopt;
  }
  const ZydisInstructionCategory category = instruction.meta.category;
  if (category != ZYDIS_CATEGORY_UNCOND_BR && category != ZYDIS_CATEGORY_COND_BR) {
    return std::nullopt;
  }
  return instruction.length + instruction.raw.imm[0].value.s;
}

std::optional<InstructionFlow> FlowOf(const uint8_t* code, size_t bytes) {
  ZydisDecodedInstruction instruction;
  if (!Decode(code, bytes, &instruction)) return std::nullopt;
  const ZydisInstructionCategory category = instruction.meta.category;
  const bool jumps = category == ZYDIS_CATEGORY_UNCOND_BR;
  const bool ends =
      instruction.mnemonic == ZYDIS_MNEMONIC_UD2 || instruction.mnemonic == ZYDIS_MNEMONIC_HLT;
  return InstructionFlow{instruction.length, !jumps && !ends && category != ZYDIS_CATEGORY_RET,
                         jumps && !instruction.raw.imm[0].is_relative,
                         instruction.mnemonic == ZYDIS_MNEMONIC_NOP, DistanceOfJump(code, bytes)};
}

}  // namespace coz::points
