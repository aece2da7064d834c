#include "coz/patch/function_ends.h"

#include <Zydis/Zydis.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <set>
#include <utility>

namespace coz::patch {
namespace {

// How far before the end a change may begin.
constexpr size_t kMostInstructionsBack = 8;
constexpr int64_t kWord = 8;

struct Decoded {
  size_t offset = 0;
  ZydisDecodedInstruction instruction;
  ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
};

ZydisRegister Whole(ZydisRegister name) {
  return ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, name);
}

bool IsRegister(const ZydisDecodedOperand& operand, ZydisRegister name) {
  return operand.type == ZYDIS_OPERAND_TYPE_REGISTER && operand.reg.value == name;
}

bool Writes(const Decoded& decoded, ZydisRegister name) {
  for (int i = 0; i < decoded.instruction.operand_count; ++i) {
    const ZydisDecodedOperand& operand = decoded.operands[i];
    const bool is_written = (operand.actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0;
    if (is_written && operand.type == ZYDIS_OPERAND_TYPE_REGISTER &&
        Whole(operand.reg.value) == name) {
      return true;
    }
  }
  return false;
}

bool GoesOn(const Decoded& decoded) {
  switch (decoded.instruction.meta.category) {
    case ZYDIS_CATEGORY_CALL:
    case ZYDIS_CATEGORY_UNCOND_BR:
    case ZYDIS_CATEGORY_COND_BR:
    case ZYDIS_CATEGORY_RET:
    case ZYDIS_CATEGORY_INTERRUPT:
    case ZYDIS_CATEGORY_SYSCALL:
      return false;
    default:
      return true;
  }
}

// Of a direct branch or jump: where it leads, from the function's begin.
std::optional<int64_t> TargetOf(const Decoded& decoded) {
  const ZydisDecodedInstruction& instruction = decoded.instruction;
  const bool is_branch = instruction.meta.category == ZYDIS_CATEGORY_UNCOND_BR ||
                         instruction.meta.category == ZYDIS_CATEGORY_COND_BR;
  if (!is_branch || instruction.raw.imm[0].is_relative == 0) return std::nullopt;
  return static_cast<int64_t>(decoded.offset) + instruction.length + instruction.raw.imm[0].value.s;
}

// `rule` holds behind the instruction; makes it hold before. False where that is not known.
bool StepBack(const Decoded& decoded, FrameRule* rule) {
  const ZydisDecodedInstruction& instruction = decoded.instruction;
  const ZydisDecodedOperand* const operands = decoded.operands;
  if (rule->by_rbp != 0) return !Writes(decoded, ZYDIS_REGISTER_RBP);
  if (!Writes(decoded, ZYDIS_REGISTER_RSP)) return true;
  int64_t distance = rule->distance;
  switch (instruction.mnemonic) {
    case ZYDIS_MNEMONIC_POP:
      if (IsRegister(operands[0], ZYDIS_REGISTER_RSP)) return false;
      if (instruction.operand_width != 64) return false;
      distance += kWord;
      break;
    case ZYDIS_MNEMONIC_ADD:
      if (!IsRegister(operands[0], ZYDIS_REGISTER_RSP) ||
          operands[1].type != ZYDIS_OPERAND_TYPE_IMMEDIATE) {
        return false;
      }
      distance += operands[1].imm.value.s;
      break;
    case ZYDIS_MNEMONIC_SUB:
      if (!IsRegister(operands[0], ZYDIS_REGISTER_RSP) ||
          operands[1].type != ZYDIS_OPERAND_TYPE_IMMEDIATE) {
        return false;
      }
      distance -= operands[1].imm.value.s;
      break;
    case ZYDIS_MNEMONIC_LEA: {
      const bool is_plain = IsRegister(operands[0], ZYDIS_REGISTER_RSP) &&
                            operands[1].mem.index == ZYDIS_REGISTER_NONE;
      if (!is_plain) return false;
      const ZydisRegister base = operands[1].mem.base;
      if (base != ZYDIS_REGISTER_RSP && base != ZYDIS_REGISTER_RBP) return false;
      rule->by_rbp = base == ZYDIS_REGISTER_RBP ? 1 : 0;
      distance += operands[1].mem.disp.has_displacement ? operands[1].mem.disp.value : 0;
      break;
    }
    case ZYDIS_MNEMONIC_MOV:
      if (!IsRegister(operands[0], ZYDIS_REGISTER_RSP) ||
          !IsRegister(operands[1], ZYDIS_REGISTER_RBP)) {
        return false;
      }
      rule->by_rbp = 1;
      break;
    case ZYDIS_MNEMONIC_LEAVE:
      rule->by_rbp = 1;
      distance += kWord;
      break;
    default:
      return false;
  }
  if (distance < 0 || distance > std::numeric_limits<int32_t>::max() / 2) return false;
  rule->distance = static_cast<int32_t>(distance);
  return true;
}

class Finder {
 public:
  Finder(const uint8_t* code, size_t bytes) : bytes_(static_cast<int64_t>(bytes)) {
    ZydisDecoder decoder;
    ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    for (size_t at = 0; at < bytes;) {
      Decoded decoded;
      decoded.offset = at;
      if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, code + at, bytes - at,
                                               &decoded.instruction, decoded.operands))) {
        return;
      }
      at += decoded.instruction.length;
      const std::optional<int64_t> target = TargetOf(decoded);
      if (target.has_value()) targets_.insert(*target);
      code_.push_back(decoded);
    }
    is_whole_ = bytes != 0;
  }

  FunctionEnds Find() {
    if (!is_whole_) return None("not all of its bytes are instructions");
    for (size_t i = 0; i < code_.size(); ++i) {
      bool is_unknown = false;
      if (IsEnd(code_[i], &is_unknown)) ends_.ends.push_back(Candidates(i));
      if (is_unknown && !JumpsByTable(i)) return None("it has a jump whose target is not known");
    }
    if (ends_.ends.empty()) return None("no instruction of it returns");
    return ends_;
  }

 private:
  FunctionEnds None(const std::string& why) {
    ends_.ends.clear();
    ends_.why_none = why;
    return ends_;
  }

  bool IsEnd(const Decoded& decoded, bool* is_unknown) const {
    const ZydisDecodedInstruction& instruction = decoded.instruction;
    if (instruction.meta.category == ZYDIS_CATEGORY_RET) return true;
    if (instruction.meta.category != ZYDIS_CATEGORY_UNCOND_BR) return false;
    const std::optional<int64_t> target = TargetOf(decoded);
    if (target.has_value()) return *target < 0 || *target >= bytes_;
    // A jump by the address of a function in another object; a table of a switch has an index.
    const ZydisDecodedOperand& operand = decoded.operands[0];
    const bool is_slot = operand.type == ZYDIS_OPERAND_TYPE_MEMORY &&
                         operand.mem.base == ZYDIS_REGISTER_RIP &&
                         operand.mem.index == ZYDIS_REGISTER_NONE;
    *is_unknown = !is_slot;
    return is_slot;
  }

  // As position-independent code of a `switch` does, whose table holds distances within the
  // function: movslq (base,index,4), reg; add base, reg; jmp *reg.
  bool JumpsByTable(size_t jump) const {
    constexpr size_t kMostBetween = 4;
    const ZydisRegister to = code_[jump].operands[0].reg.value;
    if (code_[jump].operands[0].type != ZYDIS_OPERAND_TYPE_REGISTER || jump < 2) return false;
    const Decoded& sum = code_[jump - 1];
    if (sum.instruction.mnemonic != ZYDIS_MNEMONIC_ADD || !IsRegister(sum.operands[0], to) ||
        sum.operands[1].type != ZYDIS_OPERAND_TYPE_REGISTER) {
      return false;
    }
    for (size_t i = jump - 1; i > 0 && i + kMostBetween >= jump; --i) {
      const Decoded& load = code_[i - 1];
      if (load.instruction.mnemonic != ZYDIS_MNEMONIC_MOVSXD) continue;
      const ZydisDecodedOperand& from = load.operands[1];
      return from.type == ZYDIS_OPERAND_TYPE_MEMORY && from.mem.index != ZYDIS_REGISTER_NONE &&
             from.mem.scale == sizeof(int32_t) &&
             (IsRegister(load.operands[0], to) ||
              IsRegister(load.operands[0], sum.operands[1].reg.value));
    }
    return false;
  }

  std::vector<FunctionEnd> Candidates(size_t end) const {
    FrameRule rule = {0, 0};
    const bool is_jump = code_[end].instruction.meta.category == ZYDIS_CATEGORY_UNCOND_BR;
    std::vector<FunctionEnd> candidates = {{code_[end].offset, rule, is_jump}};
    for (size_t i = end; i > 0 && candidates.size() <= kMostInstructionsBack; --i) {
      // Who jumps here does not come by what is before.
      if (targets_.count(static_cast<int64_t>(code_[i].offset)) != 0) break;
      const Decoded& before = code_[i - 1];
      if (!GoesOn(before) || !StepBack(before, &rule)) break;
      candidates.push_back({before.offset, rule, is_jump});
    }
    return candidates;
  }

  const int64_t bytes_;
  bool is_whole_ = false;
  std::vector<Decoded> code_;
  std::set<int64_t> targets_;
  FunctionEnds ends_;
};

}  // namespace

FunctionEnds FindFunctionEnds(const uint8_t* code, size_t bytes) {
  return Finder(code, bytes).Find();
}

}  // namespace coz::patch
