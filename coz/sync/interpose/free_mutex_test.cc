#include "coz/sync/interpose/free_mutex.h"

#include <unistd.h>

#include <cerrno>
#include <thread>

#include "coz/testing/in_child.h"
#include "gtest/gtest.h"

namespace coz::interpose {
namespace {

using testing::RunInChild;

// This test links no wrapped call, so these are libc's.
bool CheckWithLibc() { return CheckFreeMutexes(pthread_mutex_trylock, pthread_mutex_unlock); }

class FreeMutexTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(CheckWithLibc());
    TakeFreeMutexesHere();
  }
  void TearDown() override { sync_internal::t_mutex_owner = 0; }
};

TEST_F(FreeMutexTest, LibcTakesItForLockedByThisThread) {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  ASSERT_TRUE(TakeFreeMutex(mutex));
  EXPECT_EQ(mutex.__data.__owner, gettid());
  EXPECT_EQ(pthread_mutex_trylock(&mutex), EBUSY);
  EXPECT_EQ(pthread_mutex_destroy(&mutex), EBUSY);
  EXPECT_EQ(pthread_mutex_unlock(&mutex), 0);
  EXPECT_EQ(pthread_mutex_destroy(&mutex), 0);
}

TEST_F(FreeMutexTest, OneThatIsTakenIsLeftToLibc) {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  ASSERT_EQ(pthread_mutex_lock(&mutex), 0);
  EXPECT_FALSE(TakeFreeMutex(mutex));
  EXPECT_EQ(mutex.__data.__nusers, 1u);
  EXPECT_EQ(pthread_mutex_unlock(&mutex), 0);
}

TEST_F(FreeMutexTest, AThreadThatWaitsForItIsWoken) {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  ASSERT_TRUE(TakeFreeMutex(mutex));
  std::thread waiter([&mutex] {
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
  });
  // libc marks a mutex for which a thread waits with 2.
  while (__atomic_load_n(&mutex.__data.__lock, __ATOMIC_RELAXED) != 2) usleep(100);
  EXPECT_EQ(pthread_mutex_unlock(&mutex), 0);
  waiter.join();
}

TEST_F(FreeMutexTest, OtherKindsAreNotOfTheDefaultKind) {
  for (const int kind : {PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_ERRORCHECK}) {
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, kind);
    pthread_mutex_t mutex;
    pthread_mutex_init(&mutex, &attributes);
    EXPECT_FALSE(IsOfDefaultKind(mutex)) << kind;
    pthread_mutex_destroy(&mutex);
    pthread_mutexattr_destroy(&attributes);
  }
  for (const auto& change : {+[](pthread_mutexattr_t* attributes) {
                               pthread_mutexattr_setrobust(attributes, PTHREAD_MUTEX_ROBUST);
                             },
                             +[](pthread_mutexattr_t* attributes) {
                               pthread_mutexattr_setprotocol(attributes, PTHREAD_PRIO_INHERIT);
                             },
                             +[](pthread_mutexattr_t* attributes) {
                               pthread_mutexattr_setpshared(attributes, PTHREAD_PROCESS_SHARED);
                             }}) {
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    change(&attributes);
    pthread_mutex_t mutex;
    pthread_mutex_init(&mutex, &attributes);
    EXPECT_FALSE(IsOfDefaultKind(mutex));
    pthread_mutex_destroy(&mutex);
    pthread_mutexattr_destroy(&attributes);
  }
}

TEST_F(FreeMutexTest, AThreadTakesNoneBeforeItSaysSo) {
  std::thread([] {
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    EXPECT_FALSE(TakeFreeMutex(mutex));
    TakeFreeMutexesHere();
    ASSERT_TRUE(TakeFreeMutex(mutex));
    EXPECT_EQ(mutex.__data.__owner, gettid());
    EXPECT_EQ(pthread_mutex_unlock(&mutex), 0);
  }).join();
}

TEST_F(FreeMutexTest, AChildIsTheOwnerOfWhatItTakes) {
  EXPECT_EQ(RunInChild([] {
              TakeFreeMutexesHere();
              pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
              if (!TakeFreeMutex(mutex) || mutex.__data.__owner != gettid()) _exit(1);
            }),
            0);
}

// A libc that keeps something else in a mutex.
int TryAndNote(pthread_mutex_t* mutex) {
  const int result = pthread_mutex_trylock(mutex);
  if (result == 0) ++mutex->__data.__count;
  return result;
}
int UnlockAndLeaveOwner(pthread_mutex_t* mutex) {
  const int result = pthread_mutex_unlock(mutex);
  mutex->__data.__owner = 1;
  return result;
}

TEST(CheckFreeMutexes, LeavesAllToALibcThatTakesThemInAnotherWay) {
  EXPECT_FALSE(CheckFreeMutexes(TryAndNote, pthread_mutex_unlock));
  TakeFreeMutexesHere();
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  EXPECT_FALSE(TakeFreeMutex(mutex));
  EXPECT_FALSE(CheckFreeMutexes(pthread_mutex_trylock, UnlockAndLeaveOwner));
  EXPECT_TRUE(CheckWithLibc());
}

}  // namespace
}  // namespace coz::interpose
