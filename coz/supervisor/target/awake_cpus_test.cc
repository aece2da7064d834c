#include "coz/supervisor/target/awake_cpus.h"

#include <fcntl.h>

#include <fstream>
#include <sstream>
#include <string>

#include "coz/testing/run_command.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace coz::supervisor {
namespace {

using ::testing::HasSubstr;

TEST(AwakeCpusTest, AsksForNoLatencyAtAllAsLongAsTheFileIsOpen) {
  const std::string device = testing::TemporaryFolder() + "/cpu_dma_latency";
  std::ofstream(device).close();
  const absl::StatusOr<UniqueFd> awake = KeepCpusAwake(device, "haltpoll");
  ASSERT_TRUE(awake.ok()) << awake.status();
  std::ostringstream written;
  written << std::ifstream(device).rdbuf();
  EXPECT_EQ(written.str(), std::string(4, '\0'));
  EXPECT_EQ(fcntl(awake->get(), F_GETFD), FD_CLOEXEC) << "the program would hold it";
}

TEST(AwakeCpusTest, SaysWhatToDoWhereTheKernelRefuses) {
  const absl::StatusOr<UniqueFd> awake = KeepCpusAwake("/nonexistent/cpu_dma_latency", "haltpoll");
  ASSERT_FALSE(awake.ok());
  EXPECT_THAT(std::string(awake.status().message()), HasSubstr("/nonexistent/cpu_dma_latency"));
  EXPECT_THAT(std::string(awake.status().message()), HasSubstr("leave --awake out"));
}

TEST(AwakeCpusTest, SaysWhereNothingWouldHeedTheRequest) {
  const std::string device = testing::TemporaryFolder() + "/cpu_dma_latency";
  std::ofstream(device).close();
  const absl::StatusOr<UniqueFd> awake = KeepCpusAwake(device, "none");
  ASSERT_FALSE(awake.ok());
  EXPECT_THAT(std::string(awake.status().message()), HasSubstr("no idle driver"));
  EXPECT_TRUE(KeepCpusAwake(device, "").ok()) << "not known";
}

}  // namespace
}  // namespace coz::supervisor
