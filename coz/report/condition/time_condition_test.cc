#include "coz/report/condition/time_condition.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace coz::report {
namespace {

using ::testing::HasSubstr;

// A visit takes 20 % more time than before (10 to 30); of the other point nothing is known.
ProfileDiff Slower() {
  ProfileDiff diff;
  PointDiff point;
  point.name = "app::Serve(int)";
  point.gain = Estimate{-0.2, -0.3, -0.1};
  PointDiff unknown;
  unknown.name = "start";
  diff.points = {point, unknown};
  return diff;
}

// The sentence, "" where the condition does not hold, or the error.
std::string Find(const std::string& text, const ProfileDiff& diff = Slower()) {
  const auto condition = TimeCondition::Parse(text);
  if (!condition.ok()) return std::string(condition.status().message());
  const auto found =
      condition->Find(diff, [](const std::string&, const std::vector<std::string>& names) {
        return names.empty() ? std::string() : "; known: " + names.front();
      });
  return found.ok() ? found->value_or("") : std::string(found.status().message());
}

TEST(TimeConditionTest, HoldsWhereAVisitTakesLonger) {
  EXPECT_EQ(Find("time(app::Serve(int)) > 5%"),
            "a visit of app::Serve(int) takes, by the lower bound, 10.0 % more time than before, "
            "so --fail-if='time(app::Serve(int)) > 5%' holds");
  EXPECT_NE(Find("time(Serve*)>=0.1"), "");
  EXPECT_NE(Find(" time.value ( * ) > 19 % "), "");
  EXPECT_THAT(Find("time.high(*) > 25%"), HasSubstr("by the upper bound, 30.0 % more"));
}

TEST(TimeConditionTest, DoesNotHoldWhereThatIsNotCertain) {
  EXPECT_EQ(Find("time(Serve*) > 15%"), "");
  EXPECT_EQ(Find("time.value(Serve*) > 20%"), "");
  EXPECT_EQ(Find("time(Serve*) < 25%"), "");
  EXPECT_NE(Find("time(Serve*) < 35%"), "");
}

TEST(TimeConditionTest, LessTimeIsANegativeChange) {
  ProfileDiff faster = Slower();
  faster.points[0].gain = Estimate{0.2, 0.1, 0.3};
  faster.points[0].is_latency = true;
  EXPECT_EQ(Find("time(Serve*) > -5%", faster), "");
  EXPECT_THAT(
      Find("time(Serve*) < -5%", faster),
      HasSubstr("a request of app::Serve(int) takes, by the upper bound, 10.0 % less time"));
}

TEST(TimeConditionTest, WhatFitsNoFigureIsAnError) {
  EXPECT_THAT(Find("time(requests) > 5%"), HasSubstr("fits no progress point; known: app::Serve"));
  EXPECT_THAT(Find("time(start) > 5%"), HasSubstr("whose time is not known in both profiles"));
  EXPECT_THAT(Find("time(*) > 5%", ProfileDiff()), HasSubstr("fits no progress point"));
}

TEST(TimeConditionTest, OtherTextsAreNoConditions) {
  for (const char* text : {"", "time > 5%", "time() > 5%", "time( ) > 5%", "time(*)", "time(*) > x",
                           "time(*) > 5x", "time(*) == 5%", "gain(a.cc:*) > 5%", "time.mean(*) > 1",
                           "time(*) > nan", "time(*) > inf"}) {
    EXPECT_THAT(Find(text), HasSubstr("is no condition on two profiles; write one like")) << text;
  }
  EXPECT_THAT(Find("time(" + std::string(2000, 'a') + ") > 1"), HasSubstr("is no condition"));
}

}  // namespace
}  // namespace coz::report
