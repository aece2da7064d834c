#include "coz/points/instruction_length.h"

#include <cstdint>
#include <optional>
#include <vector>

#include "gtest/gtest.h"

namespace coz::points {
namespace {

using Code = std::vector<uint8_t>;

// Expects it with other code behind it too, and no length without the last byte.
void ExpectLength(const Code& code) {
  Code followed = code;
  followed.resize(code.size() + 15, 0x90);
  EXPECT_EQ(InstructionLength(followed.data(), followed.size()), code.size());
  EXPECT_EQ(InstructionLength(code.data(), code.size()), code.size());
  EXPECT_EQ(InstructionLength(code.data(), code.size() - 1), 0u);
}

// The first instructions of functions as compilers write them, and at least one of each opcode map.
// The encodings are objdump's.
TEST(InstructionLengthTest, LengthIsThatOfTheDisassembler) {
  ExpectLength({0x53});                                         // push %rbx
  ExpectLength({0x41, 0x57});                                   // push %r15
  ExpectLength({0x48, 0x83, 0xec, 0x18});                       // sub $0x18,%rsp
  ExpectLength({0x48, 0x81, 0xec, 0xd8, 0, 0, 0});              // sub $0xd8,%rsp
  ExpectLength({0x89, 0xf8});                                   // mov %edi,%eax
  ExpectLength({0x48, 0x8b, 0x05, 1, 2, 3, 4});                 // mov 0x4030201(%rip),%rax
  ExpectLength({0x8b, 0x44, 0x24, 0x08});                       // mov 0x8(%rsp),%eax
  ExpectLength({0x48, 0x8b, 0x04, 0xc5, 0, 0, 0, 0});           // mov 0x0(,%rax,8),%rax
  ExpectLength({0x48, 0x89, 0x84, 0x24, 0x80, 0, 0, 0});        // mov %rax,0x80(%rsp)
  ExpectLength({0xbe, 0xe8, 3, 0, 0});                          // mov $0x3e8,%esi
  ExpectLength({0x66, 0xb8, 1, 0});                             // mov $1,%ax
  ExpectLength({0x48, 0xb8, 1, 2, 3, 4, 5, 6, 7, 8});           // movabs
  ExpectLength({0xf3, 0x0f, 0x1e, 0xfa});                       // endbr64
  ExpectLength({0x66, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0});        // nopw
  ExpectLength({0xf6, 0x45, 0x10, 0x01});                       // testb $1,0x10(%rbp)
  ExpectLength({0xf6, 0xd8});                                   // neg %al
  ExpectLength({0xf7, 0xc7, 1, 0, 0, 0});                       // test $1,%edi
  ExpectLength({0x64, 0x48, 0x8b, 0x04, 0x25, 0x28, 0, 0, 0});  // mov %fs:0x28,%rax
  ExpectLength({0x0f, 0x84, 1, 2, 3, 4});                       // je
  ExpectLength({0x66, 0x0f, 0x3a, 0x63, 0xc1, 0x1a});           // pcmpistri
  ExpectLength({0x66, 0x0f, 0x38, 0x00, 0xc1});                 // pshufb
  ExpectLength({0xc5, 0xf8, 0x77});                             // vzeroupper
  ExpectLength({0xc4, 0xe3, 0x7d, 0x39, 0xc1, 1});              // vextracti128
  ExpectLength({0x62, 0xf1, 0xfe, 0x28, 0x6f, 0x06});           // vmovdqu64
  ExpectLength({0x62, 0xf3, 0x7d, 0x20, 0x3e, 0x0e, 0});        // vpcmpub
  ExpectLength({0x8f, 0xe8, 0x78, 0xc2, 0xec, 0x0e});           // vprotd, of AMD's XOP
  ExpectLength({0x66, 0x66, 0x48, 0xe8, 1, 2, 3, 4});           // call __tls_get_addr
  ExpectLength({0x49, 0x49, 0x89, 0xc8});                       // a REX prefix that has no effect
}

TEST(InstructionLengthTest, PaddingEndsWithTheFirstInstructionThatDoesSomething) {
  const Code padded = {0x66, 0x90, 0x0f, 0x1f, 0x00, 0x90, 0x53, 0x90};  // nops, push, nop
  EXPECT_EQ(PaddingLength(padded.data(), padded.size()), 6u);
  EXPECT_EQ(PaddingLength(padded.data() + 6, padded.size() - 6), 0u);
  EXPECT_EQ(PaddingLength(padded.data(), 4), 2u) << "cut off";
}

TEST(InstructionLengthTest, ThreadsComeToTheEndUnlessTheLastInstructionLeaves) {
  const auto reaches = [](const Code& code) { return ReachesEnd(code.data(), code.size()); };
  EXPECT_TRUE(reaches({0xeb, 0x10, 0x53}));   // jmp; push
  EXPECT_TRUE(reaches({0x53, 0x7f, 0xfc}));   // push; jg
  EXPECT_FALSE(reaches({0x53, 0xeb, 0x10}));  // push; jmp
  EXPECT_FALSE(reaches({0x53, 0xc3}));        // push; ret
  EXPECT_FALSE(reaches({0x53, 0x0f}));        // cut off
  EXPECT_FALSE(reaches({}));
}

TEST(InstructionLengthTest, OnlyDirectJumpsHaveADistance) {
  const auto distance = [](const Code& code) { return DistanceOfJump(code.data(), code.size()); };
  EXPECT_EQ(distance({0x7f, 0xfc}), -2);                       // jg
  EXPECT_EQ(distance({0xeb, 0x10}), 0x12);                     // jmp
  EXPECT_EQ(distance({0x0f, 0x84, 0x00, 0x01, 0, 0}), 0x106);  // je
  EXPECT_EQ(distance({0xe8, 1, 0, 0, 0}), std::nullopt);       // call
  EXPECT_EQ(distance({0xff, 0xe0}), std::nullopt);             // jmp *%rax
  EXPECT_EQ(distance({0x53}), std::nullopt);                   // push
}

TEST(InstructionLengthTest, WhatIsNoInstructionHasNone) {
  EXPECT_EQ(InstructionLength(nullptr, 0), 0u);
  for (const Code& code : {Code{0x06}, Code{0x9a}, Code{0x66, 0x66}, Code{0xd6}, Code{0x0f},
                           Code{0xf0, 0x0b, 0xfb}, Code{0xc4, 0xe9, 0x00, 0x90}}) {
    EXPECT_EQ(InstructionLength(code.data(), code.size()), 0u) << static_cast<int>(code[0]);
  }
}

std::optional<int64_t> Next(const Code& code) { return DistanceToNext(code.data(), code.size()); }

TEST(InstructionLengthTest, AThreadGoesOnBehind) {
  EXPECT_EQ(Next({0x53}), 1);
  EXPECT_EQ(Next({0xff, 0xc0}), 2);        // inc %eax
  EXPECT_EQ(Next({0x74, 0x10}), 2);        // je: counts as not taken
  EXPECT_EQ(Next({0x0f, 0x05}), 2);        // syscall
  EXPECT_EQ(Next({0x41, 0xff, 0x36}), 3);  // push (%r14)
}

TEST(InstructionLengthTest, AThreadGoesOnWhereADirectJumpOrCallLeads) {
  EXPECT_EQ(Next({0xeb, 0xfe}), 0);
  EXPECT_EQ(Next({0xe9, 0x10, 0, 0, 0}), 0x15);
  EXPECT_EQ(Next({0xe8, 0xf0, 0xff, 0xff, 0xff}), -11);
  EXPECT_EQ(Next({0x66, 0x66, 0x48, 0xe8, 0x10, 0, 0, 0}), 0x18);  // call __tls_get_addr
  EXPECT_EQ(Next({0xf2, 0xe9, 0x10, 0, 0, 0}), 0x16);              // bnd jmp
}

TEST(InstructionLengthTest, WhereAThreadGoesOnIsUnknownBeforeItReturnsOrFollowsAPointer) {
  for (const Code& code : {Code{0xc3}, Code{0xc2, 8, 0}, Code{0xf3, 0xc3},  // ret, ret $8, rep ret
                           Code{0xff, 0xe0}, Code{0xff, 0xd0},              // jmp *%rax, call *%rax
                           Code{0x41, 0xff, 0xd4}, Code{0x41, 0xff, 0xe1},  // call *%r12, jmp *%r9
                           Code{0x3e, 0xff, 0xe0},                          // notrack jmp *%rax
                           Code{0x42, 0xff, 0x14, 0xe0},                    // call *(%rax,%r12,8)
                           Code{0xff, 0x15, 1, 2, 3, 4},                    // call *0x4030201(%rip)
                           Code{0xff}}) {                                   // cut off
    EXPECT_EQ(Next(code), std::nullopt) << static_cast<int>(code[0]);
  }
}

}  // namespace
}  // namespace coz::points
