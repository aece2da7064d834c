#include "coz/points/line_begins.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace coz::points {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr auto kAbove = StatementRow::kAbove;
constexpr auto kAtLine = StatementRow::kAtLine;
constexpr auto kBelow = StatementRow::kBelow;

// Code from address 0 on, where the function begins.
LineBegins Find(const std::vector<uint8_t>& code, const std::vector<StatementRow>& rows,
                const std::set<uint64_t>& behind_last_calls = {}) {
  return FindLineBegins({{{0, code.data(), code.size()}}, 0, behind_last_calls}, rows);
}

TEST(LineBeginsTest, EachCopyOfALineInAnUnrolledLoopBeginsAVisit) {
  const LineBegins begins = Find({0x90, 0x90, 0x90, 0xc3}, {{0, kAbove, 3},
                                                            {0, kAtLine, 5},
                                                            {1, kAbove, 3},
                                                            {1, kAtLine, 5},
                                                            {2, kAbove, 3},
                                                            {2, kAtLine, 5},
                                                            {3, kAbove, 3}});
  EXPECT_THAT(begins.addresses, ElementsAre(0, 1, 2));
  EXPECT_EQ(begins.in_a_row, 2u);
}

TEST(LineBeginsTest, RoundsOfALoopAreOneVisitToItsHead) {
  const LineBegins begins = Find({0x90, 0x90, 0x90, 0xc3}, {{0, kAtLine, 3},
                                                            {0, kBelow, 5},
                                                            {1, kAtLine, 3},
                                                            {1, kBelow, 5},
                                                            {2, kAtLine, 3},
                                                            {3, kBelow, 5}});
  EXPECT_THAT(begins.addresses, ElementsAre(0));
  EXPECT_EQ(begins.left_out, 2u);
}

TEST(LineBeginsTest, MixedCodeOfNeighboursIsOneVisit) {
  const LineBegins begins = Find(
      {0x90, 0x90, 0x90, 0xc3}, {{0, kAbove, 3}, {1, kAtLine, 5}, {2, kAbove, 7}, {3, kAtLine, 9}});
  EXPECT_THAT(begins.addresses, ElementsAre(1));
}

// je 4; nop; ret; nop; ret
TEST(LineBeginsTest, BothArmsOfAConditionBeginAVisit) {
  const LineBegins begins = Find({0x74, 0x02, 0x90, 0xc3, 0x90, 0xc3},
                                 {{0, kAbove, 3}, {2, kAtLine, 5}, {4, kAtLine, 5}});
  EXPECT_THAT(begins.addresses, ElementsAre(2, 4));
  EXPECT_EQ(begins.again, 0u);
}

// je 4; nop; nop; nop; ret
TEST(LineBeginsTest, VisitThatIsUnderWayDoesNotCountAgainWhereAnotherJoinsIt) {
  const LineBegins begins = Find({0x74, 0x02, 0x90, 0x90, 0x90, 0xc3},
                                 {{0, kAtLine, 5}, {2, kAbove, 5}, {4, kAtLine, 5}});
  EXPECT_THAT(begins.addresses, ElementsAre(0, 3)) << "the last instruction before both are one";
}

// nop; jmp 0
TEST(LineBeginsTest, SaysThatALoopBeginsWhereTheLineDoes) {
  const LineBegins begins = Find({0x90, 0xeb, 0xfd}, {{0, kAtLine, 5}, {1, kBelow, 5}});
  EXPECT_THAT(begins.addresses, ElementsAre(0));
  EXPECT_EQ(begins.again, 1u);
}

// nop; call; nop; ret
TEST(LineBeginsTest, CallThatDoesNotReturnLeadsNowhere) {
  const std::vector<uint8_t> code = {0x90, 0xe8, 0, 0, 0, 0, 0x90, 0xc3};
  const std::vector<StatementRow> rows = {{0, kAtLine, 5}, {1, kAbove, 5}, {6, kAtLine, 5}};
  EXPECT_THAT(Find(code, rows).addresses, ElementsAre(0, 6));
  EXPECT_THAT(Find(code, rows, {6}).addresses, ElementsAre(0));
}

// ret; nop; ret
TEST(LineBeginsTest, WhatOnlyAnExceptionReachesCountsWhereNothingElseDoes) {
  const std::vector<uint8_t> code = {0xc3, 0x90, 0xc3};
  EXPECT_THAT(Find(code, {{1, kAtLine, 5}}).addresses, ElementsAre(1));
  EXPECT_THAT(Find(code, {{0, kAtLine, 5}, {1, kAtLine, 5}}).addresses, ElementsAre(0));
}

// jmp *%rax; nop; ret: as by the table of a switch
TEST(LineBeginsTest, FollowsAJumpByATable) {
  EXPECT_THAT(Find({0xff, 0xe0, 0x90, 0xc3}, {{0, kAbove, 3}, {2, kAtLine, 5}}).addresses,
              ElementsAre(2));
}

// je 3; nop; nop; ret: an early return to the bracket behind a statement
TEST(LineBeginsTest, BracketBehindTheStatementIsNoVisitWhereStatementsAreMarked) {
  const std::vector<uint8_t> code = {0x74, 0x01, 0x90, 0x90, 0xc3};
  const std::vector<StatementRow> rows = {{0, kAbove, 3}, {2, kAtLine, 3}, {3, kAtLine, 12}};
  FunctionCode function = {{{0, code.data(), code.size()}}, 0, {}};
  EXPECT_EQ(FindLineBegins(function, rows).again, 1u);
  function.marks_statements = true;
  EXPECT_THAT(FindLineBegins(function, rows).addresses, ElementsAre(2));
  EXPECT_EQ(FindLineBegins(function, rows).again, 0u);
}

TEST(LineBeginsTest, CodeThatIsNoneHasNoBegin) {
  EXPECT_THAT(Find({0x06, 0x90}, {{1, kAtLine, 5}}).addresses, IsEmpty());
}

}  // namespace
}  // namespace coz::points
