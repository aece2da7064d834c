#include "coz/points/point_spec.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace coz::points {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(PointSpecTest, NamesALine) {
  const absl::StatusOr<PointSpec> spec = ParsePointSpec("src/main.cc:12");
  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_EQ(spec->file, "src/main.cc");
  EXPECT_EQ(spec->line, 12u);
  EXPECT_EQ(spec->function, "");
  EXPECT_EQ(spec->binary, "");
}

TEST(PointSpecTest, NamesAFunctionOfALibrary) {
  const absl::StatusOr<PointSpec> spec = ParsePointSpec("libz.so*!inflate");
  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_EQ(spec->binary, "libz.so*");
  EXPECT_EQ(spec->function, "inflate");
  EXPECT_EQ(ParsePointSpec("ns::operator!")->function, "ns::operator!");
}

TEST(PointSpecTest, NamesAProbeInTheSource) {
  const absl::StatusOr<PointSpec> spec = ParsePointSpec("libpq.so*!usdt:post*:query__done");
  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_EQ(spec->binary, "libpq.so*");
  EXPECT_EQ(spec->provider, "post*");
  EXPECT_EQ(spec->probe, "query__done");
  EXPECT_EQ(spec->function, "");
  for (const char* text : {"usdt:", "usdt:server", "usdt::done", "usdt:server:"}) {
    EXPECT_THAT(ParsePointSpec(text).status().message(), HasSubstr("usdt:PROVIDER:NAME"));
  }
}

TEST(PointSpecTest, RefusesWhatNamesNothing) {
  EXPECT_THAT(ParsePointSpec("").status().message(), HasSubstr("FILE:LINE"));
  EXPECT_THAT(ParsePointSpec("main.cc:0").status().message(), HasSubstr("main.cc:12"));
  EXPECT_THAT(ParsePointSpec("main.cc:").status().message(), HasSubstr("main.cc:12"));
  EXPECT_THAT(ParsePointSpec("main.cc:1x").status().message(), HasSubstr("main.cc:12"));
  EXPECT_THAT(ParsePointSpec("!f").status().message(), HasSubstr("BINARY!FUNCTION"));
}

TEST(PointSpecTest, PairIsSplitOutsideOfBrackets) {
  const auto pair = SplitPair("f<int, char>(a, b),g.cc:7");
  ASSERT_TRUE(pair.ok()) << pair.status();
  EXPECT_EQ(pair->first, "f<int, char>(a, b)");
  EXPECT_EQ(pair->second, "g.cc:7");
  for (const char* wrong : {"f", "f,", ",g", "f,g,h"}) {
    EXPECT_THAT(SplitPair(wrong).status().message(), HasSubstr("BEGIN,END")) << wrong;
  }
}

TEST(PointSpecTest, GlobsMatchAnyRunOfCharacters) {
  EXPECT_TRUE(MatchesGlob("leveldb::*::Finished*",
                          "leveldb::(anonymous namespace)::Stats::FinishedSingleOp"));
  EXPECT_TRUE(MatchesGlob("a?c", "abc"));
  EXPECT_FALSE(MatchesGlob("a?c", "ac"));
  EXPECT_FALSE(MatchesGlob("a*b", "abc"));
  EXPECT_TRUE(MatchesGlob("*", ""));
}

TEST(PointSpecTest, ParametersAreCutOff) {
  EXPECT_EQ(WithoutParameters("ns::f<int>(char, int (*)(int)) const"), "ns::f<int>");
  EXPECT_EQ(WithoutParameters("ns::operator()(int)"), "ns::operator()");
  EXPECT_EQ(WithoutParameters("(anonymous namespace)::f()"), "(anonymous namespace)::f");
  EXPECT_EQ(WithoutParameters("f(int) [clone .constprop.0]"), "f");
  EXPECT_EQ(WithoutParameters("main"), "main");
  EXPECT_EQ(WithoutArguments("ns::f<int>(char) const"), "ns::f");
  EXPECT_EQ(WithoutArguments("Rounds<Work(int)::<lambda(int)> >"), "Rounds");
}

TEST(PointSpecTest, FunctionIsNamedByItsLastParts) {
  const char* const mangled = "_ZN7leveldb9Benchmark3RunEi";
  const char* const name = "leveldb::Benchmark::Run(int)";
  for (const char* wanted : {"Run", "Benchmark::Run", "leveldb::Benchmark::Run", mangled, name,
                             "leveldb::*::Run", "*Run", "_ZN*RunEi", "Benchmark::Run(int)"}) {
    EXPECT_TRUE(MatchesFunction(wanted, mangled, name)) << wanted;
  }
  for (const char* wanted : {"un", "mark::Run", "Run(char)", "leveldb::Run", "Runs", "run"}) {
    EXPECT_FALSE(MatchesFunction(wanted, mangled, name)) << wanted;
  }
  EXPECT_TRUE(MatchesFunction("Sort", "_Z4SortIiEvv", "void Sort<int>()"));
  EXPECT_TRUE(MatchesFunction("Sort<int>", "_Z4SortIiEvv", "void Sort<int>()"));
  EXPECT_TRUE(
      MatchesFunction("gen::show", "_RINvCsgwiwt6F3Sso_3gen4showyEB2_", "gen::show::<u64>"));
}

TEST(PointSpecTest, ClosestNamesComeFirst) {
  const std::vector<std::string> names = {"Server::Replay(int)", "Server::Reply(int)", "main",
                                          "Client::Request()"};
  EXPECT_THAT(ClosestMatches("Server::Rply", names, 2),
              ElementsAre("Server::Reply(int)", "Server::Replay(int)"));
  EXPECT_THAT(ClosestMatches("quaternion", names, 2), IsEmpty());
}

}  // namespace
}  // namespace coz::points
