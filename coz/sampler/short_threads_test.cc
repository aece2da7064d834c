#include "coz/sampler/short_threads.h"

#include "gtest/gtest.h"

namespace coz::sampler {
namespace {

constexpr uint64_t kMs = 1'000'000;

// So many threads of this length, of which `rest_ns` came after the last sample.
void End(EndedThreads& ended, int threads, uint64_t cpu_ns, uint64_t rest_ns) {
  for (int i = 0; i < threads; ++i) NoteThreadEnd(ended, cpu_ns, rest_ns);
}

TEST(ShortThreadsTest, ThreadsAreShortWhereTheirRestsAreMoreThanATenth) {
  EndedThreads few;
  End(few, 15, kMs / 2, kMs / 2);
  EXPECT_FALSE(ThreadsAreShort(few)) << "too few to judge";
  End(few, 1, kMs / 2, kMs / 2);
  EXPECT_TRUE(ThreadsAreShort(few));
  EndedThreads of_ten_periods;
  End(of_ten_periods, 100, 10 * kMs, kMs / 2);
  EXPECT_FALSE(ThreadsAreShort(of_ten_periods));
}

TEST(ShortThreadsTest, ThreadsOfSomePeriodsAreWeighedByTheirRests) {
  EndedThreads ended;
  End(ended, 100, 3 * kMs, kMs / 2);
  const ShortThreadPlan plan = PlanShortThread(ended, kMs);
  EXPECT_TRUE(plan.weighs_rest);
  EXPECT_EQ(plan.first_period_ns, 0u);
  // A sixth of the time has no samples, so each of the others weighs a fifth more.
  uint64_t more = 0;
  for (int i = 0; i < 1000; ++i) more += WeightOfRests(ended, i % 3);
  EXPECT_NEAR(static_cast<double>(more), 200, 1);
}

TEST(ShortThreadsTest, SomeOfTheShorterOnesHaveEventsThatStandForAll) {
  EndedThreads ended;
  End(ended, 100, 7 * kMs / 10, 7 * kMs / 10);
  int with_event = 0;
  double sum_ns = 0;
  uint64_t stood_for = 0;
  for (int i = 0; i < 399; ++i) {
    const ShortThreadPlan plan = PlanShortThread(ended, kMs);
    EXPECT_FALSE(plan.weighs_rest);
    EXPECT_EQ(plan.stands_for,
              7u);  // an event costs 0.25 ms, which may be a twentieth of their time
    if (plan.first_period_ns == 0) continue;
    ++with_event;
    stood_for += plan.stands_for;
    EXPECT_GE(plan.first_period_ns, kMs / 10);
    EXPECT_LE(plan.first_period_ns, kMs);
    sum_ns += static_cast<double>(plan.first_period_ns);
  }
  EXPECT_EQ(with_event, 57);
  EXPECT_EQ(stood_for, 399u);
  EXPECT_NEAR(sum_ns / with_event, kMs / 2.0, kMs / 50.0) << "any part of a period";
}

TEST(ShortThreadsTest, ThreadsOfTwoKindsInTurnBothHaveEvents) {
  EndedThreads ended;
  End(ended, 100, kMs / 2, kMs / 2);
  int with_event[2] = {};
  for (int i = 0; i < 8000; ++i) {
    const ShortThreadPlan plan = PlanShortThread(ended, kMs);
    EXPECT_EQ(plan.stands_for, 8u);
    with_event[i % 2] += plan.first_period_ns != 0;
  }
  EXPECT_EQ(with_event[0] + with_event[1], 1000);
  EXPECT_NEAR(with_event[0], 500, 50);
}

}  // namespace
}  // namespace coz::sampler
