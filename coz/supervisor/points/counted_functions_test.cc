#include "coz/supervisor/points/counted_functions.h"

#include <memory>
#include <string>
#include <vector>

#include "coz/shared/control_block.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

// Timed by the test in its own program.
extern "C" __attribute__((noinline)) int TimedByTest(int n) {
  volatile int sum = n;
  for (int i = 0; i < n; ++i) sum = sum + i;
  return sum;
}

namespace coz::supervisor {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

TEST(CountedFunctionsTest, DoesNotTimeWhereTheTargetHasTakenAllNumbers) {
  ASSERT_GT(TimedByTest(3), 0);
  CountedFunctionOptions options;
  options.time = {"TimedByTest"};
  auto counted = CountedFunctions::Prepare(options, "/proc/self/exe", false);
  if (absl::IsFailedPrecondition(counted.status())) GTEST_SKIP() << counted.status();
  ASSERT_TRUE(counted.ok()) << counted.status();
  const auto control = std::make_unique<shared::ControlBlock>();
  for (auto& function : control->timed_functions) function = 1;
  (*counted)->TakeSlots(control.get());
  EXPECT_EQ(control->api.count, 0u) << "it lies behind the table";
  EXPECT_THAT((*counted)->TakeWarnings(), Contains(HasSubstr("counted, and not timed")));
}

}  // namespace
}  // namespace coz::supervisor
