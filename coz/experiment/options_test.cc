#include "coz/experiment/options.h"

#include <string>

#include "absl/status/status.h"
#include "gtest/gtest.h"

namespace coz::experiment {
namespace {

TEST(SchedulerOptionsTest, ImpossibleOptionsAreNamed) {
  SchedulerOptions options;
  options.fixed_speedups = {1.5};
  EXPECT_EQ(options.Check().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(options.Check().message().find("150 %"), std::string::npos);
  options.fixed_speedups = {0, 1};
  EXPECT_TRUE(options.Check().ok());
  options.min_experiment_ns = options.max_experiment_ns + 1;
  EXPECT_FALSE(options.Check().ok());
}

}  // namespace
}  // namespace coz::experiment
