#include "coz/runtime/timed_visits.h"

#include <memory>

#include "coz/base/clock.h"
#include "coz/sync/delay/accrual.h"
#include "coz/testing/zeroed_control.h"
#include "gtest/gtest.h"

namespace coz::runtime {
namespace {

class TimedVisitsTest : public ::testing::Test {
 protected:
  const testing::OwnedControl control_ = testing::ZeroedControl();
};

TEST_F(TimedVisitsTest, SumOfTimesGivesTheTimeSpentBetween) {
  shared::ThreadSlot& thread = control_->threads[0];
  CountTimedVisit(*control_, thread, control_->points[3], 1000);
  CountTimedVisit(*control_, thread, control_->points[4], 1700);
  const shared::TimedCell& begin = thread.timed[control_->points[3].timed_cell - 1];
  const shared::TimedCell& end = thread.timed[control_->points[4].timed_cell - 1];
  EXPECT_NE(&begin, &end);
  EXPECT_EQ(begin.visits, 1u);
  EXPECT_EQ(end.time_sum_ns - begin.time_sum_ns, 700u);
  EXPECT_EQ(begin.changes % 2, 0u);
}

TEST_F(TimedVisitsTest, PointWithoutACellIsCountedWithoutItsTime) {
  shared::ThreadSlot& thread = control_->threads[0];
  for (uint32_t i = 0; i <= shared::kMaxTimedPoints; ++i) {
    CountTimedVisit(*control_, thread, control_->points[i], 1);
  }
  EXPECT_EQ(thread.visits[shared::kMaxTimedPoints - 1], 0u);
  EXPECT_EQ(thread.visits[shared::kMaxTimedPoints], 1u);
}

TEST_F(TimedVisitsTest, VirtualTimeLeavesOutLocalDelay) {
  delay::ThreadLedger& ledger = control_->threads[0].ledger;
  const uint64_t before_ns = VirtualNowNs(ledger);
  ledger.local_delay_ns = before_ns;  // however long the machine has been up
  EXPECT_LT(VirtualNowNs(ledger), before_ns);
}

TEST_F(TimedVisitsTest, AccruedDelayCountsAsFarAsTheThreadHasRun) {
  delay::GlobalLedger& global = control_->ledger;
  delay::ThreadLedger& ledger = control_->threads[0].ledger;
  // Its stretches are all in the selected unit, of which half is to be saved.
  delay::Stretches& stretches = ledger.stretches;
  for (int i = 0; i < 64; ++i) stretches.Count(delay::SampledUnit::kSelected, 0);
  stretches.Resume(1);
  stretches.Accrue(1 + 400 * kNsPerMs);
  stretches.End(nullptr, 1 + 400 * kNsPerMs);
  global.selection = 1;
  const uint64_t start_ns = MonotonicNowNs();
  delay::ImposeSample(
      global, ledger,
      {delay::SampledUnit::kSelected, 500 * kNsPerMs, 1000 * kNsPerMs, ~uint64_t{0}, 1}, start_ns);
  ASSERT_TRUE(delay::Accrues(ledger));
  EXPECT_EQ(ledger.local_delay_ns, 0u);
  delay::ResumeStretch(ledger, start_ns - 400 * kNsPerMs);
  const uint64_t virtual_ns = VirtualTimeOfVisitNs(global, ledger);
  const uint64_t late_ns = MonotonicNowNs() - start_ns;
  EXPECT_LE(virtual_ns, start_ns + late_ns - 200 * kNsPerMs);
  EXPECT_GE(ledger.local_delay_ns, 200 * kNsPerMs);
  EXPECT_LE(ledger.local_delay_ns, 200 * kNsPerMs + late_ns / 2 + 1);
  EXPECT_EQ(global.global_delay_ns, ledger.local_delay_ns);
}

TEST_F(TimedVisitsTest, EveryRequestGetsItsOwnLatency) {
  const auto table = std::make_unique<RequestTable>();
  const shared::PointSlot& end = control_->points[0];
  const shared::PointSlot& other = control_->points[1];
  uint64_t latency_ns = 0;
  for (uint64_t id = 0; id < 1000; ++id) table->Begin(end, id, id);
  table->Begin(other, 7, 500);
  for (uint64_t id = 1000; id-- > 0;) {
    ASSERT_TRUE(table->End(end, id, 5000, &latency_ns)) << id;
    EXPECT_EQ(latency_ns, 5000 - id);
  }
  EXPECT_FALSE(table->End(end, 7, 5000, &latency_ns)) << "ended twice";
  EXPECT_TRUE(table->End(other, 7, 600, &latency_ns));
  EXPECT_EQ(latency_ns, 100u);
}

TEST_F(TimedVisitsTest, FullTableForgetsRequestsAndGoesOn) {
  const auto table = std::make_unique<RequestTable>();
  const shared::PointSlot& end = control_->points[0];
  for (uint64_t id = 0; id < 100000; ++id) table->Begin(end, id, id);
  uint64_t latency_ns = 0;
  int known = 0;
  for (uint64_t id = 0; id < 100000; ++id)
    known += table->End(end, id, id + 1, &latency_ns) ? 1 : 0;
  EXPECT_GT(known, 10000);
  table->Begin(end, 1, 10);
  EXPECT_TRUE(table->End(end, 1, 15, &latency_ns));
  EXPECT_EQ(latency_ns, 5u);
}

TEST_F(TimedVisitsTest, BucketsAreOrderedAndNarrow) {
  uint32_t last = 0;
  for (uint64_t ns = 1; ns < uint64_t{1} << 40; ns += 1 + ns / 50) {
    const uint32_t bucket = shared::LatencyBucket(ns);
    EXPECT_GE(bucket, last);
    EXPECT_LE(bucket, last + 1);
    last = bucket;
  }
  EXPECT_NE(shared::LatencyBucket(1000), shared::LatencyBucket(1070));
}

}  // namespace
}  // namespace coz::runtime
