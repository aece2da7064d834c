#include "coz/runtime/progress_points.h"

#include <string>
#include <thread>
#include <vector>

#include "coz/runtime/coz.h"
#include "coz/testing/zeroed_control.h"
#include "gtest/gtest.h"

namespace coz::runtime {
namespace {

testing::OwnedControl NewControl() { return testing::ZeroedControl(); }

TEST(ProgressPointsTest, FindsAPointByKindAndName) {
  const auto control = NewControl();
  shared::PointSlot* begin = FindOrAddPoint(*control, shared::PointKind::kBegin, "order");
  shared::PointSlot* end = FindOrAddPoint(*control, shared::PointKind::kEnd, "order");
  EXPECT_NE(begin, end);
  EXPECT_EQ(FindOrAddPoint(*control, shared::PointKind::kBegin, "order"), begin);
  EXPECT_EQ(FindOrAddPoint(*control, shared::PointKind::kEnd, "order"), end);
  EXPECT_STREQ(end->name, "order");
}

TEST(ProgressPointsTest, KeepsTheEndOfALongName) {
  const auto control = NewControl();
  const std::string name = std::string(500, 'x') + "/main.cc:12";
  const shared::PointSlot* point =
      FindOrAddPoint(*control, shared::PointKind::kThroughput, name.c_str());
  ASSERT_NE(point, nullptr);
  EXPECT_EQ(std::string(point->name), name.substr(name.size() - (shared::kPointNameBytes - 1)));
  EXPECT_EQ(FindOrAddPoint(*control, shared::PointKind::kThroughput, name.c_str()), point);
}

TEST(ProgressPointsTest, CountsPointsThatFindNoSlot) {
  const auto control = NewControl();
  for (uint32_t i = 0; i < shared::kMaxPoints; ++i) {
    ASSERT_NE(FindOrAddPoint(*control, shared::PointKind::kThroughput, std::to_string(i).c_str()),
              nullptr);
  }
  EXPECT_EQ(FindOrAddPoint(*control, shared::PointKind::kThroughput, "one more"), nullptr);
  EXPECT_EQ(control->counters.points_without_slot.load(), 1u);
  EXPECT_NE(FindOrAddPoint(*control, shared::PointKind::kThroughput, "17"), nullptr);
}

TEST(ProgressPointsTest, GivesOneSlotToThreadsThatComeTogether) {
  const auto control = NewControl();
  std::vector<shared::PointSlot*> found(4);
  std::vector<std::thread> threads;
  threads.reserve(found.size());
  for (shared::PointSlot*& slot : found) {
    threads.emplace_back(
        [&] { slot = FindOrAddPoint(*control, shared::PointKind::kThroughput, "requests"); });
  }
  for (std::thread& thread : threads) thread.join();
  for (const shared::PointSlot* slot : found) EXPECT_EQ(slot, &control->points[0]);
  EXPECT_EQ(control->points[1].state.load(), shared::PointState::kFree);
}

TEST(ProgressPointsTest, FindsMarksInDataAndNothingElse) {
  alignas(8) static coz_mark_t marks[] = {
      {{COZ_MARK_MAGIC_0, COZ_MARK_MAGIC_1}, "first", COZ_COUNTER_TYPE_THROUGHPUT, 0},
      {{COZ_MARK_MAGIC_0, 1}, "half a magic", COZ_COUNTER_TYPE_THROUGHPUT, 0},
      {{COZ_MARK_MAGIC_0, COZ_MARK_MAGIC_1}, "wrong type", 9, 0},
      {{COZ_MARK_MAGIC_0, COZ_MARK_MAGIC_1}, "second", COZ_COUNTER_TYPE_END, 0},
  };
  const auto control = NewControl();
  AddPointsOfMarks(*control, marks, marks + 4);
  EXPECT_STREQ(control->points[0].name, "first");
  EXPECT_STREQ(control->points[1].name, "second");
  EXPECT_EQ(control->points[1].kind, shared::PointKind::kEnd);
  EXPECT_EQ(control->points[2].state.load(), shared::PointState::kFree);
}

TEST(ProgressPointsTest, DoesNotReadBeyondTheData) {
  alignas(8) static coz_mark_t mark = {
      {COZ_MARK_MAGIC_0, COZ_MARK_MAGIC_1}, "cut", COZ_COUNTER_TYPE_THROUGHPUT, 0};
  const auto control = NewControl();
  AddPointsOfMarks(*control, &mark, reinterpret_cast<const char*>(&mark + 1) - 1);
  EXPECT_EQ(control->points[0].state.load(), shared::PointState::kFree);
}

}  // namespace
}  // namespace coz::runtime
