// Which objects count as readable, and for how long.
#include "coz/sync/interpose/lately_readable.h"

#include <sys/mman.h>

#include <cstdint>
#include <thread>

#include "gtest/gtest.h"

namespace coz::interpose {
namespace {

constexpr size_t kPageBytes = 4096;

// Two pages, of which the second cannot be read. They are never unmapped, for the thread remembers
// them, and the next test's pages must not lie there.
class LatelyReadableTest : public ::testing::Test {
 protected:
  LatelyReadableTest() { mprotect(memory_ + kPageBytes, kPageBytes, PROT_NONE); }

  char* const memory_ = static_cast<char*>(
      mmap(nullptr, 2 * kPageBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
};

TEST_F(LatelyReadableTest, WhatCannotBeReadIsNot) {
  EXPECT_TRUE(IsLatelyReadable(memory_ + kPageBytes - 8, 8));
  EXPECT_FALSE(IsLatelyReadable(memory_ + kPageBytes - 8, 9)) << "goes on into the second page";
  EXPECT_FALSE(IsLatelyReadable(memory_ + kPageBytes, 1));
  EXPECT_FALSE(IsLatelyReadable(nullptr, 16));
  EXPECT_FALSE(IsLatelyReadable(reinterpret_cast<void*>(UINTPTR_MAX), 16)) << "wraps around";
}

TEST_F(LatelyReadableTest, PageIsAskedForAgainAfterSomeUses) {
  EXPECT_TRUE(IsLatelyReadable(memory_, 16));
  mprotect(memory_, kPageBytes, PROT_NONE);
  std::thread([this] {
    EXPECT_FALSE(IsLatelyReadable(memory_, 16)) << "another thread's page";
  }).join();
  for (uint32_t use = 0; use < lately_readable_internal::kUses; ++use) {
    EXPECT_TRUE(IsLatelyReadable(memory_ + 64, 16)) << use;
  }
  EXPECT_FALSE(IsLatelyReadable(memory_ + 64, 16));
}

TEST_F(LatelyReadableTest, PageInTheSamePlaceIsAnother) {
  using lately_readable_internal::kPages;
  auto* const pages = static_cast<char*>(
      mmap(nullptr, (kPages + 1) * kPageBytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  EXPECT_TRUE(IsLatelyReadable(pages, 16));
  EXPECT_TRUE(IsLatelyReadable(pages + kPages * kPageBytes, 16));
  mprotect(pages, kPageBytes, PROT_NONE);
  EXPECT_FALSE(IsLatelyReadable(pages, 16));
}

}  // namespace
}  // namespace coz::interpose
