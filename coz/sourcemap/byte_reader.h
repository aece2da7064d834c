// Reads DWARF's primitive values from bytes that may be damaged.
//
// Shape    a cursor over borrowed bytes in little endian
// Units    bytes
// Errors   reading beyond the end returns 0 and makes ok() false for good; no exception
// Threads  compatible
// Signals  async-signal-safe
// Source   DWARF 5, section 7.6 (LEB128) and 7.4 (32-bit and 64-bit format)
#ifndef COZ_SOURCEMAP_BYTE_READER_H_
#define COZ_SOURCEMAP_BYTE_READER_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace coz::sourcemap {

class ByteReader {
 public:
  ByteReader() = default;
  explicit ByteReader(std::string_view bytes)
      : next_(bytes.data()), end_(bytes.data() + bytes.size()) {}

  bool ok() const { return ok_; }
  size_t left() const { return static_cast<size_t>(end_ - next_); }
  bool AtEnd() const { return next_ == end_; }
  const char* position() const { return next_; }

  void Skip(uint64_t bytes) {
    if (bytes > left()) {
      Fail();
    } else {
      next_ += bytes;
    }
  }

  uint8_t U8() { return Fixed<uint8_t>(); }
  uint16_t U16() { return Fixed<uint16_t>(); }
  uint32_t U32() { return Fixed<uint32_t>(); }
  uint64_t U64() { return Fixed<uint64_t>(); }

  // An unsigned value of 1 to 8 bytes.
  uint64_t Unsigned(uint64_t bytes) {
    uint64_t value = 0;
    if (bytes > sizeof(value) || bytes > left()) {
      Fail();
      return 0;
    }
    std::memcpy(&value, next_, bytes);
    next_ += bytes;
    return value;
  }

  uint64_t Uleb() {
    // One byte is by far the most common length.
    if (next_ != end_ && static_cast<uint8_t>(*next_) < 0x80) return static_cast<uint8_t>(*next_++);
    uint64_t value = 0;
    for (unsigned shift = 0; next_ != end_; shift += 7) {
      const uint8_t byte = static_cast<uint8_t>(*next_++);
      if (shift < 64) value |= uint64_t{byte & 0x7fu} << shift;
      if (byte < 0x80) return value;
    }
    Fail();
    return 0;
  }

  int64_t Sleb() {
    uint64_t value = 0;
    for (unsigned shift = 0; next_ != end_;) {
      const uint8_t byte = static_cast<uint8_t>(*next_++);
      if (shift < 64) value |= uint64_t{byte & 0x7fu} << shift;
      shift += 7;
      if (byte >= 0x80) continue;
      if (shift < 64 && (byte & 0x40) != 0) value |= ~uint64_t{0} << shift;
      return static_cast<int64_t>(value);
    }
    Fail();
    return 0;
  }

  // Up to, and moving behind, the next 0 byte.
  std::string_view CString() {
    const void* zero = left() == 0 ? nullptr : std::memchr(next_, 0, left());
    if (zero == nullptr) {
      Fail();
      return {};
    }
    const std::string_view text(next_, static_cast<size_t>(static_cast<const char*>(zero) - next_));
    next_ += text.size() + 1;
    return text;
  }

  // The unit length that opens a header, and the size of offsets that it announces.
  uint64_t InitialLength(uint8_t* offset_bytes) {
    *offset_bytes = 4;
    const uint32_t length = U32();
    if (length != 0xffffffff) return length;
    *offset_bytes = 8;
    return U64();
  }

  // A reader of the next `bytes`, which this one skips.
  ByteReader Sub(uint64_t bytes) {
    if (bytes > left()) {
      Fail();
      return ByteReader(std::string_view());
    }
    ByteReader sub(std::string_view(next_, bytes));
    next_ += bytes;
    return sub;
  }

 private:
  template <typename T>
  T Fixed() {
    T value = 0;
    if (sizeof(T) > left()) {
      Fail();
      return 0;
    }
    std::memcpy(&value, next_, sizeof(T));
    next_ += sizeof(T);
    return value;
  }

  void Fail() {
    ok_ = false;
    next_ = end_;
  }

  const char* next_ = nullptr;
  const char* end_ = nullptr;
  bool ok_ = true;
};

// The string at `offset` of a string section, or empty.
inline std::string_view StringAt(std::string_view section, uint64_t offset) {
  if (offset >= section.size()) return {};
  return ByteReader(section.substr(offset)).CString();
}

}  // namespace coz::sourcemap

#endif  // COZ_SOURCEMAP_BYTE_READER_H_
