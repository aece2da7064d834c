#include "coz/runtime/call_moments.h"

#include <array>
#include <cstdint>
#include <memory>

#include "coz/base/clock.h"
#include "coz/sync/delay/accrual.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace coz::runtime::runtime_internal {
namespace {

using ::testing::ElementsAre;

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

// What is in each register that a function may change, after a call with its number there.
std::array<uint64_t, 9> RegistersAfterCall(delay::ThreadLedger* ledger) {
  std::array<uint64_t, 9> after;
  asm volatile(R"(
    subq $128, %%rsp
    movq %[ledger], %%rdi
    movq $0, %%rax
    movq $1, %%rcx
    movq $2, %%rdx
    movq $3, %%rsi
    movq $5, %%r8
    movq $6, %%r9
    movq $7, %%r10
    movq $8, %%r11
    call coz_keep_and_impose_accrued
    movq %%rax, 0(%[after])
    movq %%rcx, 8(%[after])
    movq %%rdx, 16(%[after])
    movq %%rsi, 24(%[after])
    movq %%rdi, 32(%[after])
    movq %%r8, 40(%[after])
    movq %%r9, 48(%[after])
    movq %%r10, 56(%[after])
    movq %%r11, 64(%[after])
    addq $128, %%rsp
  )"
               :
               : [ledger] "r"(ledger), [after] "b"(after.data())
               : "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "cc", "memory");
  return after;
}

TEST_F(CallMomentsTest, ImposingKeepsAllRegisters) {
  LetDelayAccrue();
  const auto ledger = reinterpret_cast<uint64_t>(thread_.get());
  EXPECT_THAT(RegistersAfterCall(thread_.get()), ElementsAre(0, 1, 2, 3, ledger, 5, 6, 7, 8));
  EXPECT_GE(thread_->local_delay_ns.load(), kRanNs / 2);
}

}  // namespace
}  // namespace coz::runtime::runtime_internal
