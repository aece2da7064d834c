#include "coz/testing/sim/run_queues.h"

#include <gtest/gtest.h>

namespace coz::sim {
namespace {

constexpr uint64_t kMs = 1'000'000;

TEST(RunQueuesTest, FifoGivesCpusInTheOrderOfComing) {
  RunQueues cpus(1, Scheduling::kFifo);
  Runnable first;
  Runnable second;
  EXPECT_EQ(cpus.Add(first, true, 0), nullptr);
  EXPECT_EQ(cpus.Add(second, true, 0), nullptr);
  EXPECT_EQ(cpus.Take(0), &first);
  EXPECT_EQ(cpus.Take(0), nullptr);
  EXPECT_TRUE(cpus.MustYield(first, kMs));
  cpus.Leave(first, kMs);
  EXPECT_EQ(cpus.Take(kMs), &second);
}

class FairQueuesTest : public ::testing::Test {
 protected:
  // On CPU 0 and 1.
  void StartTwo() {
    cpus_.Add(a_, true, 0);
    cpus_.Add(b_, true, 0);
    ASSERT_EQ(cpus_.Take(0), &a_);
    ASSERT_EQ(cpus_.Take(0), &b_);
    ASSERT_NE(a_.cpu, b_.cpu);
  }

  RunQueues cpus_{2, Scheduling::kFair};
  Runnable a_, b_, c_, d_;
};

TEST_F(FairQueuesTest, AWokenThreadGoesToItsLastCpuIfThatIsIdle) {
  StartTwo();
  cpus_.Leave(b_, kMs);
  cpus_.Leave(a_, kMs);
  const uint32_t cpu = b_.cpu;
  cpus_.Add(b_, true, 2 * kMs);
  EXPECT_EQ(cpus_.Take(2 * kMs), &b_);
  EXPECT_EQ(b_.cpu, cpu);
}

TEST_F(FairQueuesTest, AWakePreemptsWhoHasHadItsSliceAndNobodyElse) {
  RunQueues one(1, Scheduling::kFair);
  one.Add(a_, true, 0);
  ASSERT_EQ(one.Take(0), &a_);
  EXPECT_EQ(one.Add(b_, true, kMs / 2), nullptr);
  EXPECT_EQ(one.Add(c_, true, kMs), nullptr) << "b_ has run less, too, but a_ has its slice";
  EXPECT_EQ(one.Add(d_, true, 3 * kMs), &a_);
}

TEST_F(FairQueuesTest, ASleeperGetsNoCreditForItsSleep) {
  StartTwo();
  cpus_.Add(c_, true, 100 * kMs);
  EXPECT_EQ(c_.virtual_run_ns, 100 * kMs);
}

TEST_F(FairQueuesTest, ThreadsOfOneCpuTakeTurns) {
  RunQueues one(1, Scheduling::kFair);
  Runnable* threads[] = {&a_, &b_, &c_};
  for (Runnable* thread : threads) one.Add(*thread, true, 0);
  for (int turn = 0; turn < 9; ++turn) {
    const uint64_t now_ns = static_cast<uint64_t>(turn) * 4 * kMs;
    Runnable* next = one.Take(now_ns);
    EXPECT_EQ(next, threads[turn % 3]) << turn;
    const bool all_have_run_as_long = turn % 3 == 2;
    EXPECT_EQ(one.MustYield(*next, now_ns + 4 * kMs), !all_have_run_as_long);
    one.Leave(*next, now_ns + 4 * kMs);
    one.Add(*next, false, now_ns + 4 * kMs);
  }
}

TEST_F(FairQueuesTest, AnIdleCpuTakesAThreadOfTheLongestQueue) {
  StartTwo();
  cpus_.Add(c_, true, kMs);
  const uint32_t longer = c_.cpu;
  Runnable& leaves = a_.cpu == longer ? b_ : a_;
  cpus_.Leave(leaves, 2 * kMs);
  EXPECT_EQ(cpus_.Take(2 * kMs), &c_);
  EXPECT_EQ(c_.cpu, leaves.cpu);
  EXPECT_EQ(cpus_.running(), 2u);
}

TEST_F(FairQueuesTest, WhoHasRunLessKeepsItsCpuAtTheEndOfItsSlice) {
  StartTwo();
  cpus_.Add(c_, true, 4 * kMs);
  Runnable& beside = a_.cpu == c_.cpu ? a_ : b_;
  EXPECT_FALSE(cpus_.MustYield(beside, 4 * kMs));
  EXPECT_TRUE(cpus_.MustYield(beside, 5 * kMs));
}

}  // namespace
}  // namespace coz::sim
