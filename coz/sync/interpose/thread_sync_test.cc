// Waits that the program tells of. Those of libc's calls: interpose_test.cc.
#include "coz/sync/interpose/thread_sync.h"

#include <memory>

#include "coz/base/clock.h"
#include "gtest/gtest.h"

namespace coz::interpose {
namespace {

constexpr uint64_t kStartNs = 1000 * kNsPerMs;

class ToldWaitTest : public ::testing::Test {
 protected:
  ToldWaitTest() {
    InitThreadSync(global_.get(), {});
    global_->global_delay_ns = 500 * kNsPerUs;
  }
  ~ToldWaitTest() override { InitThreadSync(nullptr, {}); }

  // Local delay after a wait of `waited_ns`, in which `inserted_ns` of delay are inserted.
  uint64_t LocalDelayAfter(uint64_t before_ns, uint64_t waited_ns, uint64_t inserted_ns = 0) {
    thread_.local_delay_ns = before_ns;
    const delay::Wait wait = BeginThreadWait(thread_, kStartNs);
    global_->global_delay_ns += inserted_ns;
    EndMarkedWait(thread_, wait, kStartNs + waited_ns);
    EXPECT_EQ(thread_.blocked.load(), delay::kNotBlocked);
    return thread_.local_delay_ns;
  }

  std::unique_ptr<delay::GlobalLedger> global_ = std::make_unique<delay::GlobalLedger>();
  delay::ThreadLedger thread_ = {};
};

// The thread has not given up its CPU.
TEST_F(ToldWaitTest, CreditsAThreadThatHasSpunWithExcess) {
  EXPECT_EQ(LocalDelayAfter(580 * kNsPerUs, 300 * kNsPerUs, 200 * kNsPerUs), 700 * kNsPerUs);
}

TEST_F(ToldWaitTest, AbsorbsExcessByTheTimeThatItTook) {
  EXPECT_EQ(LocalDelayAfter(580 * kNsPerUs, 300 * kNsPerUs), 500 * kNsPerUs);
}

TEST_F(ToldWaitTest, KeepsTheExcessOfOneThatReturnedAtOnce) {
  EXPECT_EQ(LocalDelayAfter(580 * kNsPerUs, 1 * kNsPerUs), 580 * kNsPerUs);
}

TEST_F(ToldWaitTest, CreditsNoMoreThanTheTimeThatItTook) {
  EXPECT_EQ(LocalDelayAfter(500 * kNsPerUs, 50 * kNsPerUs, 200 * kNsPerUs), 550 * kNsPerUs);
}

}  // namespace
}  // namespace coz::interpose
