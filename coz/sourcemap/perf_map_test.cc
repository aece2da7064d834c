#include "coz/sourcemap/perf_map.h"

#include <array>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace coz::sourcemap {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> FedInPartsOf(size_t bytes, const std::string& text, uint64_t* bad) {
  PerfMapParser parser;
  std::vector<std::string> entries;
  for (size_t at = 0; at < text.size(); at += bytes) {
    parser.Feed(text.substr(at, bytes), [&entries](const PerfMapEntry& entry) {
      entries.push_back(std::to_string(entry.start) + "+" + std::to_string(entry.size) + " " +
                        std::string(entry.name));
    });
  }
  *bad = parser.bad_lines();
  return entries;
}

TEST(PerfMapParserTest, LinesAreReadWhereverTheyAreCut) {
  const std::string text = "10 8 JS:*f /a.js:1:2\n0x0000000000000020 0x10 int A.b(int)\n30 1 begun";
  for (size_t bytes = 1; bytes <= text.size(); ++bytes) {
    uint64_t bad = 0;
    EXPECT_THAT(FedInPartsOf(bytes, text, &bad),
                ElementsAre("16+8 JS:*f /a.js:1:2", "32+16 int A.b(int)"));
    EXPECT_EQ(bad, 0u);
  }
}

TEST(PerfMapParserTest, LinesThatAreNoEntriesAreCounted) {
  uint64_t bad = 0;
  const std::string long_line(2 * PerfMapParser::kMaxLineBytes, 'a');
  EXPECT_THAT(FedInPartsOf(1000,
                           "x\n10\n10 8\n10 8 \n-1 8 f\nfffffffffffffff0 20 f\n"
                           "11111111111111111 1 f\n" +
                               long_line + "\n10 8 " + long_line + "\n10 0 none\n\n10 8 f\n",
                           &bad),
              ElementsAre("16+8 f"));
  EXPECT_EQ(bad, 9u);
}

std::string Parsed(std::string_view name) {
  const JitFunction parsed = ParseJitName(name);
  return parsed.function + "|" + parsed.file + "|" + std::to_string(parsed.line);
}

TEST(ParseJitNameTest, VersionsOfScriptFunctionAreOneFunction) {
  for (const char* name : {"JS:~f /a b/c.js:12:5", "JS:^f /a b/c.js:12:5", "JS:*f /a b/c.js:12:5",
                           "LazyCompile:*f /a b/c.js:12:5", "JS:*'f file:///a b/c.js:12:5"}) {
    EXPECT_EQ(Parsed(name), "f|/a b/c.js|12");
  }
}

TEST(ParseJitNameTest, FunctionsHaveTheNameOfTheMap) {
  EXPECT_EQ(Parsed("JS:*get size /c.js:3:4"), "get size|/c.js|3");
  EXPECT_EQ(Parsed("JS:*emit node:events:465:44"), "emit|node:events|465");
  EXPECT_EQ(Parsed("JS:* /a/c.js:12:5"), "c.js:12:5|/a/c.js|12");
  EXPECT_EQ(Parsed("Script:~ /a/c.js:1:1"), "c.js:1:1|/a/c.js|1");
  EXPECT_EQ(Parsed("JS:*f"), "JS:*f||0");
  EXPECT_EQ(Parsed("int Two.hot(int)"), "Two.hot(int)||0");
  EXPECT_EQ(Parsed("StubRoutines (1)"), "StubRoutines (1)||0");
  EXPECT_EQ(Parsed("Lcom/x/Foo;::bar"), "Lcom/x/Foo;::bar||0");
  EXPECT_EQ(Parsed("RegExp:a:1:2"), "RegExp:a:1:2||0");
}

TEST(ParseJitNameTest, NameIsAlwaysPrintableUtf8) {
  EXPECT_EQ(Parsed("na\xc3\xafve\x1b[2J"), "na\xc3\xafve?[2J||0");
  EXPECT_EQ(Parsed("\xff\xc3"), "??||0");
  EXPECT_EQ(Parsed("JS:*f \xed\xa0\x80:1:1"), "f|???|1");
  EXPECT_EQ(ParseJitName(std::string(5000, 'a')).function.size(), 512u);
}

std::string Shown(const CodeRanges& ranges) {
  std::string shown;
  for (const auto& [start, range] : ranges.ranges()) {
    shown += std::to_string(start) + "-" + std::to_string(range.end) + ":" +
             std::to_string(range.unit) + " ";
  }
  return shown;
}

TEST(CodeRangesTest, LaterCodeTakesTheAddressesOfEarlierCode) {
  CodeRanges ranges(100);
  EXPECT_TRUE(ranges.Put(10, 20, 1));
  EXPECT_TRUE(ranges.Put(30, 40, 2));
  EXPECT_TRUE(ranges.Put(13, 15, 3));
  EXPECT_EQ(Shown(ranges), "10-13:1 13-15:3 15-20:1 30-40:2 ");
  EXPECT_TRUE(ranges.Put(18, 35, 4));
  EXPECT_EQ(Shown(ranges), "10-13:1 13-15:3 15-18:1 18-35:4 35-40:2 ");
  EXPECT_TRUE(ranges.Put(0, 50, 5));
  EXPECT_EQ(Shown(ranges), "0-50:5 ");
  EXPECT_TRUE(ranges.Put(0, 50, 6));
  EXPECT_EQ(Shown(ranges), "0-50:6 ");
}

TEST(CodeRangesTest, ThereAreAtMostSoManyRanges) {
  CodeRanges ranges(4);
  EXPECT_TRUE(ranges.Put(0, 10, 1));
  EXPECT_TRUE(ranges.Put(4, 5, 2));
  EXPECT_FALSE(ranges.Put(20, 30, 3));
  EXPECT_FALSE(ranges.Put(30, 30, 3));
  ranges.Clear();
  EXPECT_THAT(ranges.ranges(), IsEmpty());
}

TEST(CodeRangesTest, CodeThatMovesTakesItsUnitsAlong) {
  CodeRanges ranges(8);
  ranges.Put(100, 110, 1);
  ranges.Put(110, 120, 2);
  EXPECT_TRUE(ranges.Move(105, 205, 10));
  std::vector<std::array<uint64_t, 3>> seen;
  for (const auto& [start, range] : ranges.ranges()) seen.push_back({start, range.end, range.unit});
  EXPECT_EQ(seen, (std::vector<std::array<uint64_t, 3>>{
                      {100, 110, 1}, {110, 120, 2}, {205, 210, 1}, {210, 215, 2}}));
  EXPECT_TRUE(ranges.Move(1000, 2000, 10)) << "nothing is there";
}

}  // namespace
}  // namespace coz::sourcemap
