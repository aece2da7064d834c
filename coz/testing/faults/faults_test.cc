// What the sweep has found, and a call of each part of the start.
#include <sys/syscall.h>

#include <cerrno>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
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

int SentencesOf(const FaultOutcome& outcome) {
  int sentences = 0;
  for (const auto line : absl::StrSplit(outcome.result.errors, '\n')) {
    // That is the machine's business.
    if (absl::StartsWith(line, "coz: time in the kernel is not sampled")) continue;
    sentences += absl::StartsWith(line, "coz: ");
  }
  return sentences;
}

// The last call of the kind that takes an action, after one look at each signal.
TEST(FaultsTest, ProgramRunsOnWithoutTheHandlerOfSamples) {
  const int calls = CountCalls()[{Caller::kRuntime, SYS_rt_sigaction}];
  ASSERT_GT(calls, 0);
  const FaultOutcome outcome = Expect({Caller::kRuntime, SYS_rt_sigaction, EPERM, calls});
  EXPECT_THAT(outcome.result.errors, HasSubstr("refused the handler of SIGTRAP"));
  EXPECT_EQ(SentencesOf(outcome), 1) << outcome.result.errors;
  EXPECT_EQ(outcome.result.output, "hello\nbye\n");
}

TEST(FaultsTest, ProgramThatCannotJoinIsNotSaidToHaveBeenRefusedItsSamples) {
  const FaultOutcome outcome = Expect({Caller::kRuntime, SYS_mmap, ENOMEM, 1});
  EXPECT_EQ(outcome.result.output, "hello\nbye\n");
  EXPECT_THAT(outcome.result.errors,
              AllOf(HasSubstr("runs without the profiler"), Not(HasSubstr("refused every way"))));
}

TEST(FaultsTest, ProgramThatHasSaidWhyItCannotJoinIsNotGuessedAt) {
  for (const int number : {SYS_mmap, SYS_newfstatat}) {
    const FaultOutcome outcome = Expect({Caller::kRuntime, number, ENOMEM, 1});
    EXPECT_EQ(SentencesOf(outcome), 1) << outcome.result.errors;
    EXPECT_THAT(outcome.result.errors, HasSubstr("runs without the profiler"));
  }
}

// Of three pieces of the block's head, the next one is of the line table.
TEST(FaultsTest, TableThatCannotBeSharedIsNotSaidToBeMissing) {
  for (const Fault& fault : {Fault{Caller::kSupervisor, SYS_ftruncate, ENOMEM, 3},
                             Fault{Caller::kSupervisor, SYS_pwrite64, ENOMEM, 4}}) {
    const FaultOutcome outcome = Expect(fault);
    EXPECT_THAT(outcome.result.errors,
                AllOf(HasSubstr("/busy, for "), HasSubstr("its line table"),
                      HasSubstr("free some memory"), Not(HasSubstr("build with -g"))))
        << Describe(fault);
  }
}

// There is space again at the next write, unless that was the last.
TEST(FaultsTest, ProfileThatCannotBeWrittenIsToldOnceAndWrittenLater) {
  int written_later = 0;
  for (const int nth : {1, 2, 3, 5, 8}) {
    const FaultOutcome outcome = RunWithFault({Caller::kSupervisor, SYS_write, ENOSPC, nth});
    const std::string& errors = outcome.result.errors;
    if (!absl::StrContains(errors, "cannot write the profile")) continue;
    const bool is_later = absl::StrContains(errors, "all that was measured is in profile.pb now");
    EXPECT_EQ(SentencesOf(outcome), is_later ? 2 : 1) << errors;
    EXPECT_EQ(absl::StrContains(errors, "The profile is in"), is_later) << errors;
    written_later += is_later;
  }
  EXPECT_GT(written_later, 0);
}

TEST(FaultsTest, LinesAreFoundWhereTheProgramCannotReadItsPath) {
  const FaultOutcome outcome = Expect({Caller::kRuntime, SYS_readlink, EPERM, 1});
  EXPECT_THAT(outcome.result.errors, Not(HasSubstr("build with -g")));
}

TEST(FaultsTest, OwnPathThatCannotBeReadIsSaid) {
  const FaultOutcome outcome = Expect({Caller::kSupervisor, SYS_readlink, EPERM, 1});
  EXPECT_EQ(outcome.result.status, 125);
  EXPECT_THAT(outcome.result.errors,
              AllOf(HasSubstr("where the coz command lies"), Not(HasSubstr("bazelw"))));
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
    int nth;
    const char* command;
  } kCases[] = {{SYS_memfd_create, EMFILE, 1, "ulimit -n 64"},
                {SYS_memfd_create, ENOMEM, 1, "free some memory"},
                {SYS_pipe2, EMFILE, 1, "ulimit -n 64"},
                // The first child asks what the filter of this test does with coz's calls.
                {SYS_clone, EAGAIN, 2, "ulimit -u"}};
  for (const auto& one : kCases) {
    const FaultOutcome outcome = Expect({Caller::kSupervisor, one.number, one.error, one.nth});
    EXPECT_EQ(outcome.result.output, "");
    EXPECT_EQ(outcome.result.status, 125);
    EXPECT_THAT(outcome.result.errors, HasSubstr(one.command));
  }
}

}  // namespace
}  // namespace coz::testing
