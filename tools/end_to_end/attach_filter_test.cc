// coz attach, where the process has filters of system calls of its own (seccomp).
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "coz/testing/capabilities.h"
#include "coz/testing/coz_run.h"
#include "coz/testing/resident.h"
#include "coz/testing/run_command.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace coz {
namespace {

using testing::CommandResult;
using testing::Coz;
using ::testing::HasSubstr;
using testing::Puppet;
using testing::Resident;

class AttachFilterTest : public testing::CozRunTest {
 protected:
  // To a process that a call of this number ends.
  CommandResult AttachWhereIsForbidden(int number) {
    Resident resident({Puppet("resident"), "4"});
    EXPECT_EQ(resident.Line(), "ready\n");
    EXPECT_EQ(resident.Ask(absl::StrFormat("forbid %d\n", number)), "0\n");
    CommandResult result = RunCommand(
        {Coz(), "attach", "--experiment-length=0.1", "--duration=2", absl::StrCat(resident.pid())},
        options_);
    int status = -1;
    EXPECT_EQ(resident.End(&status), "right\n");
    EXPECT_EQ(status, 0);
    return result;
  }
};

// Who may not see the filters refuses.
std::string WhyNotSeen(const CommandResult& result) {
  const bool is_seen = !absl::StrContains(result.errors, "may not be seen") &&
                       !absl::StrContains(result.errors, "root can see");
  return is_seen ? "" : absl::StrCat("required: root; actual: ", result.errors);
}

TEST_F(AttachFilterTest, FilterThatForbidsNothingOfCozIsNoReason) {
  COZ_REQUIRE_CAPABILITY(testing::MissingPerfEvents());
  const CommandResult result = AttachWhereIsForbidden(SYS_reboot);
  COZ_REQUIRE_CAPABILITY(WhyNotSeen(result));
  EXPECT_EQ(result.status, 0) << result.errors;
  EXPECT_GT(Profile().experiment_size(), 0);
}

// The set @system-service of systemd lacks it.
TEST_F(AttachFilterTest, DoesWithoutMincore) {
  COZ_REQUIRE_CAPABILITY(testing::MissingPerfEvents());
  const CommandResult result = AttachWhereIsForbidden(SYS_mincore);
  COZ_REQUIRE_CAPABILITY(WhyNotSeen(result));
  EXPECT_EQ(result.status, 0) << result.errors;
  EXPECT_GT(Profile().experiment_size(), 0);
}

TEST_F(AttachFilterTest, RefusesToAttachWhereItsOwnFilterForbidsPtrace) {
  const CommandResult result =
      RunCommand({Puppet("under_filter"), absl::StrCat(EPERM), absl::StrCat(SYS_ptrace), Coz(),
                  "attach", absl::StrCat(getpid())},
                 options_);
  EXPECT_NE(result.status, 0);
  EXPECT_THAT(result.errors, HasSubstr("inherited (seccomp) forbids ptrace"));
}

TEST_F(AttachFilterTest, RefusesWhereAFilterWouldEndTheProcess) {
  const CommandResult result = AttachWhereIsForbidden(SYS_membarrier);
  COZ_REQUIRE_CAPABILITY(WhyNotSeen(result));
  EXPECT_THAT(result.errors, HasSubstr("makes it call membarrier"));
  EXPECT_NE(result.status, 0);
}

}  // namespace
}  // namespace coz
