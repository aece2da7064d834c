#include "coz/shared/process_slots.h"

#include "coz/testing/zeroed_control.h"
#include "gtest/gtest.h"

namespace coz::shared {
namespace {

constexpr uint64_t kPlace = 0x401000;

// Zero-initialised, as the supervisor's memfd is.
testing::OwnedControl NewControl() { return testing::ZeroedControl(); }

TEST(ProcessSlotsTest, ChildOfForkHasItsParentsCountedPlaces) {
  const auto control = NewControl();
  ProcessSlot* parent = TakeProcessSlot(*control, 10, 1);
  ProcessSlot* child = TakeProcessSlot(*control, 11, 10);
  parent->counted_places[kMaxCountedPlaces - 1] = kPlace;
  EXPECT_TRUE(IsCountedPlace(*parent, kPlace));
  EXPECT_FALSE(IsCountedPlace(*parent, kPlace + 1));
  EXPECT_FALSE(IsCountedPlace(*child, kPlace));
  InheritCountedPlaces(*parent, child);
  EXPECT_TRUE(IsCountedPlace(*child, kPlace));
}

TEST(ProcessSlotsTest, ProgramThatAnExecStartsHasNoCountedPlaces) {
  const auto control = NewControl();
  ProcessSlot* slot = TakeProcessSlot(*control, 10, 1);
  slot->state = ProcessState::kRunning;
  slot->counted_places[0] = kPlace;
  ASSERT_EQ(TakeProcessSlot(*control, 10, 1), slot);
  EXPECT_FALSE(IsCountedPlace(*slot, kPlace));
}

}  // namespace
}  // namespace coz::shared
