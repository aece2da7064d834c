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

// Its first instruction is displaced, and the rest of the jump is what stands there.
TEST(PlacePlanTest, ShortFunctionBeforeAnotherSharesTheBytesOfTheJump) {
  const uint8_t code[] = {0x31, 0xc0, 0xc3, 0x31, 0xc9, 0xc3};
  const PlacePlan plan = PlanPlace({code, 3, 3, 0, /*behind=*/3}, {});
  EXPECT_EQ(plan.way, Way::kJump);
  EXPECT_EQ(plan.displaced, (Bytes{0x31, 0xc0}));
  EXPECT_EQ(plan.shared_bytes, 3u);
  EXPECT_EQ(plan.original, (Bytes{0x31, 0xc0, 0xc3, 0x31, 0xc9}));
  EXPECT_NE(plan.why_no_jump, "");
  // What follows is not known.
  const PlacePlan by_trap = PlanPlace({code, 3, 3, 0, /*behind=*/1}, {});
  EXPECT_EQ(by_trap.way, Way::kTrap);
  EXPECT_EQ(by_trap.displaced.size(), 2);
  EXPECT_EQ(by_trap.shared_bytes, 0u);
}

// mov eax,edi; dec eax; jnz to dec; ret
const Bytes kLoop = {0x89, 0xf8, 0xff, 0xc8, 0x75, 0xfc, 0xc3};

TEST(PlacePlanTest, JumpBeforeTheHeadOfALoopSharesItsBytes) {
  const PlacePlan plan = PlanOf(kLoop);
  EXPECT_EQ(plan.way, Way::kJump);
  EXPECT_EQ(plan.displaced.size(), 2);
  EXPECT_EQ(plan.shared_bytes, 3u);
  EXPECT_FALSE(plan.no_entry_inside);
}

TEST(PlacePlanTest, JumpIntoTheOnlyDisplacedInstructionAsksForAnInt3) {
  // mov eax,edi; dec eax; jnz to the second byte of mov; ret
  EXPECT_EQ(PlanOf({0x89, 0xf8, 0xff, 0xc8, 0x75, 0xfb, 0xc3}).way, Way::kTrap);
}

TEST(PlacePlanTest, BytesAreSharedWhereNothingElseIsAllowed) {
  PlanLimits limits;
  limits.allow_five_bytes = false;
  const Bytes four = {0x48, 0x8d, 0x43, 42, 0x90, 0x90, 0x90, 0xc3};
  EXPECT_EQ(PlanOf(four, 0).shared_bytes, 0u);
  EXPECT_EQ(PlanOf(four, 0, limits).shared_bytes, 1u);
  limits.allow_trap = false;
  // mov eax,1 is as long as a jump
  EXPECT_EQ(PlanOf({0xb8, 1, 0, 0, 0, 0xc3}, 0, limits).way, Way::kNone);
  limits.allow_jump = false;
  EXPECT_EQ(PlanOf(four, 0, limits).way, Way::kNone);
}

// The address behind an int3 begins no instruction, so two are displaced.
TEST(PlacePlanTest, InstructionOfOneByteIsDisplacedWithTheNext) {
  // push rbx; mov eax,edi; dec eax; jnz to dec; pop rbx; ret
  const Bytes code = {0x53, 0x89, 0xf8, 0xff, 0xc8, 0x75, 0xfc, 0x5b, 0xc3};
  const PlacePlan plan = PlanOf(code);
  EXPECT_EQ(plan.way, Way::kJump);
  EXPECT_EQ(plan.instructions, (std::vector<size_t>{0, 1}));
  EXPECT_EQ(plan.displaced.size(), 3);
  EXPECT_EQ(plan.shared_bytes, 2u);
  // push rbx; push rbp; then the loop: two of one byte
  EXPECT_EQ(PlanOf({0x53, 0x55, 0xff, 0xc8, 0x75, 0xfc, 0xc3}).way, Way::kTrap);
}

TEST(PlacePlanTest, LockThatMayBeJumpedOverIsNotPartOfASharedJump) {
  // lock xadd [rdi],eax (4 bytes); a loop behind it
  EXPECT_EQ(PlanOf({0xf0, 0x0f, 0xc1, 0x07, 0xff, 0xc8, 0x75, 0xfc, 0xc3}).way, Way::kTrap);
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

// A thread may be behind the byte already when it becomes an int3.
TEST(PlacePlanTest, OneByteWhosePassingNobodySeesGetsNoInt3) {
  // pop rcx, or leave; push rbp; then the loop
  EXPECT_EQ(PlanOf({0x59, 0x55, 0xff, 0xc8, 0x75, 0xfc, 0xc3}).way, Way::kNone);
  EXPECT_EQ(PlanOf({0xc9, 0x55, 0xff, 0xc8, 0x75, 0xfc, 0xc3}).way, Way::kNone);
  // nop; push rbp; then the loop
  EXPECT_EQ(PlanOf({0x90, 0x55, 0xff, 0xc8, 0x75, 0xfc, 0xc3}).way, Way::kTrap);
}

TEST(PlacePlanTest, FunctionRightBehindAnInt3IsNotMistakenForIt) {
  // ret; the next function: mov eax,1; ret
  const uint8_t one[] = {0xc3, 0xb8, 1, 0, 0, 0, 0xc3};
  EXPECT_EQ(PlanPlace({one, 1, 1, 0, /*behind=*/6}, {}).way, Way::kNone);
  const uint8_t padded[] = {0xc3, kInt3, 0xb8, 1, 0, 0, 0, 0xc3};
  EXPECT_EQ(PlanPlace({padded, 1, 2, 0, /*behind=*/6}, {}).way, Way::kTrap);
  // lea rax,[rdi+1]; ret; the next function: a jump of five bytes would end with an int3
  const uint8_t five[] = {0x48, 0x8d, 0x47, 1, 0xc3, 0xb8, 1, 0, 0, 0, 0xc3};
  const PlacePlan plan = PlanPlace({five, 5, 5, 0, /*behind=*/6}, {});
  EXPECT_EQ(plan.way, Way::kJump);
  EXPECT_EQ(plan.shared_bytes, 1u);
}

TEST(PlacePlanTest, WhereSigtrapMayBeBlockedThereIsNoInt3) {
  PlanLimits limits;
  limits.allow_trap = false;
  EXPECT_EQ(PlanOf({0x89, 0xf8, 0xff, 0xc8, 0x75, 0xfb, 0xc3}, 0, limits).way, Way::kNone);
  // A jump takes an int3 for a moment only, while nobody is there.
  EXPECT_EQ(PlanOf(kLoop, 0, limits).way, Way::kJump);
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

TEST(PlacePlanTest, EntryThatALoopLeadsBackToKeepsFlagsAndRedZone) {
  // dec edi; lea eax,[rdi+1]; jnz to dec; ret
  const PlacePlan plan = PlanOf({0xff, 0xcf, 0x8d, 0x47, 1, 0x75, 0xf9, 0xc3});
  EXPECT_EQ(plan.way, Way::kJump);
  EXPECT_TRUE(plan.keeps_flags);
  EXPECT_TRUE(plan.keeps_red_zone);
}

TEST(PlacePlanTest, SystemCallsAndTrapsAreLeftAlone) {
  EXPECT_EQ(PlanOf({0x0f, 0x05, 0xc3}).way, Way::kNone);
  EXPECT_EQ(PlanOf({0xcc, 0xc3}).way, Way::kNone);
  EXPECT_EQ(PlanOf({0x0f, 0x0b}).way, Way::kNone);
}

TEST(PlacePlanTest, CallThatWouldReturnIntoTheJumpIsDisplacedAlone) {
  // call rax (2 bytes), nops
  const PlacePlan plan = PlanOf({0xff, 0xd0, 0x90, 0x90, 0x90, 0x90, 0xc3});
  EXPECT_EQ(plan.way, Way::kJump);
  EXPECT_EQ(plan.displaced.size(), 2);
  EXPECT_EQ(plan.shared_bytes, 3u);
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
