#include "coz/attach/traced_thread.h"

#include <linux/io_uring.h>
#include <poll.h>
#include <signal.h>
#include <sys/ipc.h>
#include <sys/prctl.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "coz/attach/process_view.h"
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
      char byte = 0;
      // It is vfork's wait that is tested, and its child returns from nothing.
      if (vfork() == 0) {                // NOLINT(clang-analyzer-security.insecureAPI.vfork)
        (void)!write(ready[1], "r", 1);  // NOLINT(clang-analyzer-unix.Vfork)
        (void)!read(go[0], &byte, 1);    // NOLINT(clang-analyzer-unix.Vfork)
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

TEST(TracedThreadTest, ProcessThatSomebodyHasStoppedIsSaidToBe) {
  const pid_t pid = fork();
  if (pid == 0) {
    for (;;) pause();
  }
  kill(pid, SIGSTOP);
  int status = 0;
  ASSERT_EQ(waitpid(pid, &status, WUNTRACED), pid);
  const absl::StatusOr<TracedThread> stopped = TracedThread::Stop(pid, pid);
  ASSERT_FALSE(stopped.ok());
  EXPECT_EQ(stopped.status().message(),
            absl::StrFormat("thread %d is stopped, as by SIGSTOP; let it go on with: kill -CONT %d",
                            pid, pid));
  kill(pid, SIGKILL);
  waitpid(pid, nullptr, 0);
}

// A child that waits, and has asked for signals in the place of its system calls; but not now, as
// the selector says. -1: the kernel has no such thing.
pid_t ChildThatDiverts(bool diverts) {
  int ready[2];
  if (pipe(ready) != 0) abort();
  const pid_t pid = fork();
  if (pid == 0) {
    static char selector = 0;  // SYSCALL_DISPATCH_FILTER_ALLOW
    constexpr unsigned long kOn = 1;
    const bool is_on =
        !diverts || prctl(PR_SET_SYSCALL_USER_DISPATCH, kOn, 0UL, 0UL, &selector) == 0;
    (void)!write(ready[1], is_on ? "y" : "n", 1);
    for (;;) pause();
  }
  char is_on = 'n';
  if (read(ready[0], &is_on, 1) != 1) abort();
  close(ready[0]);
  close(ready[1]);
  if (is_on == 'y') return pid;
  kill(pid, SIGKILL);
  waitpid(pid, nullptr, 0);
  return -1;
}

TEST(TracedThreadTest, ThreadThatDivertsItsSystemCallsIsToldFromOthers) {
  for (const bool diverts : {false, true}) {
    const pid_t pid = ChildThatDiverts(diverts);
    if (pid < 0) GTEST_SKIP() << "the kernel diverts no system calls";
    {
      const absl::StatusOr<TracedThread> stopped = TracedThread::Stop(pid, pid);
      ASSERT_TRUE(stopped.ok()) << stopped.status();
      EXPECT_EQ(stopped->DivertsCalls(), diverts);
    }
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
  }
}

// A child whose first thread joins another, or waits for a lock that the other holds.
pid_t ChildThatWaits(bool joins) {
  const pid_t pid = fork();
  if (pid != 0) return pid;
  static std::mutex lock;
  static std::atomic<bool> is_locked{false};
  std::thread other([] {
    lock.lock();
    is_locked = true;
    for (;;) pause();
  });
  while (!is_locked) std::this_thread::yield();
  if (joins) other.join();
  lock.lock();
  _exit(0);
}

// Waits until the process does: its first thread sleeps.
bool SeesThreadsEnd(pid_t pid) {
  for (;;) {
    const StatusFields status = ReadThreadStatus(pid, pid);
    const auto state = status.find("State");
    if (state == status.end() || state->second[0] != 'S' || ReadThreads(pid).size() < 2) continue;
    const absl::StatusOr<TracedThread> stopped = TracedThread::Stop(pid, pid);
    if (stopped.ok() && stopped->WaitingCall() == SYS_futex) return stopped->WaitsForThread();
  }
}

TEST(TracedThreadTest, WaitForAThreadIsToldFromAWaitForALock) {
  for (const bool joins : {true, false}) {
    const pid_t pid = ChildThatWaits(joins);
    EXPECT_EQ(SeesThreadsEnd(pid), joins);
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
  }
}

int g_report = -1;

// Writes where the signal has interrupted its thread.
void Report(int /*signal*/, siginfo_t* /*info*/, void* context) {
  const uint64_t at =
      static_cast<uint64_t>(static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP]);
  (void)!write(g_report, &at, sizeof(at));
}

// A child that sleeps, and reports SIGUSR1 to `report`.
pid_t ChildThatReports(int report) {
  const pid_t pid = fork();
  if (pid != 0) return pid;
  g_report = report;
  struct sigaction action = {};
  action.sa_sigaction = Report;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGUSR1, &action, nullptr);
  const uint64_t ready = 0;
  (void)!write(report, &ready, sizeof(ready));
  for (;;) pause();
}

// libc is where it is in this process, of which the other is a copy.
Gadgets GadgetsOf(pid_t pid) {
  const auto here = reinterpret_cast<uint64_t>(&getpid);
  const std::vector<Mapping> mappings = ReadMappings(pid);
  const Mapping* const code = MappingAt(mappings, here);
  if (code == nullptr) return {};
  return FindGadgets(pid, code->begin, code->end).value_or(Gadgets());
}

TEST(TracedThreadTest, PendingSignalIsHandledWhereTheThreadWasStopped) {
  int report[2];
  ASSERT_EQ(pipe(report), 0);
  const pid_t pid = ChildThatReports(report[1]);
  uint64_t at = 1;
  ASSERT_EQ(read(report[0], &at, sizeof(at)), sizeof(at));
  uint64_t stopped_at = 0;
  {
    absl::StatusOr<TracedThread> stopped = TracedThread::Stop(pid, pid);
    ASSERT_TRUE(stopped.ok()) << stopped.status();
    stopped_at = stopped->registers().rip;
    ASSERT_EQ(syscall(SYS_tgkill, pid, pid, SIGUSR1), 0);
    const absl::StatusOr<int64_t> result = stopped->Call(GadgetsOf(pid), {SYS_getpid, {}});
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_EQ(*result, pid);
  }
  ASSERT_EQ(read(report[0], &at, sizeof(at)), sizeof(at));
  EXPECT_EQ(at, stopped_at);
  while (true) {  // until the handler has returned
    const absl::StatusOr<TracedThread> later = TracedThread::Stop(pid, pid);
    ASSERT_TRUE(later.ok()) << later.status();
    if (later->WaitingCall() != SYS_pause) continue;
    EXPECT_EQ(later->blocked_signals(), 0u);
    break;
  }
  kill(pid, SIGKILL);
  waitpid(pid, nullptr, 0);
  close(report[0]);
  close(report[1]);
}

// Each waits for ever, in a call that returns EINTR where its thread was stopped.
int g_semaphores = -1;
void WaitForSemaphore() {
  sembuf down = {0, -1, 0};
  (void)syscall(SYS_semop, g_semaphores, &down, 1);
}
void ReceiveWithTimeout() {
  int ends[2];
  const timeval long_time = {1'000'000, 0};
  char byte = 0;
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) abort();
  setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &long_time, sizeof(long_time));
  (void)!recv(ends[0], &byte, 1, 0);
}
void AcceptWithTimeout() {
  const timeval long_time = {1'000'000, 0};
  sockaddr_un any = {};
  any.sun_family = AF_UNIX;
  const int listener = socket(AF_UNIX, SOCK_STREAM, 0);
  setsockopt(listener, SOL_SOCKET, SO_RCVTIMEO, &long_time, sizeof(long_time));
  if (bind(listener, reinterpret_cast<sockaddr*>(&any), sizeof(any.sun_family)) != 0) abort();
  if (listen(listener, 1) != 0) abort();
  (void)accept(listener, nullptr, nullptr);
}

int g_ring = -1;
void WaitForCompletion() {
  (void)syscall(SYS_io_uring_enter, g_ring, 0, 1, IORING_ENTER_GETEVENTS, nullptr, 0);
}

TEST(TracedThreadTest, WaitGoesOnThoughItsThreadWasStopped) {
  std::vector<std::pair<int64_t, void (*)()>> waits = {{SYS_semop, WaitForSemaphore},
                                                       {SYS_recvfrom, ReceiveWithTimeout},
                                                       {SYS_accept, AcceptWithTimeout}};
  io_uring_params parameters = {};
  g_ring = static_cast<int>(syscall(SYS_io_uring_setup, 1, &parameters));
  if (g_ring >= 0) waits.emplace_back(SYS_io_uring_enter, WaitForCompletion);
  g_semaphores = semget(IPC_PRIVATE, 1, 0600);
  for (const auto& [call, wait] : waits) {
    SCOPED_TRACE(call);
    constexpr int kStops = 20;
    const pid_t pid = fork();
    if (pid == 0) {
      wait();
      _exit(0);
    }
    for (int stops = 0; stops < kStops;) {
      const absl::StatusOr<TracedThread> stopped = TracedThread::Stop(pid, pid);
      ASSERT_TRUE(stopped.ok()) << "the wait has ended: " << stopped.status();
      if (stopped->WaitingCall() == call) ++stops;
    }
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
  }
  semctl(g_semaphores, 0, IPC_RMID);
  close(g_ring);
}

TEST(SleepingCallTest, OutputThatWaitsMayReturnAPartAndInputMayNot) {
  for (const bool writes : {true, false}) {
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    const pid_t pid = fork();
    if (pid == 0) {
      static char data[1 << 22];
      if (writes) (void)!write(ends[1], data, sizeof(data));
      if (!writes) (void)!read(ends[0], data, sizeof(data));
      _exit(0);
    }
    const int64_t wanted = writes ? SYS_write : SYS_read;
    SleepingCall call;
    while (call.number != wanted) call = ReadSleepingCall(pid, pid);
    EXPECT_EQ(call.arguments[0], static_cast<uint64_t>(ends[writes ? 1 : 0]));
    EXPECT_EQ(call.arguments[2], uint64_t{1} << 22);
    EXPECT_EQ(MayReturnAPart(call), writes);
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
    close(ends[0]);
    close(ends[1]);
  }
  EXPECT_TRUE(MayReturnAPart({SYS_recvfrom, {3, 0, 1, MSG_WAITALL, 0, 0}}));
  EXPECT_FALSE(MayReturnAPart({SYS_recvfrom, {3, 0, 1, 0, 0, 0}}));
}

// The stop before has ended its call, which it has not yet made again when it is stopped anew.
TEST(TracedThreadTest, ThreadThatWaitsDoesSoInEachStop) {
  constexpr int kStops = 500;
  const pid_t pid = fork();
  if (pid == 0) {
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, nullptr);
    for (;;) sigwaitinfo(&all, nullptr);
  }
  while (true) {
    const absl::StatusOr<TracedThread> stopped = TracedThread::Stop(pid, pid);
    ASSERT_TRUE(stopped.ok()) << stopped.status();
    if (stopped->WaitingCall() == SYS_rt_sigtimedwait) break;
  }
  int waiting = 0;
  for (int i = 0; i < kStops; ++i) {
    const absl::StatusOr<TracedThread> stopped = TracedThread::Stop(pid, pid);
    ASSERT_TRUE(stopped.ok()) << stopped.status();
    if (stopped->WaitingCall() == SYS_rt_sigtimedwait) ++waiting;
  }
  EXPECT_EQ(waiting, kStops);
  kill(pid, SIGKILL);
  waitpid(pid, nullptr, 0);
}

// A stop turns it into restart_syscall, which goes on with the rest of its time.
TEST(TracedThreadTest, SleepThatAStopHasEndedIsStillThatSleep) {
  const pid_t pid = fork();
  if (pid == 0) {
    for (;;) poll(nullptr, 0, 1'000'000);
  }
  while (ReadSleepingCall(pid, pid).number != SYS_restart_syscall) {
    ASSERT_TRUE(TracedThread::Stop(pid, pid).ok());
  }
  const absl::StatusOr<TracedThread> stopped = TracedThread::Stop(pid, pid);
  ASSERT_TRUE(stopped.ok()) << stopped.status();
  EXPECT_EQ(stopped->WaitingCall(), SYS_poll);
  EXPECT_EQ(stopped->registers().rax, static_cast<uint64_t>(SYS_poll));
  kill(pid, SIGKILL);
  waitpid(pid, nullptr, 0);
}

}  // namespace
}  // namespace coz::attach
