// Threads that are created with a mask of their own.
#include <pthread.h>
#include <signal.h>
#include <threads.h>

#include "coz/sync/interpose/signal_shield.h"
#include "coz/sync/interpose/testing/fake_process.h"
#include "coz/sync/interpose/wrapped_calls.h"
#include "gtest/gtest.h"

namespace coz::interpose {
namespace {

constexpr int kReserved = SIGTRAP;

struct Masks {
  sigset_t real;
  sigset_t told;
};

void* LookAtMasks(void* opaque) {
  auto* const masks = static_cast<Masks*>(opaque);
  g_real.pthread_sigmask(SIG_BLOCK, nullptr, &masks->real);
  pthread_sigmask(SIG_BLOCK, nullptr, &masks->told);
  return masks;
}

int LookAtMasksInC11(void* opaque) { return LookAtMasks(opaque) == opaque ? 7 : 0; }

// The mask holds the reserved signal and SIGUSR1.
class ThreadMaskTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    ResolveRealCalls();
    InitSignalShield(kReserved);
  }

  ThreadMaskTest() {
    sigset_t mask;
    sigemptyset(&mask);
    sigaddset(&mask, kReserved);
    sigaddset(&mask, SIGUSR1);
    pthread_attr_init(&attributes_);
    EXPECT_EQ(pthread_attr_setsigmask_np(&attributes_, &mask), 0);
  }
  ~ThreadMaskTest() override { pthread_attr_destroy(&attributes_); }

  void ExpectSamplesAndTheMask() {
    EXPECT_EQ(sigismember(&masks_.real, kReserved), 0) << "samples would be kept out";
    EXPECT_EQ(sigismember(&masks_.told, kReserved), 1);
    EXPECT_EQ(sigismember(&masks_.real, SIGUSR1), 1);
    EXPECT_EQ(sigismember(&masks_.told, SIGUSR2), 0);
  }

  testing::FakeProcess process_;
  pthread_attr_t attributes_;
  Masks masks_;
};

TEST_F(ThreadMaskTest, OfAttributesDoesNotBlockTheReservedSignal) {
  pthread_t thread;
  ASSERT_EQ(pthread_create(&thread, &attributes_, LookAtMasks, &masks_), 0);
  void* result = nullptr;
  pthread_join(thread, &result);
  EXPECT_EQ(result, &masks_);
  ExpectSamplesAndTheMask();
}

TEST_F(ThreadMaskTest, OfAttributesDoesNotBlockTheReservedSignalWithoutALedger) {
  process_.RefuseLedgers(true);
  pthread_t thread;
  ASSERT_EQ(pthread_create(&thread, &attributes_, LookAtMasks, &masks_), 0);
  pthread_join(thread, nullptr);
  process_.RefuseLedgers(false);
  ExpectSamplesAndTheMask();
}

TEST_F(ThreadMaskTest, OfTheStandardAttributesDoesNotBlockTheReservedSignal) {
  pthread_attr_t before;
  ASSERT_EQ(pthread_getattr_default_np(&before), 0);
  ASSERT_EQ(pthread_setattr_default_np(&attributes_), 0);
  thrd_t thread;
  ASSERT_EQ(thrd_create(&thread, LookAtMasksInC11, &masks_), thrd_success);
  int result = 0;
  thrd_join(thread, &result);
  EXPECT_EQ(result, 7);
  ExpectSamplesAndTheMask();
  EXPECT_EQ(pthread_setattr_default_np(&before), 0);
  pthread_attr_destroy(&before);
}

}  // namespace
}  // namespace coz::interpose
