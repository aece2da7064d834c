#include "coz/runtime/spin_hint.h"

#include <sys/mman.h>

#include <cstring>

#include "gtest/gtest.h"

namespace coz {
namespace {

constexpr size_t kPage = 4096;
constexpr unsigned char kPause[] = {0xf3, 0x90};

// Two pages, of which the first may be read.
class SpinHintTest : public ::testing::Test {
 protected:
  void SetUp() override {
    void* const pages =
        mmap(nullptr, 2 * kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(pages, MAP_FAILED);
    ASSERT_EQ(mprotect(pages, kPage, PROT_READ | PROT_WRITE), 0);
    code_ = static_cast<unsigned char*>(pages);
  }
  void TearDown() override { munmap(code_, 2 * kPage); }

  void PauseAt(size_t offset) { memcpy(code_ + offset, kPause, sizeof(kPause)); }
  bool IsHint(size_t offset) const {
    return IsAtSpinHint(reinterpret_cast<uint64_t>(code_ + offset));
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

}  // namespace
}  // namespace coz
