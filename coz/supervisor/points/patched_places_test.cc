#include "coz/supervisor/points/patched_places.h"

#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <string>
#include <thread>
#include <vector>

#include "coz/patch/patch_result.h"
#include "coz/shared/control_block.h"
#include "coz/supervisor/target/mapped_code.h"
#include "coz/testing/zeroed_control.h"
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

class PatchedPlacesTest : public ::testing::Test {
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

// The first place is counted by an int3, and its code is not to be changed by a jump of any kind.
TEST_F(PatchedPlacesTest, PlaceThatMakesRoomHasNoOtherJumpLeft) {
  size_t second = 0;
  EXPECT_EQ(Add(4, 2, &second), "");
  PlacePlans plans = PlansOf(0, 2);
  plans.by_shared_jump = PlanOf(patch::Way::kJump, 0, patch::kJumpBytes);
  EXPECT_EQ(places_.MakeRoom(At(0), &plans), "");
  EXPECT_EQ(plans.best.way, patch::Way::kTrap);
  EXPECT_FALSE(plans.by_shared_jump.has_value());
}

TEST_F(PatchedPlacesTest, BytesThatAJumpSharesAreNobodyElses) {
  PlacePlans plans;
  plans.best = PlanOf(patch::Way::kJump, 0, patch::kJumpBytes);
  plans.best.shared_bytes = 2;
  places_.Add({0}, At(0), plans);
  size_t second = 0;
  EXPECT_EQ(Add(4, 2, &second), "its first bytes are changed to count serve");
  EXPECT_EQ(Add(5, 2, &second), "");
}

// Of nops. An int3 does not come into question.
PlacePlans JumpsOfNops() {
  PlacePlans plans;
  plans.best = PlanOf(patch::Way::kJump, 0, patch::kJumpBytes);
  plans.best.displaced = {0x0f, 0x1f, 0x44, 0, 0};
  plans.best.instructions = {0};
  plans.by_shared_jump = plans.best;
  plans.by_shared_jump->displaced = {0x0f, 0x1f, 0x40, 0};
  plans.by_shared_jump->original = {0x0f, 0x1f, 0x40, 0, 0xfc};
  plans.by_shared_jump->shared_bytes = 1;
  return plans;
}

using Answer = patch::PatchResult (*)(const patch::CodePatch& patch);

// The test's own process, which answers each request in a thread.
class AnsweringProcess {
 public:
  explicit AnsweringProcess(Answer answer) : answer_(answer), thread_([this] { AnswerAll(); }) {
    control_->processes[0].counters_fs_offset = 8;
  }
  ~AnsweringProcess() {
    is_over_ = true;
    thread_.join();
  }
  AnsweringProcess(const AnsweringProcess&) = delete;
  AnsweringProcess& operator=(const AnsweringProcess&) = delete;

  // Where its code begins.
  PlaceInFile place() const {
    PlaceInFile place;
    place.file = RealPath(mapped_[0].path);
    place.code.function_offset = mapped_[0].file_offset;
    place.code.file_offset = mapped_[0].file_offset;
    return place;
  }
  std::vector<PatchedPlaces::Refused> Ask(PatchedPlaces* places, uint64_t start_ns = 1) {
    return places->AskAtStart(*control_, control_->processes[0], {getpid(), start_ns, mapped_});
  }

 private:
  void AnswerAll() {
    shared::PatchRequest& request = control_->patch_request;
    while (!is_over_) {
      if (request.state.load() != shared::PatchRequestState::kAsked) {
        std::this_thread::yield();
        continue;
      }
      for (uint32_t i = 0; i < request.count; ++i) {
        request.results[i] = static_cast<uint32_t>(answer_(request.patches[i]));
      }
      request.state.store(shared::PatchRequestState::kAnswered);
    }
  }

  const Answer answer_;
  const std::vector<MappedCode> mapped_ = ReadMappedCode(getpid());
  const testing::OwnedControl control_ = testing::ZeroedControl();
  std::atomic<bool> is_over_{false};
  std::thread thread_;
};

TEST_F(PatchedPlacesTest, ProcessThatHasEndedRefusesNothing) {
  bool has_ended = true;
  places_.SetLate({[](pid_t) { return std::string("it has gone"); }, [](pid_t) {},
                   [&has_ended](pid_t) { return has_ended; }});
  AnsweringProcess process([](const patch::CodePatch&) { return patch::PatchResult::kDone; });
  places_.Add({0}, process.place(), PlansOf(0, 0));
  EXPECT_TRUE(process.Ask(&places_, /*start_ns=*/1).empty());
  has_ended = false;
  EXPECT_EQ(process.Ask(&places_, /*start_ns=*/2).size(), 1u);
}

TEST_F(PatchedPlacesTest, WhereAProcessRefusesOthersRestoreTheirCode) {
  std::string why_not;
  places_.SetLate(
      {[&why_not](pid_t) { return why_not; }, [](pid_t) {}, [](pid_t) { return false; }});
  AnsweringProcess process([](const patch::CodePatch&) { return patch::PatchResult::kDone; });
  const size_t number = places_.Add({0}, process.place(), PlansOf(0, 0));
  EXPECT_TRUE(process.Ask(&places_, /*start_ns=*/1).empty());
  EXPECT_TRUE(places_.IsThere(number));
  why_not = "it waits for the signal";
  EXPECT_EQ(process.Ask(&places_, /*start_ns=*/2).size(), 1u);
  places_.Remove(number);
  EXPECT_TRUE(places_.HasChangesToUndo());
  EXPECT_TRUE(process.Ask(&places_, /*start_ns=*/1).empty());
  EXPECT_TRUE(places_.IsGone(number));
  EXPECT_FALSE(places_.HasChangesToUndo());
}

TEST_F(PatchedPlacesTest, AProcessThatIsAlwaysBusyIsNotAskedForEver) {
  AnsweringProcess process([](const patch::CodePatch&) { return patch::PatchResult::kBusy; });
  places_.Remove(places_.Add({0}, process.place(), PlansOf(0, 0)));
  EXPECT_TRUE(process.Ask(&places_).empty());
  EXPECT_FALSE(places_.IsSettled());
}

// It needs no int3s within, and so no moment with one thread.
TEST_F(PatchedPlacesTest, JumpThatSharesBytesIsTakenWhereThreadsRun) {
  AnsweringProcess process([](const patch::CodePatch& patch) {
    return patch.changed_bytes == patch::kJumpBytes ? patch::PatchResult::kManyThreads
                                                    : patch::PatchResult::kDone;
  });
  const size_t number = places_.Add({0}, process.place(), JumpsOfNops());
  EXPECT_TRUE(process.Ask(&places_).empty());
  EXPECT_TRUE(places_.IsThere(number));
  EXPECT_EQ(places_.way(number), patch::Way::kJump);
}

TEST_F(PatchedPlacesTest, AnInt3IsTakenWhereAnotherChangeHasBytesOfTheJump) {
  for (const Answer answer : {Answer([](const patch::CodePatch& patch) {
                                return patch.way == patch::Way::kJump
                                           ? patch::PatchResult::kOverlaps
                                           : patch::PatchResult::kDone;
                              }),
                              Answer([](const patch::CodePatch& patch) {
                                return patch.way == patch::Way::kJump
                                           ? patch::PatchResult::kOtherCode
                                           : patch::PatchResult::kDone;
                              })}) {
    places_ = PatchedPlaces();
    AnsweringProcess process(answer);
    PlacePlans plans = JumpsOfNops();
    plans.by_trap = plans.best;
    plans.by_trap->way = patch::Way::kTrap;
    const size_t number = places_.Add({0}, process.place(), plans);
    EXPECT_TRUE(process.Ask(&places_).empty());
    EXPECT_TRUE(places_.IsThere(number));
    EXPECT_EQ(places_.way(number), patch::Way::kTrap);
  }
}

}  // namespace
}  // namespace coz::supervisor
