#include "coz/report/wording/text_layout.h"

#include <string>

#include "absl/strings/string_view.h"
#include "gtest/gtest.h"

namespace coz::report {
namespace {

TEST(TextLayoutTest, PathsBeginBehindTheBuildsFolder) {
  EXPECT_EQ(WithoutBuildFolder("/proc/self/cwd/src/a.cc"), "src/a.cc");
  EXPECT_EQ(WithoutBuildFolder("/proc/self/cwd/"), "");
  EXPECT_EQ(WithoutBuildFolder("/home/me/.cache/bazel/x/execroot/app/src/a.cc"), "src/a.cc");
  EXPECT_EQ(WithoutBuildFolder("/x/execroot/app/bazel-out/k8-opt/bin/src/gen.cc"), "src/gen.cc");
  EXPECT_EQ(WithoutBuildFolder("/proc/self/cwd/bazel-out/k8-opt/bin/gen.cc"), "gen.cc");
  for (const char* plain : {"/home/me/app/a.cc", "a.cc", "src/bin/a.cc", "", "/x/execroot"}) {
    EXPECT_EQ(WithoutBuildFolder(plain), plain);
  }
}

TEST(TextLayoutTest, OnlyOneIsCountedWithoutAnS) {
  EXPECT_EQ(Counted(0, "sample"), "0 samples");
  EXPECT_EQ(Counted(1, "sample"), "1 sample");
  EXPECT_EQ(Counted(2, "sample"), "2 samples");
  EXPECT_EQ(Counted(1, "binary"), "1 binary");
  EXPECT_EQ(Counted(2, "binary"), "2 binaries");
  EXPECT_EQ(Counted(2, "process"), "2 processes");
}

TEST(TextLayoutTest, FiguresHaveNoExponent) {
  EXPECT_EQ(Figure(0.45678), "0.457");
  EXPECT_EQ(Figure(999.4), "999");
  EXPECT_EQ(Figure(999.6), "1000");
  EXPECT_EQ(Figure(4108.3), "4108");
  EXPECT_EQ(Figure(335.72, 4), "335.7");
  EXPECT_EQ(Figure(12345.6, 4), "12346");
  EXPECT_EQ(Figure(0), "0");
}

TEST(TextLayoutTest, WidthCountsColumnsNotBytes) {
  EXPECT_EQ(DisplayWidth("abc"), 3);
  EXPECT_EQ(DisplayWidth("größe"), 5);
}

TEST(TextLayoutTest, TheWidestLineCounts) {
  EXPECT_EQ(WidestLine("ab\ngröße\na\n"), 5);
  EXPECT_EQ(WidestLine(""), 0);
}

TEST(TextLayoutTest, MarksAndJoinersTakeNoColumn) {
  EXPECT_EQ(DisplayWidth("e\u0301"), 1);
  EXPECT_EQ(DisplayWidth("\u05d1\u05b7"), 1);  // a Hebrew letter with a vowel
  EXPECT_EQ(DisplayWidth("\u0e01\u0e34"), 1);  // a Thai letter with a vowel
  EXPECT_EQ(DisplayWidth("a\u200db"), 2);
  EXPECT_EQ(DisplayWidth("\u2764\ufe0f"), 1);
}

TEST(TextLayoutTest, WideCharactersTakeTwoColumns) {
  EXPECT_EQ(DisplayWidth("日本"), 4);
  EXPECT_EQ(DisplayWidth("한국"), 4);
  EXPECT_EQ(DisplayWidth("ひらカナ"), 8);
  EXPECT_EQ(DisplayWidth("Ａ"), 2);            // fullwidth
  EXPECT_EQ(DisplayWidth("\U0001f600"), 2);    // emoji
  EXPECT_EQ(DisplayWidth("\u231a"), 2);        // an emoji outside of the emoji blocks
  EXPECT_EQ(DisplayWidth("\U00020000"), 2);    // a Chinese character beyond 16 bits
  EXPECT_EQ(DisplayWidth("\u2026\u00b1"), 2);  // "…±" of the report itself are narrow
}

// One column each, for the '?' that Printable makes of them.
TEST(TextLayoutTest, ControlCharactersAndBrokenUtf8TakeOneColumn) {
  EXPECT_EQ(DisplayWidth("\x1b\x7f\u0085"), 3);
  EXPECT_EQ(DisplayWidth(absl::string_view("\0", 1)), 1);
  EXPECT_EQ(DisplayWidth("\xff\xc3"), 2);
  EXPECT_EQ(DisplayWidth("\xc0\x80"), 2);          // overlong
  EXPECT_EQ(DisplayWidth("\xed\xa0\x80"), 3);      // a surrogate
  EXPECT_EQ(DisplayWidth("\xf4\x90\x80\x80"), 4);  // above U+10FFFF
  EXPECT_EQ(DisplayWidth("日\xe6\x97"), 4);        // cut off
  EXPECT_EQ(Printable("\u0085\xc0\x80\xed\xa0\x80日\xe6\x97"), "??????日??");
}

TEST(TextLayoutTest, ElidingNeverExceedsTheWidth) {
  EXPECT_EQ(ElideFront("/src/long/path.cc:12", 11), "…path.cc:12");
  EXPECT_EQ(ElideEnd("a_long_name", 6), "a_lon…");
  EXPECT_EQ(ElideEnd("日本語", 4), "日…");
  EXPECT_EQ(ElideFront("日本語", 4), "…語");
  EXPECT_EQ(ElideEnd("abc", 3), "abc");
  EXPECT_EQ(ElidePath("/src/long/path.cc:12", 20), "/src/long/path.cc:12");
  EXPECT_EQ(ElidePath("/src/long/path.cc:12", 13), "…g/path.cc:12");
  EXPECT_EQ(ElidePath("/usr/lib/ext.cpython-311-x86_64-linux-gnu.so", 25),
            "ext.cpython-311-…x-gnu.so");
  EXPECT_EQ(ElidePath("/src/日本語日本語.cc", 8), "日本…cc");
  EXPECT_EQ(ElidePath("/src/game.cc:36", 10), "game.cc:36");
  EXPECT_EQ(ElidePath("/src/zstd_lazy.c:1876", 12), "zstd_l…:1876");
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

TEST(TextLayoutTest, SentencesBeginWithACapital) {
  EXPECT_EQ(Capitalized("no sample"), "No sample");
  EXPECT_EQ(Capitalized("größe"), "Größe");
  EXPECT_EQ(Capitalized("äpfel"), "äpfel");
  EXPECT_EQ(Capitalized(""), "");
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

TEST(TextLayoutTest, FiguresStayWhole) {
  EXPECT_EQ(Wrapped("a gain of 14 % now", 13), "a gain of\n  14 % now");
  EXPECT_EQ(Wrapped("a gain, 14 %, now", 9), "a gain,\n  14 %,\n  now");
  EXPECT_EQ(Wrapped("-s % is a scope", 3), "-s\n  %\n  is\n  a\n  scope");
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
