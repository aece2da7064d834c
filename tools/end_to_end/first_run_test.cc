// What somebody meets who runs coz for the first time: commands that work when they are pasted.
#include <cctype>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "coz/report/wording/text_layout.h"
#include "coz/testing/coz_run.h"
#include "coz/testing/run_command.h"
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
  static std::vector<std::string> Lines(const std::string& text) {
    return absl::StrSplit(text, '\n');
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
    std::string hint = Behind("For all of it: ", run.errors);
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

// Each page at several widths; what is left of the parser would stand here first.
TEST_F(FirstRunTest, HelpFitsTheTerminal) {
  const CommandResult all = Shell(absl::StrCat("COLUMNS=72 ", Coz()));
  EXPECT_EQ(all.status, 0);
  EXPECT_EQ(all.output, Shell(absl::StrCat("COLUMNS=72 ", Coz(), " help")).output);
  EXPECT_EQ(all.output, Shell(absl::StrCat("COLUMNS=72 ", Coz(), " --help")).output);
  std::vector<std::string> commands = {""};
  for (const std::string& line : Lines(all.output)) {
    const bool is_entry = line.size() > 3 && line.substr(0, 2) == "  " && islower(line[2]) != 0;
    if (is_entry) commands.push_back(line.substr(2, line.find(' ', 2) - 2));
  }
  EXPECT_GE(commands.size(), 14u);
  for (const std::string& command : commands) {
    for (const int width : {50, 72, 100}) {
      const std::string page =
          Shell(absl::StrCat("COLUMNS=", width, " ", Coz(), " help ", command)).output;
      EXPECT_THAT(page, HasSubstr("Usage: coz"));
      EXPECT_THAT(page, HasSubstr("\nOptions:\n"));
      for (const char* debris : {"INT", "FLOAT", "UINT", "TEXT", ":{", "NONNEG", "REQUIRED"}) {
        EXPECT_THAT(page, Not(HasSubstr(debris))) << command;
      }
      for (const std::string& line : Lines(page)) {
        // A command of an example stays whole.
        if (absl::StrContains(line, Coz())) continue;
        EXPECT_LE(report::DisplayWidth(line), width) << line;
      }
    }
  }
}

TEST_F(FirstRunTest, WordsBehindTheProgramAreTheProgramsOwn) {
  const std::string run = absl::StrCat(Coz(), " run --follow=exec -o x.pb ");
  for (const char* separator : {"", "--- ", "-- "}) {
    const CommandResult echo =
        Shell(absl::StrCat(run, "--seed 3 ", separator, "echo --output=y.pb -v --- -- --help"));
    EXPECT_EQ(echo.output, "--output=y.pb -v --- -- --help\n") << separator << echo.errors;
  }
  EXPECT_FALSE(std::filesystem::exists(Path("y.pb")));
  EXPECT_EQ(Shell(absl::StrCat(run, "--append echo -o")).output, "-o\n") << "a flag has no value";
}

TEST_F(FirstRunTest, NothingMeasuredHasAStatusOfItsOwn) {
  const CommandResult run = Run({}, {Puppet("busy"), "0.3", "never"});
  EXPECT_EQ(run.status, 0) << "the program's own";
  const CommandResult report = testing::RunCommand({Coz(), "report"}, options_);
  EXPECT_EQ(report.status, 3);
  EXPECT_THAT(report.output, HasSubstr("Nothing was measured: no progress point "));
}

TEST_F(FirstRunTest, RunThatMeasuresNothingReplacesNoProfile) {
  Run({"-o", "kept.pb"}, {Puppet("busy"), "1.5"});
  const uint64_t first = Profile("kept.pb").session(0).id();
  const CommandResult nothing = Run({"-o", "kept.pb"}, {Puppet("busy"), "0.3", "never"});
  EXPECT_THAT(nothing.errors, HasSubstr("kept.pb is still the profile of an earlier run"));
  EXPECT_EQ(Profile("kept.pb").session(0).id(), first);
  EXPECT_FALSE(std::filesystem::exists(Path("kept.pb.1")));
  const CommandResult second = Run({"-o", "kept.pb"}, {Puppet("busy"), "1.5"});
  EXPECT_THAT(second.errors, HasSubstr("The one before is in kept.pb.1; the last 9 are kept.\n"));
  EXPECT_EQ(Profile("kept.pb.1").session(0).id(), first);
}

// Neither does one whose program cannot be started.
TEST_F(FirstRunTest, RunThatDoesNotStartReplacesNoProfile) {
  Run({}, {Puppet("busy"), "1.5"});
  const uint64_t first = Profile().session(0).id();
  std::ofstream(Path("text")) << "text";
  std::filesystem::permissions(Path("text"), std::filesystem::perms::owner_all);
  EXPECT_EQ(Run({"--follow=all"}, {"./text"}).status, 126);
  EXPECT_EQ(Profile().session(0).id(), first);
}

}  // namespace
}  // namespace coz
