#include "coz/base/command_name.h"

#include "gtest/gtest.h"

namespace coz {
namespace {

class CommandNameTest : public ::testing::Test {
 protected:
  ~CommandNameTest() override {
    SetCommandName("coz");
    SetAttachedProcess(0);
  }
};

TEST_F(CommandNameTest, IsPlainAtFirst) {
  EXPECT_EQ(CommandName(), "coz");
  EXPECT_EQ(WithCommandName("look: `coz report a.pb`"), "look: `coz report a.pb`");
}

TEST_F(CommandNameTest, StandsInEachCommandToType) {
  SetCommandName("bazel-bin/tools/coz");
  EXPECT_EQ(WithCommandName("`coz run -b %` or `coz report`"),
            "`bazel-bin/tools/coz run -b %` or `bazel-bin/tools/coz report`");
  EXPECT_EQ(WithCommandName("look with: coz --help"), "look with: bazel-bin/tools/coz --help");
  EXPECT_EQ(WithCommandName("sudo coz run"), "sudo bazel-bin/tools/coz run");
}

TEST_F(CommandNameTest, LeavesOtherWordsAlone) {
  SetCommandName("./coz");
  for (const char* text :
       {"coz: cannot read", "another coz is writing to it", "of coz run", "libcoz.so", ": coz", "",
        "in `coz.h`", "`coz 0.1.0`", "/src/coz report/a.pb", "`cozy run`"}) {
    EXPECT_EQ(WithCommandName(text), text);
  }
}

// A name with the word in it is not looked at again.
TEST_F(CommandNameTest, MayHoldItself) {
  SetCommandName("'/my: coz run/coz'");
  EXPECT_EQ(WithCommandName("`coz plot`"), "`'/my: coz run/coz' plot`");
}

TEST_F(CommandNameTest, OfProfilingIsTheOneThatWasTyped) {
  EXPECT_EQ(ProfilingCommand("-o FILE"), "coz run -o FILE --- …");
  SetAttachedProcess(4711);
  EXPECT_EQ(ProfilingCommand("-o FILE"), "coz attach -o FILE 4711");
  EXPECT_EQ(ProfilingCommand(""), "coz attach 4711");
}

}  // namespace
}  // namespace coz
