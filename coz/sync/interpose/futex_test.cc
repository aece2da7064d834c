// Waits by other calls than POSIX's: futexes by syscall(), C11, once.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <threads.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <memory>
#include <string>
#include <thread>

#include "coz/sync/interpose/testing/fake_process.h"
#include "coz/sync/interpose/testing/wait_scenario.h"
#include "coz/sync/interpose/thread_sync.h"

namespace coz::interpose {
namespace {

using testing::FakeProcess;
using testing::NamedScenario;
using testing::Scenario;
using testing::WaitUntil;

using Word = std::atomic<uint32_t>;

constexpr int kLockPi2 = 13 | FUTEX_PRIVATE_FLAG;  // FUTEX_LOCK_PI2, which older headers lack

long Futex(Word* word, int operation, uint32_t value, const void* timeout = nullptr,
           Word* second = nullptr, uint32_t third = 0) {
  return syscall(SYS_futex, word, operation, value, timeout, second, third);
}

// A scenario that waits by `wait` until the word has changed.
NamedScenario FutexWait(const char* name, const std::function<long(Word*)>& wait,
                        const std::function<long(Word*)>& wake) {
  return {name, [=] {
            auto word = std::make_shared<Word>(0);
            return Scenario(
                [=] {
                  long result = -1;
                  while (*word == 0) result = wait(word.get());
                  return result >= 0;
                },
                [=](std::thread&) {
                  *word = 1;
                  EXPECT_EQ(wake(word.get()), 1);
                });
          }};
}

long WaitPlainly(Word* word) { return Futex(word, FUTEX_WAIT_PRIVATE, 0); }
long WakeOne(Word* word) { return Futex(word, FUTEX_WAKE_PRIVATE, 1); }

// A lock with priority inheritance.
long UnlockPi(Word* word) { return Futex(word, FUTEX_UNLOCK_PI_PRIVATE, 0); }

NamedScenario PriorityInheritanceWait(const char* name, int lock) {
  return {name, [=] {
            auto word = std::make_shared<Word>(0);
            EXPECT_EQ(Futex(word.get(), lock, 0), 0);
            return Scenario(
                [=] { return Futex(word.get(), lock, 0) == 0 && UnlockPi(word.get()) == 0; },
                [=](std::thread&) { EXPECT_EQ(UnlockPi(word.get()), 0); });
          }};
}

// A wait like that of a condition variable: the woken thread has the lock. Until then the waker has
// it, or nobody.
NamedScenario RequeuePiWait(const char* name, bool waker_has_lock) {
  return {name, [=] {
            auto word = std::make_shared<Word>(0);
            auto lock = std::make_shared<Word>(0);
            return Scenario(
                [=] {
                  return Futex(word.get(), FUTEX_WAIT_REQUEUE_PI_PRIVATE, 0, nullptr, lock.get()) ==
                             0 &&
                         (*lock & FUTEX_TID_MASK) == static_cast<uint32_t>(gettid()) &&
                         UnlockPi(lock.get()) == 0;
                },
                [=](std::thread&) {
                  if (waker_has_lock) {
                    EXPECT_EQ(Futex(lock.get(), FUTEX_LOCK_PI_PRIVATE, 0), 0);
                  }
                  *word = 1;
                  EXPECT_EQ(
                      Futex(word.get(), FUTEX_CMP_REQUEUE_PI_PRIVATE, 1, nullptr, lock.get(), 1),
                      1);
                  if (waker_has_lock) {
                    EXPECT_EQ(UnlockPi(lock.get()), 0);
                  }
                });
          }};
}

long WaitForAnyOfTwo(Word* word) {
  Word other{7};
  struct futex_waitv words[2] = {};
  words[0].val = 7;
  words[0].uaddr = reinterpret_cast<uintptr_t>(&other);
  words[0].flags = FUTEX_32 | FUTEX_PRIVATE_FLAG;
  words[1].val = 0;
  words[1].uaddr = reinterpret_cast<uintptr_t>(word);
  words[1].flags = FUTEX_32 | FUTEX_PRIVATE_FLAG;
  return syscall(SYS_futex_waitv, words, 2, 0, nullptr, CLOCK_MONOTONIC);
}

bool HasFutexWaitv() {
  return syscall(SYS_futex_waitv, nullptr, 0, 0, nullptr, 0) < 0 && errno != ENOSYS;
}

struct C11 {
  mtx_t mutex;
  cnd_t condition;
  bool woken = false;
};

std::shared_ptr<C11> NewC11() {
  auto objects = std::make_shared<C11>();
  EXPECT_EQ(mtx_init(&objects->mutex, mtx_timed), thrd_success);
  EXPECT_EQ(cnd_init(&objects->condition), thrd_success);
  return objects;
}

NamedScenario C11LockWait(const char* name, const std::function<int(mtx_t*)>& lock) {
  return {name, [=] {
            auto objects = NewC11();
            EXPECT_EQ(mtx_lock(&objects->mutex), thrd_success);
            return Scenario(
                [=] {
                  return lock(&objects->mutex) == thrd_success &&
                         mtx_unlock(&objects->mutex) == thrd_success;
                },
                [=](std::thread&) { EXPECT_EQ(mtx_unlock(&objects->mutex), thrd_success); });
          }};
}

NamedScenario C11ConditionWait(const char* name, const std::function<int(cnd_t*, mtx_t*)>& wait,
                               int (*wake)(cnd_t*)) {
  return {name, [=] {
            auto objects = NewC11();
            return Scenario(
                [=] {
                  mtx_lock(&objects->mutex);
                  bool ok = true;
                  while (!objects->woken && ok) {
                    ok = wait(&objects->condition, &objects->mutex) == thrd_success;
                  }
                  return mtx_unlock(&objects->mutex) == thrd_success && ok;
                },
                [=](std::thread&) {
                  mtx_lock(&objects->mutex);
                  objects->woken = true;
                  wake(&objects->condition);
                  mtx_unlock(&objects->mutex);
                });
          }};
}

timespec FarRealtime() { return {time(nullptr) + 600, 0}; }

struct Gate {
  std::atomic<bool> reached{false};
  std::atomic<bool> open{false};
  void Pass() {
    reached = true;
    while (!open) std::this_thread::yield();
  }
};

Scenario MakeC11JoinWait() {
  auto gate = std::make_shared<Gate>();
  thrd_t thread;
  EXPECT_EQ(thrd_create(
                &thread,
                [](void* argument) {
                  static_cast<Gate*>(argument)->Pass();
                  return 42;
                },
                gate.get()),
            thrd_success);
  return {[=] {
            int result = 0;
            return thrd_join(thread, &result) == thrd_success && result == 42;
          },
          [=](std::thread&) { gate->open = true; }};
}

// A helper thread runs the routine, and the waiter comes later.
std::shared_ptr<Gate> g_once_gate;

NamedScenario OnceWait(const char* name, const std::function<void(int*, void (*)())>& once) {
  return {name, [=] {
            auto control = std::make_shared<int>(0);
            g_once_gate = std::make_shared<Gate>();
            auto helper = std::make_shared<std::thread>(
                [=] { once(control.get(), [] { g_once_gate->Pass(); }); });
            WaitUntil("the routine runs", [] { return g_once_gate->reached.load(); });
            return Scenario(
                [=] {
                  once(control.get(), [] { ADD_FAILURE() << "ran twice"; });
                  return true;
                },
                [=](std::thread&) {
                  g_once_gate->open = true;
                  helper->join();
                });
          }};
}

static_assert(sizeof(pthread_once_t) == sizeof(int));

const NamedScenario kScenarios[] = {
    FutexWait("futex_wait", WaitPlainly, WakeOne),
    FutexWait(
        "futex_wait_bitset",
        [](Word* word) {
          return Futex(word, FUTEX_WAIT_BITSET_PRIVATE, 0, nullptr, nullptr,
                       FUTEX_BITSET_MATCH_ANY);
        },
        [](Word* word) {
          return Futex(word, FUTEX_WAKE_BITSET_PRIVATE, 1, nullptr, nullptr,
                       FUTEX_BITSET_MATCH_ANY);
        }),
    FutexWait("futex_requeue", WaitPlainly,
              [](Word* word) {
                Word other{0};
                return Futex(word, FUTEX_REQUEUE_PRIVATE, 1, nullptr, &other);
              }),
    FutexWait("futex_cmp_requeue", WaitPlainly,
              [](Word* word) {
                Word other{0};
                return Futex(word, FUTEX_CMP_REQUEUE_PRIVATE, 1, nullptr, &other, 1);
              }),
    FutexWait("futex_wake_op", WaitPlainly,
              [](Word* word) {
                Word other{0};
                return Futex(word, FUTEX_WAKE_OP_PRIVATE, 1, nullptr, &other,
                             FUTEX_OP(FUTEX_OP_SET, 1, FUTEX_OP_CMP_EQ, 5));
              }),
    RequeuePiWait("futex_requeue_pi_to_a_free_lock", false),
    RequeuePiWait("futex_requeue_pi_to_a_held_lock", true),
    C11LockWait("mtx_lock", [](mtx_t* m) { return mtx_lock(m); }),
    C11LockWait("mtx_timedlock",
                [](mtx_t* m) {
                  const timespec far = FarRealtime();
                  return mtx_timedlock(m, &far);
                }),
    C11ConditionWait(
        "cnd_wait", [](cnd_t* c, mtx_t* m) { return cnd_wait(c, m); }, cnd_signal),
    C11ConditionWait(
        "cnd_timedwait",
        [](cnd_t* c, mtx_t* m) {
          const timespec far = FarRealtime();
          return cnd_timedwait(c, m, &far);
        },
        cnd_broadcast),
    {"thrd_join", MakeC11JoinWait},
    OnceWait("pthread_once",
             [](int* control, void (*routine)()) { pthread_once(control, routine); }),
    OnceWait("call_once",
             [](int* control, void (*routine)()) {
               call_once(reinterpret_cast<once_flag*>(control), routine);
             }),
};

class FutexWaitTest : public ::testing::TestWithParam<NamedScenario> {
 protected:
  FakeProcess process_;
};

TEST_P(FutexWaitTest, WaiterIsCreditedAndWakerHasPaid) {
  ExpectWakerPaysAndWaiterIsCredited(process_, GetParam());
}

INSTANTIATE_TEST_SUITE_P(AllCalls, FutexWaitTest, ::testing::ValuesIn(kScenarios),
                         [](const auto& scenario) { return std::string(scenario.param.name); });

class InterposeFutexTest : public ::testing::Test {
 protected:
  FakeProcess process_;
};

TEST_F(InterposeFutexTest, WaitForAnyOfSeveralIsCredited) {
  if (!HasFutexWaitv()) GTEST_SKIP() << "required futex_waitv(2) of Linux 5.16, actual none";
  ExpectWakerPaysAndWaiterIsCredited(
      process_, FutexWait(
                    "futex_waitv", [](Word* word) { return WaitForAnyOfTwo(word); }, WakeOne));
}

// FUTEX_LOCK_PI, or FUTEX_LOCK_PI2, whose time-out is by the other clock.
class LockFutexTest : public ::testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    Word word{0};
    if (Futex(&word, GetParam(), 0) != 0) {
      GTEST_SKIP() << "required: FUTEX_LOCK_PI2 of Linux 5.14; actual: errno " << errno;
    }
  }
  FakeProcess process_;
};

TEST_P(LockFutexTest, WaiterIsCreditedAndWakerHasPaid) {
  ExpectWakerPaysAndWaiterIsCredited(process_, PriorityInheritanceWait("lock", GetParam()));
}

// So threads get the lock in the order of virtual time, as with a mutex.
TEST_P(LockFutexTest, IsPaidForBeforeItIsTaken) {
  Word word{0};
  process_.Impose(kNsPerMs);
  EXPECT_EQ(Futex(&word, GetParam(), 0), 0);
  EXPECT_GE(process_.main_ledger().paused_ns, kNsPerMs);
  EXPECT_EQ(process_.main_ledger().credited_ns, 0u);
}

INSTANTIATE_TEST_SUITE_P(Both, LockFutexTest, ::testing::Values(FUTEX_LOCK_PI_PRIVATE, kLockPi2));

TEST_F(InterposeFutexTest, RequeueOfAValueThatHasChangedIsNotCredited) {
  Word word{1};
  Word lock{0};
  process_.Impose(kNsPerMs);
  EXPECT_EQ(Futex(&word, FUTEX_WAIT_REQUEUE_PI_PRIVATE, 0, nullptr, &lock), -1);
  EXPECT_EQ(errno, EAGAIN);
  EXPECT_EQ(Futex(&word, FUTEX_CMP_REQUEUE_PI_PRIVATE, 1, nullptr, &lock, 7), -1);
  EXPECT_EQ(errno, EAGAIN);
  EXPECT_EQ(process_.main_ledger().credited_ns, 0u);
  EXPECT_GE(process_.main_ledger().paused_ns, kNsPerMs);
}

TEST_F(InterposeFutexTest, WaitOnAValueThatHasChangedIsNotCredited) {
  process_.Impose(kNsPerMs);
  Word word{1};
  errno = 0;
  EXPECT_EQ(Futex(&word, FUTEX_WAIT_PRIVATE, 0), -1);
  EXPECT_EQ(errno, EAGAIN);
  EXPECT_EQ(process_.main_ledger().credited_ns, 0u);
}

TEST_F(InterposeFutexTest, TimedOutWaitIsNotCredited) {
  process_.Impose(kNsPerMs);
  Word word{0};
  const timespec duration = {0, 2'000'000};
  EXPECT_EQ(Futex(&word, FUTEX_WAIT_PRIVATE, 0, &duration), -1);
  EXPECT_EQ(errno, ETIMEDOUT);
  EXPECT_EQ(process_.main_ledger().credited_ns, 0u);
  EXPECT_GE(process_.main_ledger().paused_ns, kNsPerMs);  // it waited for that much longer
}

TEST_F(InterposeFutexTest, RoutineOfOnceIsTheCallersOwnWork) {
  static delay::ThreadLedger* ledger = nullptr;
  static uint32_t blocked = 1;
  ledger = &process_.main_ledger();
  const auto control = std::make_unique<pthread_once_t>(PTHREAD_ONCE_INIT);
  process_.Impose(kNsPerMs);
  pthread_once(control.get(), [] {
    blocked = ledger->blocked;
    // A nested call with another control.
    static pthread_once_t inner = PTHREAD_ONCE_INIT;
    pthread_once(&inner, [] {});
  });
  EXPECT_EQ(blocked, 0u);
  EXPECT_EQ(ledger->credited_ns, 0u);
  EXPECT_GE(ledger->paused_ns, kNsPerMs);
  EXPECT_EQ(ledger->blocked, 0u);
}

TEST_F(InterposeFutexTest, RoutineOfOnceMayThrow) {
  const auto control = std::make_unique<pthread_once_t>(PTHREAD_ONCE_INIT);
  EXPECT_THROW(pthread_once(control.get(), [] { throw 1; }), int);
  static int ran = 0;
  pthread_once(control.get(), [] { ++ran; });
  pthread_once(control.get(), [] { ++ran; });
  EXPECT_EQ(ran, 1);
}

TEST_F(InterposeFutexTest, CompletedOnceDoesNotPay) {
  const auto control = std::make_unique<pthread_once_t>(PTHREAD_ONCE_INIT);
  pthread_once(control.get(), [] {});
  process_.Impose(kNsPerMs);
  pthread_once(control.get(), [] { FAIL(); });
  EXPECT_EQ(process_.main_ledger().pauses, 0u);
}

// Every other system call passes through unchanged.

TEST_F(InterposeFutexTest, OtherSystemCallsGetAllSixArguments) {
  EXPECT_EQ(syscall(SYS_getpid), getpid());
  errno = 0;
  EXPECT_EQ(syscall(SYS_close, -1), -1);
  EXPECT_EQ(errno, EBADF);
  const int fd = memfd_create("pages", 0);
  ASSERT_GE(fd, 0);
  const long page = sysconf(_SC_PAGESIZE);
  ASSERT_EQ(ftruncate(fd, 2 * page), 0);
  ASSERT_EQ(pwrite(fd, "second", 6, page), 6);
  const long address = syscall(SYS_mmap, nullptr, page, PROT_READ, MAP_PRIVATE, fd, page);
  ASSERT_NE(address, -1);
  EXPECT_EQ(memcmp(reinterpret_cast<void*>(address), "second", 6), 0);
  munmap(reinterpret_cast<void*>(address), page);
  close(fd);
}

TEST_F(InterposeFutexTest, CloneLikeForkReturnsTwice) {
  const long child = syscall(SYS_clone, SIGCHLD, nullptr, nullptr, nullptr, 0);
  ASSERT_GE(child, 0);
  if (child == 0) syscall(SYS_exit_group, 7);
  int status = 0;
  EXPECT_EQ(waitpid(static_cast<pid_t>(child), &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 7);
}

}  // namespace
}  // namespace coz::interpose
