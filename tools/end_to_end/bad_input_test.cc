// Bad input to options that name code: coz says in one sentence what it saw and what to do, before
// the program starts.
#include <cerrno>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "coz/points/visit_counter.h"
#include "coz/testing/capabilities.h"
#include "coz/testing/one_sentence.h"
#include "coz/testing/run_command.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace coz {
namespace {

using ::coz::testing::CommandResult;
using ::coz::testing::ExpectOneSentence;
using ::coz::testing::RunfilePath;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Matcher;

std::string Puppet(const std::string& name) { return RunfilePath("coz/testing/puppets/" + name); }

using Options = std::vector<std::string>;

CommandResult Run(const Options& coz_options, const std::string& program) {
  Options arguments = {RunfilePath("tools/coz"), "run", "-o", "/dev/null"};
  arguments.insert(arguments.end(), coz_options.begin(), coz_options.end());
  arguments.insert(arguments.end(), {"---", Puppet(program), "1"});
  return testing::RunCommand(arguments);
}

void ExpectRefused(const Options& coz_options, const Matcher<std::string>& message,
                   const std::string& program = "busy") {
  SCOPED_TRACE(::testing::PrintToString(coz_options));
  const CommandResult result = Run(coz_options, program);
  ExpectOneSentence(result, "");
  EXPECT_THAT(result.errors, message);
}

TEST(BadInputTest, LineWithoutCode) {
  const auto nearest = HasSubstr("the nearest lines with code are busy.c:");
  ExpectRefused({"--progress=busy.c:1"}, nearest);
  ExpectRefused({"--latency=busy.c:1,spin"}, nearest);
  ExpectRefused({"--latency=spin,busy.c:1"}, nearest);
  const auto closest = HasSubstr("the closest are busy.c:");
  ExpectRefused({"--progress-sampled=busy.c:1"},
                AllOf(HasSubstr("no code of the program belongs to this line"), closest));
  ExpectRefused({"--fixed-line=busy.c:1"}, closest);
  ExpectRefused({"--given=busy.c:1=50%"}, closest);
  ExpectRefused({"--group=a=busy.c:1"}, AllOf(HasSubstr("matches no code"), closest));
  ExpectRefused({"--exclude=busy.c:1"}, AllOf(HasSubstr("matches no code"), closest));
}

TEST(BadInputTest, NameThatIsNone) {
  const auto closest = HasSubstr("spin");
  ExpectRefused({"--progress=spinn"}, closest);
  ExpectRefused({"--latency=spinn,main"}, closest);
  ExpectRefused({"--unit=function", "--fixed-unit=spinn"}, closest);
  ExpectRefused({"--unit=function", "--given=spinn=50%"}, closest);
  ExpectRefused({"--group=a=spinn"}, closest);
  ExpectRefused({"--exclude=spinn"}, HasSubstr("the closest is spin"));
  ExpectRefused({"--progress-sampled=spin"}, HasSubstr("write --progress-sampled=FILE:LINE"));
}

TEST(BadInputTest, PlaceWithScopesThatIsNoLine) {
  ExpectRefused({"--progress-sampled=shop::spin"}, HasSubstr("write --progress-sampled=FILE:LINE"));
}

TEST(BadInputTest, PairOfOnePlace) {
  const auto one_place = HasSubstr("begins and ends at one place");
  ExpectRefused({"--latency=spin,spin"}, one_place);
  ExpectRefused({"--latency=mark:work,mark:work"}, one_place);
  ExpectRefused({"--latency=libc.so*!puts,libc.so*!puts"}, one_place);
  // However it is written.
  ExpectRefused({"--latency=spin,spi?"}, one_place);
}

TEST(BadInputTest, UnitIsCalledAsItsOption) {
  ExpectRefused({"--unit=function", "--fixed-unit=spinn"}, HasSubstr("--fixed-unit=spinn"));
  ExpectRefused({"--fixed-line=busy.c:1"}, HasSubstr("--fixed-line=busy.c:1"));
}

// copy_input() has no code of its own.
TEST(BadInputTest, FunctionInlinedEverywhere) {
  const auto calls = HasSubstr("is inlined wherever it is called");
  ExpectRefused({"--count=copy_input"}, AllOf(calls, HasSubstr("busy.c:")));
  ExpectRefused({"--time=copy_input"}, AllOf(calls, HasSubstr("busy.c:")));
  const Options outer = {"--unit=function", "--without-inlined-copies"};
  for (const char* option : {"--fixed-unit=copy_input", "--given=copy_input=50%",
                             "--group=a=copy_input", "--exclude=copy_input"}) {
    Options options = outer;
    options.emplace_back(option);
    ExpectRefused(options, HasSubstr("drop --without-inlined-copies"));
  }
}

TEST(BadInputTest, SampledLinesNeedLines) {
  for (const char* unit : {"function", "file", "library"}) {
    ExpectRefused({absl::StrCat("--unit=", unit), "--progress-sampled=busy.c:30"},
                  AllOf(HasSubstr(absl::StrCat("with --unit=", unit)),
                        HasSubstr("use --progress instead, or --unit=line")));
  }
}

TEST(BadInputTest, StrippedBinary) {
  const auto build = HasSubstr("build it with -g");
  ExpectRefused({}, AllOf(build, HasSubstr("--unit=library")), "busy_stripped");
  ExpectRefused({"--progress-sampled=busy.c:30"}, HasSubstr("-g"), "busy_stripped");
  ExpectRefused({"--fixed-line=busy.c:30"}, HasSubstr("-g"), "busy_stripped");
  ExpectRefused({"--given=busy.c:30=50%"}, HasSubstr("-g"), "busy_stripped");
  ExpectRefused({"--group=a=busy.c"}, HasSubstr("-g"), "busy_stripped");
  ExpectRefused({"--exclude=busy.c"}, HasSubstr("-g"), "busy_stripped");
  const std::string library = "--unit=library";  // needs neither
  ExpectRefused({library, "--progress=spin"}, HasSubstr("has no symbols (stripped)"),
                "busy_stripped");
  ExpectRefused({library, "--latency=spin,main"}, HasSubstr("has no symbols (stripped)"),
                "busy_stripped");
  ExpectRefused({library, "--progress=busy.c:30"}, build, "busy_stripped");
  ExpectRefused({library, "--latency=busy.c:30,busy.c:31"}, build, "busy_stripped");
  ExpectRefused({"--unit=function", "--fixed-unit=spin"}, HasSubstr("symbol table"),
                "busy_stripped");
}

TEST(BadInputTest, TooManyBreakpoints) {
  const absl::Status missing = points::CheckBreakpoints();
  COZ_REQUIRE_CAPABILITY(
      missing.ok() ? "" : absl::StrCat("required breakpoints, actual: ", missing.message()));
  const auto only_four = HasSubstr("a thread has only 4 hardware breakpoints");
  ExpectRefused({"--progress-source=breakpoint", "--progress=spin", "--progress=work",
                 "--progress=main", "--latency=libc.so*!fputs,libc.so*!puts"},
                only_four);
  ExpectRefused({"--progress-source=breakpoint", "--latency=spin,work", "--latency=main,work",
                 "--latency=libc.so*!fputs,libc.so*!puts"},
                only_four);
}

// Of the ways that need one: changed code does not (changed_code_test.cc).
TEST(BadInputTest, NoPermission) {
  const auto forbidden = [](const std::string& option, const std::string& source) {
    SCOPED_TRACE(option + " " + source);
    return testing::RunCommand({Puppet("without_perf"), absl::StrCat(EACCES),
                                RunfilePath("tools/coz"), "run", "-o", "/dev/null", option,
                                "--progress-source=" + source, "---", Puppet("busy"), "1"});
  };
  for (const char* option : {"--progress=spin", "--latency=spin,main"}) {
    const std::string sysctl = "kernel.perf_event_paranoid";
    ExpectOneSentence(forbidden(option, "breakpoint"), sysctl);
    ExpectOneSentence(forbidden(option, "uprobe"), "need root");
  }
}

// For coz and the program alike.
TEST(BadInputTest, FewDescriptorsAreEnough) {
  testing::CommandOptions folder;
  folder.folder = testing::TemporaryFolder();
  const auto limited = [&folder](const std::string& limit, const std::string& options) {
    const std::string command =
        absl::StrCat("ulimit -n ", limit, "; exec ", RunfilePath("tools/coz"), " run ", options,
                     " --experiment-length=0.1 --- ", Puppet("busy"), " 1");
    return testing::RunCommand({"/bin/bash", "-c", command}, folder);
  };
  for (const char* options : {"", "--progress=spin", "--sampler=perf-setsig"}) {
    SCOPED_TRACE(options);
    const CommandResult result = limited("64", options);
    EXPECT_EQ(result.status, 0) << result.errors;
    EXPECT_EQ(result.output, "hello\nbye\n");
    EXPECT_THAT(result.errors, HasSubstr("busy.c:26"));
  }
  ExpectOneSentence(limited("8", ""), "ulimit -n 64");
}

// Sampling and speedups need no permission: a coarser source will do.
TEST(BadInputTest, NoPermissionIsNeededForTheOthers) {
  const CommandResult result = testing::RunCommand(
      {Puppet("without_perf"), absl::StrCat(EACCES), RunfilePath("tools/coz"), "run", "-o",
       "/dev/null", "--group=all=busy.c", "--given=all=10%", "---", Puppet("busy"), "0.3"});
  EXPECT_EQ(result.status, 0) << result.errors;
  EXPECT_EQ(result.output, "hello\nbye\n");
  EXPECT_THAT(result.errors, HasSubstr("kernel.perf_event_paranoid"));
}

}  // namespace
}  // namespace coz
