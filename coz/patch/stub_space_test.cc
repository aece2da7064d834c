#include "coz/patch/stub_space.h"

#include <gtest/gtest.h>

#include <optional>

#include "coz/patch/code_patch.h"

namespace coz::patch {
namespace {

constexpr uint64_t kCode = 0x555555554000;
constexpr uint64_t kMiB = 1 << 20;

uint8_t ByteOfDistance(uint64_t stub, uint64_t address, int byte) {
  return static_cast<uint8_t>((stub - (address + kJumpBytes)) >> (8 * byte));
}

TEST(StubSpaceTest, EachStubHasBytesOfItsOwnNearTheCode) {
  StubSpace space;
  space.SetMapped({{kCode, kCode + kMiB}});
  const std::optional<uint64_t> a = space.Take(kCode + 16, 100, 0);
  const std::optional<uint64_t> b = space.Take(kCode + 32, 100, 0);
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
      const std::optional<uint64_t> stub = space.Take(address, 100, traps);
      ASSERT_TRUE(stub.has_value()) << traps;
      for (int byte = 0; byte < 4; ++byte) {
        if ((traps >> byte & 1) == 0) continue;
        EXPECT_EQ(ByteOfDistance(*stub, address, byte), kInt3) << traps << " " << byte;
      }
    }
  }
}

// A jump at an odd place reaches 16 pages. Each session leaves one there.
TEST(StubSpaceTest, StubsOfEarlierSessionsTakeNoMoreThanTheirPages) {
  constexpr uint32_t kTraps = 12;
  std::vector<AddressRange> mapped = {{kCode, kCode + kMiB}};
  for (int session = 0; session < 10; ++session) {
    StubSpace space;
    space.SetMapped(mapped);
    const std::optional<uint64_t> stub = space.Take(kCode + 16, 100, kTraps);
    ASSERT_TRUE(stub.has_value()) << session;
    const uint64_t page = *stub & ~(kPageBytes - 1);
    mapped.push_back({page, page + kPageBytes, /*may_grow=*/false});
  }
}

TEST(StubSpaceTest, NothingIsTakenThatIsMapped) {
  StubSpace space;
  space.SetMapped({{uint64_t{1} << 16, uint64_t{1} << 47}});
  EXPECT_FALSE(space.Take(kCode, 100, 0).has_value());
}

TEST(StubSpaceTest, HighestByteIsNoInt3BelowTheFirstPages) {
  StubSpace space;
  space.SetMapped({{0x400000, 0x500000}});
  EXPECT_FALSE(space.Take(0x400000, 100, 8).has_value());
  EXPECT_TRUE(space.Take(0x400000, 100, 1).has_value());
}

TEST(StubSpaceTest, PagesThatTheProcessHasMappedForStubsAreUsedOn) {
  StubSpace space;
  space.SetMapped({{kCode, kCode + kMiB}});
  const std::optional<uint64_t> a = space.Take(kCode + 16, 100, 0);
  ASSERT_TRUE(a.has_value());
  const uint64_t page = *a & ~(kPageBytes - 1);
  space.SetMapped({{kCode, kCode + kMiB}, {page, page + kPageBytes}});
  const std::optional<uint64_t> b = space.Take(kCode + 32, 100, 0);
  ASSERT_TRUE(b.has_value());
  EXPECT_EQ(*b, *a + 100);
}

}  // namespace
}  // namespace coz::patch
