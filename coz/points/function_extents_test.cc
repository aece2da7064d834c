#include "coz/points/function_extents.h"

#include <cstring>
#include <string>

#include "gtest/gtest.h"

namespace coz::points {
namespace {

constexpr uint64_t kAddress = 0x8000;

void Append32(uint32_t value, std::string* bytes) {
  char raw[sizeof(value)];
  memcpy(raw, &value, sizeof(value));
  bytes->append(raw, sizeof(raw));
}

// A common entry that stores signed 32-bit distances, with a personality before; two functions; the
// end.
std::string Frames() {
  std::string bytes;
  Append32(24, &bytes);
  Append32(0, &bytes);
  bytes += std::string("\x01zPR\0\x01\x78\x10\x06\x9b\0\0\0\0\x1b", 15);
  bytes += std::string(5, '\0');
  for (const uint32_t function : {0x100, 0x40}) {
    Append32(16, &bytes);
    Append32(static_cast<uint32_t>(bytes.size()), &bytes);
    Append32(static_cast<uint32_t>(function - (kAddress + bytes.size())), &bytes);
    Append32(0x30, &bytes);
    Append32(0, &bytes);
  }
  Append32(0, &bytes);
  return bytes;
}

TEST(FunctionExtentsTest, FunctionsAreReadAndSorted) {
  const auto extents = ReadFunctionExtents(Frames(), kAddress);
  ASSERT_EQ(extents.size(), 2u);
  EXPECT_EQ(extents[0].begin, 0x40u);
  EXPECT_EQ(extents[0].end, 0x70u);
  EXPECT_EQ(extents[1].begin, 0x100u);
}

TEST(FunctionExtentsTest, DamagedFramesAreSurvived) {
  const std::string bytes = Frames();
  for (size_t size = 0; size <= bytes.size(); ++size) {
    EXPECT_LE(ReadFunctionExtents(bytes.substr(0, size), kAddress).size(), 2u);
  }
  for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    std::string damaged = bytes;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << bit % 8));
    for (const FunctionExtent& extent : ReadFunctionExtents(damaged, kAddress)) {
      EXPECT_LT(extent.begin, extent.end);
    }
  }
}

}  // namespace
}  // namespace coz::points
