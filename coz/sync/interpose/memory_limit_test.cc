// The profiler's address space is not the program's business: what it asks for is what it gets, and
// what it is told.
#include "coz/sync/interpose/memory_limit.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <functional>

#include "coz/sync/interpose/testing/fake_process.h"
#include "coz/testing/in_child.h"
#include "gtest/gtest.h"

namespace coz::interpose {
namespace {

using testing::RunInChild;

constexpr rlim_t kMega = rlim_t{1} << 20;
constexpr uint64_t kProfilersBytes = 1024 * kMega;

// Past all wrappers.
rlimit LimitOfKernel() {
  rlimit limit = {};
  syscall(SYS_prlimit64, 0, RLIMIT_AS, nullptr, &limit);
  return limit;
}

bool IsTold(rlim_t soft, rlim_t hard) {
  rlimit limit = {};
  rlimit other = {};
  return getrlimit(RLIMIT_AS, &limit) == 0 && prlimit(0, RLIMIT_AS, nullptr, &other) == 0 &&
         limit.rlim_cur == soft && limit.rlim_max == hard && other.rlim_cur == soft &&
         other.rlim_max == hard;
}

bool CanMap(size_t bytes) {
  void* const mapped =
      mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) return false;
  munmap(mapped, bytes);
  return true;
}

// Exit status 0 where all holds; else the number of the line.
#define COZ_CHECK(condition) \
  if (!(condition)) _exit(__LINE__ % 256 == 0 ? 1 : __LINE__ % 256)

TEST(MemoryLimitTest, ProgramGetsWhatItAsksFor) {
  EXPECT_EQ(RunInChild([] {
              SetProfilersMemory(kProfilersBytes);
              COZ_CHECK(CanMap(kProfilersBytes));
              const rlimit asked = {4096 * kMega, 8192 * kMega};
              COZ_CHECK(setrlimit(RLIMIT_AS, &asked) == 0);
              COZ_CHECK(IsTold(asked.rlim_cur, asked.rlim_max));
              COZ_CHECK(LimitOfKernel().rlim_cur >= asked.rlim_cur + kProfilersBytes);
              COZ_CHECK(LimitOfKernel().rlim_max >= asked.rlim_max + kProfilersBytes);
              COZ_CHECK(LimitOfKernel().rlim_cur < asked.rlim_cur + 2 * kProfilersBytes);

              rlimit before = {};
              const rlimit less = {2048 * kMega, 8192 * kMega};
              COZ_CHECK(prlimit(getpid(), RLIMIT_AS, &less, &before) == 0);
              COZ_CHECK(before.rlim_cur == asked.rlim_cur && before.rlim_max == asked.rlim_max);
              COZ_CHECK(IsTold(less.rlim_cur, less.rlim_max));

              // The profiler has gone.
              SetProfilersMemory(0);
              COZ_CHECK(IsTold(less.rlim_cur, less.rlim_max));
              COZ_CHECK(LimitOfKernel().rlim_cur == less.rlim_cur);
              COZ_CHECK(LimitOfKernel().rlim_max == less.rlim_max);
            }),
            0);
}

TEST(MemoryLimitTest, NoLimitStaysNone) {
  EXPECT_EQ(RunInChild([] {
              SetProfilersMemory(kProfilersBytes);
              const rlimit none = LimitOfKernel();
              COZ_CHECK(none.rlim_max == RLIM_INFINITY);
              const rlimit soft = {4096 * kMega, RLIM_INFINITY};
              COZ_CHECK(setrlimit(RLIMIT_AS, &soft) == 0);
              COZ_CHECK(IsTold(soft.rlim_cur, RLIM_INFINITY));
              COZ_CHECK(LimitOfKernel().rlim_max == RLIM_INFINITY);
              COZ_CHECK(setrlimit(RLIMIT_AS, &none) == 0);
              COZ_CHECK(IsTold(none.rlim_cur, none.rlim_max));
              COZ_CHECK(LimitOfKernel().rlim_cur == none.rlim_cur);
            }),
            0);
}

TEST(MemoryLimitTest, LimitFromOutsideAndOtherLimitsAreLeftAlone) {
  EXPECT_EQ(RunInChild([] {
              const rlimit outside = {4096 * kMega, 4096 * kMega};
              COZ_CHECK(setrlimit(RLIMIT_AS, &outside) == 0);
              SetProfilersMemory(kProfilersBytes);
              COZ_CHECK(IsTold(outside.rlim_cur, outside.rlim_max));
              const rlimit less = {2048 * kMega, 4096 * kMega};
              COZ_CHECK(setrlimit(RLIMIT_AS, &less) == 0);
              COZ_CHECK(IsTold(less.rlim_cur, less.rlim_max));
              COZ_CHECK(LimitOfKernel().rlim_max == outside.rlim_max);

              const rlimit data = {4096 * kMega, 4096 * kMega};
              rlimit told = {};
              COZ_CHECK(setrlimit(RLIMIT_DATA, &data) == 0);
              COZ_CHECK(getrlimit(RLIMIT_DATA, &told) == 0 && told.rlim_cur == data.rlim_cur);
              syscall(SYS_prlimit64, 0, RLIMIT_DATA, nullptr, &told);
              COZ_CHECK(told.rlim_cur == data.rlim_cur);
            }),
            0);
}

TEST(MemoryLimitTest, WhatIsWrongIsRefusedAsLibcDoes) {
  EXPECT_EQ(RunInChild([] {
              SetProfilersMemory(kProfilersBytes);
              const rlimit wrong = {4096 * kMega, 2048 * kMega};
              COZ_CHECK(setrlimit(RLIMIT_AS, &wrong) == -1 && errno == EINVAL);
              rlimit* volatile bad = reinterpret_cast<rlimit*>(64);
              COZ_CHECK(setrlimit(RLIMIT_AS, bad) == -1 && errno == EFAULT);
              COZ_CHECK(getrlimit(RLIMIT_AS, bad) == -1 && errno == EFAULT);
              COZ_CHECK(prlimit(0, RLIMIT_AS, bad, nullptr) == -1 && errno == EFAULT);
              COZ_CHECK(prlimit(0, RLIMIT_AS, nullptr, nullptr) == 0);
              COZ_CHECK(IsTold(RLIM_INFINITY, RLIM_INFINITY));
            }),
            0);
}

}  // namespace
}  // namespace coz::interpose
