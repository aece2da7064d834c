#include "coz/patch/place_plan.h"

#include <gtest/gtest.h>

#include <vector>

namespace coz::patch {
namespace {

using Bytes = std::vector<uint8_t>;

// A function of these bytes, followed by int3s as linkers put them.
PlacePlan PlanOf(Bytes code, size_t offset = 0, const PlanLimits& limits = {}) {
  const size_t bytes = code.size();
  code.resize(bytes + 16, kInt3);
  return PlanPlace({code.data(), bytes, code.size(), offset}, limits);
}

TEST(PlacePlanTest, WholeInstructionsMakeRoomForAJump) {
  // push rbp; mov rbp,rsp; push rbx; pop rbx; pop rbp; ret
  const PlacePlan plan = PlanOf({0x55, 0x48, 0x89, 0xe5, 0x53, 0x5b, 0x5d, 0xc3});
  EXPECT_EQ(plan.way, Way::kJump);
  // An int3 as the jump's last byte is followed by one more instruction.
  EXPECT_EQ(plan.displaced.size(), 6);
  EXPECT_EQ(plan.instructions, (std::vector<size_t>{0, 1, 4, 5}));
  EXPECT_TRUE(plan.no_entry_inside);
  EXPECT_FALSE(plan.keeps_flags);
}

TEST(PlacePlanTest, Endbr64Stays) {
  const PlacePlan plan = PlanOf({0xf3, 0x0f, 0x1e, 0xfa, 0xb8, 1, 0, 0, 0, 0xc3});
  EXPECT_EQ(plan.way, Way::kJump);
  EXPECT_EQ(plan.offset, 4);
}

TEST(PlacePlanTest, LoopBackBehindEndbr64IsNoVisit) {
  // endbr64; dec edi; jnz to dec; ret
  const PlacePlan plan = PlanOf({0xf3, 0x0f, 0x1e, 0xfa, 0xff, 0xcf, 0x75, 0xfc, 0xc3});
  EXPECT_EQ(plan.way, Way::kNone);
  EXPECT_NE(plan.why_none, "");
}

TEST(PlacePlanTest, ShortFunctionUsesThePaddingBehindIt) {
  const PlacePlan plan = PlanOf({0x31, 0xc0, 0xc3});  // xor eax,eax; ret
  EXPECT_EQ(plan.way, Way::kJump);
  EXPECT_EQ(plan.displaced.size(), 3);
  EXPECT_EQ(plan.original.size(), kJumpBytes);
  EXPECT_FALSE(plan.goes_on);
}

TEST(PlacePlanTest, ShortFunctionBeforeAnotherGetsAnInt3) {
  const uint8_t code[] = {0x31, 0xc0, 0xc3, 0x31, 0xc9, 0xc3};
  const PlacePlan plan = PlanPlace({code, 3, 3, 0}, {});
  EXPECT_EQ(plan.way, Way::kTrap);
  EXPECT_EQ(plan.displaced.size(), 2);
  EXPECT_NE(plan.why_no_jump, "");
}

TEST(PlacePlanTest, JumpIntoTheDisplacedBytesAsksForAnInt3) {
  // mov eax,edi (2); dec eax (2); jnz to dec; ret
  const PlacePlan plan = PlanOf({0x89, 0xf8, 0xff, 0xc8, 0x75, 0xfc, 0xc3});
  EXPECT_EQ(plan.way, Way::kTrap);
}

// test eax,eax; je behind the nop; nop (a probe); mov eax,1; ret
TEST(PlacePlanTest, ProbeThatIsJumpedOverWhileNobodyCountsGetsAJump) {
  const Bytes code = {0x85, 0xc0, 0x74, 1, 0x90, 0xb8, 1, 0, 0, 0, 0xc3};
  EXPECT_EQ(PlanOf(code, 4).way, Way::kNone);
  PlanLimits limits;
  limits.allow_entries = true;
  const PlacePlan plan = PlanOf(code, 4, limits);
  EXPECT_EQ(plan.way, Way::kJump);
  EXPECT_FALSE(plan.no_entry_inside);
  // A jump into an instruction: je one byte further.
  const Bytes odd = {0x85, 0xc0, 0x74, 2, 0x90, 0xb8, 1, 0, 0, 0, 0xc3};
  EXPECT_EQ(PlanOf(odd, 4, limits).way, Way::kTrap);
}

TEST(PlacePlanTest, JumpTableMakesEntriesInsideUnknown) {
  // push rbx; mov rbx,rdi; nop; jmp rax
  const PlacePlan plan = PlanOf({0x53, 0x48, 0x89, 0xfb, 0x90, 0xff, 0xe0});
  EXPECT_EQ(plan.way, Way::kJump);
  EXPECT_FALSE(plan.no_entry_inside);
}

TEST(PlacePlanTest, OneByteBeforeUnknownJumpsGetsNoInt3) {
  // push rbx; jmp rax; then nothing that could be moved: system call
  PlanLimits limits;
  limits.allow_jump = false;
  EXPECT_EQ(PlanOf({0x53, 0x48, 0x89, 0xfb, 0x90, 0xff, 0xe0}, 0, limits).way, Way::kNone);
  EXPECT_EQ(PlanOf({0x53, 0x48, 0x89, 0xfb, 0x90, 0x5b, 0xc3}, 0, limits).way, Way::kTrap);
}

TEST(PlacePlanTest, WhereSigtrapMayBeBlockedThereIsNoInt3) {
  PlanLimits limits;
  limits.allow_trap = false;
  EXPECT_EQ(PlanOf({0x89, 0xf8, 0xff, 0xc8, 0x75, 0xfc, 0xc3}, 0, limits).way, Way::kNone);
}

TEST(PlacePlanTest, FunctionThatReadsFlagsFirstKeepsThem) {
  EXPECT_TRUE(PlanOf({0x48, 0x11, 0xd8, 0x0f, 0x1f, 0, 0xc3}).keeps_flags);   // adc rax,rbx
  EXPECT_FALSE(PlanOf({0x48, 0x01, 0xd8, 0x0f, 0x1f, 0, 0xc3}).keeps_flags);  // add rax,rbx
}

TEST(PlacePlanTest, PlaceWithinAFunctionKeepsFlagsAndRedZone) {
  const PlacePlan plan = PlanOf({0x31, 0xc0, 0x90, 0x90, 0x90, 0x90, 0x90, 0xc3}, 2);
  EXPECT_EQ(plan.way, Way::kJump);
  EXPECT_TRUE(plan.keeps_flags);
  EXPECT_TRUE(plan.keeps_red_zone);
}

TEST(PlacePlanTest, SystemCallsAndTrapsAreLeftAlone) {
  EXPECT_EQ(PlanOf({0x0f, 0x05, 0xc3}).way, Way::kNone);
  EXPECT_EQ(PlanOf({0xcc, 0xc3}).way, Way::kNone);
  EXPECT_EQ(PlanOf({0x0f, 0x0b}).way, Way::kNone);
}

TEST(PlacePlanTest, CallThatWouldReturnIntoTheJumpIsNotMoved) {
  // call rax (2 bytes), nops
  EXPECT_EQ(PlanOf({0xff, 0xd0, 0x90, 0x90, 0x90, 0x90, 0xc3}).way, Way::kTrap);
  // call rel32 is as long as the jump
  EXPECT_EQ(PlanOf({0xe8, 0, 1, 0, 0, 0xc3}).way, Way::kJump);
}

TEST(PlacePlanTest, SledOfXRayHasRoomForAJump) {
  const PlacePlan plan =
      PlanOf({0xeb, 9, 0x66, 0x0f, 0x1f, 0x84, 0, 0, 2, 0, 0, 0x48, 0xff, 0xc3, 0xc3});
  EXPECT_EQ(plan.way, Way::kJump);
  EXPECT_EQ(plan.displaced.size(), 2);
}

TEST(PlacePlanTest, BytesThatAreNoInstructionAreLeftAlone) {
  EXPECT_EQ(PlanOf({0x06, 0x06, 0x06}).way, Way::kNone);
}

}  // namespace
}  // namespace coz::patch
