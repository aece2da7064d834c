#include "coz/sync/delay/spin_hint.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <initializer_list>

#include "gtest/gtest.h"

namespace coz::delay {
namespace {

constexpr size_t kPage = 4096;
constexpr unsigned char kPause[] = {0xf3, 0x90};

// Two pages, of which the first may be read.
class SpinHintTest : public ::testing::Test {
 protected:
  void SetUp() override {
    void* const pages = mmap(nullptr, 2 * kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(pages, MAP_FAILED);
    ASSERT_EQ(mprotect(pages, kPage, PROT_READ | PROT_WRITE), 0);
    code_ = static_cast<unsigned char*>(pages);
  }
  void TearDown() override { munmap(code_, 2 * kPage); }

  void PauseAt(size_t offset) { memcpy(code_ + offset, kPause, sizeof(kPause)); }
  void Put(size_t offset, std::initializer_list<unsigned char> bytes) {
    std::copy(bytes.begin(), bytes.end(), code_ + offset);
  }
  bool IsHint(size_t offset) const {
    return IsInSpinLoop(reinterpret_cast<uint64_t>(code_ + offset));
  }

  unsigned char* code_ = nullptr;
};

TEST_F(SpinHintTest, IsToldAtTheInstructionAndBehindIt) {
  PauseAt(100);
  EXPECT_FALSE(IsHint(99));
  EXPECT_TRUE(IsHint(100));
  EXPECT_FALSE(IsHint(101));
  EXPECT_TRUE(IsHint(102));
  EXPECT_FALSE(IsHint(103));
}

TEST_F(SpinHintTest, ANopIsNone) {
  code_[100] = 0x90;
  code_[102] = 0xf3;
  EXPECT_FALSE(IsHint(100));
  EXPECT_FALSE(IsHint(102));
}

TEST_F(SpinHintTest, LooksAtNoOtherPage) {
  EXPECT_FALSE(IsHint(0));
  EXPECT_FALSE(IsHint(1));
  PauseAt(0);
  EXPECT_TRUE(IsHint(0));
  EXPECT_TRUE(IsHint(2));
  code_[kPage - 1] = 0xf3;
  EXPECT_FALSE(IsHint(kPage - 1));
  PauseAt(kPage - 2);
  EXPECT_TRUE(IsHint(kPage - 2));
}

// pause; movzx edx, [rcx]; test dl, dl; je to the pause. gcc makes this of `while (!flag) pause`.
TEST_F(SpinHintTest, IsToldInTheWholeLoopAroundIt) {
  Put(100, {0xf3, 0x90, 0x0f, 0xb6, 0x11, 0x84, 0xd2, 0x74, 0xf7});
  for (const size_t instruction : {100, 102, 105, 107}) EXPECT_TRUE(IsHint(instruction));
  EXPECT_FALSE(IsHint(109)) << "behind the loop";
  EXPECT_FALSE(IsHint(97));
}

// movzx; test; jne out; pause; jmp back.
TEST_F(SpinHintTest, IsToldBeforeIt) {
  Put(100, {0x0f, 0xb6, 0x11, 0x84, 0xd2, 0x75, 0x04, 0xf3, 0x90, 0xeb, 0xf5});
  for (const size_t instruction : {100, 103, 105, 107, 109}) EXPECT_TRUE(IsHint(instruction));
  EXPECT_FALSE(IsHint(111));
}

// The loop of a worker: it waits, works (inc), and begins again.
TEST_F(SpinHintTest, WorkInALoopAroundTheOneThatWaitsIsNone) {
  Put(100, {0xf3, 0x90, 0x0f, 0xb6, 0x11, 0x84, 0xd2, 0x74, 0xf7});
  Put(109, {0xff, 0xc0, 0xff, 0xc0, 0xeb, 0xf1});  // jmp to 100
  EXPECT_TRUE(IsHint(105));
  EXPECT_FALSE(IsHint(109));
  EXPECT_FALSE(IsHint(111));
}

TEST_F(SpinHintTest, JumpsForwardOrFarBackMakeNoLoop) {
  Put(100, {0xf3, 0x90, 0xff, 0xc0, 0x74, 0x10, 0xff, 0xc0, 0x74, 0xf8, 0xff, 0xc0, 0x74, 0x80});
  EXPECT_TRUE(IsHint(102));
  EXPECT_FALSE(IsHint(104)) << "the jump goes forward, the next not as far back as the hint";
  EXPECT_FALSE(IsHint(110));
}

TEST_F(SpinHintTest, ALoopAtTheEndOfWhatMayBeRead) {
  Put(kPage - 9, {0xf3, 0x90, 0x0f, 0xb6, 0x11, 0x84, 0xd2, 0x74, 0xf7});
  EXPECT_TRUE(IsHint(kPage - 4));
  EXPECT_TRUE(IsHint(kPage - 2));
  Put(0, {0x84, 0xd2, 0x74, 0xfa});
  EXPECT_FALSE(IsHint(0)) << "its hint would be on another page";
}

}  // namespace
}  // namespace coz::delay
