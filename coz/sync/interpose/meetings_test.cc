// Meetings at which the calling thread does not block: it goes on from the latest time that any
// other has come with.
#include <gtest/gtest.h>
#include <pthread.h>
#include <semaphore.h>
#include <threads.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

#include "coz/sync/interpose/testing/fake_process.h"
#include "coz/sync/interpose/thread_sync.h"

namespace coz::interpose {
namespace {

using testing::FakeProcess;
using testing::WaitUntil;
using testing::WatchedThread;

// Longer than a test takes, and less than the machine has been up, for virtual time begins at its
// start.
constexpr uint64_t kLongNs = 30 * kNsPerSecond;

class MeetingsTest : public ::testing::Test {
 protected:
  MeetingsTest() : level_ns_(main().local_delay_ns), start_ns_(MonotonicNowNs()) {
    process_.global().selection = 1;
  }
  ~MeetingsTest() override { process_.global().selection = 0; }

  delay::ThreadLedger& main() { return process_.main_ledger(); }

  // As one that has imposed delay, which the other need not pay any more.
  void GetAhead() {
    main().stretches.SetInProgressForTest(1, 0, MonotonicNowNs());
    main().local_delay_ns += kLongNs;
  }
  void ExpectToGoOnWithTheOther() {
    EXPECT_GE(main().local_delay_ns, level_ns_);
    EXPECT_LE(main().local_delay_ns - level_ns_, MonotonicNowNs() - start_ns_);
  }
  void ExpectToBeAhead() { EXPECT_GE(main().local_delay_ns, level_ns_ + kLongNs); }

  FakeProcess process_;
  const uint64_t level_ns_;
  const uint64_t start_ns_;
};

// `check` comes before the join, which is a meeting, too.
void MeetAtBarrier(pthread_barrier_t* barrier, const std::function<void()>& get_ahead,
                   const std::function<void()>& check) {
  WatchedThread other;
  std::thread thread([&] {
    other.Announce();
    pthread_barrier_wait(barrier);
  });
  WaitUntil("the other waits", [&] { return other.IsBlocked(/*asleep=*/true); });
  get_ahead();
  pthread_barrier_wait(barrier);
  check();
  thread.join();
}

TEST_F(MeetingsTest, LastToComeToABarrierGoesOnAfterWhoCameBefore) {
  pthread_barrier_t barrier;
  pthread_barrier_init(&barrier, nullptr, 2);
  for (int round = 0; round < 3; ++round) {
    MeetAtBarrier(
        &barrier, [this] { GetAhead(); }, [this] { ExpectToGoOnWithTheOther(); });
  }
  pthread_barrier_destroy(&barrier);
}

TEST_F(MeetingsTest, WithoutDelayNoTimePassesAtABarrier) {
  pthread_barrier_t barrier;
  pthread_barrier_init(&barrier, nullptr, 2);
  process_.global().selection = 0;
  MeetAtBarrier(
      &barrier, [this] { main().local_delay_ns += kLongNs; }, [this] { ExpectToBeAhead(); });
  pthread_barrier_destroy(&barrier);
}

// Releases `mutex` in another thread, and takes it in this one.
template <typename Lock>
void TakeAfterAnother(Lock lock, const std::function<void()>& get_ahead) {
  std::atomic<bool> released{false};
  std::atomic<bool> over{false};
  std::thread thread([&] {
    lock();
    released = true;
    WaitUntil("the test is over", [&] { return over.load(); });
  });
  WaitUntil("the other has released it", [&] { return released.load(); });
  get_ahead();
  lock();
  over = true;
  thread.detach();
}

TEST_F(MeetingsTest, WhoTakesAMonitorGoesOnAfterItsRelease) {
  static std::mutex mutex;
  static std::condition_variable condition;
  {
    std::unique_lock<std::mutex> locked(mutex);
    condition.wait_for(locked, std::chrono::microseconds(1));
  }
  TakeAfterAnother([] { std::lock_guard<std::mutex> locked(mutex); }, [this] { GetAhead(); });
  ExpectToGoOnWithTheOther();
}

TEST_F(MeetingsTest, WhoTakesAC11MonitorGoesOnAfterItsRelease) {
  static mtx_t mutex;
  static cnd_t condition;
  mtx_init(&mutex, mtx_plain);
  cnd_init(&condition);
  mtx_lock(&mutex);
  const timespec past = {1, 0};
  cnd_timedwait(&condition, &mutex, &past);
  mtx_unlock(&mutex);
  const auto lock = [] {
    mtx_lock(&mutex);
    mtx_unlock(&mutex);
  };
  TakeAfterAnother(lock, [this] { GetAhead(); });
  ExpectToGoOnWithTheOther();
}

// Posts a semaphore that begins with `more` in another thread, and takes it in this one.
void TakeAfterAnotherHasPosted(unsigned more, const std::function<void()>& get_ahead) {
  sem_t semaphore;
  sem_init(&semaphore, 0, more);
  std::thread([&semaphore] { sem_post(&semaphore); }).join();
  get_ahead();
  sem_wait(&semaphore);
  sem_destroy(&semaphore);
}

TEST_F(MeetingsTest, WhoTakesTheLastPostOfASemaphoreGoesOnAfterIt) {
  TakeAfterAnotherHasPosted(0, [this] { GetAhead(); });
  ExpectToGoOnWithTheOther();
}

// It takes an earlier one.
TEST_F(MeetingsTest, WhoLeavesAPostDoesNotDependOnTheLast) {
  TakeAfterAnotherHasPosted(1, [this] { GetAhead(); });
  ExpectToBeAhead();
}

TEST_F(MeetingsTest, WhoTakesALockDoesNotDependOnWhoHadItBefore) {
  static std::mutex mutex;
  TakeAfterAnother([] { std::lock_guard<std::mutex> locked(mutex); }, [this] { GetAhead(); });
  ExpectToBeAhead();
}

}  // namespace
}  // namespace coz::interpose
