#include "bench/patch/displaced_needs.h"

#include <Zydis/Zydis.h>

namespace coz::bench {
namespace {

bool Varies(ZydisMnemonic mnemonic) {
  switch (mnemonic) {
    case ZYDIS_MNEMONIC_RDTSC:
    case ZYDIS_MNEMONIC_RDTSCP:
    case ZYDIS_MNEMONIC_RDRAND:
    case ZYDIS_MNEMONIC_RDSEED:
    case ZYDIS_MNEMONIC_RDPID:
    case ZYDIS_MNEMONIC_CPUID:
      return true;
    default:
      return false;
  }
}

// A shift by nothing leaves flags alone.
void AddFlags(const ZydisDecodedInstruction& instruction, uint64_t* set) {
  const ZydisAccessedFlags* const flags = instruction.cpu_flags;
  if (flags == nullptr) return;
  const bool may_set_none = instruction.meta.category == ZYDIS_CATEGORY_SHIFT ||
                            instruction.meta.category == ZYDIS_CATEGORY_ROTATE;
  if (!may_set_none) *set |= flags->modified | flags->set_0 | flags->set_1;
  *set &= ~uint64_t{flags->undefined};
}

void AddOperand(const ZydisDecodedInstruction& instruction, const ZydisDecodedOperand& operand,
                uint64_t address, DisplacedNeeds* needs) {
  if (operand.type != ZYDIS_OPERAND_TYPE_MEMORY) return;
  ZyanU64 named = 0;
  if (operand.mem.base == ZYDIS_REGISTER_RIP &&
      ZYAN_SUCCESS(ZydisCalcAbsoluteAddress(&instruction, &operand, address, &named))) {
    needs->named_memory.push_back(named);
  }
  const bool is_general =
      operand.mem.index >= ZYDIS_REGISTER_RAX && operand.mem.index <= ZYDIS_REGISTER_R15;
  if (is_general && operand.mem.index != operand.mem.base) {
    needs->wishes.small.push_back(static_cast<uint8_t>(operand.mem.index - ZYDIS_REGISTER_RAX));
  }
}

}  // namespace

DisplacedNeeds NeedsOf(const std::vector<uint8_t>& displaced, uint64_t address) {
  DisplacedNeeds needs;
  ZydisDecoder decoder;
  ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
  for (size_t at = 0; at < displaced.size();) {
    ZydisDecodedInstruction instruction;
    ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
    if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, &displaced[at], displaced.size() - at,
                                             &instruction, operands))) {
      break;
    }
    needs.varies |= Varies(instruction.mnemonic);
    needs.wishes.one_round |=
        (instruction.attributes &
         (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE | ZYDIS_ATTRIB_HAS_REPNE)) != 0;
    AddFlags(instruction, &needs.set_flags);
    for (int i = 0; i < instruction.operand_count; ++i) {
      AddOperand(instruction, operands[i], address + at, &needs);
    }
    at += instruction.length;
  }
  return needs;
}

}  // namespace coz::bench
