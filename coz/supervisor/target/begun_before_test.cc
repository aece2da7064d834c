#include "coz/supervisor/target/begun_before.h"

#include "gtest/gtest.h"

namespace coz::supervisor {
namespace {

TEST(BegunBeforeTest, NobodyIsUnderWayAsLongAsBeginsAreAhead) {
  BegunBefore begun;
  begun.LookAtThread(0, {4, 5});
  begun.LookAtThread(1, {7, 7});
  begun.LookAtAll({11, 12});
  EXPECT_EQ(begun.requests(), 0u);
}

// Of four threads two had one, and all are never idle together.
TEST(BegunBeforeTest, ThreadsThatServeOneAfterTheOtherTellForThemselves) {
  BegunBefore begun;
  begun.LookAtThread(3, {5, 4});
  begun.LookAtAll({5, 7});
  begun.LookAtThread(3, {8, 8});
  begun.LookAtThread(9, {1, 0});
  begun.LookAtAll({9, 12});
  EXPECT_EQ(begun.requests(), 2u);
}

// One thread begins, another one ends; three were under way.
TEST(BegunBeforeTest, BetweenThreadsTheSumsTell) {
  BegunBefore begun;
  begun.LookAtThread(0, {0, 1});
  begun.LookAtThread(1, {1, 0});
  begun.LookAtAll({1, 1});
  EXPECT_EQ(begun.requests(), 1u) << "not known yet";
  begun.LookAtThread(0, {0, 20});
  begun.LookAtThread(1, {23, 0});
  begun.LookAtAll({23, 20});
  EXPECT_EQ(begun.requests(), 3u);
  begun.LookAtAll({30, 31});
  EXPECT_EQ(begun.requests(), 3u);
}

}  // namespace
}  // namespace coz::supervisor
