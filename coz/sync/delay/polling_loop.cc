#include "coz/sync/delay/polling_loop.h"

#include <algorithm>

namespace coz::delay {
namespace {

constexpr int kNoRegister = -1;
constexpr int kAccumulator = 0;
constexpr int kStackPointer = 4;
constexpr int kFramePointer = 5;
constexpr int kRegisters = 16;

// Bits of registers: 1 << number; from kRegisters on, of variables in the frame.
using Registers = uint32_t;
Registers Bit(int number) { return number == kNoRegister ? 0 : Registers{1} << number; }

// Where a memory operand lies, if it is a variable in the frame of the function.
struct Variable {
  bool in_frame = false;
  bool by_frame_pointer = false;
  int32_t offset = 0;

  bool operator==(const Variable& other) const {
    return in_frame == other.in_frame && by_frame_pointer == other.by_frame_pointer &&
           offset == other.offset;
  }
};

// One instruction of those that polling loops are made of.
struct Instruction {
  const uint8_t* next = nullptr;    // null: not one of them
  const uint8_t* target = nullptr;  // of a jump
  bool always_jumps = false;
  bool loads = false;
  bool stores = false;  // into `variable`
  bool tests = false;   // leaves flags of what it reads or loads
  Variable variable;
  Registers address = 0;  // of the memory operand
  Registers reads = 0;    // as values
  Registers writes = 0;
};

// Reads bytes up to an end; beyond it, zeros, and then `failed`.
class Bytes {
 public:
  Bytes(const uint8_t* at, const uint8_t* end) : at_(at), end_(end) {}
  uint8_t Take() {
    if (at_ == end_) {
      failed_ = true;
      return 0;
    }
    return *at_++;
  }
  void Skip(int bytes) {
    for (int i = 0; i < bytes; ++i) Take();
  }
  int32_t TakeOffset(int bytes) {
    uint32_t offset = 0;
    for (int i = 0; i < bytes; ++i) offset |= static_cast<uint32_t>(Take()) << (8 * i);
    return bytes == 1 ? static_cast<int8_t>(offset) : static_cast<int32_t>(offset);
  }
  const uint8_t* at() const { return at_; }
  bool failed() const { return failed_; }

 private:
  const uint8_t* at_;
  const uint8_t* const end_;
  bool failed_ = false;
};

struct Prefixes {
  uint8_t rex = 0;
  bool operand_16 = false;
  bool lock = false;
  bool repeat = false;

  int immediate_bytes() const { return operand_16 ? 2 : 4; }
};

Prefixes TakePrefixes(Bytes& bytes, uint8_t* opcode) {
  Prefixes prefixes;
  while (true) {
    *opcode = bytes.Take();
    if (*opcode == 0x66) {
      prefixes.operand_16 = true;
    } else if (*opcode == 0xf0) {
      prefixes.lock = true;
    } else if (*opcode == 0xf3) {
      prefixes.repeat = true;
    } else if (*opcode != 0x2e) {  // a segment that long nops have
      break;
    }
  }
  if ((*opcode & 0xf0) == 0x40) {
    prefixes.rex = *opcode;
    *opcode = bytes.Take();
  }
  return prefixes;
}

// The operands that a ModRM byte, and what belongs to it, name.
struct Operands {
  int reg;  // also the extension of the opcode: its low three bits
  int rm;   // kNoRegister: in memory
  Registers address;
  Variable variable;

  int extension() const { return reg & 7; }
  bool in_memory() const { return rm == kNoRegister; }
};

Operands TakeOperands(Bytes& bytes, const Prefixes& prefixes) {
  const uint8_t modrm = bytes.Take();
  const int mod = modrm >> 6;
  const int low = modrm & 7;
  Operands operands = {((modrm >> 3) & 7) | ((prefixes.rex & 4) << 1), kNoRegister, 0, {}};
  const int base_bit = (prefixes.rex & 1) << 3;
  if (mod == 3) {
    operands.rm = low | base_bit;
    return operands;
  }
  int base = low;
  bool has_index = false;
  if (low == 4) {
    const uint8_t sib = bytes.Take();
    base = sib & 7;
    const int index = ((sib >> 3) & 7) | ((prefixes.rex & 2) << 2);
    has_index = index != 4;
    if (has_index) operands.address |= Bit(index);
  }
  // Without a base: relative to the instruction, or absolute.
  const bool has_base = !(mod == 0 && base == 5);
  base |= base_bit;
  if (has_base) operands.address |= Bit(base);
  const int offset_bytes = mod == 1 ? 1 : (mod == 2 || !has_base) ? 4 : 0;
  const int32_t offset = offset_bytes == 0 ? 0 : bytes.TakeOffset(offset_bytes);
  // Many compilers use the frame pointer for anything; variables are below it where they do not.
  const bool by_frame_pointer = has_base && base == kFramePointer && offset < 0;
  if (!has_index && (by_frame_pointer || (has_base && base == kStackPointer))) {
    operands.variable = {/*in_frame=*/true, by_frame_pointer, offset};
  }
  return operands;
}

void Read(const Operands& operands, Instruction* instruction) {
  instruction->address |= operands.address;
  instruction->variable = operands.variable;
  instruction->loads |= operands.in_memory();
  instruction->reads |= Bit(operands.rm);
}

// Whether it may: into memory only where that is a variable in the frame.
bool Write(const Operands& operands, Instruction* instruction) {
  instruction->writes = Bit(operands.rm);
  if (!operands.in_memory()) return true;
  instruction->address |= operands.address;
  instruction->variable = operands.variable;
  instruction->stores = true;
  return operands.variable.in_frame;
}

void Jump(Bytes& bytes, int offset_bytes, bool always, Instruction* instruction) {
  const int32_t offset = bytes.TakeOffset(offset_bytes);
  instruction->target = bytes.at() + offset;
  instruction->always_jumps = always;
}

// An operation on a register or memory and a constant.
bool DecodeWithConstant(uint8_t opcode, const Prefixes& prefixes, Bytes& bytes,
                        Instruction* instruction) {
  constexpr int kAdd = 0;
  constexpr int kAnd = 4;
  constexpr int kSubtract = 5;
  constexpr int kCompare = 7;
  const Operands operands = TakeOperands(bytes, prefixes);
  bytes.Skip(opcode == 0x81 ? prefixes.immediate_bytes() : 1);
  Read(operands, instruction);
  instruction->tests = true;
  if (operands.extension() == kCompare) return true;
  const bool counts = operands.extension() == kAdd || operands.extension() == kSubtract;
  return (counts || operands.extension() == kAnd) && Write(operands, instruction);
}

// Opcodes of two bytes.
bool DecodeLong(const Prefixes& prefixes, Bytes& bytes, Instruction* instruction) {
  const uint8_t opcode = bytes.Take();
  if ((opcode & 0xf0) == 0x80) {
    Jump(bytes, 4, /*always=*/false, instruction);
    return true;
  }
  const Operands operands = TakeOperands(bytes, prefixes);
  if (opcode == 0x1f) return true;  // nop
  if ((opcode & 0xf0) == 0x90) {    // a register from a condition
    instruction->writes = Bit(operands.rm);
    return !operands.in_memory();
  }
  Read(operands, instruction);
  switch (opcode) {
    case 0xb6:  // move and extend
    case 0xb7:
    case 0xbe:
    case 0xbf:
      instruction->writes = Bit(operands.reg);
      return true;
    case 0xb0:  // compare and exchange
    case 0xb1:
      instruction->reads |= Bit(operands.reg) | Bit(kAccumulator);
      instruction->writes = Bit(kAccumulator);
      instruction->tests = true;
      return prefixes.lock && operands.in_memory();
    default:
      return false;
  }
}

bool DecodeWithOperands(uint8_t opcode, const Prefixes& prefixes, Bytes& bytes,
                        Instruction* instruction) {
  const Operands operands = TakeOperands(bytes, prefixes);
  switch (opcode) {
    case 0x38:  // compare
    case 0x39:
    case 0x3a:
    case 0x3b:
    case 0x84:  // test
    case 0x85:
      Read(operands, instruction);
      instruction->reads |= Bit(operands.reg);
      instruction->tests = true;
      return true;
    case 0x63:  // move
    case 0x8a:
    case 0x8b:
      Read(operands, instruction);
      instruction->writes = Bit(operands.reg);
      return true;
    case 0x88:  // move from a register
    case 0x89:
      instruction->reads = Bit(operands.reg);
      return Write(operands, instruction);
    case 0x86:  // exchange with memory
    case 0x87:
      Read(operands, instruction);
      instruction->reads |= Bit(operands.reg);
      instruction->writes = Bit(operands.reg);
      return operands.in_memory();
    case 0x31:  // zero
    case 0x33:
      instruction->writes = Bit(operands.reg);
      return operands.rm == operands.reg;
    case 0xc7:  // move of a constant
      bytes.Skip(prefixes.immediate_bytes());
      return Write(operands, instruction) && operands.extension() == 0;
    case 0xf6:  // test with a constant
    case 0xf7:
      bytes.Skip(opcode == 0xf6 ? 1 : prefixes.immediate_bytes());
      Read(operands, instruction);
      instruction->tests = true;
      return operands.extension() == 0;
    case 0xff:  // count up or down
      Read(operands, instruction);
      instruction->tests = true;
      return Write(operands, instruction) && operands.extension() <= 1;
    default:
      return false;
  }
}

bool DecodeOpcode(uint8_t opcode, const Prefixes& prefixes, Bytes& bytes,
                  Instruction* instruction) {
  if ((opcode & 0xf0) == 0x70 || opcode == 0xeb) {
    Jump(bytes, 1, opcode == 0xeb, instruction);
    return true;
  }
  if ((opcode & 0xf8) == 0xb8) {  // a constant to a register
    bytes.Skip((prefixes.rex & 8) != 0 ? 8 : prefixes.immediate_bytes());
    instruction->writes = Bit((opcode & 7) | ((prefixes.rex & 1) << 3));
    return true;
  }
  switch (opcode) {
    case 0x0f:
      return DecodeLong(prefixes, bytes, instruction);
    case 0x24:  // and
    case 0x25:
      instruction->writes = Bit(kAccumulator);
      [[fallthrough]];
    case 0x3c:  // compare
    case 0x3d:
    case 0xa8:  // test
    case 0xa9:
      bytes.Skip((opcode & 1) == 0 ? 1 : prefixes.immediate_bytes());
      instruction->reads = Bit(kAccumulator);
      instruction->tests = true;
      return true;
    case 0x80:
    case 0x81:
    case 0x83:
      return DecodeWithConstant(opcode, prefixes, bytes, instruction);
    case 0x90:  // nop or pause; with a register other than the accumulator's own an exchange
      return (prefixes.rex & 1) == 0;
    case 0xe9:
      Jump(bytes, 4, /*always=*/true, instruction);
      return true;
    default:
      return DecodeWithOperands(opcode, prefixes, bytes, instruction);
  }
}

Instruction Decode(const uint8_t* at, const uint8_t* end) {
  Bytes bytes(at, end);
  Instruction instruction;
  uint8_t opcode;
  const Prefixes prefixes = TakePrefixes(bytes, &opcode);
  if (prefixes.repeat && opcode != 0x90) return instruction;
  if (DecodeOpcode(opcode, prefixes, bytes, &instruction) && !bytes.failed()) {
    instruction.next = bytes.at();
  }
  return instruction;
}

// The instructions of a loop, each known. What the loop stores into variables of its frame it keeps
// there as it would in registers, and they are bits of Registers, too.
class Loop {
 public:
  Loop(const uint8_t* first, const uint8_t* behind) : first_(first), behind_(behind) {}

  bool ComputesNothing() {
    if (!IsKnown()) return false;
    // What comes from the round before must not say where the loop loads.
    const Registers carried = CarriedOn();
    bool is_walk = false;
    const Registers handed_on = Follow(carried, [&](const Instruction& one, Registers from_before) {
      is_walk |= (one.address & from_before) != 0;
    });
    if (is_walk) return false;
    return TestsWhatItLoads(/*counts=*/handed_on & carried);
  }

 private:
  static constexpr int kMostVariables = 8;

  template <typename Visit>
  void ForEach(const Visit& visit) const {
    for (const uint8_t* at = first_; at < behind_;) {
      Instruction instruction = Decode(at, behind_);
      at = instruction.next;
      const int variable = Find(instruction.variable);
      if (variable >= 0) KeepInRegister(variable, &instruction);
      visit(instruction);
    }
  }

  static void KeepInRegister(int variable, Instruction* instruction) {
    const Registers bit = Bit(kRegisters + variable);
    if (instruction->loads) instruction->reads |= bit;
    if (instruction->stores) instruction->writes |= bit;
    instruction->loads = false;
    instruction->address = 0;
  }

  // Of `variables_`; -1: none of them.
  int Find(const Variable& variable) const {
    for (int i = 0; i < count_; ++i) {
      if (variables_[i] == variable) return i;
    }
    return -1;
  }

  // Also finds the variables that it stores into.
  bool IsKnown() {
    for (const uint8_t* at = first_; at < behind_;) {
      const Instruction instruction = Decode(at, behind_);
      if (instruction.next == nullptr) return false;
      if (instruction.always_jumps && instruction.next != behind_) return false;
      if (instruction.stores && Find(instruction.variable) < 0) {
        if (count_ == kMostVariables) return false;
        variables_[count_++] = instruction.variable;
      }
      at = instruction.next;
    }
    return true;
  }

  // The registers that a round takes over from the round before, and changes.
  Registers CarriedOn() const {
    Registers written = 0;
    Registers read_first = 0;
    ForEach([&](const Instruction& one) {
      read_first |= (one.address | one.reads) & ~written;
      written |= one.writes;
    });
    return read_first & written;
  }

  // Follows values from the registers `from` through a round: calls visit(instruction, where they
  // are before it). Returns where they are in the end.
  template <typename Visit>
  Registers Follow(Registers from, const Visit& visit) const {
    ForEach([&](const Instruction& one) {
      visit(one, from);
      const bool hands_on = (one.reads & from) != 0;
      from = hands_on ? from | one.writes : from & ~one.writes;
    });
    return from;
  }

  // Whether it tests a value that it loads by anything but a count of rounds. A loop that goes on
  // until the count reaches what it loads does not wait.
  bool TestsWhatItLoads(Registers counts) const {
    bool found = false;
    Registers loaded = 0;
    // A round may test what the one before has loaded.
    for (int round = 0; round < 2; ++round) {
      Follow(counts, [&](const Instruction& one, Registers of_counts) {
        const bool has_loaded = one.loads || (one.reads & loaded) != 0;
        found |= one.tests && has_loaded && (one.reads & of_counts) == 0;
        loaded = has_loaded ? loaded | one.writes : loaded & ~one.writes;
      });
    }
    return found;
  }

  const uint8_t* const first_;
  const uint8_t* const behind_;
  Variable variables_[kMostVariables];
  int count_ = 0;
};

}  // namespace

bool IsInPollingLoop(uint64_t ip) {
  constexpr uint64_t kPage = 4096;
  const auto* const at = reinterpret_cast<const uint8_t*>(ip);
  const uint64_t before = ip % kPage;
  const uint8_t* const page = at - before;
  const uint8_t* const page_end = page + kPage;
  const uint8_t* const first = at - std::min(before, kLongestPollingLoop);
  const uint8_t* const end = std::min(page_end, at + kLongestPollingLoop);
  for (const uint8_t* here = at; here < end;) {
    const Instruction instruction = Decode(here, end);
    if (instruction.next == nullptr) return false;
    // A jump that goes back farther leaves the loop.
    const bool goes_back = instruction.target != nullptr && instruction.target <= at;
    if (goes_back && instruction.target >= first) {
      return Loop(instruction.target, instruction.next).ComputesNothing();
    }
    if (instruction.always_jumps) return false;
    here = instruction.next;
  }
  return false;
}

}  // namespace coz::delay
