#include "coz/shared/call_paths.h"

#include <memory>
#include <set>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace coz::shared {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// The path of a walk that meets these functions, innermost first.
CallPath Walk(uint32_t callers, const std::vector<uint32_t>& functions) {
  CallPath path(callers);
  for (uint32_t function : functions) {
    if (path.Add(function)) break;
  }
  return path;
}

std::vector<uint32_t> FunctionsOf(const CallPath& path) {
  std::vector<uint32_t> functions;
  for (uint32_t i = 0; i < path.count(); ++i) functions.push_back(path.at(i));
  return functions;
}

class CallPathsTest : public ::testing::Test {
 protected:
  // From the innermost, as the table has them.
  std::vector<uint32_t> InTable(uint32_t unit) const {
    uint32_t parts[kMaxUnitParts];
    const uint32_t count = PartsOfUnit(*paths_, unit, parts);
    return {std::reverse_iterator(parts + count), std::reverse_iterator(parts)};
  }

  std::unique_ptr<CallPaths> paths_ = std::make_unique<CallPaths>();
};

TEST(CallPathTest, RecursionFolds) {
  EXPECT_THAT(FunctionsOf(Walk(1, {1, 1, 1, 2, 3})), ElementsAre(1, 2));
  EXPECT_THAT(FunctionsOf(Walk(2, {1, 2, 1, 2, 3, 4})), ElementsAre(1, 2, 3));
  EXPECT_THAT(FunctionsOf(Walk(2, {1, 1})), ElementsAre(1));
}

TEST(CallPathTest, IsCompleteWithAsManyCallersAsAskedFor) {
  EXPECT_FALSE(Walk(1, {1, 1}).IsComplete());
  EXPECT_TRUE(Walk(1, {1, 1, 2}).IsComplete());
  EXPECT_FALSE(Walk(4, {1, 2, 3, 4}).IsComplete());
  EXPECT_TRUE(Walk(4, {1, 2, 3, 4, 5, 6}).IsComplete());
  EXPECT_EQ(Walk(100, {1, 2, 3, 4, 5, 6}).count(), kMaxPathFunctions);
}

TEST_F(CallPathsTest, PathHasOneUnitAndAFunctionAloneItsOwn) {
  const uint32_t unit = PathUnit(*paths_, Walk(1, {7, 8}));
  EXPECT_GE(unit, kFirstPathUnit);
  EXPECT_EQ(PathUnit(*paths_, Walk(1, {7, 7, 8})), unit);
  EXPECT_NE(PathUnit(*paths_, Walk(1, {8, 7})), unit);
  EXPECT_EQ(PathUnit(*paths_, Walk(1, {7})), 7u);
  EXPECT_THAT(InTable(unit), ElementsAre(7, 8));
  EXPECT_THAT(InTable(7), ElementsAre(7));
  EXPECT_THAT(InTable(PathUnit(*paths_, Walk(3, {0, 3, kUnknownCaller}))),
              ElementsAre(0, 3, kUnknownCaller));
}

TEST_F(CallPathsTest, AUnitIsAnotherInEachThreadGroup) {
  const uint32_t path = PathUnit(*paths_, Walk(4, {1, 2, 3, 4, 5}));
  const uint32_t line = UnitInThreadGroup(*paths_, 7, 0);
  EXPECT_EQ(UnitInThreadGroup(*paths_, 7, 0), line);
  EXPECT_NE(UnitInThreadGroup(*paths_, 7, 1), line);
  EXPECT_NE(UnitInThreadGroup(*paths_, 8, 0), line);
  EXPECT_THAT(InTable(line), ElementsAre(7, kFirstThreadGroup));
  EXPECT_THAT(InTable(UnitInThreadGroup(*paths_, path, 2)),
              ElementsAre(1, 2, 3, 4, 5, kFirstThreadGroup + 2));
}

TEST_F(CallPathsTest, FullTableGivesNoUnitAndKeepsWhatItHas) {
  const uint32_t first = PathUnit(*paths_, Walk(1, {0, 1}));
  uint32_t refused = 0;
  for (uint32_t caller = 1; caller <= 2 * kMaxCallPaths; ++caller) {
    if (PathUnit(*paths_, Walk(1, {0, caller})) == kNoUnit) ++refused;
  }
  EXPECT_GE(refused, kMaxCallPaths);
  EXPECT_LT(refused, kMaxCallPaths + kMaxCallPaths / 10);  // only a full table refuses
  EXPECT_EQ(PathUnit(*paths_, Walk(1, {0, 1})), first);
}

TEST_F(CallPathsTest, WhatIsNoPathHasNoFunctions) {
  EXPECT_THAT(InTable(kFirstPathUnit), IsEmpty());
  EXPECT_THAT(InTable(kFirstPathUnit + kMaxCallPaths), IsEmpty());
  EXPECT_THAT(InTable(kNoUnit), IsEmpty());
  paths_->entries[5] = (uint64_t{kFirstPathUnit} + 5 + 1) << 32 | 9;  // called by itself
  EXPECT_THAT(InTable(kFirstPathUnit + 5), IsEmpty());
}

TEST_F(CallPathsTest, ThreadsThatMeetAPathAtATimeAgree) {
  constexpr uint32_t kPaths = 2000;
  std::vector<std::vector<uint32_t>> units(4);
  std::vector<std::thread> threads;
  threads.reserve(units.size());
  for (std::vector<uint32_t>& mine : units) {
    threads.emplace_back([&] {
      for (uint32_t i = 0; i < kPaths; ++i) mine.push_back(PathUnit(*paths_, Walk(1, {i, i + 1})));
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(std::set<uint32_t>(units[0].begin(), units[0].end()).size(), kPaths);
  for (const std::vector<uint32_t>& others : units) EXPECT_EQ(others, units[0]);
}

}  // namespace
}  // namespace coz::shared
