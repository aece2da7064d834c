// What POSIX says of waits that are cancelled or interrupted, of arguments that are not valid, and of robust mutexes, while delay is owed.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <threads.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <fstream>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "coz/base/raw_syscall.h"
#include "coz/sync/testing/fake_process.h"
#include "coz/sync/thread_sync.h"
#include "coz/sync/wrapped_calls.h"

namespace coz {
namespace {

using testing::FakeProcess;
using testing::WaitUntil;
using testing::WatchedThread;

constexpr uint64_t kDelayNs = 2 * kNsPerMs;
const timespec kLong = {600, 0};

timespec FarRealtime() { return {time(nullptr) + 600, 0}; }
timespec FarMonotonic() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return {now.tv_sec + 600, now.tv_nsec};
}

// Asleep in the kernel, profiled or not.
bool Sleeps(pid_t tid) {
  if (tid == 0) return false;
  std::ifstream file("/proc/self/task/" + std::to_string(tid) + "/stat");
  std::string stat;
  std::getline(file, stat);
  const size_t name_end = stat.rfind(')');
  return name_end != std::string::npos && stat.compare(name_end, 3, ") S") == 0;
}

// What waits are for; nothing comes of itself.
struct Objects {
  pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
  mtx_t mtx;
  cnd_t cnd;
  sem_t semaphore;
  std::atomic<uint32_t> word{0};
  int pipe_fds[2];
  int full_pipe[2];
  int sockets[2];
  int listener;
  int epoll;
  int event;
  pid_t child;
  std::atomic<bool> joined_may_end{false};
  pthread_t joined;
  sigset_t usr1;
  sigset_t none;

  Objects() {
    sigemptyset(&none);
    sigemptyset(&usr1);
    sigaddset(&usr1, SIGUSR1);
    // Before there is a thread: it inherits the mask.
    pthread_sigmask(SIG_BLOCK, &usr1, nullptr);
    g_real.pthread_mutex_lock(&held);
    mtx_init(&mtx, mtx_plain);
    cnd_init(&cnd);
    sem_init(&semaphore, 0, 0);
    EXPECT_EQ(pipe(pipe_fds), 0);
    EXPECT_EQ(pipe2(full_pipe, O_NONBLOCK), 0);
    char page[4096] = {};
    while (g_real.write(full_pipe[1], page, sizeof(page)) > 0) {
    }
    fcntl(full_pipe[1], F_SETFL, 0);
    EXPECT_EQ(g_real.socketpair(AF_UNIX, SOCK_STREAM, 0, sockets), 0);
    listener = socket(AF_INET, SOCK_STREAM, 0);
    EXPECT_EQ(listen(listener, 1), 0);
    epoll = g_real.epoll_create1(0);
    event = g_real.eventfd(0, 0);
    child = fork();
    if (child == 0) {
      RawSyscall(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL);
      for (;;) RawSyscall(SYS_pause);
    }
    const auto wait_for_end = [](void* may_end) -> void* {
      while (!*static_cast<std::atomic<bool>*>(may_end)) RawSyscall(SYS_sched_yield);
      return nullptr;
    };
    EXPECT_EQ(g_real.pthread_create(&joined, nullptr, wait_for_end, &joined_may_end), 0);
  }
  ~Objects() {
    joined_may_end = true;
    g_real.pthread_join(joined, nullptr);
    RawSyscall(SYS_kill, child, SIGKILL);
    g_real.waitpid(child, nullptr, 0);
    for (const int fd : {pipe_fds[0], pipe_fds[1], full_pipe[0], full_pipe[1], sockets[0],
                         sockets[1], listener, epoll, event}) {
      g_real.close(fd);
    }
  }
};

struct NamedWait {
  const char* name;
  std::function<void(Objects&)> wait;
};

char g_bytes[16];
iovec g_parts[] = {{g_bytes, sizeof(g_bytes)}};

void ReadSelect(Objects& o, const std::function<void(int, fd_set*)>& wait) {
  fd_set input;
  FD_ZERO(&input);
  FD_SET(o.pipe_fds[0], &input);
  wait(o.pipe_fds[0] + 1, &input);
}

// XSH 2.9.5.2: every wrapped call that shall or may be a cancellation point, and is one in glibc.
const NamedWait kCancellationPoints[] = {
    {"cond_wait",
     [](Objects& o) {
       g_real.pthread_mutex_lock(&o.mutex);
       pthread_cond_wait(&o.condition, &o.mutex);
     }},
    {"cond_timedwait",
     [](Objects& o) {
       const timespec far = FarRealtime();
       g_real.pthread_mutex_lock(&o.mutex);
       pthread_cond_timedwait(&o.condition, &o.mutex, &far);
     }},
    {"cond_clockwait",
     [](Objects& o) {
       const timespec far = FarMonotonic();
       g_real.pthread_mutex_lock(&o.mutex);
       pthread_cond_clockwait(&o.condition, &o.mutex, CLOCK_MONOTONIC, &far);
     }},
    {"cnd_wait",
     [](Objects& o) {
       g_real.mtx_lock(&o.mtx);
       cnd_wait(&o.cnd, &o.mtx);
     }},
    {"join", [](Objects& o) { pthread_join(o.joined, nullptr); }},
    {"timedjoin",
     [](Objects& o) {
       const timespec far = FarRealtime();
       pthread_timedjoin_np(o.joined, nullptr, &far);
     }},
    {"clockjoin",
     [](Objects& o) {
       const timespec far = FarMonotonic();
       pthread_clockjoin_np(o.joined, nullptr, CLOCK_MONOTONIC, &far);
     }},
    {"thrd_join", [](Objects& o) { thrd_join(o.joined, nullptr); }},
    {"sem_wait", [](Objects& o) { sem_wait(&o.semaphore); }},
    {"sem_timedwait",
     [](Objects& o) {
       const timespec far = FarRealtime();
       sem_timedwait(&o.semaphore, &far);
     }},
    {"sem_clockwait",
     [](Objects& o) {
       const timespec far = FarMonotonic();
       sem_clockwait(&o.semaphore, CLOCK_MONOTONIC, &far);
     }},
    {"sigwait",
     [](Objects& o) {
       int signal;
       sigwait(&o.usr1, &signal);
     }},
    {"sigwaitinfo", [](Objects& o) { sigwaitinfo(&o.usr1, nullptr); }},
    {"sigtimedwait", [](Objects& o) { sigtimedwait(&o.usr1, nullptr, &kLong); }},
    {"sigsuspend", [](Objects& o) { sigsuspend(&o.none); }},
    {"pause", [](Objects&) { pause(); }},
    {"poll", [](Objects&) { poll(nullptr, 0, -1); }},
    {"ppoll", [](Objects&) { ppoll(nullptr, 0, &kLong, nullptr); }},
    {"select",
     [](Objects& o) {
       ReadSelect(o, [](int count, fd_set* input) {
         timeval time = {600, 0};
         select(count, input, nullptr, nullptr, &time);
       });
     }},
    {"pselect",
     [](Objects& o) {
       ReadSelect(o, [](int count, fd_set* input) {
         pselect(count, input, nullptr, nullptr, &kLong, nullptr);
       });
     }},
    {"epoll_wait",
     [](Objects& o) {
       epoll_event event;
       epoll_wait(o.epoll, &event, 1, -1);
     }},
    {"epoll_pwait",
     [](Objects& o) {
       epoll_event event;
       epoll_pwait(o.epoll, &event, 1, -1, &o.none);
     }},
    {"epoll_pwait2",
     [](Objects& o) {
       epoll_event event;
       epoll_pwait2(o.epoll, &event, 1, &kLong, nullptr);
     }},
    {"read", [](Objects& o) { EXPECT_EQ(read(o.pipe_fds[0], g_bytes, 1), 1); }},
    {"readv", [](Objects& o) { EXPECT_EQ(readv(o.pipe_fds[0], g_parts, 1), 1); }},
    {"write", [](Objects& o) { EXPECT_EQ(write(o.full_pipe[1], g_bytes, 1), 1); }},
    {"writev", [](Objects& o) { EXPECT_EQ(writev(o.full_pipe[1], g_parts, 1), 1); }},
    {"eventfd_read",
     [](Objects& o) {
       eventfd_t value;
       eventfd_read(o.event, &value);
     }},
    {"recv", [](Objects& o) { recv(o.sockets[0], g_bytes, 1, 0); }},
    {"recvfrom", [](Objects& o) { recvfrom(o.sockets[0], g_bytes, 1, 0, nullptr, nullptr); }},
    {"recvmsg",
     [](Objects& o) {
       msghdr message = {};
       message.msg_iov = g_parts;
       message.msg_iovlen = 1;
       recvmsg(o.sockets[0], &message, 0);
     }},
    {"accept", [](Objects& o) { accept(o.listener, nullptr, nullptr); }},
    {"accept4", [](Objects& o) { accept4(o.listener, nullptr, nullptr, 0); }},
    {"nanosleep", [](Objects&) { nanosleep(&kLong, nullptr); }},
    {"clock_nanosleep", [](Objects&) { clock_nanosleep(CLOCK_MONOTONIC, 0, &kLong, nullptr); }},
    {"usleep", [](Objects&) { usleep(900 * 1000 * 1000); }},
    {"sleep", [](Objects&) { sleep(600); }},
    {"thrd_sleep", [](Objects&) { thrd_sleep(&kLong, nullptr); }},
    {"wait", [](Objects&) { wait(nullptr); }},
    {"waitpid", [](Objects& o) { waitpid(o.child, nullptr, 0); }},
    {"wait4", [](Objects& o) { wait4(o.child, nullptr, 0, nullptr); }},
    {"waitid",
     [](Objects& o) {
       siginfo_t info;
       waitid(P_PID, static_cast<id_t>(o.child), &info, WEXITED);
     }},
};

struct SetsAtEnd {
  std::atomic<bool>* flag;
  ~SetsAtEnd() { *flag = true; }
};

// A thread in `wait`, which owes delay.
class IndebtedWaiter {
 public:
  IndebtedWaiter(FakeProcess& process, Objects& objects,
                 const std::function<void(Objects&)>& wait) {
    thread_ = std::thread([this, &objects, wait] {
      const SetsAtEnd unwound{&unwound_};
      watched_.Announce();
      wait(objects);
      returned_ = true;
    });
    WaitUntil("it waits", [&] { return watched_.IsBlocked(true); });
    process.Impose(kDelayNs);
  }
  void Cancel() { EXPECT_EQ(pthread_cancel(thread_.native_handle()), 0); }
  void Join() { thread_.join(); }
  bool unwound() const { return unwound_; }
  bool returned() const { return returned_; }
  const ThreadLedger& ledger() const { return *watched_.ledger; }

 private:
  WatchedThread watched_;
  std::atomic<bool> unwound_{false};
  std::atomic<bool> returned_{false};
  std::thread thread_;
};

class CancellationPointTest : public ::testing::TestWithParam<NamedWait> {
 protected:
  FakeProcess process_;
};

TEST_P(CancellationPointTest, IsCancelledAndThenPays) {
  Objects objects;
  IndebtedWaiter waiter(process_, objects, GetParam().wait);
  waiter.Cancel();
  waiter.Join();
  EXPECT_TRUE(waiter.unwound());
  EXPECT_FALSE(waiter.returned());
  EXPECT_GE(waiter.ledger().paused_ns, kDelayNs);
  EXPECT_EQ(waiter.ledger().credited_ns, 0u);
  EXPECT_EQ(waiter.ledger().blocked, 0u);
}

INSTANTIATE_TEST_SUITE_P(AllCalls, CancellationPointTest, ::testing::ValuesIn(kCancellationPoints),
                         [](const auto& wait) { return std::string(wait.param.name); });

class InterposePosixTest : public ::testing::Test {
 protected:
  // Runs `call` in a thread that owes delay and has a cancellation pending.
  void ExpectActsOnPendingCancellation(const std::function<void()>& call) {
    bool went_on = false;
    std::thread thread([&] {
      process_.Impose(kDelayNs);
      pthread_cancel(pthread_self());
      call();
      went_on = true;
    });
    thread.join();
    EXPECT_FALSE(went_on);
  }

  FakeProcess process_;
};

TEST_F(InterposePosixTest, PendingCancellationIsActedOnBeforeAnythingIsTaken) {
  Objects objects;
  ASSERT_EQ(RawSyscall(SYS_write, objects.pipe_fds[1], "x", 1), 1);
  ExpectActsOnPendingCancellation([&] { EXPECT_EQ(read(objects.pipe_fds[0], g_bytes, 1), -2); });
  pollfd input = {objects.pipe_fds[0], POLLIN, 0};
  EXPECT_EQ(g_real.poll(&input, 1, 0), 1);

  ASSERT_EQ(kill(getpid(), SIGUSR1), 0);
  int signal = 0;
  ExpectActsOnPendingCancellation([&] { sigwait(&objects.usr1, &signal); });
  EXPECT_EQ(sigwait(&objects.usr1, &signal), 0);
}

TEST_F(InterposePosixTest, CleanupHandlersOfAnExitingDebtorSynchronise) {
  sem_t semaphore;
  sem_init(&semaphore, 0, 0);
  pthread_t thread;
  ASSERT_EQ(pthread_create(
                &thread, nullptr,
                [](void* posted) -> void* {
                  pthread_cleanup_push([](void* p) { sem_post(static_cast<sem_t*>(p)); }, posted);
                  sync_internal::g_ledger->global_delay_ns += kDelayNs;
                  pthread_exit(posted);
                  pthread_cleanup_pop(0);
                  return nullptr;
                },
                &semaphore),
            0);
  EXPECT_EQ(sem_wait(&semaphore), 0);
  void* value = nullptr;
  EXPECT_EQ(pthread_join(thread, &value), 0);
  EXPECT_EQ(value, &semaphore);
}

// Handlers: what a wait in progress answers, and what is left of its time.

enum class Caller { kNotProfiled, kProfiled, kOwesDelay };

// What `wait`, which a handler interrupts, returns; where it goes on, `finish` ends it.
int Interrupted(FakeProcess& process, Caller caller, int flags, const std::function<int()>& wait,
                const std::function<void()>& finish) {
  struct sigaction action = {};
  static std::atomic<int> handled;
  handled = 0;
  action.sa_handler = [](int) { ++handled; };
  action.sa_flags = flags;
  EXPECT_EQ(sigaction(SIGUSR2, &action, nullptr), 0);
  std::atomic<pid_t> tid{0};
  std::atomic<bool> returned{false};
  int result = 0;
  std::thread thread([&] {
    if (caller == Caller::kNotProfiled) LeaveThreadSync();
    tid = static_cast<pid_t>(RawSyscall(SYS_gettid));
    result = wait();
    returned = true;
  });
  WaitUntil("it waits", [&] { return Sleeps(tid); });
  if (caller == Caller::kOwesDelay) process.Impose(kDelayNs);
  g_real.pthread_kill(thread.native_handle(), SIGUSR2);
  WaitUntil("the handler has run", [&] { return handled == 1; });
  WaitUntil("it returns or waits again", [&] { return returned || Sleeps(tid); });
  finish();
  thread.join();
  return result;
}

int ErrorOf(long result) { return result == -1 ? errno : static_cast<int>(result); }
bool IsPartOf600s(const timespec& rest) {
  return rest.tv_sec >= 0 && rest.tv_sec < 600 && rest.tv_sec * 1000000000 + rest.tv_nsec > 0;
}

struct InterruptedWait {
  const char* name;
  int by_handler;     // its result after a handler
  int by_restarting;  // and after one with SA_RESTART: EINTR, or 0 where it goes on
  std::function<int(Objects&)> wait;
  std::function<void(Objects&)> finish = [](Objects&) {};
};

// signal(7), but that a futex with a time-out is not restarted (kernel/futex/waitwake.c): its rest is kept in a restart block.
const InterruptedWait kInterruptedWaits[] = {
    {"nanosleep", EINTR, EINTR,
     [](Objects&) {
       timespec rest = {};
       const int error = ErrorOf(nanosleep(&kLong, &rest));
       EXPECT_TRUE(IsPartOf600s(rest)) << rest.tv_sec;
       return error;
     }},
    {"clock_nanosleep", EINTR, EINTR,
     [](Objects&) {
       timespec rest = {};
       const int error = clock_nanosleep(CLOCK_MONOTONIC, 0, &kLong, &rest);
       EXPECT_TRUE(IsPartOf600s(rest)) << rest.tv_sec;
       return error;
     }},
    {"clock_nanosleep_until", EINTR, EINTR,
     [](Objects&) {
       const timespec far = FarMonotonic();
       timespec rest = {77, 7};
       const int error = clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &far, &rest);
       EXPECT_EQ(rest.tv_sec, 77);
       return error;
     }},
    {"sleep", EINTR, EINTR,
     [](Objects&) {
       const unsigned rest_s = sleep(600);
       EXPECT_GT(rest_s, 0u);
       return rest_s <= 600 ? EINTR : 0;
     }},
    {"usleep", EINTR, EINTR, [](Objects&) { return ErrorOf(usleep(900 * 1000 * 1000)); }},
    {"poll", EINTR, EINTR, [](Objects&) { return ErrorOf(poll(nullptr, 0, 600 * 1000)); }},
    {"ppoll", EINTR, EINTR, [](Objects&) { return ErrorOf(ppoll(nullptr, 0, &kLong, nullptr)); }},
    {"select", EINTR, EINTR,
     [](Objects&) {
       timeval rest = {600, 0};
       const int error = ErrorOf(select(0, nullptr, nullptr, nullptr, &rest));
       EXPECT_TRUE(IsPartOf600s({rest.tv_sec, rest.tv_usec * 1000})) << rest.tv_sec;
       return error;
     }},
    {"pselect", EINTR, EINTR,
     [](Objects&) { return ErrorOf(pselect(0, nullptr, nullptr, nullptr, &kLong, nullptr)); }},
    {"epoll_wait", EINTR, EINTR,
     [](Objects& o) {
       epoll_event event;
       return ErrorOf(epoll_wait(o.epoll, &event, 1, -1));
     }},
    {"sigtimedwait", EINTR, EINTR,
     [](Objects& o) { return ErrorOf(sigtimedwait(&o.usr1, nullptr, &kLong)); }},
    {"sem_wait", EINTR, 0, [](Objects& o) { return ErrorOf(sem_wait(&o.semaphore)); },
     [](Objects& o) { g_real.sem_post(&o.semaphore); }},
    {"sem_timedwait", EINTR, EINTR,
     [](Objects& o) {
       const timespec far = FarRealtime();
       return ErrorOf(sem_timedwait(&o.semaphore, &far));
     },
     [](Objects& o) { g_real.sem_post(&o.semaphore); }},
    {"futex_wait", EINTR, 0,
     [](Objects& o) {
       return ErrorOf(syscall(SYS_futex, &o.word, FUTEX_WAIT_PRIVATE, 0, nullptr));
     },
     [](Objects& o) {
       RawSyscall(SYS_futex, &o.word, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
     }},
    {"read", EINTR, 0,
     [](Objects& o) {
       const int result = ErrorOf(read(o.pipe_fds[0], g_bytes, 1));
       return result == 1 ? 0 : result;
     },
     [](Objects& o) { RawSyscall(SYS_write, o.pipe_fds[1], "x", 1); }},
    {"waitpid", EINTR, 0,
     [](Objects& o) {
       const int result = ErrorOf(waitpid(o.child, nullptr, 0));
       return result == o.child ? 0 : result;
     },
     [](Objects& o) { RawSyscall(SYS_kill, o.child, SIGKILL); }},
    // These shall not return EINTR.
    {"mutex_lock", 0, 0, [](Objects& o) { return pthread_mutex_lock(&o.held); },
     [](Objects& o) { g_real.pthread_mutex_unlock(&o.held); }},
    {"mutex_timedlock", 0, 0,
     [](Objects& o) {
       const timespec far = FarRealtime();
       return pthread_mutex_timedlock(&o.held, &far);
     },
     [](Objects& o) { g_real.pthread_mutex_unlock(&o.held); }},
    {"join", 0, 0,
     [](Objects& o) {
       const timespec far = FarRealtime();
       const int result = pthread_timedjoin_np(o.joined, nullptr, &far);
       if (result != 0) return result;
       const auto nothing = [](void*) -> void* { return nullptr; };
       return g_real.pthread_create(&o.joined, nullptr, nothing, nullptr);
     },
     [](Objects& o) { o.joined_may_end = true; }},
};

class InterruptedWaitTest : public ::testing::TestWithParam<InterruptedWait> {
 protected:
  void ExpectResult(Caller caller, int flags, int expected) {
    Objects objects;
    EXPECT_EQ(Interrupted(
                  process_, caller, flags, [&] { return GetParam().wait(objects); },
                  [&] { GetParam().finish(objects); }),
              expected)
        << "caller " << static_cast<int>(caller) << ", flags " << flags;
  }

  FakeProcess process_;
};

TEST_P(InterruptedWaitTest, AnswersAsLibc) {
  for (const Caller caller : {Caller::kNotProfiled, Caller::kProfiled, Caller::kOwesDelay}) {
    ExpectResult(caller, 0, GetParam().by_handler);
    ExpectResult(caller, SA_RESTART, GetParam().by_restarting);
  }
}

INSTANTIATE_TEST_SUITE_P(AllCalls, InterruptedWaitTest, ::testing::ValuesIn(kInterruptedWaits),
                         [](const auto& wait) { return std::string(wait.param.name); });

// Arguments.

TEST_F(InterposePosixTest, InvalidTimesAreRefusedAsByLibc) {
  const auto results = [] {
    Objects objects;
    const timespec invalid = {1, 1000 * 1000 * 1000};
    const timespec negative = {-1, 0};
    timeval negative_tv = {-1, 0};
    epoll_event event;
    return std::vector<int>{
        ErrorOf(nanosleep(&invalid, nullptr)),
        ErrorOf(nanosleep(&negative, nullptr)),
        clock_nanosleep(CLOCK_MONOTONIC, 0, &invalid, nullptr),
        clock_nanosleep(CLOCK_THREAD_CPUTIME_ID, 0, &kLong, nullptr),
        ErrorOf(ppoll(nullptr, 0, &invalid, nullptr)),
        ErrorOf(pselect(0, nullptr, nullptr, nullptr, &invalid, nullptr)),
        ErrorOf(select(0, nullptr, nullptr, nullptr, &negative_tv)),
        ErrorOf(select(-1, nullptr, nullptr, nullptr, nullptr)),
        ErrorOf(epoll_wait(objects.epoll, &event, 0, 0)),
        ErrorOf(epoll_wait(objects.pipe_fds[0], &event, 1, 0)),
        ErrorOf(syscall(SYS_futex, &objects.word, FUTEX_WAIT_PRIVATE, 0, &invalid)),
    };
  };
  ThreadLedger* ledger = LeaveThreadSync();
  const std::vector<int> of_libc = results();
  EnterThreadSync(ledger, process_.global().global_delay_ns);
  for (const int result : of_libc) EXPECT_EQ(result, EINVAL);
  process_.Impose(kDelayNs);
  EXPECT_EQ(results(), of_libc);
  EXPECT_GT(ledger->pauses, 0u);
}

// Robust mutexes whose owner dies while others wait, by whatever call.

class RobustMutexTest : public InterposePosixTest {
 protected:
  RobustMutexTest() {
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    EXPECT_EQ(pthread_mutex_init(&mutex_, &attributes), 0);
  }
  void DieWithIt() {
    std::thread([this] { pthread_mutex_lock(&mutex_); }).join();
    process_.Impose(kDelayNs);
  }
  void MakeConsistent() {
    EXPECT_EQ(pthread_mutex_consistent(&mutex_), 0);
    EXPECT_EQ(pthread_mutex_unlock(&mutex_), 0);
  }
  pthread_mutex_t mutex_;
};

TEST_F(RobustMutexTest, EveryLockCallTellsOfTheDeadOwner) {
  const timespec realtime = FarRealtime();
  const timespec monotonic = FarMonotonic();
  DieWithIt();
  EXPECT_EQ(pthread_mutex_timedlock(&mutex_, &realtime), EOWNERDEAD);
  MakeConsistent();
  DieWithIt();
  EXPECT_EQ(pthread_mutex_clocklock(&mutex_, CLOCK_MONOTONIC, &monotonic), EOWNERDEAD);
  MakeConsistent();
  DieWithIt();
  EXPECT_EQ(pthread_mutex_trylock(&mutex_), EOWNERDEAD);
  MakeConsistent();
  EXPECT_EQ(pthread_mutex_lock(&mutex_), 0);
  EXPECT_EQ(pthread_mutex_unlock(&mutex_), 0);
}

TEST_F(RobustMutexTest, TimedWaitOnAConditionTellsOfTheDeadOwner) {
  pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
  Objects objects;
  int result = 0;
  IndebtedWaiter waiter(process_, objects, [&](Objects&) {
    const timespec far = FarRealtime();
    pthread_mutex_lock(&mutex_);
    result = pthread_cond_timedwait(&condition, &mutex_, &far);
    MakeConsistent();
  });
  DieWithIt();
  pthread_cond_signal(&condition);
  waiter.Join();
  EXPECT_EQ(result, EOWNERDEAD);
}

// One, for glibc 2.36 wakes no more than one of them.
TEST_F(RobustMutexTest, WaiterOfAnUnrecoverableOneReturns) {
  DieWithIt();
  ASSERT_EQ(pthread_mutex_lock(&mutex_), EOWNERDEAD);
  Objects objects;
  int result = 0;
  IndebtedWaiter waiter(process_, objects, [&](Objects&) { result = pthread_mutex_lock(&mutex_); });
  EXPECT_EQ(pthread_mutex_unlock(&mutex_), 0);
  waiter.Join();
  EXPECT_EQ(result, ENOTRECOVERABLE);
}

}  // namespace
}  // namespace coz
