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

TEST(ShortThreadsTest, FirstPeriodsOfEventsAreAnyPartOfAPeriod) {
  EndedThreads ended;
  double sum_ns = 0;
  for (int i = 0; i < 1000; ++i) {
    const FirstSamplePlan plan = PlanThreadEvent(ended, kMs);
    EXPECT_EQ(plan.stands_for, 1u);
    EXPECT_GE(plan.first_period_ns, kMs / 10);
    EXPECT_LE(plan.first_period_ns, kMs);
    sum_ns += static_cast<double>(plan.first_period_ns);
  }
  // A tenth are a tenth of a period instead of less.
  EXPECT_NEAR(sum_ns / 1000, 0.505 * kMs, kMs / 100.0);
}

TEST(ShortThreadsTest, AFirstSampleStandsForAsManyShortThreadsAsItIsLong) {
  EndedThreads ended;
  End(ended, 100, kMs / 4, kMs / 4);
  EXPECT_EQ(PlanThreadEvent(ended, kMs).stands_for, 4u);
  EXPECT_EQ(PlanThreadTimer(ended, kMs, 4 * kMs).stands_for, 16u);
  EXPECT_EQ(PlanThreadEvent(ended, kMs / 4).stands_for, 1u);
  EXPECT_EQ(PlanThreadEvent(ended, kMs * 3 / 8).stands_for, 2u) << "one cannot impose all of it";
  EndedThreads of_no_length;
  End(of_no_length, 100, 1, 1);
  EXPECT_EQ(PlanThreadTimer(of_no_length, kMs, 4 * kMs).stands_for, 256u);
}

TEST(ShortThreadsTest, TimersWaitForTheNextTickAndStandForOne) {
  EndedThreads ended;
  uint64_t weight = 0;
  for (int i = 0; i < 1000; ++i) {
    EXPECT_EQ(PlanThreadTimer(ended, 9 * kMs / 10, 4 * kMs).first_period_ns, 1u);
    weight += WeightOfFirstTimerSample(ended, 9 * kMs / 10, 4 * kMs);
  }
  EXPECT_EQ(weight, 4444u);
}

// A tick is then part of the first period.
TEST(ShortThreadsTest, TimersOfLongerPeriodsThanATickStandForAPeriod) {
  EndedThreads ended;
  double sum_ns = 0;
  for (int i = 0; i < 1000; ++i) {
    const uint64_t first_ns = PlanThreadTimer(ended, 10 * kMs, 4 * kMs).first_period_ns;
    EXPECT_LE(first_ns, 6 * kMs);
    sum_ns += static_cast<double>(first_ns);
    EXPECT_EQ(WeightOfFirstTimerSample(ended, 10 * kMs, 4 * kMs), 1u);
  }
  EXPECT_NEAR(sum_ns / 1000, 3.0 * kMs, kMs / 20.0);
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
