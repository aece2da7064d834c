#include "coz/supervisor/doctor/unseen_waits.h"

#include <set>
#include <string>

#include "coz/testing/run_command.h"
#include "gtest/gtest.h"

namespace coz::supervisor {
namespace {

using Names = std::set<std::string>;

TEST(UnseenWaitsTest, FindsCallsAndOwnSystemCallsOfAProgram) {
  const UnseenWaits waits =
      FindUnseenWaits(testing::RunfilePath("coz/supervisor/doctor/unseen_program"));
  EXPECT_EQ(waits.calls, (Names{"flockfile", "lio_listio64"}));
  EXPECT_EQ(waits.own_system_calls, Names{"futex"});
  EXPECT_TRUE(waits.libraries.empty());
}

TEST(UnseenWaitsTest, OrdinaryProgramHasNone) {
  EXPECT_FALSE(FindUnseenWaits(testing::RunfilePath("coz/testing/puppets/busy")).Any());
  EXPECT_FALSE(FindUnseenWaits("/nowhere/at/all").Any());
}

TEST(UnseenWaitsTest, SanitizersAreLeftAlone) {
  EXPECT_FALSE(FindUnseenWaits("/lib/x86_64-linux-gnu/libc.so.6").own_system_calls.empty());
  EXPECT_TRUE(FindUnseenWaits("/lib/x86_64-linux-gnu/libtsan.so.2").own_system_calls.empty());
}

TEST(UnseenWaitsTest, ANumberFarFromTheInstructionIsNoCall) {
  const std::string move("\xb8\xca\x00\x00\x00", 5);
  const std::string call("\x0f\x05", 2);
  EXPECT_EQ(OwnSystemCalls(move + call), Names{"futex"});
  EXPECT_EQ(OwnSystemCalls(move + std::string(20, '\x90') + call), Names{"futex"});
  EXPECT_EQ(OwnSystemCalls(move + std::string(60, '\x90') + call), Names{});
  EXPECT_EQ(OwnSystemCalls(move), Names{});
  EXPECT_EQ(OwnSystemCalls("\x0f"), Names{});
}

}  // namespace
}  // namespace coz::supervisor
