// To the program a wrapped call behaves as libc's: results, errno, cancellation, the end of
// threads, fork.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <limits.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <functional>
#include <thread>
#include <vector>

#include "coz/sync/interpose/testing/fake_process.h"
#include "coz/sync/interpose/thread_sync.h"
#include "coz/sync/interpose/wrapped_calls.h"

namespace coz::interpose {
namespace {

using testing::FakeProcess;
using testing::WaitUntil;
using testing::WatchedThread;

using Results = std::vector<int>;

timespec Past() { return {1, 0}; }
timespec Invalid() { return {1, 1'000'000'000}; }
timespec SoonRealtime() {
  timespec time;
  clock_gettime(CLOCK_REALTIME, &time);
  time.tv_nsec += 1'000'000;
  if (time.tv_nsec >= 1'000'000'000) {
    time.tv_nsec -= 1'000'000'000;
    ++time.tv_sec;
  }
  return time;
}

// 0, or errno after -1.
int ErrorOf(int result) { return result == -1 ? errno : result; }

int InThread(const std::function<int()>& call) {
  int result = -1;
  std::thread([&] { result = call(); }).join();
  return result;
}

class Mutex {
 public:
  explicit Mutex(int type, int robust = PTHREAD_MUTEX_STALLED, int protocol = PTHREAD_PRIO_NONE) {
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    EXPECT_EQ(pthread_mutexattr_settype(&attributes, type), 0);
    EXPECT_EQ(pthread_mutexattr_setrobust(&attributes, robust), 0);
    EXPECT_EQ(pthread_mutexattr_setprotocol(&attributes, protocol), 0);
    EXPECT_EQ(pthread_mutex_init(&mutex_, &attributes), 0);
  }
  pthread_mutex_t* get() { return &mutex_; }

 private:
  pthread_mutex_t mutex_;
};

class InterposeConformanceTest : public ::testing::Test {
 protected:
  // Runs `program` three times. First in a thread that is not profiled, where calls go straight to
  // libc. Then with the wrapper, and then with a wrapper that has to pay first.
  void ExpectAsLibc(const Results& expected, const std::function<Results()>& program) {
    delay::ThreadLedger* ledger = LeaveThreadSync();
    EXPECT_EQ(program(), expected) << "of libc";
    EnterThreadSync(ledger, process_.global().global_delay_ns);
    EXPECT_EQ(program(), expected) << "of a profiled thread";
    process_.Impose(kNsPerMs);
    const uint64_t pauses_before = ledger->pauses;
    EXPECT_EQ(program(), expected) << "of a profiled thread that owes delay";
    EXPECT_GT(ledger->pauses, pauses_before);
  }

  FakeProcess process_;
};

TEST_F(InterposeConformanceTest, ErrorCheckingMutex) {
  ExpectAsLibc({0, EDEADLK, EBUSY, EDEADLK, EPERM, EBUSY, 0, EPERM}, [] {
    Mutex mutex(PTHREAD_MUTEX_ERRORCHECK);
    const timespec past = Past();
    return Results{pthread_mutex_lock(mutex.get()),
                   pthread_mutex_lock(mutex.get()),
                   pthread_mutex_trylock(mutex.get()),
                   pthread_mutex_timedlock(mutex.get(), &past),
                   InThread([&] { return pthread_mutex_unlock(mutex.get()); }),
                   InThread([&] { return pthread_mutex_trylock(mutex.get()); }),
                   pthread_mutex_unlock(mutex.get()),
                   pthread_mutex_unlock(mutex.get())};
  });
}

TEST_F(InterposeConformanceTest, RecursiveMutex) {
  ExpectAsLibc({0, 0, 0, EBUSY, 0, 0, EBUSY, 0, 0, EPERM}, [] {
    Mutex mutex(PTHREAD_MUTEX_RECURSIVE);
    const auto try_elsewhere = [&] {
      return InThread([&] {
        const int result = pthread_mutex_trylock(mutex.get());
        if (result == 0) pthread_mutex_unlock(mutex.get());
        return result;
      });
    };
    return Results{pthread_mutex_lock(mutex.get()),
                   pthread_mutex_lock(mutex.get()),
                   pthread_mutex_trylock(mutex.get()),
                   try_elsewhere(),
                   pthread_mutex_unlock(mutex.get()),
                   pthread_mutex_unlock(mutex.get()),
                   try_elsewhere(),
                   pthread_mutex_unlock(mutex.get()),
                   try_elsewhere(),
                   pthread_mutex_unlock(mutex.get())};
  });
}

TEST_F(InterposeConformanceTest, RobustMutexOfADeadOwner) {
  ExpectAsLibc(
      {0, EOWNERDEAD, 0, 0, 0, EOWNERDEAD, 0, ENOTRECOVERABLE, ENOTRECOVERABLE, ENOTRECOVERABLE},
      [] {
        Mutex mutex(PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_ROBUST);
        const auto lock_and_die = [&] {
          return InThread([&] { return pthread_mutex_lock(mutex.get()); });
        };
        return Results{lock_and_die(),
                       pthread_mutex_lock(mutex.get()),
                       pthread_mutex_consistent(mutex.get()),
                       pthread_mutex_unlock(mutex.get()),
                       lock_and_die(),
                       pthread_mutex_trylock(mutex.get()),
                       pthread_mutex_unlock(mutex.get()),
                       pthread_mutex_lock(mutex.get()),
                       InThread([&] { return pthread_mutex_lock(mutex.get()); }),
                       pthread_mutex_trylock(mutex.get())};
      });
}

TEST_F(InterposeConformanceTest, OwnerOfARobustMutexDiesWhileAnotherWaits) {
  Mutex mutex(PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_ROBUST);
  std::atomic<bool> locked{false};
  std::atomic<bool> may_die{false};
  WatchedThread watched;
  std::thread owner([&] {
    pthread_mutex_lock(mutex.get());
    locked = true;
    WaitUntil("the owner may die", [&] { return may_die.load(); });
  });
  WaitUntil("the mutex is locked", [&] { return locked.load(); });
  std::thread waiter([&] {
    watched.Announce();
    EXPECT_EQ(pthread_mutex_lock(mutex.get()), EOWNERDEAD);
    EXPECT_EQ(pthread_mutex_consistent(mutex.get()), 0);
    EXPECT_EQ(pthread_mutex_unlock(mutex.get()), 0);
  });
  WaitUntil("the waiter waits", [&] { return watched.IsBlocked(true); });
  may_die = true;
  owner.join();
  waiter.join();
}

TEST_F(InterposeConformanceTest, PriorityInheritanceMutex) {
  ExpectAsLibc({0, EDEADLK, EBUSY, ETIMEDOUT, 0, 0}, [] {
    Mutex mutex(PTHREAD_MUTEX_ERRORCHECK, PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_INHERIT);
    return Results{pthread_mutex_lock(mutex.get()),
                   pthread_mutex_lock(mutex.get()),
                   InThread([&] { return pthread_mutex_trylock(mutex.get()); }),
                   InThread([&] {
                     const timespec soon = SoonRealtime();
                     return pthread_mutex_timedlock(mutex.get(), &soon);
                   }),
                   pthread_mutex_unlock(mutex.get()),
                   InThread([&] {
                     return pthread_mutex_lock(mutex.get()) + pthread_mutex_unlock(mutex.get());
                   })};
  });
}

TEST_F(InterposeConformanceTest, TimedMutexCallsLookAtTheirArgumentsAsLibcDoes) {
  ExpectAsLibc({0, EINVAL, ETIMEDOUT, EINVAL, EINVAL, 0, EINVAL, ETIMEDOUT}, [] {
    Mutex mutex(PTHREAD_MUTEX_NORMAL);
    const timespec past = Past();
    const timespec invalid = Invalid();
    return Results{pthread_mutex_timedlock(mutex.get(), &invalid),
                   pthread_mutex_timedlock(mutex.get(), &invalid),
                   pthread_mutex_timedlock(mutex.get(), &past),
                   pthread_mutex_clocklock(mutex.get(), CLOCK_PROCESS_CPUTIME_ID, &past),
                   (pthread_mutex_unlock(mutex.get()),
                    pthread_mutex_clocklock(mutex.get(), CLOCK_PROCESS_CPUTIME_ID, &past)),
                   pthread_mutex_clocklock(mutex.get(), CLOCK_MONOTONIC, &invalid),
                   pthread_mutex_clocklock(mutex.get(), CLOCK_MONOTONIC, &invalid),
                   pthread_mutex_clocklock(mutex.get(), CLOCK_MONOTONIC, &past)};
  });
}

TEST_F(InterposeConformanceTest, RwlockReportsDeadlockBusyAndTimeouts) {
  ExpectAsLibc({0, 0, EBUSY, ETIMEDOUT, 0, 0, 0, EDEADLK, EDEADLK, EBUSY, EBUSY, ETIMEDOUT, 0}, [] {
    pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
    return Results{pthread_rwlock_rdlock(&lock),
                   pthread_rwlock_tryrdlock(&lock),
                   pthread_rwlock_trywrlock(&lock),
                   InThread([&] {
                     const timespec soon = SoonRealtime();
                     return pthread_rwlock_timedwrlock(&lock, &soon);
                   }),
                   pthread_rwlock_unlock(&lock),
                   pthread_rwlock_unlock(&lock),
                   pthread_rwlock_wrlock(&lock),
                   pthread_rwlock_wrlock(&lock),
                   pthread_rwlock_rdlock(&lock),
                   pthread_rwlock_tryrdlock(&lock),
                   pthread_rwlock_trywrlock(&lock),
                   InThread([&] {
                     const timespec soon = SoonRealtime();
                     return pthread_rwlock_timedrdlock(&lock, &soon);
                   }),
                   pthread_rwlock_unlock(&lock)};
  });
}

TEST_F(InterposeConformanceTest, TimedRwlockCallsLookAtTheirArgumentsAsLibcDoes) {
  ExpectAsLibc({EINVAL, EINVAL, EINVAL, EINVAL, EINVAL, EINVAL, 0}, [] {
    pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
    const timespec past = Past();
    const timespec invalid = Invalid();
    return Results{pthread_rwlock_timedrdlock(&lock, &invalid),
                   pthread_rwlock_timedwrlock(&lock, &invalid),
                   pthread_rwlock_clockrdlock(&lock, CLOCK_MONOTONIC, &invalid),
                   pthread_rwlock_clockwrlock(&lock, CLOCK_MONOTONIC, &invalid),
                   pthread_rwlock_clockrdlock(&lock, CLOCK_PROCESS_CPUTIME_ID, &past),
                   pthread_rwlock_clockwrlock(&lock, CLOCK_PROCESS_CPUTIME_ID, &past),
                   pthread_rwlock_trywrlock(&lock)};
  });
}

TEST_F(InterposeConformanceTest, SemaphoreErrors) {
  ExpectAsLibc({EAGAIN, 0, EINVAL, EINVAL, 0, ETIMEDOUT, ETIMEDOUT, 0, EOVERFLOW}, [] {
    sem_t semaphore;
    sem_init(&semaphore, 0, 0);
    sem_t full;
    sem_init(&full, 0, SEM_VALUE_MAX);
    const timespec past = Past();
    const timespec invalid = Invalid();
    return Results{ErrorOf(sem_trywait(&semaphore)),
                   ErrorOf(sem_post(&semaphore)),
                   ErrorOf(sem_timedwait(&semaphore, &invalid)),
                   ErrorOf(sem_clockwait(&semaphore, CLOCK_PROCESS_CPUTIME_ID, &past)),
                   ErrorOf(sem_timedwait(&semaphore, &past)),
                   ErrorOf(sem_timedwait(&semaphore, &past)),
                   ErrorOf(sem_clockwait(&semaphore, CLOCK_MONOTONIC, &past)),
                   ErrorOf(sem_wait(&full)),
                   (sem_post(&full), ErrorOf(sem_post(&full)))};
  });
}

TEST_F(InterposeConformanceTest, ConditionErrors) {
  ExpectAsLibc({ETIMEDOUT, ETIMEDOUT, EINVAL, EINVAL, EPERM, 0, 0}, [] {
    Mutex mutex(PTHREAD_MUTEX_ERRORCHECK);
    pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
    const timespec past = Past();
    const timespec invalid = Invalid();
    const int unlocked = pthread_cond_timedwait(&condition, mutex.get(), &past);
    pthread_mutex_lock(mutex.get());
    return Results{pthread_cond_timedwait(&condition, mutex.get(), &past),
                   pthread_cond_clockwait(&condition, mutex.get(), CLOCK_MONOTONIC, &past),
                   pthread_cond_timedwait(&condition, mutex.get(), &invalid),
                   pthread_cond_clockwait(&condition, mutex.get(), CLOCK_BOOTTIME, &past),
                   unlocked,
                   pthread_cond_signal(&condition),
                   pthread_mutex_unlock(mutex.get())};
  });
}

TEST_F(InterposeConformanceTest, BarrierHasOneSerialThread) {
  ExpectAsLibc({1}, [] {
    pthread_barrier_t barrier;
    pthread_barrier_init(&barrier, nullptr, 3);
    std::atomic<int> serial{0};
    const auto wait = [&] {
      const int last = PTHREAD_BARRIER_SERIAL_THREAD;  // below 0
      if (pthread_barrier_wait(&barrier) == last) ++serial;
    };
    std::thread first(wait);
    std::thread second(wait);
    wait();
    first.join();
    second.join();
    return Results{serial};
  });
}

struct Gate {
  std::atomic<bool> open{false};
};

void* WaitForGate(void* gate) {
  WaitUntil("the gate is open", [gate] { return static_cast<Gate*>(gate)->open.load(); });
  return gate;
}

TEST_F(InterposeConformanceTest, JoinErrors) {
  ExpectAsLibc({0, EDEADLK, EBUSY, ETIMEDOUT, ETIMEDOUT, 0, 1}, [] {
    Gate gate;
    pthread_t thread;
    const timespec past = Past();
    Results results{pthread_create(&thread, nullptr, WaitForGate, &gate),
                    pthread_join(pthread_self(), nullptr), pthread_tryjoin_np(thread, nullptr),
                    pthread_timedjoin_np(thread, nullptr, &past),
                    pthread_clockjoin_np(thread, nullptr, CLOCK_MONOTONIC, &past)};
    gate.open = true;
    void* value = nullptr;
    results.push_back(pthread_join(thread, &value));
    results.push_back(value == &gate);
    return results;
  });
}

TEST_F(InterposeConformanceTest, SignalErrors) {
  sigset_t usr1;
  sigemptyset(&usr1);
  sigaddset(&usr1, SIGUSR1);
  pthread_sigmask(SIG_BLOCK, &usr1, nullptr);
  ExpectAsLibc({EINVAL, EINVAL, EINVAL, EINVAL, EAGAIN, EINVAL, 0}, [&] {
    const timespec zero = {};
    const timespec invalid = Invalid();
    return Results{ErrorOf(kill(getpid(), 1000)),
                   pthread_kill(pthread_self(), 1000),
                   ErrorOf(raise(1000)),
                   ErrorOf(sigqueue(getpid(), 1000, {})),
                   ErrorOf(sigtimedwait(&usr1, nullptr, &zero)),
                   ErrorOf(sigtimedwait(&usr1, nullptr, &invalid)),
                   kill(getpid(), 0)};
  });
}

TEST_F(InterposeConformanceTest, SignalWaitsTakeWhatIsPending) {
  sigset_t usr1;
  sigemptyset(&usr1);
  sigaddset(&usr1, SIGUSR1);
  pthread_sigmask(SIG_BLOCK, &usr1, nullptr);
  ExpectAsLibc({0, 0, SIGUSR1, 0, SIGUSR1, SI_USER, 0, SIGUSR1, SI_QUEUE, 77}, [&] {
    Results results;
    int signal = 0;
    siginfo_t info = {};
    results.push_back(raise(SIGUSR1));
    results.push_back(sigwait(&usr1, &signal));
    results.push_back(signal);
    results.push_back(pthread_kill(pthread_self(), SIGUSR1));
    results.push_back(sigwaitinfo(&usr1, &info));
    results.push_back(info.si_code);
    sigval value;
    value.sival_int = 77;
    results.push_back(sigqueue(getpid(), SIGUSR1, value));
    const timespec zero = {};
    results.push_back(sigtimedwait(&usr1, &info, &zero));
    results.push_back(info.si_code);
    results.push_back(info.si_value.sival_int);
    return results;
  });
}

TEST_F(InterposeConformanceTest, SigsuspendPutsTheMaskBack) {
  struct sigaction action = {};
  action.sa_handler = [](int) {};
  ASSERT_EQ(sigaction(SIGUSR2, &action, nullptr), 0);
  ExpectAsLibc({EINTR, 1}, [] {
    sigset_t usr2;
    sigemptyset(&usr2);
    sigaddset(&usr2, SIGUSR2);
    pthread_sigmask(SIG_BLOCK, &usr2, nullptr);
    raise(SIGUSR2);
    sigset_t none;
    sigemptyset(&none);
    Results results{ErrorOf(sigsuspend(&none))};
    sigset_t now;
    pthread_sigmask(SIG_BLOCK, nullptr, &now);
    results.push_back(sigismember(&now, SIGUSR2));
    pthread_sigmask(SIG_UNBLOCK, &usr2, nullptr);
    return results;
  });
}

// Runs `wait` in another thread. A handler interrupts it. If the wait goes on, `finish` ends it.
Results Interrupted(int flags, const std::function<int()>& wait,
                    const std::function<void()>& finish) {
  struct sigaction action = {};
  action.sa_handler = [](int) {};
  action.sa_flags = flags;
  EXPECT_EQ(sigaction(SIGUSR2, &action, nullptr), 0);
  WatchedThread watched;
  std::atomic<int> result{-2};
  std::thread thread([&] {
    watched.Announce();
    result = ErrorOf(wait());
  });
  WaitUntil("the thread waits", [&] { return watched.IsBlocked(true); });
  pthread_kill(thread.native_handle(), SIGUSR2);
  if (flags == 0) WaitUntil("the wait is left", [&] { return result != -2; });
  finish();
  thread.join();
  return {result};
}

TEST_F(InterposeConformanceTest, HandlerInterruptsSemaphoreWait) {
  sem_t semaphore;
  sem_init(&semaphore, 0, 0);
  EXPECT_EQ(Interrupted(
                0, [&] { return sem_wait(&semaphore); }, [] {}),
            Results{EINTR});
  EXPECT_EQ(Interrupted(
                SA_RESTART, [&] { return sem_wait(&semaphore); }, [&] { sem_post(&semaphore); }),
            Results{0});
}

TEST_F(InterposeConformanceTest, HandlerInterruptsSigwaitinfoButNotSigwait) {
  sigset_t usr1;
  sigemptyset(&usr1);
  sigaddset(&usr1, SIGUSR1);
  pthread_sigmask(SIG_BLOCK, &usr1, nullptr);
  EXPECT_EQ(Interrupted(
                0, [&] { return sigwaitinfo(&usr1, nullptr); }, [] {}),
            Results{EINTR});
  int signal = 0;
  EXPECT_EQ(
      Interrupted(
          SA_RESTART, [&] { return sigwait(&usr1, &signal); }, [] { kill(getpid(), SIGUSR1); }),
      Results{0});
  EXPECT_EQ(signal, SIGUSR1);
}

TEST_F(InterposeConformanceTest, SuccessLeavesErrnoAlone) {
  ExpectAsLibc({ERANGE}, [] {
    Mutex mutex(PTHREAD_MUTEX_NORMAL);
    pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
    sem_t semaphore;
    sem_init(&semaphore, 0, 0);
    errno = ERANGE;
    pthread_mutex_lock(mutex.get());
    pthread_mutex_unlock(mutex.get());
    pthread_cond_broadcast(&condition);
    sem_post(&semaphore);
    sem_wait(&semaphore);
    std::thread poster([&] { sem_post(&semaphore); });
    sem_wait(&semaphore);
    poster.join();
    return Results{errno};
  });
}

TEST_F(InterposeConformanceTest, ConditionCallsBindTheCurrentVersion) {
  const char* const names[] = {"pthread_cond_wait", "pthread_cond_timedwait", "pthread_cond_signal",
                               "pthread_cond_broadcast"};
  void* const bound[] = {reinterpret_cast<void*>(g_real.pthread_cond_wait),
                         reinterpret_cast<void*>(g_real.pthread_cond_timedwait),
                         reinterpret_cast<void*>(g_real.pthread_cond_signal),
                         reinterpret_cast<void*>(g_real.pthread_cond_broadcast)};
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(bound[i], dlvsym(RTLD_NEXT, names[i], "GLIBC_2.3.2")) << names[i];
    EXPECT_NE(bound[i], dlvsym(RTLD_NEXT, names[i], "GLIBC_2.2.5")) << names[i];
  }
}

TEST_F(InterposeConformanceTest, ForkedChildOfAThreadedProgramUsesThreads) {
  Gate gate;
  pthread_t busy;
  ASSERT_EQ(pthread_create(&busy, nullptr, WaitForGate, &gate), 0);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    alarm(30);
    Mutex mutex(PTHREAD_MUTEX_NORMAL);
    pthread_mutex_lock(mutex.get());
    std::thread thread([&] { pthread_mutex_lock(mutex.get()); });
    pthread_mutex_unlock(mutex.get());
    thread.join();
    _exit(pthread_mutex_trylock(mutex.get()) == EBUSY ? 0 : 1);
  }
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  gate.open = true;
  EXPECT_EQ(pthread_join(busy, nullptr), 0);
}

}  // namespace
}  // namespace coz::interpose
