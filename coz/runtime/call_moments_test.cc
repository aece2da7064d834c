#include "coz/runtime/call_moments.h"

#include <memory>

#include "coz/base/clock.h"
#include "coz/sync/delay/accrual.h"
#include "gtest/gtest.h"

namespace coz::runtime::runtime_internal {
namespace {

constexpr uint64_t kSelection = 1;

class CallMomentsTest : public ::testing::Test {
 protected:
  CallMomentsTest() {
    global_->selection = kSelection;
    ImposeAtCallsIn(global_.get());
  }
  ~CallMomentsTest() override { ImposeAtCallsIn(nullptr); }

  // The thread has run the selected unit for 400 ms, of which half is to be saved.
  void LetDelayAccrue() {
    delay::Stretches& stretches = thread_->stretches;
    for (int i = 0; i < 64; ++i) stretches.Count(delay::SampledUnit::kSelected, 0);
    stretches.Resume(1);
    stretches.Accrue(1 + kRanNs);
    stretches.End(nullptr, 1 + kRanNs);
    const uint64_t now_ns = MonotonicNowNs();
    delay::ImposeSample(
        *global_, *thread_,
        {delay::SampledUnit::kSelected, 500 * kNsPerMs, 1000 * kNsPerMs, ~uint64_t{0}, kSelection},
        now_ns);
    delay::ResumeStretch(*thread_, now_ns - kRanNs);
    ASSERT_EQ(thread_->local_delay_ns.load(), 0u);
  }

  static constexpr uint64_t kRanNs = 400 * kNsPerMs;
  std::unique_ptr<delay::GlobalLedger> global_ = std::make_unique<delay::GlobalLedger>();
  std::unique_ptr<delay::ThreadLedger> thread_ = std::make_unique<delay::ThreadLedger>();
};

TEST_F(CallMomentsTest, TellsTheDelayThatTheThreadHasServed) {
  thread_->local_delay_ns = 700;
  const uint64_t before = __builtin_ia32_rdtsc();
  const CallMoment now = MomentOfCall(*thread_);
  EXPECT_EQ(now.local_delay_ns, 700u);
  EXPECT_GE(now.ticks, before);
}

TEST_F(CallMomentsTest, DelayForTheTimeSoFarIsImposedFirst) {
  LetDelayAccrue();
  const CallMoment now = MomentOfCall(*thread_);
  EXPECT_GE(now.local_delay_ns, kRanNs / 2);
  EXPECT_EQ(now.local_delay_ns, thread_->local_delay_ns.load());
  EXPECT_EQ(global_->global_delay_ns.load(), now.local_delay_ns);
}

TEST_F(CallMomentsTest, OfAProcessThatIsNotProfiledNothingIsImposed) {
  ImposeAtCallsIn(nullptr);
  LetDelayAccrue();
  EXPECT_EQ(MomentOfCall(*thread_).local_delay_ns, 0u);
}

}  // namespace
}  // namespace coz::runtime::runtime_internal
