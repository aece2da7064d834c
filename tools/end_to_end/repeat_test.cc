// A profile says how it was made: its command makes one like it, and coz refuses to add other runs
// to it.
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "coz/report/wording/repeat_command.h"
#include "coz/supervisor/target/awake_cpus.h"
#include "coz/testing/coz_run.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace coz {
namespace {

using ::coz::testing::CommandResult;
using ::coz::testing::Coz;
using ::coz::testing::Puppet;
using ::testing::HasSubstr;

std::string Busy() { return Puppet("busy"); }

// The loop of busy.c.
std::string Line() { return testing::LineWith("busy.c", "i < 100000"); }

class RepeatTest : public testing::CozRunTest {
 protected:
  CommandResult Run(const std::vector<std::string>& coz_options, const std::string& seconds) {
    std::vector<std::string> arguments = {Coz(), "run"};
    arguments.insert(arguments.end(), coz_options.begin(), coz_options.end());
    arguments.insert(arguments.end(), {"---", Busy(), seconds});
    return testing::RunCommand(arguments, options_);
  }
  // As a user would paste it.
  CommandResult Paste(const std::string& command) {
    return testing::RunCommand(
        {"/bin/sh", "-c", absl::StrReplaceAll(command, {{"coz run", Coz() + " run"}})}, options_);
  }
  void ExpectSameAgain(const std::vector<std::string>& coz_options) {
    SCOPED_TRACE(::testing::PrintToString(coz_options));
    const CommandResult result = Run(coz_options, "0.1");
    EXPECT_THAT(result.output, HasSubstr("hello\nbye\n")) << result.errors;
    const profile::Profile first = Profile();
    ASSERT_GE(first.session_size(), 1);
    const std::string command = report::RepeatCommand(first.session().rbegin()[0]);
    EXPECT_EQ(Paste(command).status, 0) << command;
    const profile::Profile again = Profile();
    ASSERT_EQ(again.session_size(), first.session_size()) << command;
    for (int i = 0; i < first.session_size(); ++i) {
      EXPECT_EQ(again.session(i).options().SerializeAsString(),
                first.session(i).options().SerializeAsString())
          << command << "\n"
          << first.session(i).options().DebugString() << again.session(i).options().DebugString();
      EXPECT_EQ(again.session(i).seed(), first.session(i).seed()) << command;
      EXPECT_EQ(again.session(i).sampling_period_ns(), first.session(i).sampling_period_ns());
    }
  }
};

TEST_F(RepeatTest, SaysThatARunThatFailsEndsTheSeries) {
  const CommandResult result = testing::RunCommand({Coz(), "run", "--end-to-end", "--unit=library",
                                                    "--repeat=4", "---", "/bin/sh", "-c", "exit 3"},
                                                   options_);
  EXPECT_EQ(result.status, 3);
  EXPECT_THAT(result.errors, HasSubstr("the series ended after run 1 of 4, for the program ended "
                                       "with status 3, and a run that fails is the last; "));
}

TEST_F(RepeatTest, CommandOfAProfileMakesOneLikeIt) {
  ExpectSameAgain({});
  ExpectSameAgain({"--unit=function", "--without-inlined-copies", "--group=a b=work",
                   "--exclude=mai%", "--given=spin=12.5%", "--attribution=innermost", "-s", "%"});
  ExpectSameAgain({"--progress-sampled=" + Line(), "--fixed-line=" + Line(),
                   "--fixed-speedup=0,10-20", "--duration=1.5", "--until=7.5"});
  ExpectSameAgain({"--sampling-period=0.5", "--experiment-length=0.2", "--sampler=cpu-timer",
                   "--unwinder=libunwind", "--exclude-kernel", "--follow=all", "--daemon"});
  ExpectSameAgain({"--follow=exec", "--unit=library", "-b", "MAIN", "-b", "libc.so%"});
  ExpectSameAgain({"--follow=none", "--unit=file"});
  ExpectSameAgain({"--end-to-end", "--repeat=3"});
  if (supervisor::KeepCpusAwake().ok()) ExpectSameAgain({"--awake"});
}

TEST_F(RepeatTest, ReportSaysHowTheProfileWasMade) {
  Run({"--seed=5", "--unit=function"}, "0.1");
  const std::string command = absl::StrCat("coz run --seed=5 --unit=function --- ", Busy(), " 0.1");
  const std::string coz = Coz();
  EXPECT_THAT(testing::RunCommand({coz, "report", "--verbose"}, options_).output,
              HasSubstr(command));
  EXPECT_THAT(testing::RunCommand({coz, "report", "--json"}, options_).output, HasSubstr(command));
  testing::RunCommand({coz, "plot", "-o", "page.html"}, options_);
  std::ostringstream page;
  page << std::ifstream(options_.folder + "/page.html").rdbuf();
  EXPECT_THAT(page.str(), HasSubstr(command));
}

TEST_F(RepeatTest, AddsNothingOfAnotherKind) {
  Run({"--given=spin=10%", "--unit=function"}, "0.1");
  const std::vector<std::vector<std::string>> others = {
      {},
      {"--unit=function"},
      {"--unit=function", "--given=spin=20%"},
      {"--unit=function", "--given=spin=10%", "--group=a=work"},
      {"--unit=function", "--given=spin=10%", "--exclude=main"}};
  for (std::vector<std::string> other : others) {
    other.push_back("--append");
    SCOPED_TRACE(::testing::PrintToString(other));
    const CommandResult result = Run(other, "0.1");
    EXPECT_EQ(result.status, 125);
    EXPECT_EQ(result.output, "") << "the program was started";
    EXPECT_THAT(result.errors, HasSubstr("it was made with --unit=function --given=spin=10%"));
    EXPECT_THAT(result.errors, HasSubstr("coz run -o FILE --- …`"));
    EXPECT_EQ(std::count(result.errors.begin(), result.errors.end(), '\n'), 1) << result.errors;
  }
  EXPECT_EQ(Profile().session_size(), 1);
  const CommandResult same =
      Run({"--append", "--given=spin=10%", "--unit=function", "--fixed-speedup=50"}, "0.1");
  EXPECT_EQ(same.output, "hello\nbye\n") << same.errors;
  EXPECT_EQ(Profile().session_size(), 2);
}

// As after a change of the source: the same path, another build.
TEST_F(RepeatTest, AddsNothingOfAnotherBuild) {
  Run({}, "0.1");
  profile::Profile earlier = Profile();
  ASSERT_NE(earlier.binary_size(), 0);
  ASSERT_NE(earlier.binary(0).build_id(), "");
  // In a sandbox it is mapped by another path than it is started by.
  const std::string path = std::filesystem::canonical(Busy());
  earlier.mutable_binary(0)->set_path(path);
  earlier.mutable_binary(0)->set_build_id("another");
  std::ofstream(Path("profile.pb"), std::ios::binary) << earlier.SerializeAsString();
  const CommandResult result = Run({"--append"}, "0.1");
  EXPECT_EQ(result.status, 125);
  EXPECT_EQ(result.output, "") << "the program was started";
  EXPECT_THAT(result.errors, HasSubstr(absl::StrCat("it is of ", path, ", build-id ")));
  EXPECT_THAT(result.errors, HasSubstr("this run is of another build, so"));
  EXPECT_EQ(std::count(result.errors.begin(), result.errors.end(), '\n'), 1) << result.errors;
  EXPECT_EQ(Profile().session_size(), 1);
}

}  // namespace
}  // namespace coz
