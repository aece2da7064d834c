#include "coz/supervisor/target/quota_watch.h"

#include <filesystem>
#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "coz/base/clock.h"
#include "gtest/gtest.h"

namespace coz::supervisor {
namespace {

class QuotaWatchTest : public ::testing::Test {
 protected:
  void SetUp() override {
    Write("/proc/self/cgroup", "0::/app\n");
    Write("/proc/self/mountinfo", "41 31 0:38 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
    Write("/sys/fs/cgroup/app/cpu.max", "150000 100000\n");
    WritePeriods(0, 0);
  }

  void Write(const std::string& path, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(root_ + path).parent_path());
    std::ofstream(root_ + path) << text;
  }
  void WritePeriods(int periods, int throttled) {
    Write("/sys/fs/cgroup/app/cpu.stat", absl::StrCat("usage_usec 9\nthrottled_usec 7\nnr_periods ",
                                                      periods, "\nnr_throttled ", throttled, "\n"));
  }

  uint64_t own_cpu_ns_ = 2000;
  const std::string root_ =
      ::testing::TempDir() + "/" + ::testing::UnitTest::GetInstance()->current_test_info()->name();
};

TEST_F(QuotaWatchTest, TellsWhatIsUsedAndAllowed) {
  QuotaWatch watch(CpuQuota(0, root_), [this] { return own_cpu_ns_; });
  WritePeriods(3, 2);
  watch.Poll(2 * kNsPerSecond);
  EXPECT_EQ(watch.use().used_ns, 9 * kNsPerUs - own_cpu_ns_);
  EXPECT_EQ(watch.use().throttled_ns, 7 * kNsPerUs);
  EXPECT_EQ(watch.use().periods, 3u);
  EXPECT_EQ(watch.use().throttled_periods, 2u);
  const uint64_t allowed_ns = watch.use().allowed_ns;
  watch.Poll(4 * kNsPerSecond);
  EXPECT_EQ(watch.use().allowed_ns - allowed_ns, 3 * kNsPerSecond);
}

TEST_F(QuotaWatchTest, StopsWhereMorePeriodsThanAFewAreUsedUp) {
  QuotaWatch watch(CpuQuota(0, root_), [this] { return own_cpu_ns_; });
  WritePeriods(100, 100);
  watch.Poll(10 * kNsPerSecond);
  EXPECT_FALSE(watch.is_stopping()) << "that was before";
  WritePeriods(105, 105);
  watch.Poll(10 * kNsPerSecond + kNsPerSecond / 2);
  EXPECT_FALSE(watch.is_stopping()) << "too soon to tell";
  WritePeriods(110, 103);
  watch.Poll(11 * kNsPerSecond);
  EXPECT_TRUE(watch.is_stopping());
  WritePeriods(120, 105);
  watch.Poll(12 * kNsPerSecond);
  EXPECT_FALSE(watch.is_stopping());
}

TEST_F(QuotaWatchTest, KnowsNothingWithoutAQuota) {
  Write("/sys/fs/cgroup/app/cpu.max", "max 100000\n");
  QuotaWatch watch(CpuQuota(0, root_), [this] { return own_cpu_ns_; });
  watch.Poll(kNsPerSecond);
  EXPECT_EQ(watch.use().allowed_ns, 0u);
  EXPECT_EQ(watch.use().used_ns, 0u);
  EXPECT_FALSE(watch.is_stopping());
}

}  // namespace
}  // namespace coz::supervisor
