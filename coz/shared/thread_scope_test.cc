#include "coz/shared/thread_scope.h"

#include <cstdio>

#include "gtest/gtest.h"

namespace coz::shared {
namespace {

TEST(ThreadScopeTest, APatternMatchesTheWholeName) {
  EXPECT_TRUE(MatchesThreadName("worker", "worker"));
  EXPECT_FALSE(MatchesThreadName("worker", "worker1"));
  EXPECT_FALSE(MatchesThreadName("worker1", "worker"));
  EXPECT_FALSE(MatchesThreadName("", "worker"));
  EXPECT_TRUE(MatchesThreadName("", ""));
}

TEST(ThreadScopeTest, StarAndPercentStandForAnyCharacters) {
  for (const char* pattern : {"w*", "w%", "*r", "%k%", "*", "w*k*", "**worker**", "w*o*e*"}) {
    EXPECT_TRUE(MatchesThreadName(pattern, "worker")) << pattern;
  }
  for (const char* pattern : {"v*", "*w", "w*x*", "*e"}) {
    EXPECT_FALSE(MatchesThreadName(pattern, "worker")) << pattern;
  }
  EXPECT_TRUE(MatchesThreadName("*", ""));
  EXPECT_TRUE(MatchesThreadName("*ab", "aab"));  // the star takes more where it has to
  EXPECT_TRUE(MatchesThreadName("*rocksdb:low*", "rocksdb:low0"));
}

TEST(ThreadScopeTest, AQuestionMarkStandsForOneCharacter) {
  EXPECT_TRUE(MatchesThreadName("io-?", "io-3"));
  EXPECT_FALSE(MatchesThreadName("io-?", "io-"));
  EXPECT_FALSE(MatchesThreadName("io-?", "io-12"));
}

TEST(ThreadScopeTest, WithoutPatternsEveryThreadIsInScope) {
  EXPECT_TRUE(IsInThreadScope(ThreadScope{}, "anything"));
}

TEST(ThreadScopeTest, OnePatternIsEnough) {
  ThreadScope scope = {};
  for (const char* pattern : {"io*", "main"}) {
    snprintf(scope.patterns[scope.patterns_used++], kThreadPatternBytes, "%s", pattern);
  }
  EXPECT_TRUE(IsInThreadScope(scope, "io-1"));
  EXPECT_TRUE(IsInThreadScope(scope, "main"));
  EXPECT_FALSE(IsInThreadScope(scope, "worker"));
}

}  // namespace
}  // namespace coz::shared
