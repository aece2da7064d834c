#include "coz/sourcemap/attribution.h"

#include <string>
#include <vector>

#include "coz/sourcemap/code_tree.h"
#include "gtest/gtest.h"

namespace coz::sourcemap {
namespace {

// Files below 10 are in scope.
constexpr uint32_t kOwn = 1;
constexpr uint32_t kOther = 2;
constexpr uint32_t kLibrary = 10;

bool IsInScope(uint32_t file) { return file < 10; }

class AttributionTest : public testing::Test {
 protected:
  AttributionTest() {
    main_.declaration = {kOwn, 100};
    helper_.declaration = {kOther, 200};
    library_.declaration = {kLibrary, 300};
  }

  void Row(uint64_t begin, uint64_t end, uint32_t file, uint32_t line, uint32_t sequence = 1) {
    rows_.push_back({begin, end, {file, line}, sequence});
  }

  // "begin-end file:line" of each line, with the function's initial.
  std::string Run() {
    std::vector<LineInterval> lines;
    Attribution(&tree_, IsInScope).Run(rows_, &lines);
    std::string text;
    for (const LineInterval& line : lines) {
      text += std::to_string(line.begin) + "-" + std::to_string(line.end) + " " +
              std::to_string(line.position.file) + ":" + std::to_string(line.position.line) +
              (line.function == &main_      ? "m"
               : line.function == &helper_  ? "h"
               : line.function == &library_ ? "l"
                                            : "-") +
              "; ";
    }
    return text;
  }

  uint32_t AddMain(uint64_t begin, uint64_t end) {
    const uint32_t root = tree_.Add(kNoInstance, {}, &main_);
    tree_.AddRange(root, begin, end);
    return root;
  }

  SourceFunction main_;
  SourceFunction helper_;
  SourceFunction library_;
  CodeTree tree_;
  std::vector<RowInterval> rows_;
};

TEST_F(AttributionTest, RowsInScopeKeepTheirLine) {
  AddMain(10, 30);
  Row(10, 20, kOwn, 5);
  Row(20, 30, kOther, 6);
  EXPECT_EQ(Run(), "10-20 1:5m; 20-30 2:6m; ");
}

TEST_F(AttributionTest, LibraryRowsBelongToTheInnermostCallInScope) {
  const uint32_t root = AddMain(10, 40);
  const uint32_t helper = tree_.Add(root, {kOwn, 7}, &helper_);
  tree_.AddRange(helper, 15, 35);
  const uint32_t sort = tree_.Add(helper, {kOther, 8}, &library_);
  tree_.AddRange(sort, 20, 30);
  const uint32_t swap = tree_.Add(sort, {kLibrary, 9}, &library_);
  tree_.AddRange(swap, 22, 24);
  Row(10, 15, kOwn, 5);
  Row(15, 20, kOther, 6);
  Row(20, 30, kLibrary, 1);
  Row(30, 40, kOwn, 5);
  EXPECT_EQ(Run(), "10-15 1:5m; 15-20 2:6h; 20-30 2:8h; 30-35 1:5h; 35-40 1:5m; ");
}

TEST_F(AttributionTest, LibraryFunctionsOutOfLineHaveNoLine) {
  const uint32_t root = tree_.Add(kNoInstance, {}, &library_);
  tree_.AddRange(root, 10, 20);
  Row(10, 20, kLibrary, 1);
  EXPECT_EQ(Run(), "");
}

TEST_F(AttributionTest, OwnCodeInsideALibraryFunctionHasItsLine) {
  const uint32_t root = tree_.Add(kNoInstance, {}, &library_);
  tree_.AddRange(root, 10, 30);
  const uint32_t callback = tree_.Add(root, {kLibrary, 3}, &helper_);
  tree_.AddRange(callback, 15, 20);
  Row(10, 15, kLibrary, 1);
  Row(15, 20, kOther, 6);
  Row(20, 30, kLibrary, 2);
  EXPECT_EQ(Run(), "15-20 2:6h; ");
}

TEST_F(AttributionTest, LibraryRowsWithoutRecordOfACallStayWithTheFunctionAroundThem) {
  AddMain(10, 40);
  Row(10, 15, kLibrary, 1);
  Row(15, 20, kOwn, 5);
  Row(20, 40, kLibrary, 2);
  EXPECT_EQ(Run(), "10-15 1:100m; 15-40 1:5m; ");
}

TEST_F(AttributionTest, LineZeroContinuesTheLastLineOfTheSameInstance) {
  const uint32_t root = AddMain(10, 50);
  const uint32_t helper = tree_.Add(root, {kOwn, 7}, &helper_);
  tree_.AddRange(helper, 20, 30);
  Row(10, 20, kOwn, 5);
  Row(20, 25, kOther, 6);
  Row(25, 30, kOther, 0);
  Row(30, 50, kOwn, 0);
  EXPECT_EQ(Run(), "10-20 1:5m; 20-30 2:6h; 30-50 1:5m; ");
}

TEST_F(AttributionTest, LineZeroAtTheStartOfAnInlinedCallBelongsToTheCall) {
  const uint32_t root = AddMain(10, 40);
  const uint32_t helper = tree_.Add(root, {kOwn, 7}, &helper_);
  tree_.AddRange(helper, 20, 40);
  Row(10, 20, kOwn, 5);
  Row(20, 30, kOther, 0);
  Row(30, 40, kOther, 6);
  EXPECT_EQ(Run(), "10-20 1:5m; 20-30 1:7m; 30-40 2:6h; ");
}

TEST_F(AttributionTest, LineZeroAtTheStartOfAFunctionBelongsToItsDeclaration) {
  AddMain(10, 30);
  Row(10, 20, kOwn, 0);
  Row(20, 30, kOwn, 5);
  EXPECT_EQ(Run(), "10-20 1:100m; 20-30 1:5m; ");
}

TEST_F(AttributionTest, LineZeroWithoutFunctionStaysWithinItsSequence) {
  Row(10, 20, kOwn, 5, 1);
  Row(20, 30, kOwn, 0, 1);
  Row(30, 40, kOwn, 0, 2);
  EXPECT_EQ(Run(), "10-30 1:5-; ");
}

TEST_F(AttributionTest, CallsOnLineZeroAreNoLines) {
  const uint32_t root = AddMain(10, 30);
  const uint32_t helper = tree_.Add(root, {kOwn, 0}, &library_);
  tree_.AddRange(helper, 20, 30);
  Row(10, 20, kOwn, 5);
  Row(20, 30, kLibrary, 3);
  EXPECT_EQ(Run(), "10-30 1:5m; ");
}

TEST(CodeTreeTest, RangesThatCrossLoseNoAddress) {
  CodeTree tree;
  const uint32_t root = tree.Add(kNoInstance, {}, nullptr);
  const uint32_t child = tree.Add(root, {}, nullptr);
  const uint32_t sibling = tree.Add(root, {}, nullptr);
  tree.AddRange(root, 10, 30);
  tree.AddRange(child, 15, 25);
  tree.AddRange(sibling, 20, 40);
  tree.AddRange(root, 50, 50);
  std::string text;
  for (const CodeSegment& segment : tree.Flatten()) {
    text += std::to_string(segment.begin) + "-" + std::to_string(segment.end) + "=" +
            std::to_string(segment.instance) + " ";
  }
  EXPECT_EQ(text, "10-15=0 15-25=1 25-40=2 ");
}

TEST(MakeDisjointTest, WhatComesFirstStaysAndNothingIsLost) {
  std::vector<CodeSegment> intervals = {
      {30, 40, 1}, {10, 35, 2}, {10, 20, 3}, {12, 50, 4}, {60, 70, 5}};
  MakeDisjoint(&intervals);
  std::string text;
  for (const CodeSegment& interval : intervals) {
    text += std::to_string(interval.begin) + "-" + std::to_string(interval.end) + "=" +
            std::to_string(interval.instance) + " ";
  }
  EXPECT_EQ(text, "10-35=2 35-50=4 60-70=5 ");
}

TEST_F(AttributionTest, CallersAreTheFunctionsInlinedIntoByACallInScope) {
  const uint32_t root = AddMain(10, 40);
  const uint32_t sort = tree_.Add(root, {kOwn, 8}, &library_);
  tree_.AddRange(sort, 20, 40);
  const uint32_t compare = tree_.Add(sort, {kLibrary, 9}, &helper_);
  tree_.AddRange(compare, 30, 40);
  Row(10, 20, kOwn, 5);
  Row(20, 30, kLibrary, 1);
  Row(30, 40, kOther, 6);
  std::vector<LineInterval> lines;
  InlinedCallers callers;
  Attribution(&tree_, IsInScope, &callers).Run(rows_, &lines);
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[0].caller, kNoCaller);
  EXPECT_EQ(lines[1].caller, kNoCaller);  // the library's code is the call's, which is in main_
  ASSERT_NE(lines[2].caller, kNoCaller);
  EXPECT_EQ(lines[2].function, &helper_);
  EXPECT_EQ(callers.at(lines[2].caller).function, &main_);
  EXPECT_EQ(callers.at(lines[2].caller).call.line, 8u);
  EXPECT_EQ(callers.at(lines[2].caller).caller, kNoCaller);
  EXPECT_EQ(callers.size(), 1u);
}

}  // namespace
}  // namespace coz::sourcemap
