// Which thread pays and which gets credit, for each wrapped call, with real threads.
#include <gtest/gtest.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "coz/sync/interpose/testing/fake_process.h"
#include "coz/sync/interpose/testing/wait_scenario.h"
#include "coz/sync/interpose/thread_sync.h"
#include "coz/sync/interpose/wrapped_calls.h"

namespace coz::interpose {
namespace {

using testing::ExpectWakerPaysAndWaiterIsCredited;
using testing::FakeProcess;
using testing::NamedScenario;
using testing::Scenario;

constexpr uint64_t kDelayNs = 5 * kNsPerMs;

timespec In(uint64_t delay_ns, clockid_t clock) {
  timespec time;
  clock_gettime(clock, &time);
  const uint64_t ns = static_cast<uint64_t>(time.tv_nsec) + delay_ns;
  time.tv_sec += static_cast<time_t>(ns / kNsPerSecond);
  time.tv_nsec = static_cast<long>(ns % kNsPerSecond);
  return time;
}
constexpr uint64_t kFarNs = 600 * kNsPerSecond;
timespec FarRealtime() { return In(kFarNs, CLOCK_REALTIME); }
timespec FarMonotonic() { return In(kFarNs, CLOCK_MONOTONIC); }

// A wait for a lock that the main thread holds.
Scenario LockScenario(const std::function<int()>& lock, const std::function<int()>& wait,
                      const std::function<int()>& unlock, bool sleeps = true) {
  EXPECT_EQ(lock(), 0);
  return {[wait, unlock] { return wait() == 0 && unlock() == 0; },
          [unlock](std::thread&) { EXPECT_EQ(unlock(), 0); }, sleeps};
}

template <typename T, typename Init>
std::shared_ptr<T> NewShared(Init init) {
  auto object = std::make_shared<T>();
  EXPECT_EQ(init(object.get()), 0);
  return object;
}

std::shared_ptr<pthread_mutex_t> NewMutex() {
  return NewShared<pthread_mutex_t>([](auto* m) { return pthread_mutex_init(m, nullptr); });
}

NamedScenario MutexWait(const char* name, const std::function<int(pthread_mutex_t*)>& wait) {
  return {name, [wait] {
            auto mutex = NewMutex();
            return LockScenario([mutex] { return pthread_mutex_lock(&*mutex); },
                                [mutex, wait] { return wait(&*mutex); },
                                [mutex] { return pthread_mutex_unlock(&*mutex); });
          }};
}

NamedScenario RwlockWait(const char* name, bool holder_writes,
                         const std::function<int(pthread_rwlock_t*)>& wait) {
  return {
      name, [wait, holder_writes] {
        auto lock =
            NewShared<pthread_rwlock_t>([](auto* l) { return pthread_rwlock_init(l, nullptr); });
        return LockScenario(
            [lock, holder_writes] {
              return holder_writes ? pthread_rwlock_wrlock(&*lock) : pthread_rwlock_rdlock(&*lock);
            },
            [lock, wait] { return wait(&*lock); },
            [lock] { return pthread_rwlock_unlock(&*lock); });
      }};
}

Scenario MakeSpinWait() {
  auto lock = NewShared<pthread_spinlock_t>([](auto* l) { return pthread_spin_init(l, 0); });
  return LockScenario([lock] { return pthread_spin_lock(&*lock); },
                      [lock] { return pthread_spin_lock(&*lock); },
                      [lock] { return pthread_spin_unlock(&*lock); }, false);
}

NamedScenario ConditionWait(const char* name, int (*wake)(pthread_cond_t*),
                            const std::function<int(pthread_cond_t*, pthread_mutex_t*)>& wait) {
  return {name, [wait, wake] {
            auto condition =
                NewShared<pthread_cond_t>([](auto* c) { return pthread_cond_init(c, nullptr); });
            auto mutex = NewMutex();
            auto woken = std::make_shared<bool>(false);
            return Scenario(
                [=] {
                  pthread_mutex_lock(&*mutex);
                  bool ok = true;
                  while (!*woken && ok) ok = wait(&*condition, &*mutex) == 0;
                  return pthread_mutex_unlock(&*mutex) == 0 && ok;
                },
                [=](std::thread&) {
                  pthread_mutex_lock(&*mutex);
                  *woken = true;
                  wake(&*condition);
                  pthread_mutex_unlock(&*mutex);
                });
          }};
}

NamedScenario SemaphoreWait(const char* name, const std::function<int(sem_t*)>& wait) {
  return {name, [wait] {
            auto semaphore = NewShared<sem_t>([](auto* s) { return sem_init(s, 0, 0); });
            return Scenario([=] { return wait(&*semaphore) == 0; },
                            [=](std::thread&) { EXPECT_EQ(sem_post(&*semaphore), 0); });
          }};
}

Scenario MakeBarrierWait() {
  auto barrier =
      NewShared<pthread_barrier_t>([](auto* b) { return pthread_barrier_init(b, nullptr, 2); });
  const auto wait = [barrier] {
    const int result = pthread_barrier_wait(&*barrier);
    return result == 0 || result == PTHREAD_BARRIER_SERIAL_THREAD;
  };
  return Scenario(wait, [wait](std::thread&) { EXPECT_TRUE(wait()); });
}

// A wait for the end of a thread. The thread runs until it is told to end, and then pays.
NamedScenario JoinWait(const char* name, const std::function<int(pthread_t)>& join,
                       bool by_exit = false) {
  return {name, [join, by_exit] {
            struct Joined {
              std::atomic<bool> may_end{false};
              bool by_exit;
              pthread_t thread;
            };
            auto joined = std::make_shared<Joined>();
            joined->by_exit = by_exit;
            EXPECT_EQ(pthread_create(
                          &joined->thread, nullptr,
                          [](void* argument) -> void* {
                            Joined& self = *static_cast<Joined*>(argument);
                            while (!self.may_end) std::this_thread::yield();
                            if (self.by_exit) pthread_exit(nullptr);
                            return nullptr;
                          },
                          &*joined),
                      0);
            return Scenario([=] { return join(joined->thread) == 0; },
                            [=](std::thread&) { joined->may_end = true; });
          }};
}

using SendSignal = std::function<int(pthread_t)>;

int SendUsr1(pthread_t thread) { return pthread_kill(thread, SIGUSR1); }

NamedScenario SignalWait(const char* name, const std::function<bool(const sigset_t*)>& wait,
                         const SendSignal& send = SendUsr1) {
  return {name, [wait, send] {
            sigset_t set;
            sigemptyset(&set);
            sigaddset(&set, SIGUSR1);
            // Blocked in the creator too, so that a signal to the process stays pending for the
            // waiter.
            pthread_sigmask(SIG_BLOCK, &set, nullptr);
            return Scenario(
                [=] { return wait(&set); },
                [=](std::thread& waiter) { EXPECT_EQ(send(waiter.native_handle()), 0); });
          }};
}

std::atomic<int> g_handled{0};

NamedScenario HandlerWait(const char* name, const std::function<int()>& wait) {
  return {name, [wait] {
            struct sigaction action = {};
            action.sa_handler = [](int) { ++g_handled; };
            EXPECT_EQ(sigaction(SIGUSR2, &action, nullptr), 0);
            const int handled_before = g_handled;
            return Scenario(
                [=] { return wait() == -1 && errno == EINTR && g_handled == handled_before + 1; },
                [](std::thread& waiter) {
                  EXPECT_EQ(pthread_kill(waiter.native_handle(), SIGUSR2), 0);
                });
          }};
}

int WaitSuspended() {
  sigset_t none;
  sigemptyset(&none);
  return sigsuspend(&none);
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
int WaitInSigpause() { return sigpause(SIGUSR2); }
#pragma GCC diagnostic pop

bool ReceivesBySigwait(const sigset_t* set) {
  int signal = 0;
  return sigwait(set, &signal) == 0 && signal == SIGUSR1;
}

bool ReceivesBySigwaitinfo(const sigset_t* set) {
  siginfo_t info;
  return sigwaitinfo(set, &info) == SIGUSR1 && info.si_pid == getpid();
}

bool ReceivesBySigtimedwait(const sigset_t* set) {
  const timespec long_time = {600, 0};
  return sigtimedwait(set, nullptr, &long_time) == SIGUSR1;
}

Scenario MakeTgkillWait() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR1);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  auto waiter_id = std::make_shared<std::atomic<pid_t>>(0);
  return {[=] {
            *waiter_id = gettid();
            return ReceivesBySigwaitinfo(&set);
          },
          [=](std::thread&) { EXPECT_EQ(tgkill(getpid(), *waiter_id, SIGUSR1), 0); }};
}

const NamedScenario kScenarios[] = {
    MutexWait("mutex_lock", [](auto* m) { return pthread_mutex_lock(m); }),
    MutexWait("mutex_timedlock",
              [](auto* m) {
                const timespec far = FarRealtime();
                return pthread_mutex_timedlock(m, &far);
              }),
    MutexWait("mutex_clocklock",
              [](auto* m) {
                const timespec far = FarMonotonic();
                return pthread_mutex_clocklock(m, CLOCK_MONOTONIC, &far);
              }),
    RwlockWait("rwlock_rdlock", true, [](auto* l) { return pthread_rwlock_rdlock(l); }),
    RwlockWait("rwlock_wrlock", true, [](auto* l) { return pthread_rwlock_wrlock(l); }),
    RwlockWait("rwlock_wrlock_held_by_reader", false,
               [](auto* l) { return pthread_rwlock_wrlock(l); }),
    RwlockWait("rwlock_timedrdlock", true,
               [](auto* l) {
                 const timespec far = FarRealtime();
                 return pthread_rwlock_timedrdlock(l, &far);
               }),
    RwlockWait("rwlock_timedwrlock", false,
               [](auto* l) {
                 const timespec far = FarRealtime();
                 return pthread_rwlock_timedwrlock(l, &far);
               }),
    RwlockWait("rwlock_clockrdlock", true,
               [](auto* l) {
                 const timespec far = FarMonotonic();
                 return pthread_rwlock_clockrdlock(l, CLOCK_MONOTONIC, &far);
               }),
    RwlockWait("rwlock_clockwrlock", false,
               [](auto* l) {
                 const timespec far = FarMonotonic();
                 return pthread_rwlock_clockwrlock(l, CLOCK_MONOTONIC, &far);
               }),
    {"spin_lock", MakeSpinWait},
    ConditionWait("cond_wait_signal", pthread_cond_signal,
                  [](auto* c, auto* m) { return pthread_cond_wait(c, m); }),
    ConditionWait("cond_wait_broadcast", pthread_cond_broadcast,
                  [](auto* c, auto* m) { return pthread_cond_wait(c, m); }),
    ConditionWait("cond_timedwait", pthread_cond_signal,
                  [](auto* c, auto* m) {
                    const timespec far = FarRealtime();
                    return pthread_cond_timedwait(c, m, &far);
                  }),
    ConditionWait("cond_clockwait", pthread_cond_signal,
                  [](auto* c, auto* m) {
                    const timespec far = FarMonotonic();
                    return pthread_cond_clockwait(c, m, CLOCK_MONOTONIC, &far);
                  }),
    {"barrier_wait", MakeBarrierWait},
    SemaphoreWait("sem_wait", [](auto* s) { return sem_wait(s); }),
    SemaphoreWait("sem_timedwait",
                  [](auto* s) {
                    const timespec far = FarRealtime();
                    return sem_timedwait(s, &far);
                  }),
    SemaphoreWait("sem_clockwait",
                  [](auto* s) {
                    const timespec far = FarMonotonic();
                    return sem_clockwait(s, CLOCK_MONOTONIC, &far);
                  }),
    JoinWait("join", [](pthread_t t) { return pthread_join(t, nullptr); }),
    JoinWait(
        "join_pthread_exit", [](pthread_t t) { return pthread_join(t, nullptr); }, true),
    JoinWait("timedjoin",
             [](pthread_t t) {
               const timespec far = FarRealtime();
               return pthread_timedjoin_np(t, nullptr, &far);
             }),
    JoinWait("clockjoin",
             [](pthread_t t) {
               const timespec far = FarMonotonic();
               return pthread_clockjoin_np(t, nullptr, CLOCK_MONOTONIC, &far);
             }),
    SignalWait("sigwait", ReceivesBySigwait),
    SignalWait("sigwaitinfo", ReceivesBySigwaitinfo),
    SignalWait("sigtimedwait", ReceivesBySigtimedwait),
    SignalWait("sigwait_kill", ReceivesBySigwait,
               [](pthread_t) { return kill(getpid(), SIGUSR1); }),
    SignalWait("sigwait_sigqueue", ReceivesBySigwait,
               [](pthread_t) { return sigqueue(getpid(), SIGUSR1, {}); }),
    SignalWait("sigwait_pthread_sigqueue", ReceivesBySigwait,
               [](pthread_t t) { return pthread_sigqueue(t, SIGUSR1, {}); }),
    {"sigwaitinfo_tgkill", MakeTgkillWait},
    HandlerWait("sigsuspend", WaitSuspended),
    HandlerWait("pause", [] { return pause(); }),
    HandlerWait("sigpause", WaitInSigpause),
};

class WrappedWaitTest : public ::testing::TestWithParam<NamedScenario> {
 protected:
  FakeProcess process_;
};

TEST_P(WrappedWaitTest, WaiterIsCreditedAndWakerHasPaid) {
  ExpectWakerPaysAndWaiterIsCredited(process_, GetParam());
}

INSTANTIATE_TEST_SUITE_P(AllCalls, WrappedWaitTest, ::testing::ValuesIn(kScenarios),
                         [](const auto& scenario) { return std::string(scenario.param.name); });

// Calls that do not wait bring no credit. (timeout_test.cc has the waits that the clock ends.)

struct NamedCall {
  const char* name;
  std::function<void()> call;
};

sem_t g_empty_semaphore;

const NamedCall kImmediateCalls[] = {
    {"mutex",
     [] {
       pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
       EXPECT_EQ(pthread_mutex_lock(&mutex), 0);
     }},
    {"mutex_trylock",
     [] {
       pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
       EXPECT_EQ(pthread_mutex_trylock(&mutex), 0);
     }},
    {"mutex_unlock",
     [] {
       pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
       g_real.pthread_mutex_lock(&mutex);
       EXPECT_EQ(pthread_mutex_unlock(&mutex), 0);
     }},
    {"mutex_timedlock",
     [] {
       pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
       const timespec far = FarRealtime();
       EXPECT_EQ(pthread_mutex_timedlock(&mutex, &far), 0);
     }},
    {"rwlock_rdlock",
     [] {
       pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
       EXPECT_EQ(pthread_rwlock_rdlock(&lock), 0);
     }},
    {"rwlock_wrlock",
     [] {
       pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
       EXPECT_EQ(pthread_rwlock_wrlock(&lock), 0);
     }},
    {"rwlock_unlock",
     [] {
       pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
       g_real.pthread_rwlock_rdlock(&lock);
       EXPECT_EQ(pthread_rwlock_unlock(&lock), 0);
     }},
    {"spin_lock",
     [] {
       pthread_spinlock_t lock;
       pthread_spin_init(&lock, 0);
       EXPECT_EQ(pthread_spin_lock(&lock), 0);
     }},
    {"spin_unlock",
     [] {
       pthread_spinlock_t lock;
       pthread_spin_init(&lock, 0);
       g_real.pthread_spin_lock(&lock);
       EXPECT_EQ(pthread_spin_unlock(&lock), 0);
     }},
    {"sem_wait",
     [] {
       sem_t semaphore;
       sem_init(&semaphore, 0, 1);
       EXPECT_EQ(sem_wait(&semaphore), 0);
     }},
    {"sem_post", [] { EXPECT_EQ(sem_post(&g_empty_semaphore), 0); }},
    {"cond_signal",
     [] {
       pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
       EXPECT_EQ(pthread_cond_signal(&condition), 0);
     }},
    {"cond_broadcast",
     [] {
       pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
       EXPECT_EQ(pthread_cond_broadcast(&condition), 0);
     }},
    {"barrier_of_one",
     [] {
       pthread_barrier_t barrier;
       pthread_barrier_init(&barrier, nullptr, 1);
       EXPECT_EQ(pthread_barrier_wait(&barrier), PTHREAD_BARRIER_SERIAL_THREAD);
     }},
    {"kill", [] { EXPECT_EQ(kill(getpid(), 0), 0); }},
    {"killpg", [] { EXPECT_EQ(killpg(0, 0), 0); }},
    {"pthread_kill", [] { EXPECT_EQ(pthread_kill(pthread_self(), 0), 0); }},
    {"tgkill", [] { EXPECT_EQ(tgkill(getpid(), gettid(), 0), 0); }},
    {"raise", [] { EXPECT_EQ(raise(0), 0); }},
    {"sigwait_of_own_raise",
     [] {
       sigset_t set;
       sigemptyset(&set);
       sigaddset(&set, SIGUSR1);
       g_real.pthread_sigmask(SIG_BLOCK, &set, nullptr);
       EXPECT_EQ(raise(SIGUSR1), 0);
       EXPECT_TRUE(ReceivesBySigwait(&set));
     }},
};

class ImmediateCallTest : public ::testing::TestWithParam<NamedCall> {
 protected:
  FakeProcess process_;
};

TEST_P(ImmediateCallTest, PaysAndIsNotCredited) {
  sem_init(&g_empty_semaphore, 0, 0);
  process_.Impose(kDelayNs);
  GetParam().call();
  const delay::ThreadLedger& ledger = process_.main_ledger();
  EXPECT_GE(ledger.paused_ns, kDelayNs);
  EXPECT_EQ(ledger.credited_ns, 0u);
  EXPECT_EQ(ledger.blocked, 0u);
}

INSTANTIATE_TEST_SUITE_P(AllCalls, ImmediateCallTest, ::testing::ValuesIn(kImmediateCalls),
                         [](const auto& call) { return std::string(call.param.name); });

}  // namespace
}  // namespace coz::interpose
