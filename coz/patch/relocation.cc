#include "coz/patch/relocation.h"

#include <Zydis/Zydis.h>

#include <cstring>
#include <limits>

namespace coz::patch {
namespace {

constexpr size_t kLongJumpBytes = 5;
constexpr uint8_t kPushRip[] = {0xff, 0x35};  // push qword [rip + disp32]

struct Decoded {
  ZydisDecodedInstruction instruction;
  ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
};

bool DecodeAll(const uint8_t* code, size_t bytes, Decoded* decoded) {
  ZydisDecoder decoder;
  return ZYAN_SUCCESS(
             ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)) &&
         ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, code, bytes, &decoded->instruction,
                                             decoded->operands));
}

bool IsRelativeBranch(const ZydisDecodedInstruction& instruction) {
  return instruction.raw.imm[0].is_relative != 0;
}

// For some processors. REX.W takes the prefix's effect away: calls of __tls_get_addr have both.
bool HasBranchOf16Bits(const ZydisDecodedInstruction& instruction) {
  return IsRelativeBranch(instruction) && instruction.raw.rex.W == 0 &&
         (instruction.attributes & ZYDIS_ATTRIB_HAS_OPERANDSIZE) != 0;
}

bool IsRipRelative(const ZydisDecodedInstruction& instruction) {
  return (instruction.attributes & ZYDIS_ATTRIB_HAS_MODRM) != 0 && instruction.raw.modrm.mod == 0 &&
         instruction.raw.modrm.rm == 5 && instruction.raw.disp.size == 32;
}

bool IsLoop(ZydisMnemonic mnemonic) {
  switch (mnemonic) {
    case ZYDIS_MNEMONIC_LOOP:
    case ZYDIS_MNEMONIC_LOOPE:
    case ZYDIS_MNEMONIC_LOOPNE:
    case ZYDIS_MNEMONIC_JRCXZ:
    case ZYDIS_MNEMONIC_JECXZ:
      return true;
    default:
      return false;
  }
}

bool UsesStackPointer(const Decoded& decoded) {
  for (int i = 0; i < decoded.instruction.operand_count_visible; ++i) {
    const ZydisDecodedOperand& operand = decoded.operands[i];
    const auto is_rsp = [](ZydisRegister name) {
      return ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, name) ==
             ZYDIS_REGISTER_RSP;
    };
    if (operand.type == ZYDIS_OPERAND_TYPE_REGISTER && is_rsp(operand.reg.value)) return true;
    if (operand.type == ZYDIS_OPERAND_TYPE_MEMORY && is_rsp(operand.mem.base)) return true;
  }
  return false;
}

Flow FlowOf(const ZydisDecodedInstruction& instruction) {
  switch (instruction.meta.category) {
    case ZYDIS_CATEGORY_CALL:
      return Flow::kCall;
    case ZYDIS_CATEGORY_UNCOND_BR:
      return Flow::kJump;
    case ZYDIS_CATEGORY_COND_BR:
      return Flow::kBranch;
    case ZYDIS_CATEGORY_RET:
      return Flow::kReturn;
    default:
      return Flow::kOn;
  }
}

std::string WhyNot(const Decoded& decoded) {
  const ZydisDecodedInstruction& instruction = decoded.instruction;
  switch (instruction.meta.category) {
    case ZYDIS_CATEGORY_INTERRUPT:
      return "it traps by itself";
    case ZYDIS_CATEGORY_SYSCALL:
    case ZYDIS_CATEGORY_SYSRET:
      return "it is a system call";
    case ZYDIS_CATEGORY_SYSTEM:
      return "it is a system instruction";
    default:
      break;
  }
  switch (instruction.mnemonic) {
    case ZYDIS_MNEMONIC_UD0:
    case ZYDIS_MNEMONIC_UD1:
    case ZYDIS_MNEMONIC_UD2:
    case ZYDIS_MNEMONIC_HLT:
      return "it ends the program";
    case ZYDIS_MNEMONIC_XBEGIN:
    case ZYDIS_MNEMONIC_XABORT:
    case ZYDIS_MNEMONIC_XEND:
      return "it is part of a transaction";
    case ZYDIS_MNEMONIC_IRET:
    case ZYDIS_MNEMONIC_IRETD:
    case ZYDIS_MNEMONIC_IRETQ:
      return "it returns from an interrupt";
    default:
      break;
  }
  if (instruction.meta.branch_type == ZYDIS_BRANCH_TYPE_FAR) return "it changes the segment";
  const bool is_short_of_address = instruction.address_width != 64;
  if (is_short_of_address && IsRipRelative(instruction)) return "its address has 32 bits";
  if (HasBranchOf16Bits(instruction)) return "its branch has 16 bits";
  if (FlowOf(instruction) == Flow::kCall && UsesStackPointer(decoded))
    return "it calls by way of the stack pointer";
  return "";
}

bool FitsIn32(int64_t value) {
  return value >= std::numeric_limits<int32_t>::min() &&
         value <= std::numeric_limits<int32_t>::max();
}

void Append32(std::vector<uint8_t>* bytes, int64_t value) {
  const auto word = static_cast<int32_t>(value);
  const auto* begin = reinterpret_cast<const uint8_t*>(&word);
  bytes->insert(bytes->end(), begin, begin + sizeof(word));
}

void Append64(std::vector<uint8_t>* bytes, uint64_t value) {
  const auto* begin = reinterpret_cast<const uint8_t*>(&value);
  bytes->insert(bytes->end(), begin, begin + sizeof(value));
}

// A branch with 32 bits at the end of `bytes`, which lie at `at`.
bool AppendBranch(std::vector<uint8_t>* bytes, uint64_t at, std::initializer_list<uint8_t> opcode,
                  uint64_t target) {
  bytes->insert(bytes->end(), opcode);
  const auto distance = static_cast<int64_t>(target - (at + bytes->size() + sizeof(int32_t)));
  Append32(bytes, distance);
  return FitsIn32(distance);
}

// Pushes the word that lies `skipped` bytes behind the push.
void AppendPush(std::vector<uint8_t>* bytes, size_t skipped) {
  bytes->insert(bytes->end(), std::begin(kPushRip), std::end(kPushRip));
  Append32(bytes, static_cast<int64_t>(skipped));
}

std::optional<Copy> CopyRelativeBranch(const ZydisDecodedInstruction& instruction,
                                       const uint8_t* code, uint64_t from, uint64_t to) {
  const uint64_t behind = from + instruction.length;
  const uint64_t target = behind + static_cast<uint64_t>(instruction.raw.imm[0].value.s);
  Copy copy;
  bool fits = false;
  if (FlowOf(instruction) == Flow::kCall) {
    AppendPush(&copy.bytes, kLongJumpBytes);
    copy.pushed_from = copy.bytes.size();
    fits = AppendBranch(&copy.bytes, to, {0xe9}, target);
    Append64(&copy.bytes, behind);
  } else if (FlowOf(instruction) == Flow::kJump) {
    fits = AppendBranch(&copy.bytes, to, {0xe9}, target);
  } else if (IsLoop(instruction.mnemonic)) {
    // It has a short form only: over a jump that goes on, or to one that goes there.
    const size_t before_distance = instruction.length - 1;
    copy.bytes.assign(code, code + before_distance);
    copy.bytes.insert(copy.bytes.end(), {0x02, 0xeb, kLongJumpBytes});
    fits = AppendBranch(&copy.bytes, to, {0xe9}, target);
  } else {
    // The condition is in the same four bits of the short form and of the long one.
    const auto condition = static_cast<uint8_t>(0x80 | (instruction.opcode & 0xf));
    fits = AppendBranch(&copy.bytes, to, {0x0f, condition}, target);
  }
  if (!fits) return std::nullopt;
  return copy;
}

bool MoveDisplacement(const ZydisDecodedInstruction& instruction, uint64_t from, uint64_t to,
                      uint8_t* bytes) {
  if (!IsRipRelative(instruction)) return true;
  const int64_t distance = instruction.raw.disp.value + static_cast<int64_t>(from - to);
  if (!FitsIn32(distance)) return false;
  const auto word = static_cast<int32_t>(distance);
  memcpy(bytes + instruction.raw.disp.offset, &word, sizeof(word));
  return true;
}

std::optional<Copy> CopyIndirectCall(const ZydisDecodedInstruction& instruction,
                                     const uint8_t* code, uint64_t from, uint64_t to) {
  Copy copy;
  AppendPush(&copy.bytes, instruction.length);
  copy.pushed_from = copy.bytes.size();
  std::vector<uint8_t> jump(code, code + instruction.length);
  // FF /2 is the call, FF /4 the jump.
  uint8_t& modrm = jump[instruction.raw.modrm.offset];
  modrm = static_cast<uint8_t>((modrm & ~0x38) | (4 << 3));
  if (!MoveDisplacement(instruction, from, to + copy.bytes.size(), jump.data()))
    return std::nullopt;
  copy.bytes.insert(copy.bytes.end(), jump.begin(), jump.end());
  Append64(&copy.bytes, from + instruction.length);
  return copy;
}

bool SetsArithmeticFlags(const ZydisDecodedInstruction& instruction) {
  constexpr ZydisAccessedFlagsMask kArithmetic =
      ZYDIS_CPUFLAG_CF | ZYDIS_CPUFLAG_ZF | ZYDIS_CPUFLAG_SF | ZYDIS_CPUFLAG_OF | ZYDIS_CPUFLAG_PF;
  const ZydisAccessedFlags* flags = instruction.cpu_flags;
  if (flags == nullptr) return false;
  const ZydisAccessedFlagsMask set =
      flags->modified | flags->set_0 | flags->set_1 | flags->undefined;
  return (set & kArithmetic) == kArithmetic;
}

bool IsPadding(const ZydisDecodedInstruction& instruction) {
  return instruction.meta.category == ZYDIS_CATEGORY_NOP ||
         instruction.meta.category == ZYDIS_CATEGORY_WIDENOP ||
         instruction.mnemonic == ZYDIS_MNEMONIC_NOP || instruction.mnemonic == ZYDIS_MNEMONIC_INT3;
}

}  // namespace

std::optional<Instruction> Decode(const uint8_t* code, size_t bytes) {
  Decoded decoded;
  if (!DecodeAll(code, bytes, &decoded)) return std::nullopt;
  const ZydisDecodedInstruction& from = decoded.instruction;
  Instruction instruction;
  instruction.bytes = from.length;
  instruction.flow = FlowOf(from);
  instruction.is_endbr64 = from.mnemonic == ZYDIS_MNEMONIC_ENDBR64;
  instruction.is_padding = IsPadding(from) && !instruction.is_endbr64;
  instruction.is_locked = (from.attributes & ZYDIS_ATTRIB_HAS_LOCK) != 0;
  instruction.reads_flags = from.cpu_flags != nullptr && from.cpu_flags->tested != 0;
  instruction.sets_flags = SetsArithmeticFlags(from);
  if (IsRelativeBranch(from)) {
    instruction.target = static_cast<int64_t>(from.length) + from.raw.imm[0].value.s;
  } else {
    instruction.is_indirect = instruction.flow == Flow::kJump || instruction.flow == Flow::kCall;
  }
  instruction.why_not = WhyNot(decoded);
  return instruction;
}

std::optional<Copy> Relocate(const uint8_t* code, size_t bytes, uint64_t from, uint64_t to) {
  Decoded decoded;
  if (!DecodeAll(code, bytes, &decoded) || !WhyNot(decoded).empty()) return std::nullopt;
  const ZydisDecodedInstruction& instruction = decoded.instruction;
  if (IsRelativeBranch(instruction)) return CopyRelativeBranch(instruction, code, from, to);
  if (FlowOf(instruction) == Flow::kCall) return CopyIndirectCall(instruction, code, from, to);
  Copy copy;
  copy.bytes.assign(code, code + instruction.length);
  if (!MoveDisplacement(instruction, from, to, copy.bytes.data())) return std::nullopt;
  return copy;
}

}  // namespace coz::patch
