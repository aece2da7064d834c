#include "coz/report/wording/typed_name.h"

#include "gtest/gtest.h"

namespace coz::report {
namespace {

TEST(TypedNameTest, FoldersAndNamespacesMayBeLeftOut) {
  EXPECT_TRUE(MatchesName("/src/app/server.cc:12", "/src/app/server.cc:12"));
  EXPECT_TRUE(MatchesName("server.cc:12", "/src/app/server.cc:12"));
  EXPECT_TRUE(MatchesName("app/server.cc:12", "/src/app/server.cc:12"));
  EXPECT_FALSE(MatchesName("erver.cc:12", "/src/app/server.cc:12"));
  EXPECT_TRUE(MatchesName("Run(int, char)", "app::Run(int, char)"));
  EXPECT_FALSE(MatchesName("run", "app::Run"));
}

TEST(TypedNameTest, StarStandsForAnyCharacters) {
  EXPECT_TRUE(MatchesName("server.cc:*", "/src/app/server.cc:12"));
  EXPECT_TRUE(MatchesName("*", "anything"));
  EXPECT_FALSE(MatchesName("server.cc:*", "/src/app/lock.cc:12"));
}

TEST(TypedNameTest, NamesFitAsReportsShortenThem) {
  EXPECT_TRUE(MatchesName("Parser::Split(…)", "app::Parser::Split(std::string, int)"));
  EXPECT_TRUE(MatchesName("queue<…>::push(…)", "app::queue<int>::push(int)"));
  EXPECT_FALSE(MatchesName("Parser::Split(…)", "Parser::SplitAll(int)"));
}

TEST(TypedNameTest, OtherWildcardsAreOrdinaryCharacters) {
  EXPECT_TRUE(MatchesName("operator[](*)", "V::operator[](int)"));
  EXPECT_FALSE(MatchesName("operator[a](int)", "operatora(int)"));
  EXPECT_FALSE(MatchesName("lin?", "line"));
  EXPECT_TRUE(MatchesName("a\\b", "a\\b"));
}

}  // namespace
}  // namespace coz::report
