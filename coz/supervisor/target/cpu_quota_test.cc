#include "coz/supervisor/target/cpu_quota.h"

#include <filesystem>
#include <fstream>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace coz::supervisor {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr char kMountOfV2[] = "41 31 0:38 / /sys/fs/cgroup rw,relatime - cgroup2 cgroup2 rw\n";

TEST(CpuQuotaTest, FoldersLeadFromTheCgroupToTheRoot) {
  EXPECT_THAT(CgroupFolders("0::/system.slice/app.service\n", kMountOfV2),
              ElementsAre("/sys/fs/cgroup/system.slice/app.service", "/sys/fs/cgroup/system.slice",
                          "/sys/fs/cgroup"));
  EXPECT_THAT(CgroupFolders("0::/\n", kMountOfV2), ElementsAre("/sys/fs/cgroup"));
}

TEST(CpuQuotaTest, FirstVersionIsFoundByItsController) {
  const char mounts[] =
      "33 31 0:30 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n"
      "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n";
  EXPECT_THAT(CgroupFolders("3:cpuset:/\n1:cpuacct,cpu:/a\n", mounts),
              ElementsAre("/sys/fs/cgroup/cpu,cpuacct/a", "/sys/fs/cgroup/cpu,cpuacct"));
}

TEST(CpuQuotaTest, ContainerSeesItsCgroupAsTheRootOfTheMount) {
  const char mounts[] = "32 31 0:29 /docker/1234 /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n";
  EXPECT_THAT(CgroupFolders("1:cpu:/docker/1234\n", mounts), ElementsAre("/sys/fs/cgroup/cpu"));
  EXPECT_THAT(CgroupFolders("1:cpu:/docker/1234/a\n", mounts),
              ElementsAre("/sys/fs/cgroup/cpu/a", "/sys/fs/cgroup/cpu"));
  EXPECT_THAT(CgroupFolders("1:cpu:/docker/12345\n", mounts), ElementsAre("/sys/fs/cgroup/cpu"));
  // Outside the namespace's own root.
  EXPECT_THAT(CgroupFolders("0::/../other\n", kMountOfV2), ElementsAre("/sys/fs/cgroup"));
}

TEST(CpuQuotaTest, NonsenseHasNoFolders) {
  EXPECT_THAT(CgroupFolders("", ""), IsEmpty());
  EXPECT_THAT(CgroupFolders("0:/a\n:::\n", "a - b\n - \n"), IsEmpty());
  EXPECT_THAT(CgroupFolders("0::/a\n", ""), IsEmpty());
  EXPECT_THAT(CgroupFolders("0::a\n", kMountOfV2), IsEmpty());
}

TEST(CpuQuotaTest, QuotaIsRunningTimeByPeriod) {
  EXPECT_DOUBLE_EQ(QuotaOfCpuMax("150000 100000\n"), 1.5);
  EXPECT_DOUBLE_EQ(QuotaOfCpuMax("max 100000\n"), 0);
  EXPECT_DOUBLE_EQ(QuotaOfCpuMax(""), 0);
  EXPECT_DOUBLE_EQ(QuotaOfCpuMax("150000 0\n"), 0);
  EXPECT_DOUBLE_EQ(QuotaOfCfs("50000\n", "100000\n"), 0.5);
  EXPECT_DOUBLE_EQ(QuotaOfCfs("-1\n", "100000\n"), 0);
}

TEST(CpuQuotaTest, UseIsInMicrosecondsOrNanoseconds) {
  const CgroupUse second =
      UseByCpuStat("usage_usec 9\nnr_periods 3\nnr_throttled 2\nthrottled_usec 71\n");
  EXPECT_EQ(second.throttled_ns, 71000u);
  EXPECT_EQ(second.periods, 3u);
  EXPECT_EQ(second.throttled_periods, 2u);
  EXPECT_EQ(second.used_ns, 9000u);
  EXPECT_EQ(UseByCpuStat("nr_periods 3\nnr_throttled 2\nthrottled_time 72\n").throttled_ns, 72u);
  EXPECT_EQ(UseByCpuStat("usage_usec 9\n").throttled_ns, 0u);
  EXPECT_EQ(UseByCpuStat("throttled_usec x\nthrottled_usec_more 5\n").throttled_ns, 0u);
}

class CpuQuotaOfFilesTest : public ::testing::Test {
 protected:
  void Write(const std::string& path, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(root_ + path).parent_path());
    std::ofstream(root_ + path) << text;
  }

  const std::string root_ =
      ::testing::TempDir() + "/" + ::testing::UnitTest::GetInstance()->current_test_info()->name();
};

TEST_F(CpuQuotaOfFilesTest, LeastQuotaHoldsAndThrottlingByOthersIsKeptApart) {
  Write("/proc/self/cgroup", "0::/pod/app\n");
  Write("/proc/self/mountinfo", kMountOfV2);
  Write("/sys/fs/cgroup/cpu.stat", "usage_usec 9\n");
  Write("/sys/fs/cgroup/pod/cpu.stat", "throttled_usec 5\n");
  Write("/sys/fs/cgroup/pod/cpu.max", "200000 100000\n");
  Write("/sys/fs/cgroup/pod/app/cpu.stat", "usage_usec 3\nthrottled_usec 7\n");
  Write("/sys/fs/cgroup/pod/app/cpu.max", "50000 100000\n");
  const CpuQuota quota(0, root_);
  EXPECT_DOUBLE_EQ(quota.cpus(), 0.5);
  EXPECT_TRUE(quota.is_own());
  EXPECT_EQ(quota.Use().throttled_ns, 7000u);
  EXPECT_EQ(quota.Use().used_ns, 3000u);
  EXPECT_EQ(quota.ThrottledElsewhereNs(), 5000u);
  Write("/sys/fs/cgroup/pod/app/cpu.stat", "throttled_usec 9\n");
  EXPECT_EQ(quota.Use().throttled_ns, 9000u);
  EXPECT_EQ(quota.ThrottledElsewhereNs(), 5000u);
}

TEST_F(CpuQuotaOfFilesTest, FoldersWithoutAQuotaAreNotRead) {
  Write("/proc/self/cgroup", "1:cpu:/app\n");
  Write("/proc/self/mountinfo", "32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n");
  Write("/sys/fs/cgroup/cpu/app/cpu.stat", "throttled_time 5\n");
  Write("/sys/fs/cgroup/cpu/app/cpu.cfs_quota_us", "-1\n");
  Write("/sys/fs/cgroup/cpu/app/cpu.cfs_period_us", "100000\n");
  const CpuQuota quota(0, root_);
  EXPECT_EQ(quota.cpus(), 0);
  EXPECT_EQ(quota.Use().throttled_ns, 0u);
}

// The first version has two hierarchies.
TEST_F(CpuQuotaOfFilesTest, FirstVersionTellsTheCpuTimeInAFileOfItsOwn) {
  Write("/proc/7/cgroup", "2:cpuacct:/app\n1:cpu:/app\n");
  Write("/proc/self/mountinfo",
        "32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n"
        "33 31 0:30 / /sys/fs/cgroup/cpuacct rw - cgroup cgroup rw,cpuacct\n");
  Write("/sys/fs/cgroup/cpu/app/cpu.stat", "nr_periods 3\nnr_throttled 2\n");
  Write("/sys/fs/cgroup/cpu/app/cpu.cfs_quota_us", "50000\n");
  Write("/sys/fs/cgroup/cpu/app/cpu.cfs_period_us", "100000\n");
  Write("/sys/fs/cgroup/cpuacct/app/cpuacct.usage", "77\n");
  const CpuQuota quota(7, root_);
  EXPECT_FALSE(quota.is_own());
  EXPECT_EQ(quota.Use().periods, 3u);
  EXPECT_EQ(quota.Use().used_ns, 77u);
  Write("/proc/7/cgroup", "2:cpuacct:/other\n1:cpu:/app\n");
  EXPECT_EQ(CpuQuota(7, root_).Use().used_ns, 0u);
}

TEST_F(CpuQuotaOfFilesTest, NothingToReadIsNoQuota) {
  const CpuQuota quota(0, root_);
  EXPECT_EQ(quota.cpus(), 0);
  EXPECT_EQ(quota.Use().throttled_ns, 0u);
}

}  // namespace
}  // namespace coz::supervisor
