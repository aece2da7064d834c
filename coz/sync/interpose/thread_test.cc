// How threads begin and end under the wrapped calls: inheritance, exit, cancellation.
#include <gtest/gtest.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <threads.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "coz/sync/interpose/testing/fake_process.h"
#include "coz/sync/interpose/thread_sync.h"

namespace coz::interpose {
namespace {

using testing::FakeProcess;
using testing::WaitUntil;
using testing::WatchedThread;

constexpr uint64_t kDelayNs = 5 * kNsPerMs;

class InterposeThreadTest : public ::testing::Test {
 protected:
  FakeProcess process_;
};

TEST_F(InterposeThreadTest, NewThreadInheritsItsCreatorsDebt) {
  const uint64_t start_ns = process_.global().global_delay_ns;
  process_.Impose(kDelayNs);
  uint64_t local_ns = 1;
  std::thread thread([&] { local_ns = CurrentThreadLedger()->local_delay_ns; });
  EXPECT_EQ(process_.main_ledger().pauses, 0u) << "creation wakes nobody";
  thread.join();
  EXPECT_EQ(local_ns, start_ns);
}

TEST_F(InterposeThreadTest, NewThreadInheritsItsCreatorsExcess) {
  const uint64_t ahead_ns = process_.main_ledger().local_delay_ns += kDelayNs;
  uint64_t local_ns = 0;
  std::thread([&] { local_ns = CurrentThreadLedger()->local_delay_ns; }).join();
  EXPECT_EQ(local_ns, ahead_ns);
}

TEST_F(InterposeThreadTest, JoinOfAThreadThatHasEndedKeepsExcess) {
  std::atomic<pid_t> tid{0};
  std::thread thread([&] { tid = gettid(); });
  WaitUntil("the thread has ended", [&] { return tid != 0 && tgkill(getpid(), tid, 0) != 0; });
  // Real excess takes real time, so let that much pass first.
  const uint64_t end_ns = MonotonicNowNs() + kDelayNs;
  WaitUntil("the time has passed", [&] { return MonotonicNowNs() >= end_ns; });
  const uint64_t ahead_ns = process_.main_ledger().local_delay_ns += kDelayNs;
  thread.join();
  EXPECT_EQ(process_.main_ledger().local_delay_ns, ahead_ns);
}

// A sample that finds a thread so must not take it for one without a ledger.
TEST_F(InterposeThreadTest, UnseenThreadKeepsItsLedger) {
  delay::ThreadLedger* const ledger = CurrentThreadLedger();
  ASSERT_NE(ledger, nullptr);
  {
    const UnseenScope unseen;
    EXPECT_EQ(CurrentThreadLedger(), nullptr);
    EXPECT_EQ(LedgerEvenIfUnseen(), ledger);
    process_.Impose(kDelayNs);
    usleep(1);
    EXPECT_EQ(ledger->pauses, 0u) << "an unseen call pays";
  }
  EXPECT_EQ(CurrentThreadLedger(), ledger);
}

// The thread that joins has imposed delay that the ended thread did not have to pay any more.
TEST_F(InterposeThreadTest, JoinOfAThreadThatHasEndedIsNotBeforeItsEndInVirtualTime) {
  const uint64_t level_ns = process_.main_ledger().local_delay_ns;
  const uint64_t start_ns = MonotonicNowNs();
  std::atomic<pid_t> tid{0};
  std::thread thread([&] { tid = gettid(); });
  WaitUntil("the thread has ended", [&] { return tid != 0 && tgkill(getpid(), tid, 0) != 0; });
  constexpr uint64_t kLongNs = 30 * kNsPerSecond;
  process_.main_ledger().local_delay_ns += kLongNs;
  thread.join();
  const uint64_t local_ns = process_.main_ledger().local_delay_ns;
  EXPECT_GE(local_ns, level_ns);
  EXPECT_LE(local_ns - level_ns, MonotonicNowNs() - start_ns);
}

TEST_F(InterposeThreadTest, JoinThatBlocksAbsorbsExcess) {
  const uint64_t level_ns = process_.main_ledger().local_delay_ns;
  const pid_t joiner = gettid();
  std::atomic<bool> joining{false};
  std::thread thread([&] {
    WaitUntil("the other joins", [&] { return joining.load() && testing::SleepsInKernel(joiner); });
  });
  process_.main_ledger().local_delay_ns += kDelayNs;
  joining = true;
  thread.join();
  EXPECT_EQ(process_.main_ledger().local_delay_ns, level_ns);
}

// A thread that spins does not give up its CPU, just like a call that returns at once.
TEST_F(InterposeThreadTest, SpinningForALockAbsorbsExcess) {
  const uint64_t level_ns = process_.main_ledger().local_delay_ns;
  pthread_spinlock_t lock;
  pthread_spin_init(&lock, 0);
  std::atomic<bool> locked{false};
  std::thread thread([&] {
    pthread_spin_lock(&lock);
    locked = true;
    WaitUntil("the other waits", [&] { return process_.main_ledger().blocked != 0; });
    pthread_spin_unlock(&lock);
  });
  WaitUntil("the lock is taken", [&] { return locked.load(); });
  process_.main_ledger().local_delay_ns += kDelayNs;
  pthread_spin_lock(&lock);
  EXPECT_EQ(process_.main_ledger().local_delay_ns, level_ns);
  pthread_spin_unlock(&lock);
  thread.join();
}

TEST_F(InterposeThreadTest, LedgersComeBackAtTheEndOfThreads) {
  for (int i = 0; i < 10; ++i) std::thread([] {}).join();
  EXPECT_EQ(process_.reserved(), 10);
  EXPECT_EQ(process_.exited(), 10);
  EXPECT_EQ(process_.cancelled(), 0);
}

// Sampling starts and stops in the hooks. A sample there must find the thread's ledger; else it
// takes another one.
TEST_F(InterposeThreadTest, LedgerIsCurrentWhileAThreadStartsAndEnds) {
  for (int i = 0; i < 10; ++i) std::thread([] {}).join();
  EXPECT_EQ(process_.exited(), 10);
  EXPECT_EQ(process_.without_ledger(), 0);
}

TEST_F(InterposeThreadTest, LedgerComesBackWhereNoThreadIsCreated) {
  pthread_attr_t attributes;
  ASSERT_EQ(pthread_attr_init(&attributes), 0);
  ASSERT_EQ(pthread_attr_setstacksize(&attributes, size_t{1} << 46), 0);
  pthread_t thread;
  errno = ERANGE;
  EXPECT_EQ(pthread_create(
                &thread, &attributes, [](void*) -> void* { return nullptr; }, nullptr),
            EAGAIN);
  EXPECT_EQ(process_.reserved(), 1);
  EXPECT_EQ(process_.cancelled(), 1);
}

TEST_F(InterposeThreadTest, ThreadWithoutALedgerRuns) {
  process_.RefuseLedgers(true);
  bool profiled = true;
  std::thread([&] { profiled = CurrentThreadLedger() != nullptr; }).join();
  EXPECT_FALSE(profiled);
  int answer = 42;
  thrd_t thread;
  ASSERT_EQ(thrd_create(
                &thread, [](void* argument) { return *static_cast<int*>(argument); }, &answer),
            thrd_success);
  int result = 0;
  ASSERT_EQ(thrd_join(thread, &result), thrd_success);
  EXPECT_EQ(result, 42);
  EXPECT_EQ(process_.exited(), 0);
}

TEST_F(InterposeThreadTest, ArgumentAndResultOfAC11ThreadGetThrough) {
  int answer = 42;
  thrd_t thread;
  ASSERT_EQ(thrd_create(
                &thread, [](void* argument) { return *static_cast<int*>(argument) + 1; }, &answer),
            thrd_success);
  int result = 0;
  ASSERT_EQ(thrd_join(thread, &result), thrd_success);
  EXPECT_EQ(result, 43);
  EXPECT_EQ(process_.exited(), 1);
}

// Expects that the stack size which a thread with these attributes gets is correct: libc says in
// the thread that so much is there, and it is most of the stack.
void ExpectKnownStack(FakeProcess& process, const pthread_attr_t* attributes) {
  struct Stack {
    uintptr_t begin = 0;
    size_t bytes = 0;
    uintptr_t descriptor = 0;
  } stack;
  const auto look = [](void* opaque) -> void* {
    Stack& own = *static_cast<Stack*>(opaque);
    own.descriptor = static_cast<uintptr_t>(pthread_self());
    pthread_attr_t now;
    void* begin = nullptr;
    pthread_getattr_np(pthread_self(), &now);
    pthread_attr_getstack(&now, &begin, &own.bytes);
    pthread_attr_destroy(&now);
    own.begin = reinterpret_cast<uintptr_t>(begin);
    return nullptr;
  };
  pthread_t thread;
  ASSERT_EQ(pthread_create(&thread, attributes, look, &stack), 0);
  ASSERT_EQ(pthread_join(thread, nullptr), 0);
  EXPECT_GE(stack.descriptor - process.newest_stack_bytes(), stack.begin);
  EXPECT_LT(stack.descriptor, stack.begin + stack.bytes);
  EXPECT_GT(process.newest_stack_bytes(), stack.bytes / 2);
}

TEST_F(InterposeThreadTest, NewThreadKnowsItsStack) {
  ExpectKnownStack(process_, nullptr);
  for (const size_t guard : {size_t{0}, size_t{1}, size_t{64} << 10}) {
    SCOPED_TRACE(guard);
    pthread_attr_t attributes;
    ASSERT_EQ(pthread_attr_init(&attributes), 0);
    ASSERT_EQ(pthread_attr_setstacksize(&attributes, 256 << 10), 0);
    ASSERT_EQ(pthread_attr_setguardsize(&attributes, guard), 0);
    ExpectKnownStack(process_, &attributes);
    pthread_attr_destroy(&attributes);
  }
}

TEST_F(InterposeThreadTest, NewThreadKnowsTheStackThatItIsGiven) {
  std::vector<char> memory((128 << 10) + 40);
  pthread_attr_t attributes;
  ASSERT_EQ(pthread_attr_init(&attributes), 0);
  ASSERT_EQ(pthread_attr_setstack(&attributes, memory.data() + 8, 128 << 10), 0);
  ExpectKnownStack(process_, &attributes);
  pthread_attr_destroy(&attributes);
}

TEST_F(InterposeThreadTest, ThreadOfAnUnprofiledThreadIsNotProfiled) {
  delay::ThreadLedger* ledger = LeaveThreadSync();
  bool profiled = true;
  std::thread([&] { profiled = CurrentThreadLedger() != nullptr; }).join();
  EnterThreadSync(ledger, process_.global().global_delay_ns);
  EXPECT_FALSE(profiled);
}

// Each way to end a thread pays before a join returns.

struct EndingThread {
  std::function<void()> end;
  std::atomic<bool> may_end{false};
  std::atomic<delay::ThreadLedger*> ledger{nullptr};
};

void* RunUntilToldToEnd(void* argument) {
  EndingThread& self = *static_cast<EndingThread*>(argument);
  self.ledger = CurrentThreadLedger();
  while (!self.may_end) std::this_thread::yield();
  self.end();
  return nullptr;
}

void ExpectEndPays(FakeProcess& process, const std::function<void()>& end) {
  EndingThread ending;
  ending.end = end;
  pthread_t thread;
  ASSERT_EQ(pthread_create(&thread, nullptr, RunUntilToldToEnd, &ending), 0);
  WaitUntil("the thread runs", [&] { return ending.ledger != nullptr; });
  process.Impose(kDelayNs);
  ending.may_end = true;
  ASSERT_EQ(pthread_join(thread, nullptr), 0);
  EXPECT_GE(ending.ledger.load()->paused_ns, kDelayNs);
  EXPECT_EQ(process.exited(), 1);
}

TEST_F(InterposeThreadTest, ReturningThreadPays) {
  ExpectEndPays(process_, [] {});
}

TEST_F(InterposeThreadTest, PthreadExitPays) {
  ExpectEndPays(process_, [] { pthread_exit(nullptr); });
}

TEST_F(InterposeThreadTest, CancelledThreadPays) {
  ExpectEndPays(process_, [] {
    pthread_cancel(pthread_self());
    pthread_testcancel();
  });
}

std::atomic<int> g_profiled_in_destructors{0};
pthread_mutex_t g_destructor_mutex = PTHREAD_MUTEX_INITIALIZER;

void LockInDestructor() {
  pthread_mutex_lock(&g_destructor_mutex);
  if (CurrentThreadLedger() != nullptr) ++g_profiled_in_destructors;
  pthread_mutex_unlock(&g_destructor_mutex);
}

struct LocksAtThreadExit {
  int touched = 0;
  ~LocksAtThreadExit() { LockInDestructor(); }
};
thread_local LocksAtThreadExit t_locks;

TEST_F(InterposeThreadTest, DestructorsOfTheProgramStillSynchronise) {
  pthread_key_t key;
  ASSERT_EQ(pthread_key_create(&key, [](void*) { LockInDestructor(); }), 0);
  g_profiled_in_destructors = 0;
  std::thread([&] {
    t_locks.touched = 1;
    pthread_setspecific(key, &key);
  }).join();
  EXPECT_EQ(g_profiled_in_destructors, 2);
  EXPECT_EQ(process_.exited(), 1);
  pthread_key_delete(key);
}

// Cancellation.

struct Cancelled {
  bool was_cancelled = false;
  bool went_on = false;
  bool destructor_ran = false;
};

struct SetsAtEnd {
  bool* flag;
  ~SetsAtEnd() { *flag = true; }
};

// Cancels a thread while it is in `wait`.
Cancelled CancelIn(const std::function<void()>& wait) {
  struct Body {
    Cancelled outcome;
    WatchedThread watched;
    const std::function<void()>* wait;
  } body;
  body.wait = &wait;
  pthread_t thread;
  EXPECT_EQ(pthread_create(
                &thread, nullptr,
                [](void* argument) -> void* {
                  Body& self = *static_cast<Body*>(argument);
                  const SetsAtEnd at_end{&self.outcome.destructor_ran};
                  self.watched.Announce();
                  (*self.wait)();
                  self.outcome.went_on = true;
                  return nullptr;
                },
                &body),
            0);
  WaitUntil("the thread waits", [&] { return body.watched.IsBlocked(true); });
  EXPECT_EQ(pthread_cancel(thread), 0);
  void* value = nullptr;
  EXPECT_EQ(pthread_join(thread, &value), 0);
  body.outcome.was_cancelled = value == PTHREAD_CANCELED;
  return body.outcome;
}

void ExpectCancelled(const Cancelled& outcome) {
  EXPECT_TRUE(outcome.was_cancelled);
  EXPECT_TRUE(outcome.destructor_ran);
  EXPECT_FALSE(outcome.went_on);
}

TEST_F(InterposeThreadTest, ConditionWaitIsACancellationPointThatHoldsTheMutexInCleanup) {
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_ERRORCHECK);
  pthread_mutex_t mutex;
  pthread_mutex_init(&mutex, &attributes);
  pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
  struct Cleanup {
    pthread_mutex_t* mutex;
    int unlock_result = -1;
  } cleanup{&mutex};
  ExpectCancelled(CancelIn([&] {
    pthread_mutex_lock(&mutex);
    pthread_cleanup_push(
        [](void* argument) {
          Cleanup& self = *static_cast<Cleanup*>(argument);
          self.unlock_result = pthread_mutex_unlock(self.mutex);
        },
        &cleanup);
    for (;;) pthread_cond_wait(&condition, &mutex);
    pthread_cleanup_pop(0);
  }));
  EXPECT_EQ(cleanup.unlock_result, 0);
  EXPECT_EQ(pthread_mutex_trylock(&mutex), 0);
}

TEST_F(InterposeThreadTest, OtherWaitsAreCancellationPoints) {
  sem_t semaphore;
  sem_init(&semaphore, 0, 0);
  sigset_t usr1;
  sigemptyset(&usr1);
  sigaddset(&usr1, SIGUSR1);
  pthread_sigmask(SIG_BLOCK, &usr1, nullptr);
  sigset_t none;
  sigemptyset(&none);
  int signal = 0;
  const timespec far = {time(nullptr) + 600, 0};
  const std::function<void()> waits[] = {
      [&] { sem_wait(&semaphore); },
      [&] { sem_timedwait(&semaphore, &far); },
      [&] { sem_clockwait(&semaphore, CLOCK_REALTIME, &far); },
      [&] { sigwait(&usr1, &signal); },
      [&] { sigwaitinfo(&usr1, nullptr); },
      [&] { sigsuspend(&none); },
      [&] { pause(); },
  };
  for (size_t i = 0; i < std::size(waits); ++i) {
    SCOPED_TRACE("wait " + std::to_string(i));
    ExpectCancelled(CancelIn(waits[i]));
  }
}

TEST_F(InterposeThreadTest, CancelledJoinLeavesTheThreadJoinable) {
  std::atomic<bool> may_end{false};
  std::thread joined([&] { WaitUntil("it may end", [&] { return may_end.load(); }); });
  const pthread_t handle = joined.native_handle();
  ExpectCancelled(CancelIn([&] { pthread_join(handle, nullptr); }));
  may_end = true;
  joined.join();
}

TEST_F(InterposeThreadTest, PendingCancellationIsActedOnBeforeASemaphoreIsTaken) {
  sem_t semaphore;
  sem_init(&semaphore, 0, 1);
  bool went_on = false;
  std::thread thread([&] {
    pthread_cancel(pthread_self());
    sem_wait(&semaphore);
    went_on = true;
  });
  thread.join();
  int value = 0;
  sem_getvalue(&semaphore, &value);
  EXPECT_FALSE(went_on);
  EXPECT_EQ(value, 1);
}

TEST_F(InterposeThreadTest, MutexCallsAreNoCancellationPoints) {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_lock(&mutex);
  WatchedThread watched;
  bool locked = false;
  std::thread thread([&] {
    watched.Announce();
    pthread_mutex_lock(&mutex);
    locked = true;
    pthread_mutex_unlock(&mutex);
    pthread_testcancel();
    locked = false;
  });
  WaitUntil("the thread waits", [&] { return watched.IsBlocked(true); });
  pthread_cancel(thread.native_handle());
  pthread_mutex_unlock(&mutex);
  thread.join();
  EXPECT_TRUE(locked);
}

TEST_F(InterposeThreadTest, AsynchronousCancellationUnwindsThroughALockCall) {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_lock(&mutex);
  ExpectCancelled(CancelIn([&] {
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, nullptr);
    pthread_mutex_lock(&mutex);
  }));
}

// A thread that leaves a wait by cancellation still pays.
TEST_F(InterposeThreadTest, CancelledWaiterPaysWhatItOwes) {
  sem_t semaphore;
  sem_init(&semaphore, 0, 0);
  delay::ThreadLedger* ledger = nullptr;
  WatchedThread watched;
  std::thread thread([&] {
    ledger = CurrentThreadLedger();
    watched.Announce();
    sem_wait(&semaphore);
  });
  WaitUntil("the thread waits", [&] { return watched.IsBlocked(true); });
  process_.Impose(kDelayNs);
  pthread_cancel(thread.native_handle());
  thread.join();
  EXPECT_GE(ledger->paused_ns, kDelayNs);
  EXPECT_EQ(ledger->blocked, 0u);
}

}  // namespace
}  // namespace coz::interpose
