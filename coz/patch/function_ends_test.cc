#include "coz/patch/function_ends.h"

#include <cstdint>
#include <vector>

#include "gtest/gtest.h"

namespace coz::patch {
namespace {

using Code = std::vector<uint8_t>;

FunctionEnds Find(const Code& code) { return FindFunctionEnds(code.data(), code.size()); }

void ExpectEnd(const FunctionEnd& end, size_t offset, int by_rbp, int32_t distance) {
  EXPECT_EQ(end.offset, offset);
  EXPECT_EQ(end.frame.by_rbp, by_rbp);
  EXPECT_EQ(end.frame.distance, distance);
}

TEST(FunctionEndsTest, AReturnHasItsAddressOnTopOfTheStack) {
  const FunctionEnds found = Find({0x31, 0xc0, 0xc3});  // xor eax, eax; ret
  ASSERT_EQ(found.ends.size(), 1u);
  ASSERT_EQ(found.ends[0].size(), 2u);
  ExpectEnd(found.ends[0][0], 2, 0, 0);
  ExpectEnd(found.ends[0][1], 0, 0, 0);
}

TEST(FunctionEndsTest, WhatIsPoppedBeforeLiesBetween) {
  // add rsp, 24; pop rbx; pop rbp; pop r12; ret
  const FunctionEnds found = Find({0x48, 0x83, 0xc4, 0x18, 0x5b, 0x5d, 0x41, 0x5c, 0xc3});
  ASSERT_EQ(found.ends.size(), 1u);
  ASSERT_EQ(found.ends[0].size(), 5u);
  ExpectEnd(found.ends[0][0], 8, 0, 0);
  ExpectEnd(found.ends[0][1], 6, 0, 8);
  ExpectEnd(found.ends[0][2], 5, 0, 16);
  ExpectEnd(found.ends[0][3], 4, 0, 24);
  ExpectEnd(found.ends[0][4], 0, 0, 48);
}

TEST(FunctionEndsTest, ALeaveMakesItRelativeToTheFramePointer) {
  const FunctionEnds found = Find({0x89, 0xd8, 0xc9, 0xc3});  // mov eax, ebx; leave; ret
  ASSERT_EQ(found.ends[0].size(), 3u);
  ExpectEnd(found.ends[0][1], 2, 1, 8);
  ExpectEnd(found.ends[0][2], 0, 1, 8);
}

TEST(FunctionEndsTest, LeaOfTheStackPointerIsFollowed) {
  // lea rsp, [rbp-16]; pop rbx; pop r12; pop rbp; ret
  const FunctionEnds found = Find({0x48, 0x8d, 0x65, 0xf0, 0x5b, 0x41, 0x5c, 0x5d, 0xc3});
  ASSERT_EQ(found.ends[0].size(), 5u);
  ExpectEnd(found.ends[0][4], 0, 1, 24 - 16);
}

// Before `leave`, whatever changes the frame pointer takes away what the rule relies on.
TEST(FunctionEndsTest, AChangedFramePointerEndsTheSearch) {
  const FunctionEnds found = Find({0x48, 0x89, 0xc5, 0xc9, 0xc3});  // mov rbp, rax; leave; ret
  ASSERT_EQ(found.ends[0].size(), 2u);
}

TEST(FunctionEndsTest, CallsAndBranchesAndTargetsEndTheSearch) {
  // call +0; ret
  EXPECT_EQ(Find({0xe8, 0, 0, 0, 0, 0xc3}).ends[0].size(), 1u);
  // je +1; nop; nop; ret: who jumps to the second nop does not come by the first
  const FunctionEnds found = Find({0x74, 0x01, 0x90, 0x90, 0xc3});
  ASSERT_EQ(found.ends[0].size(), 2u);
  ExpectEnd(found.ends[0][1], 3, 0, 0);
}

TEST(FunctionEndsTest, EveryReturnIsAnEnd) {
  const FunctionEnds found = Find({0x74, 0x01, 0xc3, 0xc3});  // je +1; ret; ret
  ASSERT_EQ(found.ends.size(), 2u);
  EXPECT_EQ(found.ends[0][0].offset, 2u);
  EXPECT_EQ(found.ends[1][0].offset, 3u);
}

TEST(FunctionEndsTest, AJumpOutOfTheFunctionIsAnEnd) {
  // pop rbx; jmp far away
  FunctionEnds found = Find({0x5b, 0xe9, 0x00, 0x10, 0x00, 0x00});
  ASSERT_EQ(found.ends.size(), 1u);
  ExpectEnd(found.ends[0][0], 1, 0, 0);
  ExpectEnd(found.ends[0][1], 0, 0, 8);
  EXPECT_TRUE(found.ends[0][1].is_jump);
  found = Find({0xff, 0x25, 0x00, 0x10, 0x00, 0x00});  // jmp [rip + 4096]
  ASSERT_EQ(found.ends.size(), 1u);
  EXPECT_TRUE(found.ends[0][0].is_jump);
  found = Find({0xeb, 0x00, 0xc3});  // jmp to the ret
  ASSERT_EQ(found.ends.size(), 1u);
  EXPECT_EQ(found.ends[0][0].offset, 2u);
  EXPECT_FALSE(found.ends[0][0].is_jump);
}

TEST(FunctionEndsTest, AJumpThatMayLeadAnywhereLeavesNothingKnown) {
  EXPECT_TRUE(Find({0xff, 0xe0, 0xc3}).ends.empty());  // jmp rax
  EXPECT_EQ(Find({0xff, 0xe0, 0xc3}).why_none, "it has a jump whose target is not known");
  EXPECT_TRUE(Find({0xff, 0x24, 0xc5, 0, 0, 0, 0, 0xc3}).ends.empty());  // jmp [rax*8]
}

TEST(FunctionEndsTest, SaysWhyThereIsNone) {
  EXPECT_EQ(Find({0x0f, 0x0b}).why_none, "no instruction of it returns");  // ud2
  EXPECT_EQ(Find({0x06, 0xc3}).why_none, "not all of its bytes are instructions");
  EXPECT_EQ(Find({}).why_none, "not all of its bytes are instructions");
}

// movslq rax, [rdx + 4 rax]; add rax, rdx; jmp rax; ret
TEST(FunctionEndsTest, AJumpByATableOfDistancesStaysWithin) {
  const Code code = {0x48, 0x63, 0x04, 0x82, 0x48, 0x01, 0xd0, 0xff, 0xe0, 0xc3};
  const FunctionEnds found = Find(code);
  EXPECT_EQ(found.why_none, "");
  ASSERT_EQ(found.ends.size(), 1u);
  ExpectEnd(found.ends[0][0], 9, 0, 0);
  Code other = code;
  other[5] = 0x03;  // add rdx, rax: rax is a pointer of unknown origin
  EXPECT_NE(Find(other).why_none, "");
}

}  // namespace
}  // namespace coz::patch
