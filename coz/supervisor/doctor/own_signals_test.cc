#include "coz/supervisor/doctor/own_signals.h"

#include <string>

#include "gtest/gtest.h"

namespace coz::supervisor {
namespace {

const std::string kMoveNumber("\xb8\x0d\x00\x00\x00", 5);
const std::string kMoveNumberLong("\x48\xc7\xc0\x0d\x00\x00\x00", 7);
const std::string kMoveTrap("\xbf\x05\x00\x00\x00", 5);
const std::string kMoveFault("\xbf\x0b\x00\x00\x00", 5);
const std::string kMoveFromOther("\x89\xdf", 2);  // mov %ebx, %edi
const std::string kSystemCall("\x0f\x05", 2);
const std::string kNops(40, '\x90');

TEST(OwnSignalsTest, CallForTheTrapOrForAnySignalIsFound) {
  for (const std::string& number : {kMoveNumber, kMoveNumberLong}) {
    EXPECT_TRUE(SetsActionOfTrap(kNops + kMoveTrap + number + kSystemCall));
    EXPECT_TRUE(SetsActionOfTrap(kNops + number + kMoveTrap + kSystemCall));
    EXPECT_TRUE(SetsActionOfTrap(kNops + kMoveFromOther + number + kSystemCall));
    EXPECT_TRUE(SetsActionOfTrap(number + kSystemCall));
  }
}

TEST(OwnSignalsTest, CallForAnotherSignalAndOtherCallsAreNot) {
  EXPECT_FALSE(SetsActionOfTrap(kNops + kMoveFault + kMoveNumber + kSystemCall));
  EXPECT_FALSE(SetsActionOfTrap(kNops + kMoveNumber + kMoveFault + kSystemCall));
  EXPECT_FALSE(SetsActionOfTrap(kMoveNumber + kNops + kSystemCall));
  EXPECT_FALSE(SetsActionOfTrap(std::string("\xb8\x0e\x00\x00\x00", 5) + kSystemCall));
  EXPECT_FALSE(SetsActionOfTrap(kMoveNumber));
  EXPECT_FALSE(SetsActionOfTrap(""));
}

TEST(OwnSignalsTest, SanitizersAndGoAreLeftAlone) {
  sourcemap::BinaryInfo info;
  info.path = "/lib/x86_64-linux-gnu/libc.so.6";
  EXPECT_TRUE(TakesSignalsItself(info));
  info.is_go = true;
  EXPECT_FALSE(TakesSignalsItself(info));
  info.is_go = false;
  info.path = "/lib/x86_64-linux-gnu/libasan.so.8";
  EXPECT_FALSE(TakesSignalsItself(info));
}

}  // namespace
}  // namespace coz::supervisor
