#include "coz/supervisor/target/cpu_use.h"

#include <filesystem>
#include <fstream>
#include <string>

#include "coz/base/clock.h"
#include "gtest/gtest.h"

namespace coz::supervisor {
namespace {

constexpr char kStat[] =
    "cpu  30 0 0 300 0 0 0 0 0 0\n"
    "cpu0 1 2 3 100 20 4 5 6 0 0\n"
    "cpu1 10 20 30 1000 200 40 50 60 7 0\n"
    "cpu10 1000 0 0 0 0 0 0 0 0 0\n"
    "intr 5 1 2\n"
    "ctxt 8\n";

TEST(CpuUseTest, SumsTheCpusThatTheTargetMayUse) {
  const experiment::CpuUse both = CpuUseOf(kStat, {true, true}, 100);
  EXPECT_EQ(both.busy_ns, 660 * kNsPerMs);
  EXPECT_EQ(both.idle_ns, 13200 * kNsPerMs);
  EXPECT_EQ(both.stolen_ns, 660 * kNsPerMs);
  const experiment::CpuUse second = CpuUseOf(kStat, {false, true}, 100);
  EXPECT_EQ(second.busy_ns, 600 * kNsPerMs);
}

TEST(CpuUseTest, OldKernelsHaveFewerColumns) {
  const experiment::CpuUse use = CpuUseOf("cpu0 1 2 3 4\n", {true}, 100);
  EXPECT_EQ(use.busy_ns, 60 * kNsPerMs);
  EXPECT_EQ(use.idle_ns, 40 * kNsPerMs);
  EXPECT_EQ(use.stolen_ns, 0u);
}

TEST(CpuUseTest, NonsenseIsNothing) {
  for (const char* text : {"", "cpu", "cpu0", "cpu0 x y\n", "cpux 1 2\n", "cpu99999999999 1\n"}) {
    const experiment::CpuUse use = CpuUseOf(text, {true}, 100);
    EXPECT_EQ(use.busy_ns + use.idle_ns + use.stolen_ns, 0u) << text;
  }
  EXPECT_EQ(CpuUseOf(kStat, {true}, 0).busy_ns, 0u);
}

TEST(CpuUseTest, WatchLooksTenTimesASecond) {
  const std::string root = ::testing::TempDir() + "/cpu_use";
  std::filesystem::create_directories(root + "/proc");
  const auto write = [&](int idle) {
    std::ofstream file(root + "/proc/stat");
    for (int i = 0; i < 1024; ++i) file << "cpu" << i << " 0 0 0 " << idle << "\n";
  };
  write(0);
  CpuUseWatch watch(root);
  watch.Poll(1);
  EXPECT_EQ(watch.use().idle_ns, 0u);
  write(1);
  watch.Poll(kNsPerMs);
  EXPECT_EQ(watch.use().idle_ns, 0u);
  watch.Poll(101 * kNsPerMs);
  EXPECT_GT(watch.use().idle_ns, 0u);
}

}  // namespace
}  // namespace coz::supervisor
