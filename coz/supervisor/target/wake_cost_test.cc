#include "coz/supervisor/target/wake_cost.h"

#include <sched.h>

#include "gtest/gtest.h"

namespace coz::supervisor {
namespace {

TEST(WakeCostTest, IsKnownWhereThereAreTwoCpusWhichStayTheCallers) {
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof(before), &before), 0);
  const std::optional<WakeCost> cost = MeasureWakeCost();
  cpu_set_t after;
  ASSERT_EQ(sched_getaffinity(0, sizeof(after), &after), 0);
  EXPECT_TRUE(CPU_EQUAL(&before, &after));
  ASSERT_EQ(cost.has_value(), CPU_COUNT(&before) > 1);
  if (!cost.has_value()) return;
  EXPECT_GT(cost->after_short.woken_ns, 0u);
  EXPECT_GT(cost->after_long.woken_ns, 0u);
  EXPECT_GT(cost->after_short.waker_ns, 0u);
  EXPECT_GT(cost->after_long.waker_ns, 0u);
}

TEST(WakeCostTest, IsUnknownOnOneCpu) {
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof(before), &before), 0);
  int cpu = 0;
  while (!CPU_ISSET(cpu, &before)) ++cpu;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(cpu, &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
  EXPECT_FALSE(MeasureWakeCost().has_value());
  ASSERT_EQ(sched_setaffinity(0, sizeof(before), &before), 0);
}

}  // namespace
}  // namespace coz::supervisor
