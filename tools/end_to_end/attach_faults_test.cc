// coz attach: one system call of coz fails, or one that coz or its library makes in the process.
// The process goes on, and coz says what has failed.
#include <sys/syscall.h>

#include <cerrno>
#include <chrono>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "coz/testing/capabilities.h"
#include "coz/testing/faults/attach_fault_run.h"
#include "coz/testing/faults/caller.h"
#include "coz/testing/faults/fault_run.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace coz {
namespace {

using ::testing::AllOf;
using testing::AttachOutcome;
using testing::Caller;
using testing::Fault;
using ::testing::HasSubstr;
using ::testing::Not;

// Attaches with it, and expects that it came and did no harm.
AttachOutcome Expect(const Fault& fault) {
  AttachOutcome outcome = testing::AttachWithFault(fault);
  EXPECT_TRUE(outcome.coz.was_made) << Describe(fault);
  EXPECT_EQ(WhatIsWrong(outcome), "") << Describe(fault) << "\n" << outcome.coz.result.errors;
  return outcome;
}

// The same of the last call that is made. How many there are depends on the time, so it is looked
// for from some more down than another run has made.
AttachOutcome ExpectLast(Fault fault, const std::set<int>& nths) {
  constexpr int kMore = 2;
  AttachOutcome outcome;
  if (!nths.empty()) fault.nth = *nths.rbegin() + kMore;
  for (; fault.nth > 0 && !outcome.coz.was_made; --fault.nth) {
    outcome = testing::AttachWithFault(fault);
    EXPECT_EQ(WhatIsWrong(outcome), "") << Describe(fault) << "\n" << outcome.coz.result.errors;
  }
  EXPECT_TRUE(outcome.coz.was_made) << Describe(fault);
  return outcome;
}

// By turns the first call of a kind, or the last.
void Sweep(Caller caller) {
  int cases = 0;
  bool is_first = false;
  const bool of_process = caller == Caller::kRuntime || caller == Caller::kInjected;
  for (const auto& [call, nths] : testing::CallsOfAttach(of_process)) {
    const std::vector<int> errors = testing::ErrorsOf(call.second);
    if (call.first != caller || errors.empty()) continue;
    is_first = !is_first;
    const Fault fault = is_first ? Fault{caller, call.second, errors.front(), *nths.begin()}
                                 : Fault{caller, call.second, errors.back(), *nths.rbegin()};
    const AttachOutcome outcome = testing::AttachWithFault(fault);
    cases += outcome.coz.was_made ? 1 : 0;
    EXPECT_EQ(WhatIsWrong(outcome), "") << Describe(fault) << "\n"
                                        << outcome.coz.stack << "\n"
                                        << outcome.coz.result.errors;
  }
  EXPECT_GT(cases, 5);
}

TEST(AttachFaultsTest, CallsOfCozFail) {
  COZ_REQUIRE_CAPABILITY(testing::MissingPerfEvents());
  Sweep(Caller::kSupervisor);
}

TEST(AttachFaultsTest, CallsOfTheRuntimeFail) {
  COZ_REQUIRE_CAPABILITY(testing::MissingPerfEvents());
  Sweep(Caller::kRuntime);
}

TEST(AttachFaultsTest, CallsThatCozHasTheProcessMakeFail) {
  COZ_REQUIRE_CAPABILITY(testing::MissingPerfEvents());
  Sweep(Caller::kInjected);
}

// The first folder is /proc/PID/task, and the second look at it is behind its entries.
TEST(AttachFaultsTest, FolderThatCannotBeReadDoesNotEndCoz) {
  COZ_REQUIRE_CAPABILITY(testing::MissingPerfEvents());
  Expect({Caller::kSupervisor, SYS_getdents64, ENOMEM, 2});
}

TEST(AttachFaultsTest, RefusalsSayWhatCannotBeRead) {
  COZ_REQUIRE_CAPABILITY(testing::MissingPerfEvents());
  const struct {
    Fault fault;
    const char* what;
  } kCases[] = {
      {{Caller::kSupervisor, SYS_openat, EMFILE, 3}, "/status cannot be read: Too many open files"},
      {{Caller::kSupervisor, SYS_openat, EPERM, 7}, "/exe cannot be read: Operation not"},
      {{Caller::kSupervisor, SYS_openat, EMFILE, 8}, "/maps cannot be read: Too many open files"},
      {{Caller::kSupervisor, SYS_readlink, EPERM, 3}, "/exe cannot be read"},
      {{Caller::kSupervisor, SYS_readlink, EPERM, 4}, "/ns/pid cannot be read"},
      {{Caller::kSupervisor, SYS_newfstatat, EPERM, 9}, "/libcoz.so cannot be read: Operation not"},
      {{Caller::kSupervisor, SYS_openat, EMFILE, 11}, "resident: Too many open files; let"},
      {{Caller::kSupervisor, SYS_pidfd_open, EMFILE, 1}, "ulimit -n"},
      {{Caller::kSupervisor, SYS_pidfd_open, EMFILE, 3}, "(pidfd_open: Too many open files); let"},
      {{Caller::kSupervisor, SYS_process_vm_readv, EPERM, 1}, "its memory cannot be read"},
      {{Caller::kSupervisor, SYS_pread64, EPERM, 2}, "its C library cannot be read"},
      {{Caller::kSupervisor, SYS_pwrite64, EPERM, 1}, "its memory cannot be written to"},
      {{Caller::kSupervisor, SYS_pwrite64, EPERM, 10}, "its memory cannot be written to"},
      {{Caller::kInjected, SYS_memfd_create, EPERM, 1}, "(memfd_create: Operation not permitted)"},
      {{Caller::kInjected, SYS_memfd_create, EMFILE, 1}, "it can open no more files"},
      {{Caller::kInjected, SYS_read, EINTR, 1}, "/libcoz.so: cannot read file data: Interrupted"},
      {{Caller::kRuntime, SYS_newfstatat, EPERM, 1}, "coz (fstat: Operation not permitted); it"},
      {{Caller::kRuntime, SYS_mmap, EPERM, 1}, "coz (mmap: Operation not permitted); where"}};
  for (const auto& one : kCases) {
    const AttachOutcome outcome = Expect(one.fault);
    EXPECT_EQ(testing::LinesOfCoz(outcome.coz.result.errors), 1) << outcome.coz.result.errors;
    EXPECT_THAT(outcome.coz.result.errors, HasSubstr(one.what)) << Describe(one.fault);
    EXPECT_EQ(outcome.after, outcome.before) << Describe(one.fault);
  }
}

// libdw, which has read the tables of a library, keeps that it could not.
TEST(AttachFaultsTest, LibraryThatCannotBeReadOnceIsReadAgain) {
  COZ_REQUIRE_CAPABILITY(testing::MissingPerfEvents());
  auto calls = testing::CallsOfAttach(/*of_process=*/false, /*by_place=*/true);
  int of_libdw = 0;
  for (const int nth : calls[{Caller::kSupervisor, SYS_read}]) {
    const AttachOutcome outcome =
        testing::AttachWithFault({Caller::kSupervisor, SYS_read, EINTR, nth});
    if (!absl::StrContains(outcome.coz.stack, "libdw")) continue;
    ++of_libdw;
    EXPECT_THAT(outcome.coz.result.errors, Not(HasSubstr("cannot be unwound"))) << nth;
  }
  EXPECT_GT(of_libdw, 0);
}

// A stop for the leaving is the last thing for which it is opened.
TEST(AttachFaultsTest, ProcessThatCannotBeWatchedIsLeftAsItWas) {
  COZ_REQUIRE_CAPABILITY(testing::MissingPerfEvents());
  auto calls = testing::CallsOfAttach(/*of_process=*/false);
  const std::set<int>& nths = calls[{Caller::kSupervisor, SYS_pidfd_open}];
  const AttachOutcome outcome = ExpectLast({Caller::kSupervisor, SYS_pidfd_open, EMFILE, 0}, nths);
  EXPECT_EQ(outcome.after, outcome.before);
  EXPECT_THAT(outcome.coz.result.errors,
              AllOf(HasSubstr("runs on as before"), Not(HasSubstr("has ended"))));
}

TEST(AttachFaultsTest, TimeThatItTakesToAttachIsNoneOfTheDuration) {
  COZ_REQUIRE_CAPABILITY(testing::MissingPerfEvents());
  constexpr std::chrono::milliseconds kToAttach(500);
  constexpr std::chrono::milliseconds kDuration(400);  // of each such run
  const AttachOutcome outcome = testing::AttachSlowly(kToAttach);
  EXPECT_TRUE(outcome.coz.was_made);
  EXPECT_EQ(WhatIsWrong(outcome), "");
  EXPECT_GE(std::chrono::nanoseconds(outcome.run_time_ns), kToAttach + kDuration);
}

// The last slot is the program's.
TEST(AttachFaultsTest, SlotsThatCannotBeReadFromOutsideAreRestored) {
  COZ_REQUIRE_CAPABILITY(testing::MissingPerfEvents());
  auto calls = testing::CallsOfAttach(/*of_process=*/true);
  const std::set<int>& nths = calls[{Caller::kRuntime, SYS_process_vm_readv}];
  const AttachOutcome outcome =
      ExpectLast({Caller::kRuntime, SYS_process_vm_readv, EPERM, 0}, nths);
  EXPECT_EQ(outcome.after, outcome.before);
}

}  // namespace
}  // namespace coz
