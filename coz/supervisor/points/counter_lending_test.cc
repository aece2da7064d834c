#include "coz/supervisor/points/counter_lending.h"

#include <unistd.h>

#include <memory>
#include <string>

#include "coz/points/visit_counter.h"
#include "coz/testing/capabilities.h"
#include "gtest/gtest.h"

namespace coz::supervisor {
namespace {

class CounterLendingTest : public ::testing::Test {
 protected:
  CounterLendingTest() : lent_(std::make_unique<shared::LentCounters>()) {}
  // Of visits to nothing.
  std::string Open() {
    absl::StatusOr<points::VisitCounter> counter =
        points::VisitCounter::ForBreakpoint(getpid(), false);
    if (!counter.ok()) {
      return "required breakpoints, actual: " + std::string(counter.status().message());
    }
    counter_ = std::make_unique<points::VisitCounter>(*std::move(counter));
    return "";
  }

  std::unique_ptr<shared::LentCounters> lent_;
  std::unique_ptr<points::VisitCounter> counter_;
};

TEST_F(CounterLendingTest, EventsAndEarlierVisitsAreLent) {
  COZ_REQUIRE_CAPABILITY(Open());
  const std::vector<int> descriptors = counter_->Descriptors();
  ASSERT_TRUE(LendCounters(
      {{3, shared::PairEnd::kBegin, 50, descriptors}, {3, shared::PairEnd::kEnd, 0, descriptors}},
      lent_.get()));
  EXPECT_EQ(lent_->version, 2u);
  ASSERT_EQ(lent_->used, 3u);
  EXPECT_EQ(lent_->counters[0].fd, -1);
  EXPECT_EQ(lent_->counters[0].visits_before, 50u);
  EXPECT_EQ(lent_->counters[1].fd, descriptors[0]);
  EXPECT_NE(lent_->counters[1].event, 0u);
  EXPECT_EQ(lent_->counters[1].visits_before, 0u);
  EXPECT_EQ(lent_->counters[1].end, shared::PairEnd::kBegin);
  EXPECT_EQ(lent_->counters[2].end, shared::PairEnd::kEnd);
  EXPECT_EQ(lent_->counters[2].point, 3u);
}

TEST_F(CounterLendingTest, VersionChangesWithTheCountersOnly) {
  ASSERT_TRUE(LendCounters({{3, shared::PairEnd::kBegin, 50, {}}}, lent_.get()));
  ASSERT_TRUE(LendCounters({{3, shared::PairEnd::kBegin, 50, {}}}, lent_.get()));
  EXPECT_EQ(lent_->version, 2u);
  ASSERT_TRUE(LendCounters({{3, shared::PairEnd::kBegin, 51, {}}}, lent_.get()));
  EXPECT_EQ(lent_->version, 4u);
}

TEST_F(CounterLendingTest, OfMoreThanHaveRoomNoneIsLent) {
  const std::vector<int> room(shared::kMaxLentCounters, STDIN_FILENO);
  EXPECT_TRUE(LendCounters({{3, shared::PairEnd::kEnd, 0, room}}, lent_.get()));
  EXPECT_EQ(lent_->used, shared::kMaxLentCounters);
  EXPECT_FALSE(LendCounters({{3, shared::PairEnd::kEnd, 1, room}}, lent_.get()));
  EXPECT_EQ(lent_->used, 0u);
  EXPECT_EQ(lent_->version, 4u);
}

}  // namespace
}  // namespace coz::supervisor
