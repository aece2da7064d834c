#include "coz/sampler/unwind/dwarf_expression.h"

#include "coz/sampler/unwind/cfa_program.h"

namespace coz::sampler {
namespace {

enum Opcode : uint8_t {
  kAddress = 0x03,
  kDeref = 0x06,
  kConst1u = 0x08,
  kConst1s = 0x09,
  kConst2u = 0x0a,
  kConst2s = 0x0b,
  kConst4u = 0x0c,
  kConst4s = 0x0d,
  kConst8u = 0x0e,
  kConst8s = 0x0f,
  kConstUleb = 0x10,
  kConstSleb = 0x11,
  kDup = 0x12,
  kDrop = 0x13,
  kOver = 0x14,
  kPick = 0x15,
  kSwap = 0x16,
  kRotate = 0x17,
  kAbs = 0x19,
  kAnd = 0x1a,
  kDiv = 0x1b,
  kMinus = 0x1c,
  kMod = 0x1d,
  kMul = 0x1e,
  kNeg = 0x1f,
  kNot = 0x20,
  kOr = 0x21,
  kPlus = 0x22,
  kPlusUleb = 0x23,
  kShl = 0x24,
  kShr = 0x25,
  kShra = 0x26,
  kXor = 0x27,
  kBranch = 0x28,
  kEq = 0x29,
  kGe = 0x2a,
  kGt = 0x2b,
  kLe = 0x2c,
  kLt = 0x2d,
  kNe = 0x2e,
  kSkip = 0x2f,
  kLiteral0 = 0x30,
  kLiteral31 = 0x4f,
  kBaseRegister0 = 0x70,
  kBaseRegister31 = 0x8f,
  kBaseRegisterX = 0x92,
  kDerefSize = 0x94,
  kNop = 0x96,
};

constexpr int kMaxDepth = 24;
constexpr int kMaxOperations = 1000;  // an expression may branch backwards

class Evaluator {
 public:
  Evaluator(ByteReader code, const uint64_t* registers, StackReader* memory)
      : begin_(code.at()), code_(code), registers_(registers), memory_(memory) {}

  bool Push(uint64_t value) {
    if (depth_ == kMaxDepth) return false;
    stack_[depth_++] = value;
    return true;
  }

  EvaluationResult Run(uint64_t* result) {
    for (int operations = 0; !code_.AtEnd(); ++operations) {
      const bool fine = operations < kMaxOperations && Execute(code_.Read<uint8_t>());
      if (!fine || !code_.ok()) {
        return unreadable_ ? EvaluationResult::kUnreadable : EvaluationResult::kMalformed;
      }
    }
    if (depth_ == 0) return EvaluationResult::kMalformed;
    *result = stack_[depth_ - 1];
    return EvaluationResult::kOk;
  }

 private:
  bool Execute(uint8_t opcode) {
    if (opcode >= kLiteral0 && opcode <= kLiteral31) return Push(opcode - kLiteral0);
    if (opcode >= kBaseRegister0 && opcode <= kBaseRegister31) {
      return PushRegisterPlus(opcode - kBaseRegister0);
    }
    if (opcode >= kConst1u && opcode <= kConstSleb) return Push(Constant(opcode));
    switch (opcode) {
      case kNop:
        return true;
      case kAddress:
        return Push(code_.Read<uint64_t>());
      case kBaseRegisterX:
        return PushRegisterPlus(code_.Uleb128());
      case kSkip:
        return Jump(code_.Read<int16_t>());
      case kBranch: {
        const int16_t distance = code_.Read<int16_t>();
        uint64_t condition;
        return Pop(&condition) && (condition == 0 || Jump(distance));
      }
      case kDup:
        return Copy(0);
      case kOver:
        return Copy(1);
      case kPick:
        return Copy(code_.Read<uint8_t>());
      case kDrop:
      case kSwap:
      case kRotate:
        return Rearrange(opcode);
      case kDeref:
      case kDerefSize:
      case kAbs:
      case kNeg:
      case kNot:
      case kPlusUleb:
        return Unary(opcode);
      default:
        return Binary(opcode);
    }
  }

  uint64_t Constant(uint8_t opcode) {
    switch (opcode) {
      case kConst1u:
        return code_.Read<uint8_t>();
      case kConst1s:
        return static_cast<uint64_t>(int64_t{code_.Read<int8_t>()});
      case kConst2u:
        return code_.Read<uint16_t>();
      case kConst2s:
        return static_cast<uint64_t>(int64_t{code_.Read<int16_t>()});
      case kConst4u:
        return code_.Read<uint32_t>();
      case kConst4s:
        return static_cast<uint64_t>(int64_t{code_.Read<int32_t>()});
      case kConstUleb:
        return code_.Uleb128();
      case kConstSleb:
        return static_cast<uint64_t>(code_.Sleb128());
      default:
        return code_.Read<uint64_t>();
    }
  }

  bool Pop(uint64_t* value) {
    if (depth_ == 0) return false;
    *value = stack_[--depth_];
    return true;
  }

  bool Copy(int from_top) { return from_top < depth_ && Push(stack_[depth_ - 1 - from_top]); }

  bool PushRegisterPlus(uint64_t number) {
    const int64_t offset = code_.Sleb128();
    return number < kRegisterCount && Push(registers_[number] + static_cast<uint64_t>(offset));
  }

  bool Jump(int16_t distance) {
    if (!code_.ok()) return false;
    const int64_t position = code_.at() - begin_ + distance;
    if (position < 0 || position > code_.end() - begin_) return false;
    code_ = ByteReader(begin_ + position, code_.end());
    return true;
  }

  bool Rearrange(uint8_t opcode) {
    const int needed = opcode == kDrop ? 1 : opcode == kSwap ? 2 : 3;
    if (depth_ < needed) return false;
    uint64_t* const top = &stack_[depth_ - 1];
    if (opcode == kDrop) {
      --depth_;
      return true;
    }
    const uint64_t first = top[0];
    top[0] = top[-1];
    top[-1] = opcode == kSwap ? first : top[-2];
    if (opcode == kRotate) top[-2] = first;
    return true;
  }

  bool Unary(uint8_t opcode) {
    uint64_t value;
    if (!Pop(&value)) return false;
    switch (opcode) {
      case kDeref:
        return Load(value, sizeof(uint64_t));
      case kDerefSize:
        return Load(value, code_.Read<uint8_t>());
      case kAbs:
        return Push(static_cast<int64_t>(value) < 0 ? 0 - value : value);
      case kNeg:
        return Push(0 - value);
      case kNot:
        return Push(~value);
      default:
        return Push(value + code_.Uleb128());
    }
  }

  bool Load(uint64_t address, uint8_t size) {
    uint64_t word;
    if (size == 0 || size > sizeof(word)) return false;
    if (!memory_->Read(address, &word)) {
      unreadable_ = true;
      return false;
    }
    return Push(size == sizeof(word) ? word : word & ((uint64_t{1} << (8 * size)) - 1));
  }

  bool Binary(uint8_t opcode) {
    uint64_t right, left;
    if (!Pop(&right) || !Pop(&left)) return false;
    const auto signed_left = static_cast<int64_t>(left);
    const auto signed_right = static_cast<int64_t>(right);
    switch (opcode) {
      case kAnd:
        return Push(left & right);
      case kDiv:
        if (right == 0 || (signed_right == -1 && signed_left == INT64_MIN)) return false;
        return Push(static_cast<uint64_t>(signed_left / signed_right));
      case kMod:
        return right != 0 && Push(left % right);
      case kMinus:
        return Push(left - right);
      case kMul:
        return Push(left * right);
      case kOr:
        return Push(left | right);
      case kPlus:
        return Push(left + right);
      case kXor:
        return Push(left ^ right);
      case kShl:
        return Push(right < 64 ? left << right : 0);
      case kShr:
        return Push(right < 64 ? left >> right : 0);
      case kShra:
        return Push(static_cast<uint64_t>(signed_left >> (right < 64 ? right : 63)));
      case kEq:
        return Push(left == right);
      case kNe:
        return Push(left != right);
      case kGe:
        return Push(signed_left >= signed_right);
      case kGt:
        return Push(signed_left > signed_right);
      case kLe:
        return Push(signed_left <= signed_right);
      case kLt:
        return Push(signed_left < signed_right);
      default:
        return false;
    }
  }

  const uint8_t* const begin_;
  ByteReader code_;
  const uint64_t* const registers_;
  StackReader* const memory_;
  uint64_t stack_[kMaxDepth];
  int depth_ = 0;
  bool unreadable_ = false;
};

}  // namespace

EvaluationResult EvaluateExpression(ByteReader expression, const uint64_t* registers,
                                    const uint64_t* initial, StackReader* memory,
                                    uint64_t* result) {
  Evaluator evaluator(expression, registers, memory);
  if (initial != nullptr) evaluator.Push(*initial);
  return evaluator.Run(result);
}

}  // namespace coz::sampler
