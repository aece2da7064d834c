#include "coz/base/call_path_name.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace coz {
namespace {

using ::testing::ElementsAre;

TEST(CallPathNameTest, SeparatesCallersWithAndWithoutBlanks) {
  EXPECT_THAT(SplitCallPath("Hash<Log"), ElementsAre("Hash", "Log"));
  EXPECT_THAT(SplitCallPath("Hash < Log < main"), ElementsAre("Hash", "Log", "main"));
  EXPECT_THAT(SplitCallPath("Hash"), ElementsAre("Hash"));
  EXPECT_EQ(JoinCallPath({"Hash", "Log"}), "Hash < Log");
}

TEST(CallPathNameTest, ArgumentsOfTemplatesAreNoCallers) {
  EXPECT_THAT(SplitCallPath("ns::f<int>(long)"), ElementsAre("ns::f<int>(long)"));
  EXPECT_THAT(SplitCallPath("set<int>::find<vector<map<int, set<int>>>::at"),
              ElementsAre("set<int>::find", "vector<map<int, set<int>>>::at"));
  EXPECT_THAT(SplitCallPath("f<(3)<(4)> < g"), ElementsAre("f<(3)<(4)>", "g"));
}

TEST(CallPathNameTest, SignsOfOperatorsAreNoCallers) {
  EXPECT_THAT(SplitCallPath("operator<"), ElementsAre("operator<"));
  EXPECT_THAT(SplitCallPath("ns::operator<<<Sort"), ElementsAre("ns::operator<<<Sort"));
  EXPECT_THAT(SplitCallPath("ns::operator<< < Sort"), ElementsAre("ns::operator<<", "Sort"));
  EXPECT_THAT(SplitCallPath("T::operator->()<g"), ElementsAre("T::operator->()", "g"));
  EXPECT_THAT(SplitCallPath("f(decltype(a->b))<g"), ElementsAre("f(decltype(a->b))", "g"));
}

}  // namespace
}  // namespace coz
