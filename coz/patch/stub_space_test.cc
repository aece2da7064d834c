#include "coz/patch/stub_space.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>

#include "coz/patch/code_patch.h"

namespace coz::patch {
namespace {

constexpr uint64_t kCode = 0x555555554000;
constexpr uint64_t kMiB = 1 << 20;

uint8_t ByteOfDistance(uint64_t stub, uint64_t address, int byte) {
  return static_cast<uint8_t>((stub - (address + kJumpBytes)) >> (8 * byte));
}

// Int3s, for each byte with a bit in `traps`.
GivenBytes Int3s(uint32_t traps) {
  GivenBytes given;
  for (int byte = 0; byte < 4; ++byte) {
    if ((traps >> byte & 1) == 0) continue;
    given.mask |= uint32_t{0xff} << 8 * byte;
    given.value |= uint32_t{kInt3} << 8 * byte;
  }
  return given;
}

TEST(StubSpaceTest, EachStubHasBytesOfItsOwnNearTheCode) {
  StubSpace space;
  space.SetMapped({{kCode, kCode + kMiB}});
  const std::optional<uint64_t> a = space.Take(kCode + 16, 100, {});
  const std::optional<uint64_t> b = space.Take(kCode + 32, 100, {});
  ASSERT_TRUE(a.has_value() && b.has_value());
  EXPECT_GE(*b, *a + 100);
  EXPECT_LT(*a, kCode - kMiB + 1);
  EXPECT_GT(*a, kCode - 128 * kMiB);
}

TEST(StubSpaceTest, DistanceHasAnInt3WhereItIsAsked) {
  for (uint32_t traps = 1; traps < 16; ++traps) {
    StubSpace space;
    space.SetMapped({{kCode, kCode + kMiB}});
    for (uint64_t address = kCode; address < kCode + 512; address += 128) {
      const std::optional<uint64_t> stub = space.Take(address, 100, Int3s(traps));
      ASSERT_TRUE(stub.has_value()) << traps;
      for (int byte = 0; byte < 4; ++byte) {
        if ((traps >> byte & 1) == 0) continue;
        EXPECT_EQ(ByteOfDistance(*stub, address, byte), kInt3) << traps << " " << byte;
      }
    }
  }
}

bool HasGiven(uint64_t stub, uint64_t address, const GivenBytes& given) {
  const auto distance = static_cast<uint32_t>(stub - (address + kJumpBytes));
  return (distance & given.mask) == given.value;
}

// As where a jump shares its last one, two or three bytes with what stands there.
TEST(StubSpaceTest, DistanceHasTheBytesThatStandBehindThePlace) {
  for (const uint32_t highest : {0x48u, 0x0fu, 0x74u, 0xe8u, 0x89u}) {
    for (const GivenBytes& given :
         {GivenBytes{0xff000000, highest << 24}, GivenBytes{0xffff0000, highest << 24 | 0x8b0000},
          GivenBytes{0xffffff00, highest << 24 | 0x018b00}}) {
      StubSpace space;
      space.SetMapped({{kCode, kCode + kMiB}});
      for (uint64_t address = kCode; address < kCode + 1024; address += 256) {
        const std::optional<uint64_t> stub = space.Take(address, 100, given);
        ASSERT_TRUE(stub.has_value()) << std::hex << given.value;
        EXPECT_TRUE(HasGiven(*stub, address, given)) << std::hex << given.value;
        EXPECT_LT(std::abs(static_cast<int64_t>(*stub - address)), int64_t{1} << 31);
      }
    }
  }
}

TEST(StubSpaceTest, OfTwoJumpsThatReachTheSame256AddressesTheSecondGetsNone) {
  const GivenBytes given = {0xffffff00, 0x48018b00};
  StubSpace space;
  space.SetMapped({{kCode, kCode + kMiB}});
  EXPECT_TRUE(space.Take(kCode, 200, given).has_value());
  EXPECT_TRUE(space.Take(kCode, 200, given).has_value());
  EXPECT_FALSE(space.Take(kCode, 200, given).has_value());
}

TEST(StubSpaceTest, StubsFarFromTheCodeShareAPage) {
  const GivenBytes given = {0xff000000, 0x48000000};
  StubSpace space;
  space.SetMapped({{kCode, kCode + kMiB}});
  const std::optional<uint64_t> a = space.Take(kCode + kMiB / 2, 100, given);
  const std::optional<uint64_t> b = space.Take(kCode, 100, given);
  ASSERT_TRUE(a.has_value() && b.has_value());
  EXPECT_EQ(*a / kPageBytes, *b / kPageBytes);
  // The process has come to map something else there.
  space.SetMapped({{kCode, kCode + kMiB}, {*a & ~(kMiB - 1), (*a & ~(kMiB - 1)) + kMiB}});
  const std::optional<uint64_t> c = space.Take(kCode, 100, given);
  ASSERT_TRUE(c.has_value());
  EXPECT_NE(*c / kPageBytes, *a / kPageBytes);
  EXPECT_TRUE(HasGiven(*c, kCode, given));
}

TEST(StubSpaceTest, GivenBytesThatLeadToWhatIsMappedHaveNoAddress) {
  const GivenBytes given = {0xff000000, 0x10000000};
  const uint64_t begin = kCode + kJumpBytes + 0x10000000;
  StubSpace space;
  space.SetMapped({{kCode, kCode + kMiB}, {begin, begin + 16 * kMiB}});
  EXPECT_FALSE(space.Take(kCode, 100, given).has_value());
}

// A jump at an odd place reaches 16 pages. Each session leaves one there.
TEST(StubSpaceTest, StubsOfEarlierSessionsTakeNoMoreThanTheirPages) {
  constexpr uint32_t kTraps = 12;
  std::vector<AddressRange> mapped = {{kCode, kCode + kMiB}};
  for (int session = 0; session < 10; ++session) {
    StubSpace space;
    space.SetMapped(mapped);
    const std::optional<uint64_t> stub = space.Take(kCode + 16, 100, Int3s(kTraps));
    ASSERT_TRUE(stub.has_value()) << session;
    const uint64_t page = *stub & ~(kPageBytes - 1);
    mapped.push_back({page, page + kPageBytes, /*may_grow=*/false});
  }
}

TEST(StubSpaceTest, NothingIsTakenThatIsMapped) {
  StubSpace space;
  space.SetMapped({{uint64_t{1} << 16, uint64_t{1} << 47}});
  EXPECT_FALSE(space.Take(kCode, 100, {}).has_value());
}

TEST(StubSpaceTest, HighestByteIsNoInt3BelowTheFirstPages) {
  StubSpace space;
  space.SetMapped({{0x400000, 0x500000}});
  EXPECT_FALSE(space.Take(0x400000, 100, Int3s(8)).has_value());
  EXPECT_TRUE(space.Take(0x400000, 100, Int3s(1)).has_value());
}

TEST(StubSpaceTest, PagesThatTheProcessHasMappedForStubsAreUsedOn) {
  StubSpace space;
  space.SetMapped({{kCode, kCode + kMiB}});
  const std::optional<uint64_t> a = space.Take(kCode + 16, 100, {});
  ASSERT_TRUE(a.has_value());
  const uint64_t page = *a & ~(kPageBytes - 1);
  space.SetMapped({{kCode, kCode + kMiB}, {page, page + kPageBytes}});
  const std::optional<uint64_t> b = space.Take(kCode + 32, 100, {});
  ASSERT_TRUE(b.has_value());
  EXPECT_EQ(*b, *a + 100);
}

}  // namespace
}  // namespace coz::patch
