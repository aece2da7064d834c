#include "coz/supervisor/target/idle_halts.h"

#include <filesystem>
#include <fstream>
#include <string>

#include "gtest/gtest.h"

namespace coz::supervisor {
namespace {

TEST(IdleHaltsTest, HypervisorIsAmongTheFlags) {
  EXPECT_TRUE(IsVirtual("processor\t: 0\nflags\t\t: fpu sse hypervisor avx\n"));
  EXPECT_FALSE(IsVirtual("processor\t: 0\nmodel name\t: hypervisor\nflags\t\t: fpu sse\n"));
  EXPECT_FALSE(IsVirtual("flags\t\t: fpu no_hypervisor\n"));
  EXPECT_FALSE(IsVirtual(""));
}

TEST(IdleHaltsTest, FilesTellTheDriver) {
  const std::string root = ::testing::TempDir() + "/machine";
  EXPECT_FALSE(LookAtIdleMachine(root).is_virtual);
  EXPECT_EQ(LookAtIdleMachine(root).idle_driver, "");
  std::filesystem::create_directories(root + "/proc");
  std::filesystem::create_directories(root + "/sys/devices/system/cpu/cpuidle");
  std::ofstream(root + "/proc/cpuinfo") << "flags : hypervisor\n";
  std::ofstream(root + "/sys/devices/system/cpu/cpuidle/current_driver") << "haltpoll\n";
  EXPECT_TRUE(LookAtIdleMachine(root).is_virtual);
  EXPECT_EQ(LookAtIdleMachine(root).idle_driver, "haltpoll");
}

}  // namespace
}  // namespace coz::supervisor
