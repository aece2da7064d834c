// Reads DWARF's primitive values from bytes that may be damaged, never past their end.
//
// Shape    a cursor over borrowed bytes in little endian
// Units    bytes; encoded pointers are runtime addresses where the bytes lie as the loader put them
// Errors   a read that fails gives 0 or an empty value, moves to the end, and makes ok() false for
//          good, so a loop over AtEnd() ends
// Threads  compatible
// Signals  async-signal-safe
// Source   DWARF 5, sections 7.4 (formats) and 7.6 (LEB128); LSB, "DWARF Exception Header Encoding"
#ifndef COZ_BASE_BYTE_READER_H_
#define COZ_BASE_BYTE_READER_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace coz {

// DW_EH_PE_*: how .eh_frame stores a pointer, and what it is relative to.
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
  ByteReader() = default;
  ByteReader(const uint8_t* begin, const uint8_t* end) : at_(begin), end_(end) {}
  explicit ByteReader(std::string_view bytes)
      : at_(reinterpret_cast<const uint8_t*>(bytes.data())), end_(at_ + bytes.size()) {}

  bool ok() const { return ok_; }
  const uint8_t* at() const { return at_; }
  const uint8_t* end() const { return end_; }
  // at(), for those who keep text.
  const char* position() const { return reinterpret_cast<const char*>(at_); }
  size_t left() const { return static_cast<size_t>(end_ - at_); }
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

  // The next `size` bytes as a reader of their own, which this one skips.
  ByteReader Split(uint64_t size) {
    if (!Has(size)) return ByteReader(end_, end_);
    const ByteReader part(at_, at_ + size);
    at_ += size;
    return part;
  }

  // An unsigned value of at most 8 bytes.
  uint64_t Unsigned(uint64_t size) {
    uint64_t value = 0;
    if (size > sizeof(value)) Fail();
    if (!Has(size)) return 0;
    memcpy(&value, at_, size);
    at_ += size;
    return value;
  }

  uint64_t Uleb128() {
    // One byte is by far the most common length.
    if (at_ != end_ && *at_ < 0x80) return *at_++;
    unsigned bits;
    return Leb128(&bits);
  }

  int64_t Sleb128() {
    unsigned bits;
    const uint64_t value = Leb128(&bits);
    const bool is_negative = bits > 0 && bits < 64 && (value >> (bits - 1) & 1) != 0;
    return static_cast<int64_t>(is_negative ? value | ~uint64_t{0} << bits : value);
  }

  // Up to the next 0 byte, which is skipped.
  std::string_view CString() {
    const void* zero = AtEnd() ? nullptr : memchr(at_, 0, left());
    if (zero == nullptr) {
      Fail();
      return {};
    }
    const std::string_view text(position(),
                                static_cast<size_t>(static_cast<const uint8_t*>(zero) - at_));
    at_ += text.size() + 1;
    return text;
  }

  // The unit length that opens a header, and the size of offsets that it announces.
  uint64_t InitialLength(uint8_t* offset_bytes) {
    *offset_bytes = 4;
    const uint32_t length = Read<uint32_t>();
    if (length != 0xffffffff) return length;
    *offset_bytes = 8;
    return Read<uint64_t>();
  }

  // A pointer of .eh_frame. `data_base` is what data-relative pointers are relative to. An indirect
  // pointer is not followed: its value is where the pointer lies.
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
        Fail();
        return 0;
    }
  }

 private:
  bool Has(uint64_t size) {
    if (size > left()) Fail();
    return ok_;
  }

  void Fail() {
    ok_ = false;
    at_ = end_;
  }

  // `bits`: how many the bytes have; 0 where they are cut off.
  uint64_t Leb128(unsigned* bits) {
    uint64_t value = 0;
    *bits = 0;
    while (at_ != end_) {
      const uint8_t byte = *at_++;
      if (*bits < 64) value |= uint64_t{byte & 0x7fu} << *bits;
      *bits += 7;
      if (byte < 0x80) return value;
    }
    *bits = 0;
    Fail();
    return 0;
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
        Fail();
        return 0;
    }
  }

  const uint8_t* at_ = nullptr;
  const uint8_t* end_ = nullptr;
  bool ok_ = true;
};

// The string at `offset` of a string section, or empty.
inline std::string_view StringAt(std::string_view section, uint64_t offset) {
  if (offset >= section.size()) return {};
  return ByteReader(section.substr(offset)).CString();
}

}  // namespace coz

#endif  // COZ_BASE_BYTE_READER_H_
