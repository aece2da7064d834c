#include "coz/report/condition/fail_condition.h"

#include <algorithm>
#include <string>
#include <vector>

#include "coz/report/testing/synthetic_profile.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace coz::report {
namespace {

using report_testing::SyntheticProfile;
using ::testing::HasSubstr;

class FailConditionTest : public ::testing::Test {
 protected:
  FailConditionTest()
      : made_({}, {{"/src/app/server.cc", 12, "Serve()", 0.5, 0.5, {}},
                   {"/src/app/lock.cc", 3, "Lock()", 0.3, -0.3, {}},
                   {"/src/app/rare.cc", 9, "Rare()", 0.1, 0, {}}}) {
    made_.AddRandomExperiments(120);
    made_.AddExperiment(2, 0.5);
    table_ = BuildExperimentTable(made_.profile());
    analysis_ = Analyze(made_.profile(), table_);
    for (LineAnalysis& line : analysis_.points[0].lines) {
      if (line.unit == 2)
        analysis_.points[0].set_aside.push_back({2, SetAsideReason::kFewSpeedups});
    }
    auto& lines = analysis_.points[0].lines;
    lines.erase(std::remove_if(lines.begin(), lines.end(),
                               [](const LineAnalysis& line) { return line.unit == 2; }),
                lines.end());
  }

  // The sentence, "" where the condition does not hold, or the error.
  std::string Find(const std::string& text) {
    const auto condition = FailCondition::Parse(text);
    if (!condition.ok()) return std::string(condition.status().message());
    const auto found = condition->Find(table_, analysis_,
                                       [](const std::string&, const std::vector<std::string>& n) {
                                         return "; known: " + n.front();
                                       });
    return found.ok() ? found->value_or("") : std::string(found.status().message());
  }

  SyntheticProfile made_;
  ExperimentTable table_;
  Analysis analysis_;
};

TEST_F(FailConditionTest, TheLineThatMatchedIsNamed) {
  EXPECT_THAT(Find("slope(server.cc:12) > 0.3"),
              HasSubstr("the lower bound of the slope of /src/app/server.cc:12 at requests is 0."));
  EXPECT_THAT(Find("best(requests, server.cc:*) >= 10%"),
              HasSubstr("the best predicted program speedup of /src/app/server.cc:12"));
  EXPECT_THAT(Find(" slope ( * )<-20% "), HasSubstr("lock.cc:3"));
  EXPECT_THAT(Find("gain(server.cc:12) > 10 % "), HasSubstr("the lower bound of the gain"));
  EXPECT_THAT(Find("gain(server.cc:12) > 10%"),
              HasSubstr("the lower bound of the gain at 30 % faster of /src/app/server.cc:12 at "
                        "requests is 1"));
}

TEST_F(FailConditionTest, ConditionsThatDoNotHoldAreSilent) {
  EXPECT_EQ(Find("slope(server.cc:12) > 0.6"), "");
  EXPECT_EQ(Find("slope(requests, app/server.cc:12) < 0.3"), "");
  EXPECT_EQ(Find("best(lock.cc:3) > 0"), "");
  EXPECT_EQ(Find("gain(server.cc:12) > 16%"), "");
}

TEST_F(FailConditionTest, TheBoundIsTheCertainOneUnlessToldOtherwise) {
  LineAnalysis& line = analysis_.points[0].lines[0];
  ASSERT_EQ(line.unit, 0u);
  line.slope.value = 0.4;
  line.slope.low = 0.2;
  line.slope.high = 0.6;
  EXPECT_EQ(Find("slope(server.cc:12) > 0.3"), "");
  EXPECT_EQ(Find("slope(server.cc:12) < 0.5"), "");
  EXPECT_NE(Find("slope.value(server.cc:12) > 0.3"), "");
  EXPECT_NE(Find("slope.high(server.cc:12) > 0.5"), "");
  EXPECT_NE(Find("slope.low(server.cc:12) < 0.3"), "");
}

// A lucky experiment makes one speedup look certain, and the curve hardly rises.
TEST_F(FailConditionTest, TheBestIsOfTheCurveAndNotOfOneSpeedup) {
  LineAnalysis& line = analysis_.points[0].lines[0];
  ASSERT_EQ(line.unit, 0u);
  ASSERT_FALSE(line.curve.points.empty());
  line.speedups[line.best].program_speedup = {0.9, 0.8, 1};
  EXPECT_EQ(Find("best(server.cc:12) > 75%"), "");
  line.curve.points.back().program_speedup = {0.9, 0.8, 1};
  EXPECT_THAT(Find("best(server.cc:12) > 75%"), HasSubstr("is 80.0 %"));
  line.curve.points.clear();
  EXPECT_EQ(Find("best(server.cc:12) > -100%"), "") << "nothing is known";
}

// Its upper bound is known without experiments; CI must not fail where a line has become small.
TEST_F(FailConditionTest, OfASmallLineTheLimitIsKnown) {
  LineSetAside small{2, SetAsideReason::kSmall};
  small.gain_limit = 0.1;
  analysis_.points[0].set_aside = {small};
  EXPECT_EQ(Find("gain(rare.cc:9) > 1%"), "");
  EXPECT_EQ(Find("gain.value(rare.cc:9) > -100%"), "");
  EXPECT_EQ(Find("best(rare.cc:9) < 100%"), "");
  EXPECT_EQ(Find("gain(rare.cc:9) < 2%"), "");
  EXPECT_THAT(Find("gain(rare.cc:9) < 4%"), HasSubstr("at requests is 3.0 %"));
  EXPECT_THAT(Find("slope(rare.cc:9) <= 0.1"), HasSubstr("at requests is 0.100"));
}

TEST_F(FailConditionTest, WhatFitsNothingIsAnError) {
  EXPECT_THAT(Find("slope(sever.cc:12) > 0.3"),
              HasSubstr("fits nothing in the profile; known: /src/app/server.cc:12"));
  EXPECT_THAT(Find("slope(replies, server.cc:12) > 0.3"),
              HasSubstr("fits no progress point; known: requests"));
  EXPECT_THAT(Find("slope(rare.cc:9) > 0"), HasSubstr("fits only units without a figure"));
}

TEST_F(FailConditionTest, OfFunctionsItSaysThatTheUnitsAreLines) {
  for (const char* text : {"gain(Serve) > 1%", "gain(Serve()) > 1%", "gain(requests, Ser*) > 1%"}) {
    EXPECT_THAT(Find(text), HasSubstr("the units of this profile are lines: name one, such as "
                                      "/src/app/server.cc:12, or measure functions with "
                                      "`coz run --unit=function`"))
        << text;
  }
}

TEST_F(FailConditionTest, FunctionsFitAsTheReportShowsThem) {
  for (UnitRow& unit : table_.units) unit.kind = profile::UNIT_KIND_FUNCTION;
  table_.units[0].function = "(anonymous namespace)::Parser::Split(void (*)(int), char)";
  for (const char* units : {"Parser::Split", "Parser::Split(…)", "Split", "server.cc:*",
                            "server.cc:12", "Parser::Split(void (*)(int), char)"}) {
    EXPECT_THAT(Find(std::string("gain(") + units + ") > 10%"), HasSubstr("Parser::Split("))
        << units;
  }
  for (const char* units : {"Parser::Spli", "erver.cc:*", "Parser"}) {
    EXPECT_THAT(Find(std::string("gain(") + units + ") > 10%"), HasSubstr("fits nothing")) << units;
  }
}

TEST_F(FailConditionTest, WhatIsNoConditionIsAnError) {
  for (const char* text : {"", "slope", "slope() > 1", "slope(a) > x", "slope(a) = 1",
                           "speed(a) > 1", "slope(a) > 1 x", "slope(a) > % 1", "slope(a) > 1 % %",
                           "slope(a) > nan", "slope.mid(a) > 1", "slope(a > 1"}) {
    EXPECT_THAT(Find(text), HasSubstr("is no condition; write one like")) << text;
  }
}

TEST_F(FailConditionTest, TheNameOfAPointMayHoldCommas) {
  table_.points[0].name = "Decode,Execute";
  EXPECT_THAT(Find("gain(Decode,Execute, server.cc:12) > 10%"),
              HasSubstr("/src/app/server.cc:12 at Decode,Execute is 1"));
  EXPECT_THAT(Find("gain(Decode,Other, server.cc:12) > 10%"), HasSubstr("fits no progress point"));
  EXPECT_THAT(Find("gain(Dec*, server.cc:12) > 10%"), HasSubstr("at Decode,Execute"));
}

TEST_F(FailConditionTest, APointThatMayEndAtTwoCommasIsRefused) {
  analysis_.points.push_back(analysis_.points[0]);
  analysis_.points.back().point = 1;
  table_.points.push_back(table_.points[0]);
  table_.points[1].name = "requests,slow";
  EXPECT_EQ(Find("gain(requests,slow, server.cc:12) > 10%"),
            "--fail-if='gain(requests,slow, server.cc:12) > 10%' fits the progress points requests "
            "and requests,slow; write * for the comma in the name of the point");
  EXPECT_THAT(Find("gain(requests*slow, server.cc:12) > 10%"), HasSubstr("at requests,slow is 1"));
}

TEST_F(FailConditionTest, NamesOfFunctionsMayHoldCommasAndBrackets) {
  EXPECT_THAT(Find("slope(Map<a, b>::At(int, int)) > 0"), HasSubstr("fits nothing"));
}

}  // namespace
}  // namespace coz::report
