// Time-outs of wrapped calls end in virtual time. If a thread owes delay when its wait times out,
// the wait goes on for that long, and the thread may still be woken.
#include <aio.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/futex.h>
#include <mqueue.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/syscall.h>
#include <threads.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <functional>
#include <string>
#include <thread>

#include "coz/base/raw_syscall.h"
#include "coz/sync/interpose/deadline.h"
#include "coz/sync/interpose/testing/fake_process.h"
#include "coz/sync/interpose/thread_sync.h"
#include "coz/sync/interpose/wrapped_calls.h"

namespace coz::interpose {
namespace {

using testing::FakeProcess;
using testing::WaitUntil;
using testing::WatchedThread;

constexpr uint64_t kSoonNs = 100 * kNsPerMs;
constexpr int kSoonMs = 100;

timespec Soon(clockid_t clock) {
  timespec now;
  clock_gettime(clock, &now);
  return DeadlineAfter(now, kSoonNs);
}

// The objects of the waits. libc itself makes, holds and wakes them, as the outside of the program
// would.
struct Objects {
  pthread_mutex_t held_mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_rwlock_t held_rwlock = PTHREAD_RWLOCK_INITIALIZER;
  mtx_t held_mtx;
  pthread_mutex_t free_mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
  mtx_t free_mtx;
  cnd_t cnd;
  sem_t semaphore;
  std::atomic<uint32_t> word{0};
  std::atomic<uint32_t> held_word{0};
  int pipe_fds[2];
  int epoll;
  std::atomic<bool> joined_may_end{false};
  pthread_t joined;
  bool was_joined = false;
  mqd_t queue;
  int semaphores;
  uint64_t received = 0;
  sigset_t usr1;

  Objects() {
    g_real.pthread_mutex_lock(&held_mutex);
    g_real.pthread_rwlock_wrlock(&held_rwlock);
    mtx_init(&held_mtx, mtx_timed);
    g_real.mtx_lock(&held_mtx);
    mtx_init(&free_mtx, mtx_plain);
    cnd_init(&cnd);
    sem_init(&semaphore, 0, 0);
    held_word = static_cast<uint32_t>(RawSyscall(SYS_gettid));
    EXPECT_EQ(pipe(pipe_fds), 0);
    epoll = epoll_create1(0);
    epoll_event event = {};
    event.events = EPOLLIN;
    EXPECT_EQ(epoll_ctl(epoll, EPOLL_CTL_ADD, pipe_fds[0], &event), 0);
    const auto wait_for_end = [](void* may_end) -> void* {
      while (!*static_cast<std::atomic<bool>*>(may_end)) RawSyscall(SYS_sched_yield);
      return nullptr;
    };
    EXPECT_EQ(g_real.pthread_create(&joined, nullptr, wait_for_end, &joined_may_end), 0);
    const std::string name = "/coz-timeout-" + std::to_string(getpid());
    queue = mq_open(name.c_str(), O_RDWR | O_CREAT, 0600, nullptr);
    EXPECT_GE(queue, 0);
    mq_unlink(name.c_str());
    semaphores = semget(IPC_PRIVATE, 1, 0600);
    sigemptyset(&usr1);
    sigaddset(&usr1, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &usr1, nullptr);
  }
  ~Objects() {
    joined_may_end = true;
    if (!was_joined) g_real.pthread_join(joined, nullptr);
    for (const int fd : {pipe_fds[0], pipe_fds[1], epoll}) g_real.close(fd);
    mq_close(queue);
    g_real.semctl(semaphores, 0, IPC_RMID, 0);
  }
  void WriteByte() { EXPECT_EQ(RawSyscall(SYS_write, pipe_fds[1], "x", 1), 1); }
};

enum class Ended { kWoken, kTimedOut, kOtherwise };

Ended ByCode(int result, int timed_out = ETIMEDOUT) {
  return result == 0 ? Ended::kWoken : result == timed_out ? Ended::kTimedOut : Ended::kOtherwise;
}
Ended ByErrno(long result, int timed_out = ETIMEDOUT) {
  if (result >= 0) return Ended::kWoken;
  return errno == timed_out ? Ended::kTimedOut : Ended::kOtherwise;
}
Ended ByCount(int ready) {
  return ready > 0 ? Ended::kWoken : ready == 0 ? Ended::kTimedOut : Ended::kOtherwise;
}

// A wait of at most kSoonNs.
struct TimedWait {
  const char* name;
  std::function<Ended(Objects&)> wait;
  std::function<void(Objects&, std::thread& waiter)> wake;
};

using Wake = void(Objects&, std::thread&);
void UnlockMutex(Objects& o, std::thread&) { g_real.pthread_mutex_unlock(&o.held_mutex); }
void UnlockRwlock(Objects& o, std::thread&) { g_real.pthread_rwlock_unlock(&o.held_rwlock); }
void UnlockMtx(Objects& o, std::thread&) { g_real.mtx_unlock(&o.held_mtx); }
void SignalCondition(Objects& o, std::thread&) { g_real.pthread_cond_signal(&o.condition); }
void SignalCnd(Objects& o, std::thread&) { g_real.cnd_signal(&o.cnd); }
void Post(Objects& o, std::thread&) { g_real.sem_post(&o.semaphore); }
void EndJoined(Objects& o, std::thread&) { o.joined_may_end = true; }
void WriteIntoPipe(Objects& o, std::thread&) { o.WriteByte(); }
void SendUsr1(Objects&, std::thread& waiter) {
  g_real.pthread_kill(waiter.native_handle(), SIGUSR1);
}
void SendMessage(Objects& o, std::thread&) {
  EXPECT_EQ(RawSyscall(SYS_mq_timedsend, o.queue, "x", 1, 0, nullptr), 0);
}
void RaiseSemaphore(Objects& o, std::thread&) {
  sembuf up = {0, 1, 0};
  EXPECT_EQ(RawSyscall(SYS_semop, o.semaphores, &up, 1), 0);
}
void WakeFutex(Objects& o, std::thread&) {
  RawSyscall(SYS_futex, &o.word, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}
void UnlockFutex(Objects& o, std::thread&) {
  RawSyscall(SYS_futex, &o.held_word, FUTEX_UNLOCK_PI_PRIVATE, 0, nullptr, nullptr, 0);
}

TimedWait Lock(const char* name, const std::function<int(Objects&, const timespec*)>& lock,
               void (*unlock)(Objects&), Wake* wake, clockid_t clock = CLOCK_REALTIME,
               int timed_out = ETIMEDOUT) {
  return {name,
          [=](Objects& o) {
            const timespec soon = Soon(clock);
            const int result = lock(o, &soon);
            if (result == 0) unlock(o);
            return ByCode(result, timed_out);
          },
          wake};
}

TimedWait MutexWait(const char* name, const std::function<int(Objects&, const timespec*)>& lock,
                    clockid_t clock) {
  return Lock(
      name, lock, [](Objects& o) { g_real.pthread_mutex_unlock(&o.held_mutex); }, UnlockMutex,
      clock);
}
TimedWait RwlockWait(const char* name, const std::function<int(Objects&, const timespec*)>& lock,
                     clockid_t clock) {
  return Lock(
      name, lock, [](Objects& o) { g_real.pthread_rwlock_unlock(&o.held_rwlock); }, UnlockRwlock,
      clock);
}

// libc's own call unlocks the mutex, because the wrapper would pay before the test has looked.
TimedWait ConditionWait(const char* name, const std::function<int(Objects&, const timespec*)>& wait,
                        clockid_t clock) {
  return {name,
          [=](Objects& o) {
            const timespec soon = Soon(clock);
            g_real.pthread_mutex_lock(&o.free_mutex);
            const int result = wait(o, &soon);
            g_real.pthread_mutex_unlock(&o.free_mutex);
            return ByCode(result);
          },
          SignalCondition};
}

TimedWait JoinWait(const char* name, const std::function<int(Objects&, const timespec*)>& join,
                   clockid_t clock) {
  return {name,
          [=](Objects& o) {
            const timespec soon = Soon(clock);
            const int result = join(o, &soon);
            o.was_joined = result == 0;
            return ByCode(result);
          },
          EndJoined};
}

long Futex(std::atomic<uint32_t>* word, int operation, const timespec* timeout) {
  return syscall(SYS_futex, word, operation, 0, timeout, nullptr, FUTEX_BITSET_MATCH_ANY);
}

long WaitForAnyOfOne(Objects& o, const timespec* deadline) {
  struct futex_waitv words[1] = {};
  words[0].uaddr = reinterpret_cast<uintptr_t>(&o.word);
  words[0].flags = FUTEX_32 | FUTEX_PRIVATE_FLAG;
  return syscall(SYS_futex_waitv, words, 1, 0, deadline, CLOCK_MONOTONIC);
}

// A select that goes on has its sets as they were, and returns the sets of what is ready.
TimedWait SelectWait(const char* name, const std::function<int(int, fd_set*, fd_set*)>& wait) {
  return {name,
          [=](Objects& o) {
            fd_set input, exceptional;
            FD_ZERO(&input);
            FD_ZERO(&exceptional);
            FD_SET(o.pipe_fds[0], &input);
            FD_SET(o.pipe_fds[0], &exceptional);
            const int ready = wait(o.pipe_fds[0] + 1, &input, &exceptional);
            EXPECT_EQ(FD_ISSET(o.pipe_fds[0], &input), ready > 0);
            EXPECT_FALSE(FD_ISSET(o.pipe_fds[0], &exceptional));
            return ByCount(ready);
          },
          WriteIntoPipe};
}

const timespec kSoonDuration = DurationOf(kSoonNs);

const TimedWait kTimedWaits[] = {
    MutexWait(
        "mutex_timedlock",
        [](Objects& o, auto* d) { return pthread_mutex_timedlock(&o.held_mutex, d); },
        CLOCK_REALTIME),
    MutexWait(
        "mutex_clocklock",
        [](Objects& o, auto* d) {
          return pthread_mutex_clocklock(&o.held_mutex, CLOCK_MONOTONIC, d);
        },
        CLOCK_MONOTONIC),
    RwlockWait(
        "rwlock_timedrdlock",
        [](Objects& o, auto* d) { return pthread_rwlock_timedrdlock(&o.held_rwlock, d); },
        CLOCK_REALTIME),
    RwlockWait(
        "rwlock_timedwrlock",
        [](Objects& o, auto* d) { return pthread_rwlock_timedwrlock(&o.held_rwlock, d); },
        CLOCK_REALTIME),
    RwlockWait(
        "rwlock_clockrdlock",
        [](Objects& o, auto* d) {
          return pthread_rwlock_clockrdlock(&o.held_rwlock, CLOCK_MONOTONIC, d);
        },
        CLOCK_MONOTONIC),
    RwlockWait(
        "rwlock_clockwrlock",
        [](Objects& o, auto* d) {
          return pthread_rwlock_clockwrlock(&o.held_rwlock, CLOCK_MONOTONIC, d);
        },
        CLOCK_MONOTONIC),
    Lock(
        "mtx_timedlock", [](Objects& o, auto* d) { return mtx_timedlock(&o.held_mtx, d); },
        [](Objects& o) { g_real.mtx_unlock(&o.held_mtx); }, UnlockMtx, CLOCK_REALTIME,
        thrd_timedout),
    ConditionWait(
        "cond_timedwait",
        [](Objects& o, auto* d) { return pthread_cond_timedwait(&o.condition, &o.free_mutex, d); },
        CLOCK_REALTIME),
    ConditionWait(
        "cond_clockwait",
        [](Objects& o, auto* d) {
          return pthread_cond_clockwait(&o.condition, &o.free_mutex, CLOCK_MONOTONIC, d);
        },
        CLOCK_MONOTONIC),
    {"cnd_timedwait",
     [](Objects& o) {
       const timespec soon = Soon(CLOCK_REALTIME);
       g_real.mtx_lock(&o.free_mtx);
       const int result = cnd_timedwait(&o.cnd, &o.free_mtx, &soon);
       g_real.mtx_unlock(&o.free_mtx);
       return ByCode(result, thrd_timedout);
     },
     SignalCnd},
    {"sem_timedwait",
     [](Objects& o) {
       const timespec soon = Soon(CLOCK_REALTIME);
       return ByErrno(sem_timedwait(&o.semaphore, &soon));
     },
     Post},
    {"sem_clockwait",
     [](Objects& o) {
       const timespec soon = Soon(CLOCK_MONOTONIC);
       return ByErrno(sem_clockwait(&o.semaphore, CLOCK_MONOTONIC, &soon));
     },
     Post},
    JoinWait(
        "timedjoin", [](Objects& o, auto* d) { return pthread_timedjoin_np(o.joined, nullptr, d); },
        CLOCK_REALTIME),
    JoinWait(
        "clockjoin",
        [](Objects& o, auto* d) {
          return pthread_clockjoin_np(o.joined, nullptr, CLOCK_MONOTONIC, d);
        },
        CLOCK_MONOTONIC),
    {"sigtimedwait",
     [](Objects& o) { return ByErrno(sigtimedwait(&o.usr1, nullptr, &kSoonDuration), EAGAIN); },
     SendUsr1},
    {"futex_wait",
     [](Objects& o) { return ByErrno(Futex(&o.word, FUTEX_WAIT_PRIVATE, &kSoonDuration)); },
     WakeFutex},
    {"futex_wait_bitset",
     [](Objects& o) {
       const timespec soon = Soon(CLOCK_MONOTONIC);
       return ByErrno(Futex(&o.word, FUTEX_WAIT_BITSET_PRIVATE, &soon));
     },
     WakeFutex},
    {"futex_lock_pi",
     [](Objects& o) {
       const timespec soon = Soon(CLOCK_REALTIME);
       const long result = Futex(&o.held_word, FUTEX_LOCK_PI_PRIVATE, &soon);
       const Ended ended = ByErrno(result);
       if (result == 0) {
         RawSyscall(SYS_futex, &o.held_word, FUTEX_UNLOCK_PI_PRIVATE, 0, nullptr, nullptr, 0);
       }
       return ended;
     },
     UnlockFutex},
    {"futex_waitv",
     [](Objects& o) {
       const timespec soon = Soon(CLOCK_MONOTONIC);
       return ByErrno(WaitForAnyOfOne(o, &soon));
     },
     WakeFutex},
    {"mq_timedreceive",
     [](Objects& o) {
       static char message[8192];
       const timespec soon = Soon(CLOCK_REALTIME);
       return ByErrno(mq_timedreceive(o.queue, message, sizeof(message), nullptr, &soon));
     },
     SendMessage},
    {"semtimedop",
     [](Objects& o) {
       sembuf down = {0, -1, 0};
       return ByErrno(semtimedop(o.semaphores, &down, 1, &kSoonDuration), EAGAIN);
     },
     RaiseSemaphore},
    {"aio_suspend",
     [](Objects& o) {
       aiocb request = {};
       request.aio_fildes = o.pipe_fds[0];
       request.aio_buf = &o.received;
       request.aio_nbytes = 1;
       EXPECT_EQ(aio_read(&request), 0);
       const aiocb* const list[] = {&request};
       const Ended ended = ByErrno(aio_suspend(list, 1, &kSoonDuration), EAGAIN);
       // The request must not outlive this call.
       if (ended == Ended::kTimedOut) o.WriteByte();
       while (aio_error(&request) == EINPROGRESS) RawSyscall(SYS_sched_yield);
       return ended;
     },
     WriteIntoPipe},
    {"poll",
     [](Objects& o) {
       pollfd input = {o.pipe_fds[0], POLLIN, 0};
       return ByCount(poll(&input, 1, kSoonMs));
     },
     WriteIntoPipe},
    {"ppoll",
     [](Objects& o) {
       pollfd input = {o.pipe_fds[0], POLLIN, 0};
       return ByCount(ppoll(&input, 1, &kSoonDuration, nullptr));
     },
     WriteIntoPipe},
    SelectWait("select",
               [](int count, fd_set* input, fd_set* exceptional) {
                 timeval soon = {0, long{kSoonMs} * 1000};
                 const int ready = select(count, input, nullptr, exceptional, &soon);
                 // Linux writes the time that is left.
                 EXPECT_EQ(soon.tv_sec, 0);
                 EXPECT_EQ(soon.tv_usec, 0);
                 return ready;
               }),
    SelectWait("pselect",
               [](int count, fd_set* input, fd_set* exceptional) {
                 return pselect(count, input, nullptr, exceptional, &kSoonDuration, nullptr);
               }),
    {"epoll_wait",
     [](Objects& o) {
       epoll_event event;
       return ByCount(epoll_wait(o.epoll, &event, 1, kSoonMs));
     },
     WriteIntoPipe},
    {"epoll_pwait",
     [](Objects& o) {
       epoll_event event;
       sigset_t none;
       sigemptyset(&none);
       return ByCount(epoll_pwait(o.epoll, &event, 1, kSoonMs, &none));
     },
     WriteIntoPipe},
    {"epoll_pwait2",
     [](Objects& o) {
       epoll_event event;
       return ByCount(epoll_pwait2(o.epoll, &event, 1, &kSoonDuration, nullptr));
     },
     WriteIntoPipe},
};

struct Outcome {
  Ended ended = Ended::kOtherwise;
  uint64_t credited_ns = 0;
  uint64_t paused_ns = 0;
  uint64_t owed_ns = 0;
};

class TimedWaitTest : public ::testing::TestWithParam<TimedWait> {
 protected:
  // Imposes `delay_ns` while a thread waits, runs `meanwhile`, and returns how the wait ended.
  // Repeats this where the machine was so busy that the wait was over before.
  Outcome WaitWhileImposing(
      uint64_t delay_ns,
      const std::function<void(Objects&, std::thread&, const std::atomic<bool>&)>& meanwhile) {
    for (int attempt = 0; attempt < 20; ++attempt) {
      Objects objects;
      WatchedThread waiter;
      Outcome outcome;
      std::atomic<bool> ended{false};
      std::thread thread([&] {
        waiter.Announce();
        delay::ThreadLedger& ledger = *CurrentThreadLedger();
        outcome.ended = GetParam().wait(objects);
        outcome.credited_ns = ledger.credited_ns;
        outcome.paused_ns = ledger.paused_ns;
        outcome.owed_ns = delay::OwedDelay(process_.global(), ledger);
        ended = true;
      });
      // From here on this thread plays the outside: it does not pay, and a wait that it ends brings
      // no credit.
      delay::ThreadLedger* own_ledger = LeaveThreadSync();
      WaitUntil("the waiter waits", [&] { return ended || waiter.IsBlocked(true); });
      process_.Impose(delay_ns);
      const bool in_time = !ended && waiter.IsBlocked(true);
      if (in_time) meanwhile(objects, thread, ended);
      Forgive();
      thread.join();
      EnterThreadSync(own_ledger, process_.global().global_delay_ns);
      if (in_time) return outcome;
    }
    ADD_FAILURE() << "the machine is too busy to judge";
    return {};
  }

  // Forgives all threads the delay that is imposed so far.
  void Forgive() { process_.global().forgiven_below_ns = process_.global().global_delay_ns.load(); }

  FakeProcess process_;
};

TEST_P(TimedWaitTest, GoesOnForWhatItOwes) {
  constexpr uint64_t kDelayNs = 5 * kNsPerMs;
  const Outcome outcome =
      WaitWhileImposing(kDelayNs, [](Objects&, std::thread&, const std::atomic<bool>& ended) {
        WaitUntil("the wait is over", [&] { return ended.load(); });
      });
  EXPECT_EQ(outcome.ended, Ended::kTimedOut);
  EXPECT_EQ(outcome.credited_ns, 0u);
  EXPECT_GE(outcome.paused_ns, kDelayNs);
  EXPECT_EQ(outcome.owed_ns, 0u);
}

// The wake comes long after the program's time-out in real time, and long before it in virtual
// time.
TEST_P(TimedWaitTest, IsStillWokenWhileItGoesOn) {
  const Outcome outcome = WaitWhileImposing(
      20 * kNsPerSecond,
      [this](Objects& objects, std::thread& waiter, const std::atomic<bool>& ended) {
        const uint64_t later_ns = MonotonicNowNs() + 2 * kSoonNs;
        WaitUntil("its time is over", [&] { return MonotonicNowNs() > later_ns; });
        EXPECT_FALSE(ended);
        Forgive();
        GetParam().wake(objects, waiter);
      });
  EXPECT_EQ(outcome.ended, Ended::kWoken);
}

INSTANTIATE_TEST_SUITE_P(AllCalls, TimedWaitTest, ::testing::ValuesIn(kTimedWaits),
                         [](const auto& wait) { return std::string(wait.param.name); });

// A call whose deadline has passed does not wait. A pause pays the debt.
TEST(TimedWaitsTest, DeadlineLongPastIsNoWait) {
  FakeProcess process;
  sem_t semaphore;
  sem_init(&semaphore, 0, 0);
  process.Impose(kNsPerMs);
  const timespec past = {1, 0};
  EXPECT_EQ(sem_timedwait(&semaphore, &past), -1);
  EXPECT_EQ(errno, ETIMEDOUT);
  EXPECT_GE(process.main_ledger().paused_ns, kNsPerMs);
  EXPECT_FALSE(delay::IsBehind(process.global(), process.main_ledger()));
}

// Event loops look for input without time to wait. In a crowd what is owed then is carried on, as
// at any other call.
TEST(TimedWaitsTest, ALookWithoutTimeIsNoWait) {
  FakeProcess process;
  process.global().cpus_of_crowd = 2;
  int pipe_ends[2];
  ASSERT_EQ(pipe(pipe_ends), 0);
  pollfd input = {pipe_ends[0], POLLIN, 0};
  const int epoll = epoll_create1(0);
  epoll_event event = {};
  const timespec no_time = {};
  timeval no_time_either = {};
  fd_set set;
  FD_ZERO(&set);
  const std::function<int()> looks[] = {
      [&] { return poll(&input, 1, 0); },
      [&] { return ppoll(&input, 1, &no_time, nullptr); },
      [&] { return select(0, &set, nullptr, nullptr, &no_time_either); },
      [&] { return pselect(0, &set, nullptr, nullptr, &no_time, nullptr); },
      [&] { return epoll_wait(epoll, &event, 1, 0); },
      [&] { return epoll_pwait(epoll, &event, 1, 0, nullptr); },
      [&] { return epoll_pwait2(epoll, &event, 1, &no_time, nullptr); },
  };
  process.Impose(20 * kNsPerUs);
  for (const auto& look : looks) EXPECT_EQ(look(), 0);
  EXPECT_EQ(process.main_ledger().paused_ns, 0u);
  process.Impose(kNsPerMs);
  for (const auto& look : looks) {
    EXPECT_EQ(look(), 0);
    EXPECT_FALSE(delay::IsBehind(process.global(), process.main_ledger()));
    process.Impose(kNsPerMs);
  }
  process.global().cpus_of_crowd = 0;
  for (const int fd : {pipe_ends[0], pipe_ends[1], epoll}) close(fd);
}

TEST(TimedWaitsTest, SelectOfMoreThanASetHoldsTimesOut) {
  FakeProcess process;
  constexpr int kCount = 4 * FD_SETSIZE;
  long words[kCount / (8 * sizeof(long))] = {};
  words[0] = 1;  // standard input; its state does not matter, since the call asks for exceptions
  timeval soon = {0, 1000};
  EXPECT_EQ(select(kCount, nullptr, nullptr, reinterpret_cast<fd_set*>(words), &soon), 0);
  EXPECT_EQ(words[0], 0);
}

}  // namespace
}  // namespace coz::interpose
