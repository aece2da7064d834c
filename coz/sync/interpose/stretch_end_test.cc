// Which wrapped calls end a stretch where calls follow each other quickly. One that does not
// imposes nothing, so a thread that it wakes would pay for what the next call imposes.
#include <gtest/gtest.h>
#include <linux/futex.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "coz/base/clock.h"
#include "coz/sync/interpose/testing/fake_process.h"
#include "coz/sync/interpose/thread_sync.h"

namespace coz::interpose {
namespace {

class StretchEndTest : public ::testing::Test {
 protected:
  StretchEndTest() : stretches_(CurrentThreadLedger()->stretches) {
    process_.global().selection = kSelection;
    stretches_.SetInProgressForTest(kSelection, 0, MonotonicNowNs());
  }
  ~StretchEndTest() override { stretches_.EndAccrual(); }

  // How many of `count` calls end a stretch, in a period after one of as many.
  template <typename Call>
  int EndsOf(int count, Call call) {
    for (int i = 0; i < count; ++i) call();
    stretches_.Count(delay::SampledUnit::kOther, kUnit);
    int ends = 0;
    for (int i = 0; i < count; ++i) {
      stretches_.NoteSite(nullptr);
      call();
      if (stretches_.site() != nullptr) ++ends;
    }
    return ends;
  }

  static constexpr uint64_t kSelection = 1;
  static constexpr uint32_t kUnit = 7;
  static constexpr int kQuickly = 10000;  // calls in a period
  testing::FakeProcess process_;
  delay::Stretches& stretches_;
};

TEST_F(StretchEndTest, EachOutputAndInputEndsOne) {
  int pair[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
  char byte = 0;
  int outputs = 0;
  EXPECT_EQ(EndsOf(kQuickly,
                   [&] {
                     ASSERT_EQ(send(pair[0], &byte, 1, 0), 1);
                     if (stretches_.site() != nullptr) ++outputs;
                     stretches_.NoteSite(nullptr);
                     ASSERT_EQ(recv(pair[1], &byte, 1, 0), 1);
                   }),
            kQuickly);
  EXPECT_GE(outputs, 2 * kQuickly - 1);
  close(pair[0]);
  close(pair[1]);
}

TEST_F(StretchEndTest, EachPollEndsOne) {
  const int watched = eventfd(1, EFD_CLOEXEC);
  const int epoll = epoll_create1(EPOLL_CLOEXEC);
  epoll_event event = {};
  event.events = EPOLLIN;
  ASSERT_EQ(epoll_ctl(epoll, EPOLL_CTL_ADD, watched, &event), 0);
  EXPECT_EQ(EndsOf(kQuickly, [&] { ASSERT_EQ(epoll_wait(epoll, &event, 1, -1), 1); }), kQuickly);
  close(epoll);
  close(watched);
}

TEST_F(StretchEndTest, EachFutexCallOfTheProgramEndsOne) {
  int word = 1;
  int wakes = 0;
  EXPECT_EQ(EndsOf(kQuickly,
                   [&] {
                     syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
                     if (stretches_.site() != nullptr) ++wakes;
                     stretches_.NoteSite(nullptr);
                     // Returns at once.
                     syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, nullptr, nullptr, 0);
                   }),
            kQuickly);
  EXPECT_GE(wakes, 2 * kQuickly - 1);
}

// Calls the mutex as often as a thread does that hands over in quick succession.
void LockAndUnlock() {
  static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  for (int i = 0; i < 20; ++i) {
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
  }
}

TEST_F(StretchEndTest, LocksDoNotKeepSignalsFromEndingOne) {
  pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
  EXPECT_EQ(EndsOf(200,
                   [&] {
                     LockAndUnlock();
                     stretches_.NoteSite(nullptr);
                     pthread_cond_signal(&condition);
                   }),
            200);
}

TEST_F(StretchEndTest, LocksDoNotKeepPostsAndWaitsFromEndingOne) {
  sem_t semaphore;
  ASSERT_EQ(sem_init(&semaphore, 0, 0), 0);
  int posts = 0;
  EXPECT_EQ(EndsOf(100,
                   [&] {
                     LockAndUnlock();
                     stretches_.NoteSite(nullptr);
                     sem_post(&semaphore);
                     if (stretches_.site() != nullptr) ++posts;
                     stretches_.NoteSite(nullptr);
                     sem_wait(&semaphore);
                   }),
            100);
  EXPECT_EQ(posts, 200) << "in both periods";
}

TEST_F(StretchEndTest, FewLocksInQuickSuccessionEndOne) {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  const int ends = EndsOf(kQuickly, [&] {
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
  });
  EXPECT_GT(ends, 0);
  EXPECT_LE(ends, 128) << "of both calls";
}

TEST_F(StretchEndTest, NotAllSignalsInQuickSuccessionEndOne) {
  pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
  const int ends = EndsOf(kQuickly, [&] { pthread_cond_signal(&condition); });
  EXPECT_GT(ends, 64);
  EXPECT_LE(ends, 256);
}

}  // namespace
}  // namespace coz::interpose
