#include "coz/attach/traced_thread.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gtest/gtest.h"

namespace coz::attach {
namespace {

// A process in a wait that nothing interrupts: its child by vfork lives until Release.
class VforkWait {
 public:
  VforkWait() {
    int go[2];
    int ready[2];
    if (pipe(go) != 0 || pipe(ready) != 0) abort();
    pid_ = fork();
    if (pid_ == 0) {
      close(go[1]);
      if (vfork() == 0) {
        char byte = 0;
        (void)!write(ready[1], "r", 1);
        (void)!read(go[0], &byte, 1);
        _exit(0);
      }
      for (;;) pause();
    }
    char byte = 0;
    if (read(ready[0], &byte, 1) != 1) abort();
    close(go[0]);
    close(ready[0]);
    close(ready[1]);
    release_ = go[1];
  }
  ~VforkWait() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    close(release_);
  }
  pid_t pid() const { return pid_; }
  void Release() const { (void)!write(release_, "g", 1); }

 private:
  pid_t pid_ = -1;
  int release_ = -1;
};

TEST(TracedThreadTest, ThreadThatDidNotStopIsStoppedLater) {
  const VforkWait process;
  EXPECT_FALSE(TracedThread::Stop(process.pid(), process.pid()).ok());
  process.Release();
  const absl::StatusOr<TracedThread> stopped = TracedThread::Stop(process.pid(), process.pid());
  EXPECT_TRUE(stopped.ok()) << stopped.status();
}

}  // namespace
}  // namespace coz::attach
