// What coz cannot do gets one sentence, and the program is not started or runs as without coz.
// Names of code: bad_input_test.
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "coz/testing/coz_run.h"
#include "coz/testing/one_sentence.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace coz {
namespace {

using ::coz::testing::CommandResult;
using ::coz::testing::Coz;
using ::coz::testing::ExpectOneSentence;
using ::coz::testing::Puppet;
using ::testing::HasSubstr;
using ::testing::Not;

using RefusalsTest = ::coz::testing::CozRunTest;

TEST_F(RefusalsTest, SaysThatAProgramGainsRights) {
  std::filesystem::copy_file(Puppet("busy"), Path("busy_setuid"));
  constexpr uid_t kNobody = 65534;
  if (chown(Path("busy_setuid").c_str(), kNobody, kNobody) != 0 ||
      chmod(Path("busy_setuid").c_str(), S_ISUID | 0755) != 0) {
    GTEST_SKIP() << "required: the right to change a file's owner";
  }
  const CommandResult result = Run({}, {"./busy_setuid", "0.1"});
  if (result.errors.find("did not join") == std::string::npos &&
      result.errors.find("gains rights") == std::string::npos) {
    GTEST_SKIP() << "required: a folder that is not mounted nosuid";
  }
  EXPECT_EQ(result.output, "hello\nbye\n");
  EXPECT_THAT(result.errors, HasSubstr("./busy_setuid gains rights when it is started"));
  EXPECT_THAT(result.errors, Not(HasSubstr("LD_DEBUG")));
}

TEST_F(RefusalsTest, SaysThatAProgramIsNotFound) {
  ExpectOneSentence(Run({}, {"no-such-program"}), "no folder of $PATH has a program of this name",
                    127);
  ExpectOneSentence(Run({}, {"./no-such-program"}), "No such file or directory", 127);
}

TEST_F(RefusalsTest, SaysThatAProgramIsNotExecutable) {
  std::ofstream(Path("plain")) << "text";
  ExpectOneSentence(Run({}, {"./plain"}), "chmod +x ./plain", 126);
}

TEST_F(RefusalsTest, SaysThatAFileIsNoProgram) {
  std::ofstream(Path("text")) << "text";
  std::filesystem::permissions(Path("text"), std::filesystem::perms::owner_all);
  ExpectOneSentence(Run({"--follow=all"}, {"./text"}), "file ./text", 126);
}

TEST_F(RefusalsTest, SaysThatAProgramIsAFolder) {
  ExpectOneSentence(Run({}, {Path("")}), "it is a folder", 126);
}

TEST_F(RefusalsTest, SaysThatAProgramIsStatic) {
  ExpectOneSentence(Run({}, {Puppet("busy_static")}), "statically linked");
}

TEST_F(RefusalsTest, SaysThatAProgramIsForAnotherCLibrary) {
  std::filesystem::create_symlink("/lib64/ld-linux-x86-64.so.2", Path("ld-musl-x86_64.so.1"));
  ExpectOneSentence(Run({}, {Puppet("other_loader")}), "the loader ld-musl-x86_64.so.1");
  ExpectOneSentence(Run({"--follow=all"}, {Puppet("other_loader")}),
                    "build it for this machine's glibc");
  std::ofstream(Path("script")) << "#!" << Puppet("other_loader") << "\n";
  std::filesystem::permissions(Path("script"), std::filesystem::perms::owner_all);
  ExpectOneSentence(Run({"--follow=all"}, {"./script"}), "build it for this machine's glibc");
  // One that another program starts runs without the library, which would end it.
  const CommandResult started = Run({"--follow=all", "--end-to-end", "-b", "%"},
                                    {"/bin/sh", "-c", Puppet("other_loader") + "; exit $?"});
  EXPECT_EQ(started.status, 7);
  EXPECT_EQ(started.output, "hello\n");
  EXPECT_THAT(started.errors, HasSubstr("whose loader is not of glibc"));
}

// Valgrind is known by the names of its libraries. The loader passes over those that are not there.
TEST_F(RefusalsTest, LeavesAProgramUnderValgrindAlone) {
  for (const std::string name : {"vgpreload_core-amd64-linux.so", "other.so"}) {
    const CommandResult result =
        Run({"--follow=all", "-b", "%busy"},
            {"/bin/sh", "-c", "LD_PRELOAD=" + Path(name) + " " + Puppet("busy") + " 1; exit $?"});
    EXPECT_EQ(result.status, 0);
    EXPECT_EQ(result.output, "hello\nbye\n");
    const auto is_left_alone = HasSubstr("nothing was measured");
    if (name == "other.so") {
      EXPECT_THAT(result.errors, Not(is_left_alone));
    } else {
      EXPECT_THAT(result.errors, is_left_alone);
    }
  }
}

TEST_F(RefusalsTest, LeavesNoFileOfARunThatCannotStart) {
  for (const char* how : {"--seed=1", "--append"}) {
    ExpectOneSentence(Run({"--sampler=cpu-clock", "--exclude-kernel", how}, {Puppet("busy"), "1"}),
                      "leave out --exclude-kernel");
    EXPECT_FALSE(std::filesystem::exists(Path("profile.pb")));
  }
}

TEST_F(RefusalsTest, SaysThatThereIsNoDebugInformation) {
  ExpectOneSentence(Run({}, {Puppet("busy_stripped"), "1"}), "-g");
}

TEST_F(RefusalsTest, SaysThatNoProgressPointWasVisited) {
  const CommandResult result = Run({}, {Puppet("busy"), "0.5", "never"});
  EXPECT_EQ(result.status, 0);
  EXPECT_EQ(result.output, "hello\nbye\n");
  EXPECT_THAT(result.errors, HasSubstr("no progress point was visited; the program has work"));
}

TEST_F(RefusalsTest, SaysThatTheOutputCannotBeWritten) {
  ExpectOneSentence(Run({"-o", "/nonexistent/profile.pb"}, {Puppet("busy"), "1"}),
                    "/nonexistent/profile.pb");
  ExpectOneSentence(Run({"-o", "-"}, {Puppet("busy"), "1"}), "name a file with -o FILE",
                    testing::kUsageStatus);
}

TEST_F(RefusalsTest, SaysThatALineHasNoCode) {
  ExpectOneSentence(Run({"--fixed-line=busy.c:1"}, {Puppet("busy"), "1"}), "busy.c:1");
}

TEST_F(RefusalsTest, SaysThatAScopeMatchesNothing) {
  ExpectOneSentence(Run({"-s", "no/such.cc"}, {Puppet("busy"), "1"}),
                    "--source-scope=no/such.cc matches no source file of the program");
  ExpectOneSentence(Run({"-s", "busy.c", "-s", "buzzy.c"}, {Puppet("busy"), "1"}),
                    "--source-scope=buzzy.c matches no source file");
  ExpectOneSentence(Run({"-b", "bussy"}, {Puppet("busy"), "1"}),
                    "--binary-scope=bussy is neither the program nor a library");
  EXPECT_EQ(Run({"-b", "busy", "-s", "busy.c"}, {Puppet("busy"), "0.3"}).status, 0);
  // A library may still come.
  const CommandResult later = Run({"-b", "MAIN", "-b", "libnone.so%"}, {Puppet("busy"), "0.3"});
  EXPECT_EQ(later.status, 0);
  EXPECT_THAT(later.errors, HasSubstr("--binary-scope=libnone.so% matched no binary in which "));
  // That it was loaded tells nothing of samples.
  EXPECT_THAT(later.errors, Not(HasSubstr("that was loaded")));
}

TEST_F(RefusalsTest, SaysWhatIsWrongWithAnOption) {
  for (const std::vector<std::string>& options : {std::vector<std::string>{"--fixed-speedup=150"},
                                                  {"--sampler=magic"},
                                                  {"--duration=-1"},
                                                  {"--nonsense"}}) {
    const CommandResult result = Run(options, {Puppet("busy"), "1"});
    EXPECT_EQ(result.status, testing::kUsageStatus) << options[0];
    EXPECT_EQ(result.output, "");
    EXPECT_THAT(result.errors, HasSubstr(options[0].substr(0, 6)));
  }
}

TEST_F(RefusalsTest, SaysThatAFileIsNoProfile) {
  std::ofstream(Path("notes.txt")) << "dear diary\n";
  ExpectOneSentence(testing::RunCommand({Coz(), "report", "notes.txt"}, options_), "notes.txt");
  ExpectOneSentence(testing::RunCommand({Coz(), "report", "missing.pb"}, options_), "missing.pb");
  ExpectOneSentence(testing::RunCommand({Coz(), "export", Coz()}, options_), "coz");
}

}  // namespace
}  // namespace coz
