// Which cache lines that threads share a wrapped call writes: with many CPUs, each costs all of
// them. A thread's own ledger has a page of its own, and is not counted.
#include <gtest/gtest.h>
#include <pthread.h>
#include <semaphore.h>

#include <array>
#include <cstring>
#include <memory>

#include "coz/sync/delay/accrual.h"
#include "coz/sync/interpose/testing/fake_process.h"
#include "coz/sync/interpose/thread_sync.h"

namespace coz::interpose {
namespace {

constexpr size_t kLineBytes = 64;
constexpr size_t kLines = sizeof(delay::GlobalLedger) / kLineBytes;
using Bytes = std::array<unsigned char, sizeof(delay::GlobalLedger)>;

class SharedLinesTest : public ::testing::Test {
 protected:
  // Lines of the global ledger that differ after `call`.
  template <typename Call>
  size_t WrittenBy(Call call) {
    const auto before = Copy();
    call();
    const auto after = Copy();
    size_t written = 0;
    for (size_t line = 0; line < kLines; ++line) {
      const size_t at = line * kLineBytes;
      written += std::memcmp(before->data() + at, after->data() + at, kLineBytes) != 0 ? 1 : 0;
    }
    return written;
  }
  void BeginExperiment() {
    process_.global().selection = 1;
    process_.main_ledger().stretches.SetInProgressForTest(1, 0, MonotonicNowNs());
  }
  ~SharedLinesTest() override { process_.global().selection = 0; }

  testing::FakeProcess process_;

 private:
  std::unique_ptr<Bytes> Copy() {
    auto bytes = std::make_unique<Bytes>();
    std::memcpy(bytes->data(), static_cast<const void*>(&process_.global()), bytes->size());
    return bytes;
  }
};

void CallWithoutContention() {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
  sem_t semaphore;
  sem_init(&semaphore, 0, 0);
  for (int i = 0; i < 1000; ++i) {
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
    pthread_rwlock_rdlock(&rwlock);
    pthread_rwlock_unlock(&rwlock);
    sem_post(&semaphore);
    sem_wait(&semaphore);
  }
  sem_destroy(&semaphore);
}

TEST_F(SharedLinesTest, UncontendedCallsWriteNone) {
  EXPECT_EQ(WrittenBy(CallWithoutContention), 0u);
}

TEST_F(SharedLinesTest, NorInAnExperimentOfAnotherThreadsLine) {
  BeginExperiment();
  EXPECT_EQ(WrittenBy(CallWithoutContention), 0u);
}

TEST_F(SharedLinesTest, ImposingWritesOneLine) {
  EXPECT_EQ(WrittenBy([this] {
              delay::ImposeDelay(process_.global(), process_.main_ledger(), kNsPerMs);
            }),
            1u);
}

TEST_F(SharedLinesTest, InACrowdImposingWritesThatOfItsCpuToo) {
  process_.global().cpus_of_crowd = 2;
  GoOnHere(process_.main_ledger());
  EXPECT_EQ(WrittenBy([this] {
              delay::ImposeDelay(process_.global(), process_.main_ledger(), kNsPerMs);
            }),
            2u);
  process_.global().cpus_of_crowd = 0;
}

TEST_F(SharedLinesTest, OfWakersOnlyOneWithExcessWrites) {
  sem_t semaphore;
  sem_init(&semaphore, 0, 0);
  EXPECT_EQ(WrittenBy([&] { sem_post(&semaphore); }), 0u);
  process_.main_ledger().local_delay_ns += kNsPerMs;
  EXPECT_EQ(WrittenBy([&] { sem_post(&semaphore); }), 1u);
  sem_destroy(&semaphore);
}

}  // namespace
}  // namespace coz::interpose
