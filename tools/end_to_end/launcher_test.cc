// A stranger's first run of a program that another one starts (mpirun, timeout, env, a shell): what
// coz says names the program, and the command that it prints profiles it.
#include <sys/syscall.h>

#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "coz/report/format/profile.pb.h"
#include "coz/testing/coz_run.h"
#include "coz/testing/one_sentence.h"
#include "coz/testing/run_command.h"
#include "coz/testing/whole_run.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace coz {
namespace {

using ::coz::testing::CommandResult;
using ::coz::testing::ExpectOneSentence;
using ::coz::testing::Puppet;
using ::coz::testing::SamplesInRun;
using ::coz::testing::VisitsInRun;
using ::testing::HasSubstr;
using ::testing::Not;

class LauncherTest : public ::coz::testing::CozRunTest {
 protected:
  // Runs the first command between backquotes.
  CommandResult Paste(const std::string& text) {
    const size_t begin = text.find('`') + 1;
    const std::string command = text.substr(begin, text.find('`', begin) - begin);
    CommandResult result = testing::RunCommand({"/bin/bash", "-c", command}, options_);
    EXPECT_EQ(result.status, 0) << command << result.errors;
    EXPECT_EQ(result.output, "hello\nbye\n");
    EXPECT_GT(VisitsInRun(Profile(), "work"), 0u) << result.errors;
    return result;
  }
};

TEST_F(LauncherTest, RefusalPrintsTheCommandThatProfilesItsProgram) {
  const CommandResult refused = Run({}, {Puppet("starter"), Puppet("busy"), "1"});
  ExpectOneSentence(refused, "starter has no debug information; if it only starts ");
  EXPECT_THAT(refused.errors, HasSubstr("--binary-scope=%busy --follow=all --- "));
  Paste(refused.errors);
  EXPECT_GT(SamplesInRun(Profile())["spin"], 10u);
}

TEST_F(LauncherTest, RefusalNamesTheFileBehindALink) {
  std::filesystem::create_symlink(Puppet("busy"), Path("server"));
  const CommandResult refused = Run({}, {Puppet("starter"), "./server", "1"});
  EXPECT_THAT(refused.errors, HasSubstr("if it only starts ./server, run "));
  EXPECT_THAT(refused.errors, HasSubstr("--binary-scope=%busy --follow=all --- "));
  Paste(refused.errors);
}

TEST_F(LauncherTest, RefusalKeepsTheOptions) {
  const CommandResult refused =
      Run({"--unit=function", "--progress=spin"}, {Puppet("starter"), Puppet("busy"), "1"});
  EXPECT_THAT(refused.errors, HasSubstr("starter has neither debug information nor a symbol table; "
                                        "if it only starts "));
  EXPECT_THAT(refused.errors, HasSubstr(" run --unit=function --progress=spin --binary-scope="));
  Paste(refused.errors);
  EXPECT_GT(VisitsInRun(Profile(), "spin"), 0u);
}

// A launcher may have debug information of its own.
TEST_F(LauncherTest, RefusalOfAPointNamesTheProgramThatHasIt) {
  const CommandResult refused =
      Run({"--progress=spin"}, {Puppet("under_filter"), Puppet("busy"), "1"});
  ExpectOneSentence(refused, "if it only starts ");
  EXPECT_THAT(refused.errors, HasSubstr(" run --progress=spin --binary-scope=%busy --follow=all"));
  const CommandResult neither =
      Run({"--progress=no_such"}, {Puppet("under_filter"), Puppet("busy"), "1"});
  EXPECT_THAT(neither.errors, Not(HasSubstr("if it only starts ")));
}

TEST_F(LauncherTest, RefusalChoosesUnitsThatTheProgramHas) {
  const CommandResult symbols = Run({}, {Puppet("starter"), Puppet("busy_symbols"), "1"});
  Paste(symbols.errors);
  EXPECT_GT(SamplesInRun(Profile())["spin"], 10u);
  const CommandResult stripped = Run({}, {Puppet("starter"), Puppet("busy_stripped"), "1"});
  EXPECT_THAT(stripped.errors, HasSubstr("--unit=library"));
  Paste(stripped.errors);
}

TEST_F(LauncherTest, RefusalLooksIntoTheCommandOfAShell) {
  const std::string shell = absl::StrCat("exec ", Puppet("starter"), " '", Puppet("busy"), "' 1");
  const CommandResult refused = Run({}, {Puppet("starter"), "/bin/sh", "-c", shell});
  EXPECT_THAT(refused.errors, HasSubstr("--binary-scope=%busy --follow=all --- "));
  Paste(refused.errors);
}

// There the library would be left out of the program that a launcher starts.
TEST_F(LauncherTest, RefusalPutsCozBehindAChangeOfTheUser) {
  const CommandResult whole =
      Run({"--unit=function"}, {"setpriv", "--reuid=0", Puppet("busy"), "1"});
  EXPECT_THAT(whole.errors,
              HasSubstr("another user cannot be reached from here, so start coz there: "
                        "`setpriv --reuid=0 "));
  EXPECT_THAT(whole.errors, HasSubstr(absl::StrCat(" --- ", Puppet("busy"), " 1`\n")));
  const CommandResult shell =
      Run({"--unit=function"}, {"setpriv", "sh", "-c", absl::StrCat(Puppet("busy"), " 1")});
  Paste(shell.errors);
}

TEST_F(LauncherTest, RefusalIsPlainWhereNoWordIsAProgram) {
  const CommandResult refused = Run({}, {Puppet("starter"), "no-such-program", "1"});
  ExpectOneSentence(refused, "build it with -g");
}

TEST_F(LauncherTest, EndNamesTheProgramThatRan) {
  const CommandResult nothing =
      Run({"--follow=all"}, {Puppet("starter"), Puppet("busy_symbols"), "1"});
  EXPECT_EQ(nothing.output, "hello\nbye\n");
  EXPECT_THAT(nothing.errors,
              HasSubstr("no sample fell on a line in scope; the program that starter ran is "
                        "busy_symbols; take it in with `"));
  EXPECT_THAT(nothing.errors, HasSubstr("--unit=function --binary-scope=%busy_symbols "));
  Paste(nothing.errors);
  EXPECT_GT(SamplesInRun(Profile())["spin"], 10u);
}

TEST_F(LauncherTest, EndNamesTheProgramThatAScopeMissed) {
  const CommandResult nothing =
      Run({"--follow=all", "-b", "%bussy"}, {Puppet("starter"), Puppet("busy"), "1"});
  EXPECT_THAT(nothing.errors, HasSubstr("--binary-scope=%bussy matched no binary in which samples "
                                        "were taken; the program that ran is busy\n"));
  Paste(nothing.errors);
}

// What of the launcher is missing tells nothing, and the same command would measure as little.
TEST_F(LauncherTest, EndSaysThatTheEnvironmentWasCleared) {
  const CommandResult nothing = Run({"--follow=all", "-b", "%busy", "--progress=spin"},
                                    {"/usr/bin/env", "-i", Puppet("busy"), "1"});
  EXPECT_EQ(nothing.output, "hello\nbye\n");
  EXPECT_THAT(nothing.errors, HasSubstr(" (busy) was started without LD_PRELOAD, and is not "
                                        "profiled; put coz behind what clears the environment"));
  for (const char* no_help : {"spin", "%busy", " again"}) {
    EXPECT_THAT(nothing.errors, Not(HasSubstr(no_help)));
  }
}

TEST_F(LauncherTest, EndSaysThatTheUserHasChanged) {
  const CommandResult nothing = Run({"--follow=all", "-b", "%sleep", "--progress=spin"},
                                    {"setpriv", "--reuid=65534", "--clear-groups", "sleep", "0.5"});
  if (nothing.status != 0) GTEST_SKIP() << "required: the right to change the user";
  EXPECT_THAT(nothing.errors, HasSubstr("after it had changed its user"));
  for (const char* no_help : {"spin", "%sleep", " again", "LD_PRELOAD"}) {
    EXPECT_THAT(nothing.errors, Not(HasSubstr(no_help)));
  }
}

TEST_F(LauncherTest, ProgramThatIsNotThereCountsAsNone) {
  const CommandResult nothing = Run({"--follow=all", "-b", "%busy", "--progress=spin"},
                                    {"/usr/sbin/chroot", options_.folder, "/nowhere/busy"});
  EXPECT_EQ(nothing.status, 127) << "required: the right to change the root folder";
  EXPECT_THAT(nothing.errors, Not(HasSubstr("after it had changed its user")));
}

// What keeps the work out of the profile is said, and nothing that follows from it.
TEST_F(LauncherTest, EndSaysThatSystemCallsWereLimited) {
  const std::vector<std::string> program = {Puppet("under_filter"), "kill",
                                            absl::StrCat(SYS_reboot), Puppet("busy"), "1"};
  for (const std::vector<std::string>& options :
       {std::vector<std::string>{"--unit=function", "--progress=never_called"},
        std::vector<std::string>{"--follow=all", "-b", "%busy", "--progress=spin"}}) {
    const CommandResult nothing = Run(options, program);
    EXPECT_EQ(nothing.output, "hello\nbye\n");
    EXPECT_THAT(nothing.errors, HasSubstr("profiled only until system calls were limited there"));
    for (const char* no_help : {"no progress point", "give it work", " again"}) {
      EXPECT_THAT(nothing.errors, Not(HasSubstr(no_help)));
    }
  }
}

TEST_F(LauncherTest, EndSaysThatTheLauncherFailed) {
  const CommandResult failed =
      Run({"--follow=all", "-b", "%busy", "--progress=spin", "--thread=worker"},
          {Puppet("starter"), "fail", "3"});
  EXPECT_EQ(failed.status, 3);
  EXPECT_THAT(failed.errors, HasSubstr("coz: nothing was measured: starter ended with exit status "
                                       "3 after 0."));
  EXPECT_THAT(failed.errors, HasSubstr(" s, before coz could profile what it started; try it "
                                       "without coz: `"));
  for (const char* no_help : {"COZ_PROGRESS", "%busy", "spin", "worker"}) {
    EXPECT_THAT(failed.errors, Not(HasSubstr(no_help)));
  }
}

// The launcher's status is its own, also where the profile has ended before.
TEST_F(LauncherTest, RunsOnAfterTheDuration) {
  const CommandResult result = Run({"--follow=all", "--duration=0.6"},
                                   {Puppet("starter"), Puppet("busy"), "1.5", "status", "7"});
  EXPECT_EQ(result.status, 7);
  EXPECT_EQ(result.output, "hello\nbye\n");
  EXPECT_EQ(Profile().session_end(0).reason(), profile::END_REASON_DURATION_REACHED);
}

}  // namespace
}  // namespace coz
