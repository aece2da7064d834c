#include "coz/report/text/text_layout.h"

#include <string>

#include "gtest/gtest.h"

namespace coz::report {
namespace {

TEST(TextLayoutTest, WidthCountsColumnsNotBytes) {
  EXPECT_EQ(DisplayWidth("abc"), 3);
  EXPECT_EQ(DisplayWidth("größe"), 5);
  EXPECT_EQ(DisplayWidth("日本"), 4);
  EXPECT_EQ(DisplayWidth("e\u0301"), 1);
  EXPECT_EQ(DisplayWidth("\xff\xc3"), 2);
}

TEST(TextLayoutTest, ElidingNeverExceedsTheWidth) {
  EXPECT_EQ(ElideFront("/src/long/path.cc:12", 11), "…path.cc:12");
  EXPECT_EQ(ElideEnd("a_long_name", 6), "a_lon…");
  EXPECT_EQ(ElideEnd("日本語", 4), "日…");
  EXPECT_EQ(ElideFront("日本語", 4), "…語");
  EXPECT_EQ(ElideEnd("abc", 3), "abc");
  EXPECT_EQ(ElideEnd("abc", 0), "");
}

TEST(TextLayoutTest, FunctionsLoseParametersThenTemplatesThenScopes) {
  const std::string name =
      "std::vector<int> app::queue<int, std::less<int>>::push(int const&, long)";
  EXPECT_EQ(ShortenFunction(name, 100), name);
  EXPECT_EQ(ShortenFunction(name, 60), "std::vector<int> app::queue<int, std::less<int>>::push(…)");
  EXPECT_EQ(ShortenFunction(name, 45), "std::vector<…> app::queue<…>::push(…)");
  EXPECT_EQ(ShortenFunction(name, 20), "app::queue<…>::push");
  EXPECT_EQ(ShortenFunction(name, 16), "app::queue::push");
  EXPECT_EQ(ShortenFunction(name, 12), "queue::push");
  EXPECT_EQ(ShortenFunction(name, 5), "push");
  EXPECT_EQ(ShortenFunction("a_function_of_c", 8), "a_funct…");
}

TEST(TextLayoutTest, ControlCharactersAreMadeHarmless) {
  EXPECT_EQ(Printable("a\x1b[2Jb\xff"), "a?[2Jb?");
  EXPECT_EQ(Printable("größe"), "größe");
}

TEST(TextLayoutTest, CommonFolderEndsAtASlash) {
  EXPECT_EQ(CommonFolder({"/a/bc/x.cc", "/a/bd/y.cc"}), "/a/");
  EXPECT_EQ(CommonFolder({"/a/x.cc"}), "/a/");
  EXPECT_EQ(CommonFolder({"x.cc", "y.cc"}), "");
  EXPECT_EQ(CommonFolder({}), "");
}

TEST(TextLayoutTest, LongLinesAreBrokenBetweenWords) {
  EXPECT_EQ(Wrapped("  note: one two three\nshort\n", 14), "  note: one\n    two three\nshort\n");
  EXPECT_EQ(Wrapped("  two  blanks stay", 40), "  two  blanks stay");
  EXPECT_EQ(Wrapped("größe größe", 11), "größe größe");
  EXPECT_EQ(Wrapped("a_word_that_is_too_long b", 10), "a_word_that_is_too_long\n  b");
  EXPECT_EQ(Wrapped("", 10), "");
  EXPECT_EQ(Wrapped("\n\n", 10), "\n\n");
}

TEST(TextLayoutTest, CommandsStayWhole) {
  EXPECT_EQ(Wrapped("look with `coz run --- ./app`.", 20), "look with\n  `coz run --- ./app`.");
  EXPECT_EQ(Wrapped("one ` is no command here", 14), "one ` is no\n  command here");
}

TEST(TextLayoutTest, ColorTakesNoColumns) {
  EXPECT_EQ(Wrapped("\033[1;32mfaster\033[0m x", 8), "\033[1;32mfaster\033[0m x");
}

TEST(TextLayoutTest, TableAlignsWideCharacters) {
  TextTable table({Align::kLeft, Align::kRight});
  table.AddRow({"日本", "1"});
  table.AddRow({"a", "22"});
  EXPECT_EQ(table.Render(1), " 日本   1\n a     22\n");
}

}  // namespace
}  // namespace coz::report
