#include "coz/supervisor/points/refused_calls.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace coz::supervisor {
namespace {

using ::testing::ElementsAre;

TEST(RefusedCallsTest, OneFunctionIsNamed) {
  EXPECT_THAT(
      DescribeRefusedCalls({{"libz.so!inflate", true, "threads run"}, {"Serve", false, "of that"}}),
      ElementsAre("calls of Serve are not counted in all processes, for of that",
                  "calls of libz.so!inflate are not timed in all processes, for threads run"));
}

TEST(RefusedCallsTest, ManyFunctionsOfALibraryAreOneSentence) {
  std::vector<RefusedCalls> refused;
  for (const char* name : {"e", "d", "c", "b", "a"}) {
    const std::string function = std::string("libc.so.6!") + name;
    // Of each end, and of the begin.
    refused.push_back({function, true, kBlocksInside});
    refused.push_back({function, true, kBlocksInside});
    refused.push_back({function, false, kBlocksInside});
  }
  refused.push_back({"libz.so!inflate", false, "no room"});
  refused.push_back({"libz.so!deflate", false, "no room"});
  EXPECT_THAT(DescribeRefusedCalls(refused),
              ElementsAre("calls of 5 functions of libc.so.6 are not counted in all processes, for "
                          "its library blocks SIGTRAP inside, and threads run: a, b, c and 2 more; "
                          "start the program with: coz run --- PROGRAM",
                          "calls of 2 functions of libz.so are not counted in all processes, for "
                          "no room: deflate, inflate"));
}

}  // namespace
}  // namespace coz::supervisor
