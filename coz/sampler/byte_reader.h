// Reads numbers, LEB128 and DWARF pointers from bytes, never past their end.
//
// Shape    a position in [begin, end); after the first failure ok() stays false and reads give 0
// Units    pointers are runtime addresses: the bytes lie where the program loaded them
// Errors   ok() is false
// Threads  compatible
// Signals  async-signal-safe
// Source   DWARF 5 section 7.6; LSB "DWARF Exception Header Encoding"
#ifndef COZ_SAMPLER_BYTE_READER_H_
#define COZ_SAMPLER_BYTE_READER_H_

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace coz::sampler {

// DW_EH_PE_*: how a pointer is stored, and relative to what.
inline constexpr uint8_t kPointerAbsolute = 0x00;
inline constexpr uint8_t kPointerUleb128 = 0x01;
inline constexpr uint8_t kPointerU16 = 0x02;
inline constexpr uint8_t kPointerU32 = 0x03;
inline constexpr uint8_t kPointerU64 = 0x04;
inline constexpr uint8_t kPointerSleb128 = 0x09;
inline constexpr uint8_t kPointerS16 = 0x0a;
inline constexpr uint8_t kPointerS32 = 0x0b;
inline constexpr uint8_t kPointerS64 = 0x0c;
inline constexpr uint8_t kPointerFormatMask = 0x0f;
inline constexpr uint8_t kPointerPcRelative = 0x10;
inline constexpr uint8_t kPointerDataRelative = 0x30;
inline constexpr uint8_t kPointerRelationMask = 0x70;
inline constexpr uint8_t kPointerIndirect = 0x80;
inline constexpr uint8_t kPointerOmitted = 0xff;

class ByteReader {
 public:
  ByteReader(const uint8_t* begin, const uint8_t* end) : at_(begin), end_(end) {}

  bool ok() const { return ok_; }
  const uint8_t* at() const { return at_; }
  const uint8_t* end() const { return end_; }
  bool AtEnd() const { return at_ == end_; }

  template <typename T>
  T Read() {
    T value{};
    if (!Has(sizeof(T))) return value;
    memcpy(&value, at_, sizeof(T));
    at_ += sizeof(T);
    return value;
  }

  void Skip(uint64_t size) {
    if (Has(size)) at_ += size;
  }

  // The next `size` bytes as a reader of their own.
  ByteReader Split(uint64_t size) {
    if (!Has(size)) return ByteReader(end_, end_);
    ByteReader part(at_, at_ + size);
    at_ += size;
    return part;
  }

  uint64_t Uleb128() { return Leb128(nullptr); }

  int64_t Sleb128() {
    int shift = 0;
    const uint64_t value = Leb128(&shift);
    const bool negative = shift < 64 && (value >> (shift - 1) & 1) != 0;
    return static_cast<int64_t>(negative ? value | ~uint64_t{0} << shift : value);
  }

  // `data_base` is what data-relative pointers are relative to. An indirect pointer is not followed:
  // its value is where the pointer lies.
  uint64_t Pointer(uint8_t encoding, uint64_t data_base) {
    if (encoding == kPointerOmitted) return 0;
    const uint64_t here = reinterpret_cast<uintptr_t>(at_);
    const uint64_t value = Number(encoding & kPointerFormatMask);
    switch (encoding & kPointerRelationMask) {
      case 0:
        return value;
      case kPointerPcRelative:
        return here + value;
      case kPointerDataRelative:
        return data_base + value;
      default:
        ok_ = false;
        return 0;
    }
  }

 private:
  bool Has(uint64_t size) {
    if (size > static_cast<uint64_t>(end_ - at_)) ok_ = false;
    return ok_;
  }

  uint64_t Leb128(int* bits) {
    uint64_t value = 0;
    int shift = 0;
    uint8_t byte = 0;
    do {
      byte = Read<uint8_t>();
      if (!ok_) break;
      if (shift < 64) value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      shift += 7;
    } while ((byte & 0x80) != 0);
    if (bits != nullptr) *bits = shift == 0 ? 64 : shift;
    return value;
  }

  uint64_t Number(uint8_t format) {
    switch (format) {
      case kPointerAbsolute:
      case kPointerU64:
      case kPointerS64:
        return Read<uint64_t>();
      case kPointerUleb128:
        return Uleb128();
      case kPointerU16:
        return Read<uint16_t>();
      case kPointerU32:
        return Read<uint32_t>();
      case kPointerSleb128:
        return static_cast<uint64_t>(Sleb128());
      case kPointerS16:
        return static_cast<uint64_t>(int64_t{Read<int16_t>()});
      case kPointerS32:
        return static_cast<uint64_t>(int64_t{Read<int32_t>()});
      default:
        ok_ = false;
        return 0;
    }
  }

  const uint8_t* at_;
  const uint8_t* end_;
  bool ok_ = true;
};

}  // namespace coz::sampler

#endif  // COZ_SAMPLER_BYTE_READER_H_
