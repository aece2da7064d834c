// What somebody meets who runs coz for the first time: commands that work when they are pasted.
#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "coz/testing/coz_run.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace coz {
namespace {

using ::coz::testing::CommandResult;
using ::coz::testing::Coz;
using ::coz::testing::Puppet;
using ::testing::HasSubstr;
using ::testing::Not;

class FirstRunTest : public ::coz::testing::CozRunTest {
 protected:
  CommandResult Shell(const std::string& command) {
    return testing::RunCommand({"/bin/bash", "-c", command}, options_);
  }
  // The options and the program of a short run.
  static std::string ShortRun(const std::string& output) {
    return absl::StrCat("run -o '", output, "' --experiment-length=0.1 --- ", Puppet("busy"), " 1");
  }
  // What stands behind `mark` up to the end of its line.
  static std::string Behind(const std::string& mark, const std::string& text) {
    const size_t at = text.find(mark);
    if (at == std::string::npos) {
      ADD_FAILURE() << mark << " is not in: " << text;
      return "false";
    }
    const size_t begin = at + mark.size();
    return text.substr(begin, text.find('\n', begin) - begin);
  }
  // Runs coz as `word`, pastes the command that it ends with, and returns that.
  std::string PastedHint(const std::string& setup, const std::string& word) {
    const CommandResult run = Shell(absl::StrCat(setup, word, " ", ShortRun("a profile.pb")));
    EXPECT_EQ(run.status, 0) << run.errors;
    const std::string hint = Behind("For all of it: ", run.errors);
    const CommandResult pasted = Shell(absl::StrCat(setup, hint));
    EXPECT_EQ(pasted.status, 0) << pasted.errors;
    EXPECT_THAT(pasted.output, HasSubstr("busy.c:"));
    return hint;
  }
};

TEST_F(FirstRunTest, HintNamesThePathByWhichItWasStarted) {
  EXPECT_EQ(PastedHint("", Coz()), absl::StrCat(Coz(), " report 'a profile.pb'"));
  std::filesystem::create_directory(Path("my tools"));
  std::filesystem::create_symlink(Coz(), Path("my tools/coz"));
  EXPECT_EQ(PastedHint("", "'my tools/coz'"), "'my tools/coz' report 'a profile.pb'");
}

TEST_F(FirstRunTest, HintIsShortWhereThePathLeadsToIt) {
  const std::string folder = std::filesystem::path(Coz()).parent_path().string();
  const std::string setup = absl::StrCat("PATH=", folder, ":$PATH; ");
  EXPECT_EQ(PastedHint(setup, "coz"), "coz report 'a profile.pb'");
}

TEST_F(FirstRunTest, HintDoesNotLeadToAnotherCoz) {
  std::filesystem::create_directory(Path("others"));
  std::filesystem::copy("/bin/false", Path("others/coz"));
  const std::string hint =
      PastedHint("PATH=$PWD/others:$PATH; ", absl::StrCat("exec -a coz ", Coz()));
  EXPECT_TRUE(absl::StartsWith(hint, "/")) << hint;
}

// As ./bazelw run //tools:coz leaves it: another folder, and an argv[0] in Bazel's own.
TEST_F(FirstRunTest, HintNamesBazelsLink) {
  std::filesystem::create_directories(Path("workspace/bazel-bin/tools"));
  std::filesystem::create_symlink(Coz(), Path("workspace/bazel-bin/tools/coz"));
  const std::string by_bazel = absl::StrCat(
      "BUILD_WORKSPACE_DIRECTORY=$PWD/workspace "
      "COZ_CALLER_PWD=$PWD/workspace ",
      Coz(), " ");
  const CommandResult run = Shell(absl::StrCat(by_bazel, ShortRun("profile.pb")));
  EXPECT_THAT(run.errors, HasSubstr("For all of it: bazel-bin/tools/coz report profile.pb\n"));
}

TEST_F(FirstRunTest, ErrorsNameItToo) {
  const CommandResult result = testing::RunCommand({Coz(), "report", "missing.pb"}, options_);
  EXPECT_THAT(result.errors, HasSubstr(absl::StrCat("`", Coz(), " run --- ")));
}

}  // namespace
}  // namespace coz
