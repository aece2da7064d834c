// What the sweep has found, and a call of each part of the start.
#include <sys/syscall.h>

#include <cerrno>
#include <string>

#include "coz/testing/faults/fault_run.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace coz::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// Runs with it, and expects that it came and did no harm.
FaultOutcome Expect(const Fault& fault) {
  FaultOutcome outcome = RunWithFault(fault);
  EXPECT_TRUE(outcome.was_made) << Describe(fault);
  EXPECT_EQ(WhatIsWrong(outcome), "") << Describe(fault) << "\n" << outcome.result.errors;
  return outcome;
}

// The last call of the kind that takes an action, after one look at each signal.
TEST(FaultsTest, ProgramRunsOnWithoutTheHandlerOfSamples) {
  const int calls = CountCalls()[{Caller::kRuntime, SYS_rt_sigaction}];
  ASSERT_GT(calls, 0);
  const FaultOutcome outcome = Expect({Caller::kRuntime, SYS_rt_sigaction, EPERM, calls});
  EXPECT_THAT(outcome.result.errors, HasSubstr("refused the handler of SIGTRAP"));
  EXPECT_EQ(outcome.result.output, "hello\nbye\n");
}

TEST(FaultsTest, ProgramThatCannotJoinIsNotSaidToHaveBeenRefusedItsSamples) {
  const FaultOutcome outcome = Expect({Caller::kRuntime, SYS_mmap, ENOMEM, 1});
  EXPECT_EQ(outcome.result.output, "hello\nbye\n");
  EXPECT_THAT(outcome.result.errors,
              AllOf(HasSubstr("runs without the profiler"), Not(HasSubstr("refused every way"))));
}

TEST(FaultsTest, FileThatCannotBeReadDoesNotEndTheSupervisor) {
  for (const int nth : {3, 5}) {
    EXPECT_EQ(Expect({Caller::kSupervisor, SYS_read, ENOMEM, nth}).result.output, "hello\nbye\n");
  }
}

TEST(FaultsTest, RefusalsSayWhatToType) {
  const struct {
    int number;
    int error;
    const char* command;
  } kCases[] = {{SYS_memfd_create, EMFILE, "ulimit -n 64"},
                {SYS_memfd_create, ENOMEM, "free some memory"},
                {SYS_pipe2, EMFILE, "ulimit -n 64"},
                {SYS_clone, EAGAIN, "ulimit -u"}};
  for (const auto& one : kCases) {
    const FaultOutcome outcome = Expect({Caller::kSupervisor, one.number, one.error, 1});
    EXPECT_EQ(outcome.result.output, "");
    EXPECT_EQ(outcome.result.status, 125);
    EXPECT_THAT(outcome.result.errors, HasSubstr(one.command));
  }
}

}  // namespace
}  // namespace coz::testing
