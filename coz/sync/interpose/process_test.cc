// Waits that another process ends. They bring credit where that process is profiled and so has paid
// first.
#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <mqueue.h>
#include <netinet/in.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <functional>
#include <memory>
#include <string>

#include "coz/base/clock.h"
#include "coz/base/raw_syscall.h"
#include "coz/sync/delay/io_tables.h"
#include "coz/sync/interpose/io_object.h"
#include "coz/sync/interpose/thread_sync.h"
#include "coz/sync/interpose/wrapped_calls.h"
#include "coz/testing/in_child.h"

namespace coz::interpose {
namespace {

constexpr uint64_t kDelayNs = 30 * kNsPerMs;

struct Shared {
  delay::GlobalLedger global;
  delay::IoTables io;
  delay::ThreadLedger waiter;
  delay::ThreadLedger waker;
  pthread_mutex_t mutex;
  pthread_cond_t condition;
  sem_t semaphore;
  int ready;
};
Shared* g_shared = nullptr;

struct Wake {
  std::function<void()> wait;             // in the parent
  std::function<void()> wake;             // in the child, which then ends
  std::function<void()> prepare = [] {};  // in the child, before
};

struct Case {
  const char* name;
  Wake (*make)();
};

Wake ThroughPipe() {
  int ends[2];
  EXPECT_EQ(pipe(ends), 0);
  const int in = ends[0], out = ends[1];
  return {[=] {
            char byte;
            EXPECT_EQ(read(in, &byte, 1), 1);
          },
          [=] { (void)!write(out, "x", 1); }};
}

Wake ThroughSocketPair() {
  int ends[2];
  EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  const int in = ends[0], out = ends[1];
  return {[=] {
            char byte;
            EXPECT_EQ(recv(in, &byte, 1, 0), 1);
          },
          [=] { send(out, "x", 1, 0); }};
}

Wake ThroughEventfd() {
  const int fd = eventfd(0, 0);
  return {[=] {
            eventfd_t value;
            EXPECT_EQ(eventfd_read(fd, &value), 0);
          },
          [=] { eventfd_write(fd, 1); }};
}

Wake ThroughTcp() {
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof(address);
  auto* any = reinterpret_cast<sockaddr*>(&address);
  EXPECT_EQ(bind(listener, any, length), 0);
  EXPECT_EQ(listen(listener, 1), 0);
  EXPECT_EQ(getsockname(listener, any, &length), 0);
  const int out = socket(AF_INET, SOCK_STREAM, 0);
  EXPECT_EQ(connect(out, any, length), 0);
  const int in = accept(listener, nullptr, nullptr);
  return {[=] {
            char byte;
            EXPECT_EQ(recv(in, &byte, 1, 0), 1);
          },
          [=] { send(out, "x", 1, 0); }};
}

Wake ThroughEpoll() {
  int ends[2];
  EXPECT_EQ(pipe(ends), 0);
  const int in = ends[0], out = ends[1];
  return {[=] {
            // Made after the fork, so only the shared tables can connect it to the other process.
            const int epoll = epoll_create1(0);
            epoll_event event = {};
            event.events = EPOLLIN;
            EXPECT_EQ(epoll_ctl(epoll, EPOLL_CTL_ADD, in, &event), 0);
            EXPECT_EQ(epoll_wait(epoll, &event, 1, -1), 1);
          },
          [=] { (void)!write(out, "x", 1); }};
}

Wake EndAwaitedBy(pid_t (*wait_call)()) {
  return {[=] { EXPECT_GT(wait_call(), 0); }, [] {}};
}
Wake EndAwaitedByWait() {
  return EndAwaitedBy([] { return wait(nullptr); });
}
Wake EndAwaitedByWaitpid() {
  return EndAwaitedBy([] { return waitpid(-1, nullptr, 0); });
}
Wake EndAwaitedByWait3() {
  return EndAwaitedBy([] {
    int status = -1;
    rusage usage = {};
    const pid_t child = wait3(&status, 0, &usage);
    EXPECT_EQ(status, 0);
    EXPECT_GT(usage.ru_maxrss, 0);
    return child;
  });
}
Wake EndAwaitedByWait4() {
  return EndAwaitedBy([] { return wait4(-1, nullptr, 0, nullptr); });
}
Wake EndAwaitedByWaitid() {
  return EndAwaitedBy([] {
    siginfo_t info = {};
    return waitid(P_ALL, 0, &info, WEXITED) == 0 ? info.si_pid : -1;
  });
}

sigset_t BlockedSignal(int signal) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, signal);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  return set;
}

Wake ByASignal() {
  const sigset_t set = BlockedSignal(SIGUSR1);
  return {[=] { EXPECT_EQ(sigwaitinfo(&set, nullptr), SIGUSR1); },
          [] { kill(getppid(), SIGUSR1); }};
}

Wake ByTheSignalOfItsEnd() {
  const sigset_t set = BlockedSignal(SIGCHLD);
  return {[=] { EXPECT_EQ(sigwaitinfo(&set, nullptr), SIGCHLD); }, [] {}};
}

Wake ThroughSignalfd() {
  const sigset_t set = BlockedSignal(SIGUSR2);
  const int fd = signalfd(-1, &set, 0);
  NoteSignalDescriptor(fd);  // the runtime's wrapper of signalfd does this
  return {[=] {
            signalfd_siginfo info;
            EXPECT_EQ(read(fd, &info, sizeof(info)), static_cast<ssize_t>(sizeof(info)));
          },
          [] { kill(getppid(), SIGUSR2); }};
}

Wake ThroughSharedSemaphore() {
  sem_init(&g_shared->semaphore, 1, 0);
  return {[] { sem_wait(&g_shared->semaphore); }, [] { sem_post(&g_shared->semaphore); }};
}

Wake ThroughSharedCondition() {
  pthread_mutexattr_t mutex;
  pthread_mutexattr_init(&mutex);
  pthread_mutexattr_setpshared(&mutex, PTHREAD_PROCESS_SHARED);
  pthread_mutex_init(&g_shared->mutex, &mutex);
  pthread_condattr_t condition;
  pthread_condattr_init(&condition);
  pthread_condattr_setpshared(&condition, PTHREAD_PROCESS_SHARED);
  pthread_cond_init(&g_shared->condition, &condition);
  g_shared->ready = 0;
  return {[] {
            pthread_mutex_lock(&g_shared->mutex);
            while (g_shared->ready == 0) {
              pthread_cond_wait(&g_shared->condition, &g_shared->mutex);
            }
            pthread_mutex_unlock(&g_shared->mutex);
          },
          [] {
            pthread_mutex_lock(&g_shared->mutex);
            g_shared->ready = 1;
            pthread_mutex_unlock(&g_shared->mutex);
            pthread_cond_signal(&g_shared->condition);
          }};
}

Wake ThroughMessageQueue() {
  const std::string name = "/coz-process-" + std::to_string(getpid());
  const mqd_t queue = mq_open(name.c_str(), O_RDWR | O_CREAT, 0600, nullptr);
  EXPECT_GE(queue, 0);
  mq_unlink(name.c_str());
  return {[=] {
            static char message[8192];
            EXPECT_EQ(mq_receive(queue, message, sizeof(message), nullptr), 1);
          },
          [=] { mq_send(queue, "x", 1, 0); }};
}

Wake ThroughSemaphoreSet() {
  const int set = semget(IPC_PRIVATE, 1, 0600);
  const auto change = [set](short by) {
    sembuf operation = {0, by, 0};
    return semop(set, &operation, 1);
  };
  return {[=] {
            EXPECT_EQ(change(-1), 0);
            semctl(set, 0, IPC_RMID);
          },
          [=] { change(1); }};
}

// The child takes the lock by `call`, and gives it back.
Wake ThroughLockOfProcess(int (*call)(int fd, bool takes)) {
  const int file = memfd_create("test", 0);
  g_shared->ready = 0;
  return {[=] {
            while (__atomic_load_n(&g_shared->ready, __ATOMIC_ACQUIRE) == 0) {
              RawSyscall(SYS_sched_yield);
            }
            EXPECT_EQ(call(file, true), 0);
          },
          [=] { call(file, false); },
          [=] {
            if (call(file, true) != 0) _exit(3);
            __atomic_store_n(&g_shared->ready, 1, __ATOMIC_RELEASE);
          }};
}
Wake ThroughFcntlLock() {
  return ThroughLockOfProcess([](int fd, bool takes) {
    struct flock all = {};
    all.l_type = takes ? F_WRLCK : F_UNLCK;
    return fcntl(fd, F_SETLKW, &all);
  });
}
Wake ThroughLockf() {
  return ThroughLockOfProcess(
      [](int fd, bool takes) { return lockf(fd, takes ? F_LOCK : F_ULOCK, 0); });
}

void AwaitSleepOfParent() {
  const std::string path = "/proc/" + std::to_string(getppid()) + "/stat";
  const uint64_t give_up_ns = MonotonicNowNs() + 60 * kNsPerSecond;
  while (MonotonicNowNs() < give_up_ns) {
    std::ifstream file(path);
    std::string stat;
    std::getline(file, stat);
    const size_t name_end = stat.rfind(')');
    const bool asleep = name_end != std::string::npos && stat.compare(name_end, 3, ") S") == 0;
    if (asleep && g_shared->waiter.blocked != 0) return;
    usleep(1000);
  }
  _exit(2);
}

std::string NameOf(const ::testing::TestParamInfo<Case>& parameter) { return parameter.param.name; }

class ProcessWaitTest : public ::testing::TestWithParam<Case> {
 protected:
  // A third process imposes delay while the waiter sleeps. Then the waiter is woken.
  void Run(bool waker_is_profiled) {
    ResolveRealCalls();
    testing::SharedValue<Shared> shared;
    g_shared = &*shared;
    SetIoTables(&shared->io);
    InitThreadSync(&shared->global, {});
    EnterThreadSync(&shared->waiter, 0);
    const Wake wake = GetParam().make();
    const pid_t child = fork();
    if (child == 0) {
      LeaveThreadSync();
      if (waker_is_profiled) EnterThreadSync(&shared->waker, 0);
      wake.prepare();
      AwaitSleepOfParent();
      shared->global.global_delay_ns += kDelayNs;
      wake.wake();
      _exit(0);
    }
    wake.wait();
    waiter_local_ns_ = shared->waiter.local_delay_ns;
    waiter_paused_ns_ = shared->waiter.paused_ns;
    waiter_credited_ns_ = shared->waiter.credited_ns;
    LeaveThreadSync();
    waitpid(child, nullptr, 0);
    waker_paused_ns_ = shared->waker.paused_ns;
  }

  uint64_t waiter_local_ns_ = 0;
  uint64_t waiter_paused_ns_ = 0;
  uint64_t waiter_credited_ns_ = 0;
  uint64_t waker_paused_ns_ = 0;
};

TEST_P(ProcessWaitTest, CreditsTheWaiterOfAProfiledProcess) {
  Run(true);
  EXPECT_GE(waker_paused_ns_, kDelayNs);
  EXPECT_GE(waiter_credited_ns_, kDelayNs);
  EXPECT_EQ(waiter_paused_ns_, 0u);
}

INSTANTIATE_TEST_SUITE_P(
    All, ProcessWaitTest,
    ::testing::Values(Case{"Pipe", ThroughPipe}, Case{"SocketPair", ThroughSocketPair},
                      Case{"Eventfd", ThroughEventfd}, Case{"Tcp", ThroughTcp},
                      Case{"Epoll", ThroughEpoll}, Case{"End", EndAwaitedByWait},
                      Case{"EndByWaitpid", EndAwaitedByWaitpid},
                      Case{"EndByWait3", EndAwaitedByWait3}, Case{"EndByWait4", EndAwaitedByWait4},
                      Case{"EndByWaitid", EndAwaitedByWaitid}, Case{"Signal", ByASignal},
                      Case{"SignalOfEnd", ByTheSignalOfItsEnd}, Case{"Signalfd", ThroughSignalfd},
                      Case{"MessageQueue", ThroughMessageQueue},
                      Case{"SemaphoreSet", ThroughSemaphoreSet},
                      Case{"FcntlLock", ThroughFcntlLock}, Case{"Lockf", ThroughLockf},
                      Case{"SharedSemaphore", ThroughSharedSemaphore},
                      Case{"SharedCondition", ThroughSharedCondition}),
    NameOf);

// A process that is not profiled counts as the outside: a wait for it looks like any other wait for
// the outside.
class OutsideProcessTest : public ProcessWaitTest {};
TEST_P(OutsideProcessTest, MakesTheWaiterPay) {
  Run(false);
  EXPECT_EQ(waker_paused_ns_, 0u);
  EXPECT_EQ(waiter_credited_ns_, 0u);
  EXPECT_GE(waiter_paused_ns_, kDelayNs);
}

INSTANTIATE_TEST_SUITE_P(
    All, OutsideProcessTest,
    ::testing::Values(Case{"Pipe", ThroughPipe}, Case{"SocketPair", ThroughSocketPair},
                      Case{"Eventfd", ThroughEventfd}, Case{"Tcp", ThroughTcp},
                      Case{"Epoll", ThroughEpoll}, Case{"MessageQueue", ThroughMessageQueue},
                      Case{"SemaphoreSet", ThroughSemaphoreSet},
                      Case{"FcntlLock", ThroughFcntlLock}, Case{"End", EndAwaitedByWait},
                      Case{"EndByWait3", EndAwaitedByWait3},
                      Case{"EndByWaitid", EndAwaitedByWaitid}),
    NameOf);

}  // namespace
}  // namespace coz::interpose
