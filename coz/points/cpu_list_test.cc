#include "coz/points/cpu_list.h"

#include <sched.h>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace coz::points {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(CpuListTest, ListsMayHaveGaps) {
  EXPECT_THAT(ParseCpuList("0"), ElementsAre(0));
  EXPECT_THAT(ParseCpuList("0-3"), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(ParseCpuList("0,2-3,64"), ElementsAre(0, 2, 3, 64));
  EXPECT_THAT(ParseCpuList("0-1\n"), ElementsAre(0, 1));
}

TEST(CpuListTest, WhatIsNoListIsEmpty) {
  for (const char* text : {"", ",", "a", "3-1", "-1", "0,,1", "1,1", "0-99999999"}) {
    EXPECT_THAT(ParseCpuList(text), IsEmpty()) << text;
  }
}

TEST(CpuListTest, ThisCpuIsPossible) {
  const int cpu = sched_getcpu();
  EXPECT_THAT(PossibleCpus(), Contains(cpu));
}

}  // namespace
}  // namespace coz::points
