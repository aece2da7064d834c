#include "coz/supervisor/run/valid_utf8.h"

#include <string>

#include "gtest/gtest.h"

namespace coz::supervisor {
namespace {

TEST(ValidUtf8Test, KeepsCharactersAndReplacesOtherBytes) {
  EXPECT_EQ(ValidUtf8(""), "");
  EXPECT_EQ(ValidUtf8("order \u00fc"), "order \u00fc");
  EXPECT_EQ(ValidUtf8("a\xff\xfe"), "a??");
  EXPECT_EQ(ValidUtf8("cut \xe2\x82"), "cut ??");
}

}  // namespace
}  // namespace coz::supervisor
