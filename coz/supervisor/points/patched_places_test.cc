#include "coz/supervisor/points/patched_places.h"

#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "coz/patch/patch_result.h"
#include "coz/shared/control_block.h"
#include "coz/supervisor/target/mapped_code.h"
#include "gtest/gtest.h"

namespace coz::supervisor {
namespace {

// At so many bytes from the function's begin, in one function of one file.
PlaceInFile At(size_t offset) {
  PlaceInFile place;
  place.file = "/program";
  place.code.name = "serve";
  place.code.function_offset = 0x1000;
  place.code.file_offset = 0x1000 + offset;
  return place;
}

patch::PlacePlan PlanOf(patch::Way way, size_t offset, size_t bytes) {
  patch::PlacePlan plan;
  plan.way = way;
  plan.offset = offset;
  plan.original.resize(bytes);
  return plan;
}

// A jump that displaces eight bytes, or an int3 that displaces `by_trap`; 0: no int3.
PlacePlans PlansOf(size_t offset, size_t by_trap) {
  PlacePlans plans;
  plans.best = PlanOf(patch::Way::kJump, offset, 8);
  if (by_trap != 0) plans.by_trap = PlanOf(patch::Way::kTrap, offset, by_trap);
  return plans;
}

class PatchedPlacesTest : public testing::Test {
 protected:
  // What MakeRoom says, and the place's number where that is nothing.
  std::string Add(size_t offset, size_t by_trap, size_t* number) {
    PlacePlans plans = PlansOf(offset, by_trap);
    std::string why = places_.MakeRoom(At(offset), &plans);
    if (why.empty()) *number = places_.Add({0}, At(offset), plans);
    return why;
  }

  PatchedPlaces places_;
};

TEST_F(PatchedPlacesTest, PlacesApartGetJumps) {
  size_t first = 0;
  size_t second = 0;
  EXPECT_EQ(Add(0, 2, &first), "");
  EXPECT_EQ(Add(8, 2, &second), "");
  EXPECT_EQ(places_.way(first), patch::Way::kJump);
  EXPECT_EQ(places_.way(second), patch::Way::kJump);
}

TEST_F(PatchedPlacesTest, OfTwoThatOverlapTheFirstInTheCodeGetsAnInt3) {
  for (const bool is_in_order : {true, false}) {
    places_ = PatchedPlaces();
    size_t first = 0;
    size_t second = 0;
    EXPECT_EQ(is_in_order ? Add(0, 2, &first) : Add(4, 2, &second), "");
    EXPECT_EQ(is_in_order ? Add(4, 2, &second) : Add(0, 2, &first), "");
    EXPECT_EQ(places_.way(first), patch::Way::kTrap);
    EXPECT_EQ(places_.way(second), patch::Way::kJump);
  }
}

TEST_F(PatchedPlacesTest, RefusesWhereNoInt3IsShortEnough) {
  size_t first = 0;
  size_t second = 0;
  EXPECT_EQ(Add(0, 5, &first), "");
  EXPECT_EQ(Add(4, 2, &second), "its first bytes are changed to count serve");
  places_.Remove(first);
  EXPECT_EQ(Add(4, 2, &second), "") << "a place that is removed is in nobody's way";
}

TEST_F(PatchedPlacesTest, FourPointsCountAtOnePlace) {
  size_t number = 0;
  for (int i = 0; i < 4; ++i) EXPECT_EQ(Add(0, 2, &number), "");
  EXPECT_EQ(Add(0, 2, &number), "4 points count there already");
}

TEST_F(PatchedPlacesTest, PlaceIsGoneWhenItsLastPointIsRemoved) {
  size_t first = 0;
  size_t second = 0;
  EXPECT_EQ(Add(0, 2, &first), "");
  EXPECT_EQ(Add(0, 2, &second), "");
  places_.Remove(first);
  EXPECT_FALSE(places_.IsGone(first));
  places_.Remove(second);
  EXPECT_TRUE(places_.IsGone(first));
  places_.Restore(second);
  EXPECT_FALSE(places_.IsGone(second));
}

// The test's own process, which says of each change that it is busy.
TEST_F(PatchedPlacesTest, AProcessThatIsAlwaysBusyIsNotAskedForEver) {
  const std::vector<MappedCode> mapped = ReadMappedCode(getpid());
  ASSERT_FALSE(mapped.empty());
  PlaceInFile place;
  place.file = RealPath(mapped[0].path);
  place.code.function_offset = mapped[0].file_offset;
  place.code.file_offset = mapped[0].file_offset;
  places_.Remove(places_.Add({0}, place, PlansOf(0, 0)));
  const auto control = std::make_unique<shared::ControlBlock>();
  shared::PatchRequest& request = control->patch_request;
  std::atomic<bool> is_over{false};
  std::thread process([&] {
    while (!is_over) {
      if (request.state.load() != shared::PatchRequestState::kAsked) {
        std::this_thread::yield();
        continue;
      }
      request.results[0] = static_cast<uint32_t>(patch::PatchResult::kBusy);
      request.state.store(shared::PatchRequestState::kAnswered);
    }
  });
  shared::ProcessSlot& slot = control->processes[0];
  slot.counters_fs_offset = 8;
  EXPECT_TRUE(places_.AskAtStart(*control, slot, {getpid(), 1, mapped}).empty());
  EXPECT_FALSE(places_.IsSettled());
  is_over = true;
  process.join();
}

}  // namespace
}  // namespace coz::supervisor
