#include "coz/points/instruction_length.h"

#include <cstring>

namespace coz::points {
namespace {

enum class Map { kOneByte, k0F, k0F38, k0F3A };

constexpr bool IsIn(uint8_t opcode, uint8_t first, uint8_t last) {
  return opcode >= first && opcode <= last;
}

struct Prefixes {
  bool operand_16 = false;
  bool address_32 = false;
  bool rex_w = false;
};

// Bytes still to be read.
class Bytes {
 public:
  Bytes(const uint8_t* code, size_t bytes)
      : at_(code), left_(bytes < kLongest ? bytes : kLongest) {}

  bool Has(size_t count) const { return count <= left_; }
  uint8_t Peek() const { return *at_; }
  uint8_t Take() {
    --left_;
    return *at_++;
  }
  void Skip(size_t count) {
    at_ += count;
    left_ -= count;
  }
  size_t left() const { return left_; }

  static constexpr size_t kLongest = 15;

 private:
  const uint8_t* at_;
  size_t left_;
};

bool HasModRm(Map map, uint8_t op) {
  if (map == Map::k0F) {
    const bool none = IsIn(op, 0x05, 0x09) || op == 0x0b || op == 0x0e || IsIn(op, 0x30, 0x37) ||
                      op == 0x77 || IsIn(op, 0x80, 0x8f) || IsIn(op, 0xa0, 0xa2) ||
                      IsIn(op, 0xa8, 0xaa) || IsIn(op, 0xc8, 0xcf);
    return !none;
  }
  if (map != Map::kOneByte) return true;
  if (op < 0x40) return op % 8 < 4;
  return op == 0x63 || op == 0x69 || op == 0x6b || IsIn(op, 0x80, 0x8f) || op == 0xc0 ||
         op == 0xc1 || op == 0xc6 || op == 0xc7 || IsIn(op, 0xd0, 0xd3) || IsIn(op, 0xd8, 0xdf) ||
         op == 0xf6 || op == 0xf7 || op == 0xfe || op == 0xff;
}

// Bytes of the constant behind opcode and operands. `reg` is the middle field of ModRM.
size_t ImmediateBytes(Map map, uint8_t op, uint8_t reg, const Prefixes& prefixes) {
  const size_t full = prefixes.operand_16 ? 2 : 4;
  if (map == Map::k0F3A) return 1;
  if (map == Map::k0F38) return 0;
  if (map == Map::k0F) {
    if (IsIn(op, 0x80, 0x8f)) return 4;
    const bool one = IsIn(op, 0x70, 0x73) || op == 0xa4 || op == 0xac || op == 0xba || op == 0xc2 ||
                     IsIn(op, 0xc4, 0xc6);
    return one ? 1 : 0;
  }
  if (op < 0x40) return op % 8 == 4 ? 1 : op % 8 == 5 ? full : 0;
  switch (op) {
    case 0x68:
    case 0x69:
    case 0x81:
    case 0xa9:
    case 0xc7:
      return full;
    case 0xe8:
    case 0xe9:
      return 4;
    case 0xc2:
    case 0xca:
      return 2;
    case 0xc8:
      return 3;
    case 0xf6:
      return reg < 2 ? 1 : 0;
    case 0xf7:
      return reg < 2 ? full : 0;
    case 0x6a:
    case 0x6b:
    case 0x80:
    case 0x83:
    case 0xa8:
    case 0xc0:
    case 0xc1:
    case 0xc6:
    case 0xcd:
    case 0xeb:
      return 1;
    default:
      break;
  }
  if (IsIn(op, 0xa0, 0xa3)) return prefixes.address_32 ? 4 : 8;
  if (IsIn(op, 0xb8, 0xbf)) return prefixes.rex_w ? 8 : full;
  return IsIn(op, 0x70, 0x7f) || IsIn(op, 0xb0, 0xb7) || IsIn(op, 0xe0, 0xe7) ? 1 : 0;
}

// No instruction in 64 bit mode, or a prefix out of place.
bool IsInvalid(Map map, uint8_t op) {
  if (map != Map::kOneByte) return false;
  if (op < 0x40) return op % 8 >= 6;
  return IsIn(op, 0x40, 0x4f) || IsIn(op, 0x60, 0x62) || IsIn(op, 0x64, 0x67) || op == 0x82 ||
         op == 0x9a || op == 0xc4 || op == 0xc5 || IsIn(op, 0xd4, 0xd6) || op == 0xea ||
         op == 0xf0 || op == 0xf2 || op == 0xf3;
}

// Behind ModRM: scale and index, and displacement. False where they are cut off.
bool SkipOperand(uint8_t mod_rm, Bytes* bytes) {
  const uint8_t mod = mod_rm >> 6;
  if (mod == 3) return true;
  uint8_t base = mod_rm & 7;
  if (base == 4) {
    if (!bytes->Has(1)) return false;
    base = bytes->Take() & 7;
  }
  const size_t displacement = mod == 1 ? 1 : mod == 2 || base == 5 ? 4 : 0;
  if (!bytes->Has(displacement)) return false;
  bytes->Skip(displacement);
  return true;
}

bool IsPrefix(uint8_t byte) {
  return byte == 0x66 || byte == 0x67 || byte == 0xf0 || byte == 0xf2 || byte == 0xf3 ||
         byte == 0x2e || byte == 0x36 || byte == 0x3e || byte == 0x26 || byte == 0x64 ||
         byte == 0x65;
}

Prefixes TakePrefixes(Bytes* bytes) {
  Prefixes prefixes;
  while (bytes->Has(1) && IsPrefix(bytes->Peek())) {
    const uint8_t prefix = bytes->Take();
    prefixes.operand_16 |= prefix == 0x66;
    prefixes.address_32 |= prefix == 0x67;
  }
  if (bytes->Has(1) && (bytes->Peek() & 0xf0) == 0x40) {
    prefixes.rex_w = (bytes->Take() & 8) != 0;
  }
  return prefixes;
}

// Behind the prefixes, up to the opcode. False where there is no such map.
bool TakeMap(Bytes* bytes, Map* map) {
  const uint8_t first = bytes->Peek();
  const size_t vector_prefix = first == 0xc5 ? 2 : first == 0xc4 ? 3 : first == 0x62 ? 4 : 0;
  if (vector_prefix != 0) {
    if (!bytes->Has(vector_prefix)) return false;
    bytes->Take();
    const uint8_t number = first == 0xc5 ? 1 : bytes->Peek() & (first == 0x62 ? 7 : 0x1f);
    bytes->Skip(vector_prefix - 1);
    *map = number == 1 ? Map::k0F : number == 2 ? Map::k0F38 : Map::k0F3A;
    return number >= 1 && number <= 3;
  }
  *map = Map::kOneByte;
  if (first != 0x0f) return true;
  bytes->Take();
  if (!bytes->Has(1)) return false;
  const uint8_t second = bytes->Peek();
  *map = second == 0x38 ? Map::k0F38 : second == 0x3a ? Map::k0F3A : Map::k0F;
  if (*map != Map::k0F) bytes->Take();
  return true;
}

}  // namespace

size_t InstructionLength(const uint8_t* code, size_t bytes_left) {
  Bytes bytes(code, bytes_left);
  const size_t all = bytes.left();
  const Prefixes prefixes = TakePrefixes(&bytes);
  Map map = Map::kOneByte;
  if (!bytes.Has(1) || !TakeMap(&bytes, &map) || !bytes.Has(1)) return 0;
  const uint8_t op = bytes.Take();
  if (IsInvalid(map, op)) return 0;
  uint8_t reg = 0;
  if (HasModRm(map, op)) {
    if (!bytes.Has(1)) return 0;
    const uint8_t mod_rm = bytes.Take();
    reg = (mod_rm >> 3) & 7;
    if (!SkipOperand(mod_rm, &bytes)) return 0;
  }
  const size_t immediate = ImmediateBytes(map, op, reg, prefixes);
  if (!bytes.Has(immediate)) return 0;
  bytes.Skip(immediate);
  return all - bytes.left();
}

std::optional<int64_t> DistanceToNext(const uint8_t* code, size_t bytes) {
  const size_t length = InstructionLength(code, bytes);
  if (length == 0) return std::nullopt;
  const auto behind = static_cast<int64_t>(length);
  const uint8_t op = code[0];
  if (op == 0xeb) return behind + static_cast<int8_t>(code[1]);
  if (op == 0xe8 || op == 0xe9) {
    int32_t distance;
    memcpy(&distance, code + 1, sizeof(distance));
    return behind + distance;
  }
  const bool returns = op == 0xc3 || op == 0xc2;
  const bool jumps_or_calls_by_pointer =
      op == 0xff && bytes > 1 && ((code[1] >> 3) & 7) >= 2 && ((code[1] >> 3) & 7) <= 5;
  if (returns || jumps_or_calls_by_pointer) return std::nullopt;
  return behind;
}

}  // namespace coz::points
