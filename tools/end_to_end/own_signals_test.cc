// Programs that handle SIGTRAP without libc, that have no libc, that run on small stacks, as
// Go's do, or that share an alternate stack: they behave, print and end as without coz.
#include <sys/wait.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "coz/testing/coz_run.h"
#include "coz/testing/one_sentence.h"
#include "coz/testing/resident.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace coz {
namespace {

using testing::CommandResult;
using testing::Coz;
using testing::ExpectOneSentence;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::Puppet;
using testing::Resident;

class OwnSignalsTest : public testing::CozRunTest {
 protected:
  void ExpectAsBare(const CommandResult& profiled, const std::vector<std::string>& program) {
    const CommandResult bare = RunCommand(program, options_);
    EXPECT_EQ(bare.status, 7) << bare.errors;
    EXPECT_EQ(profiled.status, bare.status) << profiled.errors;
    EXPECT_EQ(profiled.output, bare.output);
  }
  uint64_t Samples() const {
    const profile::Profile profile = Profile();
    uint64_t samples = 0;
    for (const profile::Unit& unit : profile.unit()) samples += unit.function() == "work" ? 1 : 0;
    return samples;
  }
};

TEST_F(OwnSignalsTest, HandlersBySyscallOrByLibcAreKeptAndSamplesCome) {
  for (const char* program : {"own_signals", "own_signals_go"}) {
    for (const char* way : {"syscall", "libc"}) {
      SCOPED_TRACE(absl::StrCat(program, " ", way));
      const std::vector<std::string> command = {Puppet(program), way};
      ExpectAsBare(Run({"--unit=function"}, command), command);
      EXPECT_GT(Samples(), 0u);
    }
  }
}

// Each exec is made while samples come.
TEST_F(OwnSignalsTest, ProgramThatBecomesAnotherBySyscallIsNotKilledByASample) {
  const std::vector<std::string> command = {Puppet("own_signals"), "exec", "60"};
  ExpectAsBare(Run({"--unit=function"}, command), command);
}

TEST_F(OwnSignalsTest, ProgramOfGoThatTakesSignalsItselfRunsUnprofiled) {
  const std::vector<std::string> command = {Puppet("own_signals_go"), "inline"};
  const CommandResult profiled = Run({"--unit=function"}, command);
  ExpectAsBare(profiled, command);
  EXPECT_THAT(profiled.errors, HasSubstr("not profiled, as Go's runtime"));
  EXPECT_THAT(profiled.errors, HasSubstr("runtime/cgo"));
  // One that is started by another, too.
  const CommandResult started =
      Run({"--follow=all", "--unit=function", "-b", "%own_signals_go"},
          {"/bin/sh", "-c", absl::StrCat(Puppet("own_signals_go"), " inline; exit $?")});
  ExpectAsBare(started, command);
  EXPECT_THAT(started.errors, Not(HasSubstr("Go's runtime")));
}

TEST_F(OwnSignalsTest, ProgramThatMightTakeASampleForASignalIsNotStarted) {
  ExpectOneSentence(Run({}, {Puppet("own_signals_inline"), "inline"}), "rt_sigaction");
}

TEST_F(OwnSignalsTest, ProgramWithoutLibcRunsUnprofiled) {
  ExpectOneSentence(Run({"--unit=function"}, {Puppet("no_libc")}), "linked with no C library");
  ExpectAsBare(Run({"--follow=all", "--unit=function", "-b", "%no_libc"},
                   {"/bin/sh", "-c", absl::StrCat(Puppet("no_libc"), "; exit $?")}),
               {Puppet("no_libc")});
}

TEST_F(OwnSignalsTest, ThreadsThatShareAnAlternateStackAreNotSampledOnIt) {
  const std::vector<std::string> command = {Puppet("shared_stack")};
  for (const char* sampler : {"auto", "cpu-timer"}) {
    SCOPED_TRACE(sampler);
    ExpectAsBare(Run({"--unit=function", absl::StrCat("--sampler=", sampler)}, command), command);
    EXPECT_GT(Samples(), 0u);
  }
}

TEST_F(OwnSignalsTest, NobodyWritesBelowASmallStack) {
  Resident resident({Puppet("small_stacks")});
  ASSERT_EQ(resident.Line(), "ready\n");
  for (int i = 0; i < 5; ++i) {
    const CommandResult attached =
        RunCommand({Coz(), "attach", "--duration=0.3", "--experiment-length=0.1",
                    absl::StrCat("--sampler=", i % 2 == 0 ? "perf-sigtrap" : "cpu-timer"),
                    "--unit=function", absl::StrCat(resident.pid())},
                   options_);
    EXPECT_THAT(attached.errors, HasSubstr("runs on as before"));
  }
  int status = 0;
  EXPECT_EQ(resident.End(&status), "intact\n");
  EXPECT_EQ(WEXITSTATUS(status), 7);
}

}  // namespace
}  // namespace coz
