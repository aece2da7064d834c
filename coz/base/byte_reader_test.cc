#include "coz/base/byte_reader.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace coz {
namespace {

using Bytes = std::vector<uint8_t>;

ByteReader ReaderOf(const Bytes& bytes) {
  return ByteReader(bytes.data(), bytes.data() + bytes.size());
}

void ExpectFailed(const ByteReader& reader) {
  EXPECT_FALSE(reader.ok());
  EXPECT_TRUE(reader.AtEnd());
}

TEST(ByteReaderTest, Leb128NumbersKeepTheirSign) {
  const Bytes bytes = {0x02, 0x7f, 0x80, 0x01, 0x80, 0x7f, 0xe5, 0x8e, 0x26};
  ByteReader reader = ReaderOf(bytes);
  EXPECT_EQ(reader.Sleb128(), 2);
  EXPECT_EQ(reader.Sleb128(), -1);
  EXPECT_EQ(reader.Sleb128(), 128);
  EXPECT_EQ(reader.Sleb128(), -128);
  EXPECT_EQ(reader.Uleb128(), 624485u);
  EXPECT_TRUE(reader.ok());
  EXPECT_TRUE(reader.AtEnd());
}

TEST(ByteReaderTest, Leb128NumbersKeepTheirLow64Bits) {
  // 12 bytes that say 84 bits, all set.
  Bytes bytes(11, 0xff);
  bytes.push_back(0x7f);
  ByteReader is_unsigned = ReaderOf(bytes);
  EXPECT_EQ(is_unsigned.Uleb128(), ~uint64_t{0});
  ByteReader is_signed = ReaderOf(bytes);
  EXPECT_EQ(is_signed.Sleb128(), -1);
  EXPECT_TRUE(is_unsigned.ok() && is_unsigned.AtEnd() && is_signed.ok() && is_signed.AtEnd());
}

TEST(ByteReaderTest, NumbersAreLittleEndian) {
  const Bytes bytes = {1, 2, 1, 2, 3, 0xff, 0xff, 1, 2, 3, 4, 5, 6, 7, 8};
  ByteReader reader = ReaderOf(bytes);
  EXPECT_EQ(reader.Read<uint16_t>(), 0x0201);
  EXPECT_EQ(reader.Unsigned(3), 0x030201u);
  EXPECT_EQ(reader.Read<int16_t>(), -1);
  EXPECT_EQ(reader.Unsigned(8), 0x0807060504030201u);
  EXPECT_TRUE(reader.ok());
}

TEST(ByteReaderTest, AReadThatFailsMovesToTheEndForGood) {
  const Bytes bytes = {0x80, 0x80, 0x80};
  ByteReader cut_off = ReaderOf(bytes);
  EXPECT_EQ(cut_off.Uleb128(), 0u);
  ExpectFailed(cut_off);
  EXPECT_EQ(cut_off.Read<uint8_t>(), 0);
  EXPECT_EQ(cut_off.Sleb128(), 0);
  EXPECT_TRUE(cut_off.CString().empty());
  EXPECT_TRUE(cut_off.Split(1).AtEnd());
  cut_off.Skip(0);
  ExpectFailed(cut_off);

  ByteReader too_wide = ReaderOf(bytes);
  EXPECT_EQ(too_wide.Read<uint32_t>(), 0u);
  ExpectFailed(too_wide);
  ByteReader too_far = ReaderOf(bytes);
  too_far.Skip(~uint64_t{0});
  ExpectFailed(too_far);
  const Bytes nine(9, 1);
  ByteReader too_long = ReaderOf(nine);
  EXPECT_EQ(too_long.Unsigned(9), 0u);
  ExpectFailed(too_long);
  ByteReader nothing;
  EXPECT_TRUE(nothing.ok());
  EXPECT_EQ(nothing.Uleb128(), 0u);
  ExpectFailed(nothing);
}

TEST(ByteReaderTest, APartEndsWhereItWasToldTo) {
  const Bytes bytes = {1, 2, 3, 4};
  ByteReader reader = ReaderOf(bytes);
  ByteReader part = reader.Split(2);
  EXPECT_EQ(part.Read<uint32_t>(), 0u);
  ExpectFailed(part);
  EXPECT_EQ(reader.Read<uint16_t>(), 0x0403);
  EXPECT_TRUE(reader.ok());
  ByteReader beyond = reader.Split(1);
  EXPECT_TRUE(beyond.AtEnd());
  ExpectFailed(reader);
}

TEST(ByteReaderTest, StringsEndWithAZero) {
  const std::string_view text("ab\0\0cd", 6);
  ByteReader reader(text);
  EXPECT_EQ(reader.CString(), "ab");
  EXPECT_EQ(reader.CString(), "");
  EXPECT_TRUE(reader.ok());
  EXPECT_EQ(reader.CString(), "");
  ExpectFailed(reader);
  EXPECT_EQ(StringAt(text, 1), "b");
  EXPECT_EQ(StringAt(text, 4), "");
  EXPECT_EQ(StringAt(text, 6), "");
}

TEST(ByteReaderTest, TheInitialLengthTellsTheSizeOfOffsets) {
  uint8_t offset_bytes = 0;
  const Bytes narrow = {7, 0, 0, 0};
  EXPECT_EQ(ReaderOf(narrow).InitialLength(&offset_bytes), 7u);
  EXPECT_EQ(offset_bytes, 4);
  const Bytes wide = {0xff, 0xff, 0xff, 0xff, 9, 0, 0, 0, 0, 0, 0, 0};
  EXPECT_EQ(ReaderOf(wide).InitialLength(&offset_bytes), 9u);
  EXPECT_EQ(offset_bytes, 8);
}

TEST(ByteReaderTest, PointersAreRelativeToWhatTheirEncodingSays) {
  const Bytes bytes = {0xfe, 0xff, 0xff, 0xff, 0x10, 0, 0, 0};
  ByteReader reader = ReaderOf(bytes);
  EXPECT_EQ(reader.Pointer(kPointerPcRelative | kPointerS32, 0),
            reinterpret_cast<uint64_t>(bytes.data()) - 2);
  EXPECT_EQ(reader.Pointer(kPointerDataRelative | kPointerU32, 1000), 1016u);
  ByteReader unknown = ReaderOf(bytes);
  EXPECT_EQ(unknown.Pointer(0x05, 0), 0u);
  ExpectFailed(unknown);
}

}  // namespace
}  // namespace coz
