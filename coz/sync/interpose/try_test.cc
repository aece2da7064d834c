// Calls that try and never wait. They pay first, as calls that wait do. They bring no credit, and
// have libc's results.
#include <gtest/gtest.h>
#include <linux/futex.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/syscall.h>
#include <threads.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <functional>
#include <memory>
#include <string>

#include "coz/base/raw_syscall.h"
#include "coz/sync/interpose/testing/fake_process.h"
#include "coz/sync/interpose/thread_sync.h"
#include "coz/sync/interpose/wrapped_calls.h"

namespace coz::interpose {
namespace {

using testing::FakeProcess;

constexpr uint64_t kDelayNs = 5 * kNsPerMs;

// A try of an object in some state. Each try gets a new object. libc's own calls make it, because
// they do not pay.
struct NamedTry {
  const char* name;
  int expected;  // the result, or errno where the result is -1
  std::function<std::function<int()>()> make;
};

int ErrorOf(long result) { return result == -1 ? errno : static_cast<int>(result); }

NamedTry MutexTry(const char* name, int expected, int type, bool held) {
  return {name, expected, [=] {
            pthread_mutexattr_t attributes;
            pthread_mutexattr_init(&attributes);
            EXPECT_EQ(pthread_mutexattr_settype(&attributes, type), 0);
            auto mutex = std::make_shared<pthread_mutex_t>();
            EXPECT_EQ(pthread_mutex_init(mutex.get(), &attributes), 0);
            if (held) {
              EXPECT_EQ(g_real.pthread_mutex_lock(mutex.get()), 0);
            }
            return [=] { return pthread_mutex_trylock(mutex.get()); };
          }};
}

NamedTry RwlockTry(const char* name, int expected, int (*hold)(pthread_rwlock_t*),
                   int (*try_call)(pthread_rwlock_t*)) {
  return {name, expected, [=] {
            auto lock = std::make_shared<pthread_rwlock_t>();
            EXPECT_EQ(pthread_rwlock_init(lock.get(), nullptr), 0);
            if (hold != nullptr) {
              EXPECT_EQ(hold(lock.get()), 0);
            }
            return [=] { return try_call(lock.get()); };
          }};
}
int HoldToRead(pthread_rwlock_t* lock) { return g_real.pthread_rwlock_rdlock(lock); }
int HoldToWrite(pthread_rwlock_t* lock) { return g_real.pthread_rwlock_wrlock(lock); }

NamedTry SpinTry(const char* name, int expected, bool held) {
  return {name, expected, [=] {
            auto lock = std::make_shared<pthread_spinlock_t>();
            EXPECT_EQ(pthread_spin_init(lock.get(), 0), 0);
            if (held) {
              EXPECT_EQ(g_real.pthread_spin_lock(lock.get()), 0);
            }
            return [=] { return pthread_spin_trylock(lock.get()); };
          }};
}

NamedTry C11Try(const char* name, int expected, int type, bool held) {
  return {name, expected, [=] {
            auto mutex = std::make_shared<mtx_t>();
            EXPECT_EQ(mtx_init(mutex.get(), type), thrd_success);
            if (held) {
              EXPECT_EQ(g_real.mtx_lock(mutex.get()), thrd_success);
            }
            return [=] { return mtx_trylock(mutex.get()); };
          }};
}

NamedTry SemaphoreTry(const char* name, int expected, unsigned value) {
  return {name, expected, [=] {
            auto semaphore = std::make_shared<sem_t>();
            EXPECT_EQ(sem_init(semaphore.get(), 0, value), 0);
            return [=] { return ErrorOf(sem_trywait(semaphore.get())); };
          }};
}

// A thread that the wrappers do not know. It runs until it may end.
struct Joined {
  explicit Joined(bool ends) : may_end(ends) {
    const auto body = [](void* self) -> void* {
      while (!static_cast<Joined*>(self)->may_end) RawSyscall(SYS_sched_yield);
      return self;
    };
    EXPECT_EQ(g_real.pthread_create(&thread, nullptr, body, this), 0);
  }
  ~Joined() {
    may_end = true;
    if (!joined) {
      EXPECT_EQ(g_real.pthread_join(thread, nullptr), 0);
    }
  }
  std::atomic<bool> may_end;
  bool joined = false;
  pthread_t thread;
};

NamedTry JoinTry(const char* name, int expected, bool ends) {
  return {name, expected, [=] {
            auto joined = std::make_shared<Joined>(ends);
            return [=] {
              void* value = nullptr;
              int result = pthread_tryjoin_np(joined->thread, &value);
              while (ends && result == EBUSY) result = pthread_tryjoin_np(joined->thread, &value);
              joined->joined = result == 0;
              EXPECT_EQ(value, joined->joined ? joined.get() : nullptr);
              return result;
            };
          }};
}

NamedTry PriorityInheritanceTry(const char* name, int expected, bool held) {
  return {name, expected, [=] {
            auto word = std::make_shared<std::atomic<uint32_t>>(0);
            if (held) {
              EXPECT_EQ(g_real.syscall(SYS_futex, reinterpret_cast<long>(word.get()),
                                       FUTEX_LOCK_PI_PRIVATE, 0, 0, 0, 0),
                        0);
            }
            return [=] {
              const int result = ErrorOf(
                  syscall(SYS_futex, word.get(), FUTEX_TRYLOCK_PI_PRIVATE, 0, nullptr, nullptr, 0));
              EXPECT_EQ(*word & FUTEX_TID_MASK, static_cast<uint32_t>(gettid()));
              return result;
            };
          }};
}

const NamedTry kTries[] = {
    MutexTry("mutex_free", 0, PTHREAD_MUTEX_NORMAL, false),
    MutexTry("mutex_held", EBUSY, PTHREAD_MUTEX_NORMAL, true),
    MutexTry("mutex_recursive", 0, PTHREAD_MUTEX_RECURSIVE, true),
    RwlockTry("rdlock_free", 0, nullptr, pthread_rwlock_tryrdlock),
    RwlockTry("rdlock_read", 0, HoldToRead, pthread_rwlock_tryrdlock),
    RwlockTry("rdlock_written", EBUSY, HoldToWrite, pthread_rwlock_tryrdlock),
    RwlockTry("wrlock_free", 0, nullptr, pthread_rwlock_trywrlock),
    RwlockTry("wrlock_read", EBUSY, HoldToRead, pthread_rwlock_trywrlock),
    RwlockTry("wrlock_written", EBUSY, HoldToWrite, pthread_rwlock_trywrlock),
    SpinTry("spin_free", 0, false),
    SpinTry("spin_held", EBUSY, true),
    C11Try("mtx_free", thrd_success, mtx_plain, false),
    C11Try("mtx_held", thrd_busy, mtx_plain, true),
    C11Try("mtx_recursive", thrd_success, mtx_plain | mtx_recursive, true),
    SemaphoreTry("semaphore_free", 0, 1),
    SemaphoreTry("semaphore_taken", EAGAIN, 0),
    JoinTry("join_ended", 0, true),
    JoinTry("join_running", EBUSY, false),
    PriorityInheritanceTry("futex_free", 0, false),
    PriorityInheritanceTry("futex_held", EDEADLK, true),
};

class TryTest : public ::testing::TestWithParam<NamedTry> {
 protected:
  FakeProcess process_;
};

TEST_P(TryTest, HasLibcsResult) {
  delay::ThreadLedger* ledger = LeaveThreadSync();
  EXPECT_EQ(GetParam().make()(), GetParam().expected) << "of libc";
  EnterThreadSync(ledger, process_.global().global_delay_ns);
  EXPECT_EQ(GetParam().make()(), GetParam().expected) << "of a profiled thread";
  EXPECT_EQ(ledger->pauses, 0u);
}

TEST_P(TryTest, PaysAndIsNotCredited) {
  const std::function<int()> try_call = GetParam().make();
  process_.Impose(kDelayNs);
  EXPECT_EQ(try_call(), GetParam().expected);
  const delay::ThreadLedger& ledger = process_.main_ledger();
  EXPECT_GE(ledger.paused_ns, kDelayNs);
  EXPECT_EQ(ledger.pauses, 1u);
  EXPECT_EQ(ledger.credited_ns, 0u);
  EXPECT_EQ(ledger.blocked, 0u);
}

INSTANTIATE_TEST_SUITE_P(AllCalls, TryTest, ::testing::ValuesIn(kTries),
                         [](const auto& attempt) { return std::string(attempt.param.name); });

}  // namespace
}  // namespace coz::interpose
