#include "coz/base/reserved_descriptors.h"

#include "gtest/gtest.h"

namespace coz {
namespace {

TEST(ReservedDescriptorsTest, KnowsWhatIsReserved) {
  EXPECT_EQ(NextReservedDescriptor(0), -1);
  EXPECT_TRUE(ReserveDescriptor(1000));
  EXPECT_TRUE(ReserveDescriptor(64));
  EXPECT_TRUE(IsReservedDescriptor(1000));
  EXPECT_FALSE(IsReservedDescriptor(999));
  EXPECT_EQ(NextReservedDescriptor(0), 64);
  EXPECT_EQ(NextReservedDescriptor(64), 64);
  EXPECT_EQ(NextReservedDescriptor(65), 1000);
  EXPECT_EQ(NextReservedDescriptor(1001), -1);
  EXPECT_TRUE(ReleaseDescriptor(64));
  EXPECT_FALSE(ReleaseDescriptor(64));
  EXPECT_TRUE(ReleaseDescriptor(1000));
  EXPECT_EQ(NextReservedDescriptor(0), -1);
}

TEST(ReservedDescriptorsTest, TakesNoNumberThatIsNone) {
  EXPECT_FALSE(ReserveDescriptor(-1));
  EXPECT_FALSE(ReserveDescriptor(1 << 16));
  EXPECT_FALSE(IsReservedDescriptor(-1));
  EXPECT_FALSE(IsReservedDescriptor(1 << 16));
  EXPECT_FALSE(ReleaseDescriptor(-1));
  EXPECT_EQ(NextReservedDescriptor(-5), -1);
  EXPECT_EQ(NextReservedDescriptor(1 << 20), -1);
  EXPECT_TRUE(ReserveDescriptor((1 << 16) - 1));
  EXPECT_EQ(NextReservedDescriptor(0), (1 << 16) - 1);
  EXPECT_TRUE(ReleaseDescriptor((1 << 16) - 1));
}

}  // namespace
}  // namespace coz
