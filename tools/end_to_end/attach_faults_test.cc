// coz attach: one system call of coz fails, or one that coz or its library makes in the process.
// The process goes on, and coz says what has failed.
#include <sys/syscall.h>

#include <cerrno>

#include "coz/testing/capabilities.h"
#include "coz/testing/faults/attach_fault_run.h"
#include "coz/testing/faults/caller.h"
#include "coz/testing/faults/fault_run.h"
#include "gtest/gtest.h"

namespace coz {
namespace {

using testing::AttachOutcome;
using testing::Caller;
using testing::Fault;

// Attaches with it, and expects that it came and did no harm.
AttachOutcome Expect(const Fault& fault) {
  AttachOutcome outcome = testing::AttachWithFault(fault);
  EXPECT_TRUE(outcome.coz.was_made) << Describe(fault);
  EXPECT_EQ(WhatIsWrong(outcome), "") << Describe(fault) << "\n" << outcome.coz.result.errors;
  return outcome;
}

// The first folder is /proc/PID/task, and the second look at it is behind its entries.
TEST(AttachFaultsTest, FolderThatCannotBeReadDoesNotEndCoz) {
  COZ_REQUIRE_CAPABILITY(testing::MissingPerfEvents());
  Expect({Caller::kSupervisor, SYS_getdents64, ENOMEM, 2});
}

}  // namespace
}  // namespace coz
