// Robust mutexes whose owner dies while others wait for them by any call and owe delay.
#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

#include <cerrno>
#include <thread>

#include "coz/sync/interpose/testing/fake_process.h"
#include "coz/sync/interpose/testing/indebted_waiter.h"

namespace coz::interpose {
namespace {

using testing::FakeProcess;
using testing::FarMonotonic;
using testing::FarRealtime;
using testing::IndebtedWaiter;
using testing::kDelayNs;
using testing::WaitObjects;

class RobustMutexTest : public ::testing::Test {
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
  FakeProcess process_;
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
  WaitObjects objects;
  int result = 0;
  IndebtedWaiter waiter(process_, objects, [&](WaitObjects&) {
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

// There is only one waiter, because glibc 2.36 wakes only one.
TEST_F(RobustMutexTest, WaiterOfAnUnrecoverableOneReturns) {
  DieWithIt();
  ASSERT_EQ(pthread_mutex_lock(&mutex_), EOWNERDEAD);
  WaitObjects objects;
  int result = 0;
  IndebtedWaiter waiter(process_, objects,
                        [&](WaitObjects&) { result = pthread_mutex_lock(&mutex_); });
  EXPECT_EQ(pthread_mutex_unlock(&mutex_), 0);
  waiter.Join();
  EXPECT_EQ(result, ENOTRECOVERABLE);
}

}  // namespace
}  // namespace coz::interpose
