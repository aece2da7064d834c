#include "coz/attach/injector.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace coz::attach {
namespace {

using ::testing::HasSubstr;

// Nobody has waited for it, so its number is still taken, and it has a thread that cannot be
// stopped.
TEST(InjectorTest, ProcessThatHasEndedIsNotTriedAgain) {
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t pid = fork();
  if (pid == 0) {
    (void)!write(ready[1], "r", 1);
    for (;;) pause();
  }
  char byte = 0;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  InjectorOptions options;
  options.library = "/proc/self/exe";  // which is not loaded
  absl::StatusOr<std::unique_ptr<Injector>> injector = Injector::Prepare(pid, options);
  EXPECT_TRUE(injector.ok()) << injector.status();
  kill(pid, SIGKILL);
  siginfo_t ended = {};
  EXPECT_EQ(waitid(P_PID, static_cast<id_t>(pid), &ended, WEXITED | WNOWAIT), 0);
  if (injector.ok()) {
    const absl::Status joined = (*injector)->Join();
    EXPECT_EQ(joined.code(), absl::StatusCode::kUnavailable);
    EXPECT_THAT(joined.message(), HasSubstr("has ended"));
    EXPECT_THAT(joined.message(), ::testing::Not(HasSubstr("try again")));
  }
  waitpid(pid, nullptr, 0);
  close(ready[0]);
  close(ready[1]);
}

TEST(InjectorTest, StoppedProcessIsNotWaitedFor) {
  const pid_t pid = fork();
  if (pid == 0) {
    for (;;) pause();
  }
  InjectorOptions options;
  options.library = "/proc/self/exe";  // which is not loaded
  absl::StatusOr<std::unique_ptr<Injector>> injector = Injector::Prepare(pid, options);
  ASSERT_TRUE(injector.ok()) << injector.status();
  kill(pid, SIGSTOP);
  EXPECT_EQ(waitpid(pid, nullptr, WUNTRACED), pid);
  const absl::Status joined = (*injector)->Join();
  EXPECT_EQ(joined.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(joined.message(), HasSubstr("kill -CONT"));
  kill(pid, SIGKILL);
  waitpid(pid, nullptr, 0);
}

// What was found in the program before is not in the one that follows.
TEST(InjectorTest, ProgramThatHasBegunMeanwhileIsLeftAlone) {
  int end[2];
  ASSERT_EQ(pipe2(end, O_CLOEXEC), 0);
  const pid_t pid = fork();
  if (pid == 0) {
    char byte = 0;
    (void)!read(end[0], &byte, 1);
    execl("/bin/sleep", "sleep", "1000", nullptr);
    _exit(1);
  }
  close(end[0]);
  InjectorOptions options;
  options.library = "/proc/self/exe";  // which is not loaded
  absl::StatusOr<std::unique_ptr<Injector>> injector = Injector::Prepare(pid, options);
  ASSERT_TRUE(injector.ok()) << injector.status();
  // The read end is closed by the exec.
  const auto has_begun = [&] {
    pollfd fd = {end[1], 0, 0};
    return poll(&fd, 1, 60'000) == 1 && (fd.revents & POLLERR) != 0;
  };
  EXPECT_EQ(write(end[1], "g", 1), 1);
  EXPECT_TRUE(has_begun());
  const absl::Status joined = (*injector)->Join();
  EXPECT_EQ(joined.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(joined.message(), HasSubstr("begun another program"));
  injector->reset();  // it gives nothing back
  EXPECT_EQ(waitpid(pid, nullptr, WNOHANG), 0) << "it goes on";
  kill(pid, SIGKILL);
  waitpid(pid, nullptr, 0);
  close(end[1]);
}

}  // namespace
}  // namespace coz::attach
