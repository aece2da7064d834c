#include "coz/sampler/unwind/cfa_program.h"

#include "coz/base/byte_reader.h"

namespace coz::sampler {
namespace {

enum Opcode : uint8_t {
  kNop = 0x00,
  kSetLocation = 0x01,
  kAdvance1 = 0x02,
  kAdvance2 = 0x03,
  kAdvance4 = 0x04,
  kOffsetExtended = 0x05,
  kRestoreExtended = 0x06,
  kUndefined = 0x07,
  kSameValue = 0x08,
  kRegister = 0x09,
  kRememberState = 0x0a,
  kRestoreState = 0x0b,
  kDefCfa = 0x0c,
  kDefCfaRegister = 0x0d,
  kDefCfaOffset = 0x0e,
  kDefCfaExpression = 0x0f,
  kExpression = 0x10,
  kOffsetExtendedSigned = 0x11,
  kDefCfaSigned = 0x12,
  kDefCfaOffsetSigned = 0x13,
  kValueOffset = 0x14,
  kValueOffsetSigned = 0x15,
  kValueExpression = 0x16,
  kGnuArgsSize = 0x2e,
  kGnuNegativeOffsetExtended = 0x2f,
  // The operand is in the low six bits.
  kAdvance = 0x40,
  kOffset = 0x80,
  kRestore = 0xc0,
};

// Compilers nest these once; the bound keeps the stack of a signal handler small.
constexpr int kMaxRemembered = 6;

class Machine {
 public:
  Machine(const FrameDescription& description, const uint8_t* section_begin, uint64_t address,
          FrameRules* rules)
      : description_(description),
        section_begin_(section_begin),
        address_(address),
        location_(description.begin),
        rules_(rules) {}

  bool Run() {
    const uint64_t target = address_;
    address_ = ~uint64_t{0};  // the initial instructions concern all of the function
    if (!RunOn(description_.initial_instructions, description_.initial_instructions_end)) {
      return false;
    }
    initial_ = rules_->registers;
    address_ = target;
    location_ = description_.begin;
    return RunOn(description_.instructions, description_.instructions_end);
  }

 private:
  bool RunOn(const uint8_t* begin, const uint8_t* end) {
    ByteReader reader(begin, end);
    while (!reader.AtEnd() && location_ <= address_) {
      const uint8_t byte = reader.Read<uint8_t>();
      const bool fine = (byte & 0xc0) != 0 ? ExecuteCompact(byte & 0xc0, byte & 0x3f, &reader)
                                           : Execute(byte, &reader);
      if (!fine || !reader.ok()) return false;
    }
    return true;
  }

  bool ExecuteCompact(uint8_t opcode, uint8_t operand, ByteReader* reader) {
    switch (opcode) {
      case kAdvance:
        return Advance(operand);
      case kOffset:
        return Set(operand, RuleKind::kAtCfaPlus, Factored(reader->Uleb128()));
      default:
        return Restore(operand);
    }
  }

  bool Execute(uint8_t opcode, ByteReader* reader) {
    switch (opcode) {
      case kNop:
        return true;
      case kGnuArgsSize:
        reader->Uleb128();
        return true;
      case kSetLocation:
        location_ = reader->Pointer(description_.pointer_encoding, 0);
        return true;
      case kAdvance1:
        return Advance(reader->Read<uint8_t>());
      case kAdvance2:
        return Advance(reader->Read<uint16_t>());
      case kAdvance4:
        return Advance(reader->Read<uint32_t>());
      case kRememberState:
        if (remembered_count_ == kMaxRemembered) return false;
        remembered_[remembered_count_++] = *rules_;
        return true;
      case kRestoreState:
        if (remembered_count_ == 0) return false;
        *rules_ = remembered_[--remembered_count_];
        return true;
      case kDefCfa:
      case kDefCfaSigned:
      case kDefCfaRegister:
      case kDefCfaOffset:
      case kDefCfaOffsetSigned:
      case kDefCfaExpression:
        return DefineCfa(opcode, reader);
      default:
        return DefineRegister(opcode, reader);
    }
  }

  bool DefineCfa(uint8_t opcode, ByteReader* reader) {
    if (opcode == kDefCfaExpression) {
      rules_->cfa_is_expression = true;
      return FitsValue(SkipExpression(reader), &rules_->cfa_value);
    }
    const bool names_register =
        opcode == kDefCfa || opcode == kDefCfaSigned || opcode == kDefCfaRegister;
    if (names_register) {
      const uint64_t number = reader->Uleb128();
      if (number >= kReturnAddress) return false;
      rules_->cfa_register = static_cast<uint8_t>(number);
    } else if (rules_->cfa_is_expression) {
      return false;
    }
    rules_->cfa_is_expression = false;
    if (opcode == kDefCfaRegister) return true;
    const bool is_signed = opcode == kDefCfaSigned || opcode == kDefCfaOffsetSigned;
    const int64_t offset = is_signed ? Factored(static_cast<uint64_t>(reader->Sleb128()))
                                     : static_cast<int64_t>(reader->Uleb128());
    return FitsValue(offset, &rules_->cfa_value);
  }

  bool DefineRegister(uint8_t opcode, ByteReader* reader) {
    const uint64_t number = reader->Uleb128();
    switch (opcode) {
      case kOffsetExtended:
        return Set(number, RuleKind::kAtCfaPlus, Factored(reader->Uleb128()));
      case kOffsetExtendedSigned:
        return Set(number, RuleKind::kAtCfaPlus,
                   Factored(static_cast<uint64_t>(reader->Sleb128())));
      case kGnuNegativeOffsetExtended:
        return Set(number, RuleKind::kAtCfaPlus, Factored(uint64_t{0} - reader->Uleb128()));
      case kValueOffset:
        return Set(number, RuleKind::kCfaPlus, Factored(reader->Uleb128()));
      case kValueOffsetSigned:
        return Set(number, RuleKind::kCfaPlus, Factored(static_cast<uint64_t>(reader->Sleb128())));
      case kRestoreExtended:
        return Restore(number);
      case kUndefined:
        return Set(number, RuleKind::kUndefined, 0);
      case kSameValue:
        return Set(number, RuleKind::kSameValue, 0);
      case kRegister: {
        const uint64_t from = reader->Uleb128();
        return from < kRegisterCount &&
               Set(number, RuleKind::kInRegister, static_cast<int64_t>(from));
      }
      case kExpression:
        return Set(number, RuleKind::kAtExpression, SkipExpression(reader));
      case kValueExpression:
        return Set(number, RuleKind::kIsExpression, SkipExpression(reader));
      default:
        return false;
    }
  }

  int64_t SkipExpression(ByteReader* reader) {
    const int64_t distance = reader->at() - section_begin_;
    reader->Skip(reader->Uleb128());
    return distance;
  }

  int64_t Factored(uint64_t count) const {
    return static_cast<int64_t>(count * static_cast<uint64_t>(description_.data_alignment));
  }

  bool Advance(uint64_t delta) {
    location_ += delta * description_.code_alignment;
    return true;
  }

  static bool FitsValue(int64_t value, int32_t* field) {
    *field = static_cast<int32_t>(value);
    return *field == value;
  }

  // Vector registers have numbers from 17 on and do not matter to a walk.
  bool Set(uint64_t number, RuleKind kind, int64_t value) {
    if (number >= kRegisterCount) return true;
    rules_->registers.kind[number] = kind;
    return FitsValue(value, &rules_->registers.value[number]);
  }

  bool Restore(uint64_t number) {
    if (number >= kRegisterCount) return true;
    return Set(number, initial_.kind[number], initial_.value[number]);
  }

  const FrameDescription& description_;
  const uint8_t* const section_begin_;
  uint64_t address_;
  uint64_t location_;
  FrameRules* const rules_;
  RegisterRules initial_;
  FrameRules remembered_[kMaxRemembered];
  int remembered_count_ = 0;
};

}  // namespace

bool FindFrameRules(const FrameDescription& description, const uint8_t* section_begin,
                    uint64_t address, FrameRules* rules) {
  *rules = FrameRules();
  return Machine(description, section_begin, address, rules).Run();
}

}  // namespace coz::sampler
