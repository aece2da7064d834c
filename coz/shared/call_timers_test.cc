#include "coz/shared/call_timers.h"

#include <signal.h>

#include <algorithm>
#include <iterator>
#include <memory>

#include "gtest/gtest.h"

namespace coz::shared {
namespace {

// Frames further in have lower addresses.
constexpr uint64_t kOuter = 0x8000;
constexpr uint64_t kInner = 0x7000;
constexpr uint64_t kInnermost = 0x6000;
constexpr uint32_t kF = 0;
constexpr uint32_t kG = 1;

class CallTimersTest : public ::testing::Test {
 protected:
  void Begin(uint32_t function, uint64_t frame, uint64_t ticks) {
    BeginCall(*timers_, function, function, frame, ticks, frame - 0x100);
  }
  void End(uint32_t function, uint64_t frame, uint64_t ticks) {
    EndCall(*timers_, function, frame, ticks, frame - 0x100);
  }
  uint64_t Calls(uint32_t function) const { return CallSumsOf(*timers_, function).calls; }
  uint64_t Ticks(uint32_t function) const { return CallSumsOf(*timers_, function).ticks; }

  std::unique_ptr<CallTimers> timers_ = std::make_unique<CallTimers>();
};

TEST_F(CallTimersTest, ACallTakesFromItsBeginToItsEnd) {
  Begin(kF, kOuter, 100);
  timers_->samples += 3;
  End(kF, kOuter, 150);
  EXPECT_EQ(Calls(kF), 1u);
  EXPECT_EQ(Ticks(kF), 50u);
  EXPECT_EQ(CallSumsOf(*timers_, kF).samples, 3u);
  EXPECT_EQ(timers_->depth, 0u);
}

// By two callers: the end knows the function alone.
TEST_F(CallTimersTest, FunctionsMayHaveEndsInCommon) {
  constexpr uint32_t kEnd = 1000;
  BeginCall(*timers_, kF, kEnd, kOuter, 100, kOuter - 0x100);
  BeginCall(*timers_, kG, kEnd, kInner, 110, kInner - 0x100);
  End(kEnd, kInner, 130);
  End(kG, kOuter, 140);  // of a function that has another end
  End(kEnd, kOuter, 150);
  EXPECT_EQ(Ticks(kF), 50u);
  EXPECT_EQ(Ticks(kG), 20u);
}

// The first call was left by an exception.
TEST_F(CallTimersTest, ACallWithoutTimeTakesThePlaceOfOneThatWasLeft) {
  Begin(kF, kOuter, 100);
  PassCall(*timers_, kOuter, kOuter - 0x100);
  End(kF, kOuter, 150);
  EXPECT_EQ(Calls(kF), 0u);
  Begin(kF, kOuter, 200);
  PassCall(*timers_, kInner, kInner - 0x100);
  End(kF, kOuter, 250);
  EXPECT_EQ(Ticks(kF), 50u);
}

// Sums of the latency point that both functions belong to, and of the one that none does.
TEST_F(CallTimersTest, EveryCallOfALatencyPointCountsWithTheDelayThatItServed) {
  BeginCall(*timers_, kF, kF, kOuter, 100, kOuter - 0x100, {2, 1000});
  BeginCall(*timers_, kF, kF, kInner, 110, kInner - 0x100, {2, 1007});
  EndCall(*timers_, kF, kInner, 130, kInner - 0x100, 1010);
  EXPECT_EQ(timers_->latencies[1].ticks, 20u) << "a call within a call of the same function";
  EXPECT_EQ(timers_->latencies[1].delay_ns, 3u);
  EndCall(*timers_, kF, kOuter, 150, kOuter - 0x100, 1030);
  EXPECT_EQ(timers_->latencies[1].calls, 2u);
  EXPECT_EQ(timers_->latencies[1].ticks, 20u + 50u);
  EXPECT_EQ(timers_->latencies[1].delay_ns, 3u + 30u);
  EXPECT_EQ(timers_->latencies[1].changes, 4u);
  EXPECT_EQ(timers_->latencies[0].calls, 0u);
  EXPECT_EQ(Ticks(kF), 50u);
}

TEST_F(CallTimersTest, CallsOfNoLatencyPointAreInNoSum) {
  Begin(kF, kOuter, 100);
  End(kF, kOuter, 150);
  for (const CallLatency& latency : timers_->latencies) EXPECT_EQ(latency.calls, 0u);
}

// By longjmp, an exception, or because they began before anybody looked.
TEST_F(CallTimersTest, BeginsWithoutEndAndEndsWithoutBeginSpoilNoLatency) {
  EndCall(*timers_, kF, kOuter, 50, kOuter - 0x100, 7);
  BeginCall(*timers_, kF, kF, kInner, 100, kInner - 0x100, {1, 1000});
  BeginCall(*timers_, kF, kF, kOuter, 200, kOuter - 0x100, {1, 1010});
  EndCall(*timers_, kF, kOuter, 230, kOuter - 0x100, 1015);
  EndCall(*timers_, kF, kInner, 240, kInner - 0x100, 1020);
  EXPECT_EQ(timers_->latencies[0].calls, 1u);
  EXPECT_EQ(timers_->latencies[0].ticks, 30u);
  EXPECT_EQ(timers_->latencies[0].delay_ns, 5u);
}

// By longjmp from a handler that interrupted the write.
TEST_F(CallTimersTest, LatencySumsThatWereLeftInTheMiddleAreWholeAgainWithTheNextCall) {
  timers_->latencies[0].changes = 5;
  BeginCall(*timers_, kF, kF, kOuter, 100, kOuter - 0x100, {1, 0});
  EndCall(*timers_, kF, kOuter, 130, kOuter - 0x100, 0);
  EXPECT_EQ(timers_->latencies[0].changes, 6u);
}

TEST_F(CallTimersTest, CallsOfOtherFunctionsNest) {
  Begin(kF, kOuter, 100);
  Begin(kG, kInner, 110);
  End(kG, kInner, 130);
  End(kF, kOuter, 150);
  EXPECT_EQ(Ticks(kF), 50u);
  EXPECT_EQ(Ticks(kG), 20u);
}

TEST_F(CallTimersTest, TimeWithinACallOfTheSameFunctionCountsOnce) {
  Begin(kF, kOuter, 100);
  Begin(kG, kInner, 110);
  Begin(kF, kInnermost, 120);
  End(kF, kInnermost, 130);
  End(kG, kInner, 140);
  End(kF, kOuter, 150);
  EXPECT_EQ(Calls(kF), 2u);
  EXPECT_EQ(Ticks(kF), 50u);
}

// As an exception or longjmp leaves it.
TEST_F(CallTimersTest, ABeginWithoutEndIsDropped) {
  Begin(kF, kOuter, 100);
  Begin(kG, kInner, 110);
  Begin(kF, kInnermost, 120);
  End(kF, kOuter, 150);
  EXPECT_EQ(Calls(kF), 1u);
  EXPECT_EQ(Ticks(kF), 50u);
  EXPECT_EQ(Calls(kG), 0u);
  Begin(kF, kInner, 200);
  End(kF, kInner, 210);
  EXPECT_EQ(Ticks(kF), 60u);  // it is no inner call
}

TEST_F(CallTimersTest, ACallAtTheSameAddressHasTakenThePlaceOfOneThatWasLeft) {
  Begin(kF, kInner, 100);
  Begin(kF, kInner, 200);
  End(kF, kInner, 210);
  EXPECT_EQ(Calls(kF), 1u);
  EXPECT_EQ(Ticks(kF), 10u);
}

TEST_F(CallTimersTest, AnEndWithoutBeginCountsForNothing) {
  End(kF, kOuter, 100);
  Begin(kF, kOuter, 110);
  End(kG, kOuter, 120);
  End(kF, kInner, 130);
  End(kF, kOuter, 140);
  EXPECT_EQ(Calls(kG), 0u);
  EXPECT_EQ(Calls(kF), 1u);
  EXPECT_EQ(Ticks(kF), 30u);
}

TEST_F(CallTimersTest, CallsThatAreTooDeepHaveNoTime) {
  constexpr uint64_t kTop = 0x100000;
  for (uint32_t i = 0; i < kMaxOpenCalls + 10; ++i) Begin(kF, kTop - uint64_t{64} * i, 100);
  for (uint32_t i = kMaxOpenCalls + 10; i-- > 0;) End(kF, kTop - uint64_t{64} * i, 150);
  EXPECT_EQ(Calls(kF), kMaxOpenCalls);
  EXPECT_EQ(Ticks(kF), 50u);
  EXPECT_EQ(timers_->depth, 0u);
}

TEST_F(CallTimersTest, WhatInterruptsABeginOrAnEndHasNoTime) {
  Begin(kF, kOuter, 100);
  timers_->busy_at = kInner;
  Begin(kG, kInnermost, 110);
  End(kG, kInnermost, 120);
  EXPECT_EQ(timers_->depth, 1u);
  EXPECT_EQ(Calls(kG), 0u);
}

TEST_F(CallTimersTest, AHandlerThatHasLeftByLongjmpDoesNotStopTheTimers) {
  Begin(kF, kInner, 100);
  timers_->busy_at = kInnermost;
  Begin(kG, kOuter, 110);
  End(kG, kOuter, 120);
  EXPECT_EQ(Ticks(kG), 10u);
  End(kF, kInner, 130);
  EXPECT_EQ(Calls(kF), 0u);
}

TEST_F(CallTimersTest, NewFiguresStartFromZeroAndKeepOpenCalls) {
  Begin(kF, kOuter, 100);
  Begin(kG, kInner, 110);
  End(kG, kInner, 120);
  BeginCallTimes(*timers_, /*is_new_thread=*/false, kMaxTimedFunctions);
  EXPECT_EQ(Calls(kG), 0u);
  EXPECT_EQ(Ticks(kG), 0u);
  End(kF, kOuter, 150);
  EXPECT_EQ(Ticks(kF), 50u);
}

TEST_F(CallTimersTest, ANewThreadHasNoOpenCalls) {
  Begin(kF, kOuter, 100);
  BeginCallTimes(*timers_, /*is_new_thread=*/true, kMaxTimedFunctions);
  End(kF, kOuter, 150);
  EXPECT_EQ(Calls(kF), 0u);
  Begin(kF, kInner, 200);
  End(kF, kInner, 210);
  EXPECT_EQ(Ticks(kF), 10u);
}

// Whatever comes in whatever order, the figures stay possible.
TEST_F(CallTimersTest, NoOrderOfCallsMakesImpossibleFigures) {
  uint64_t random = 1;
  uint64_t begins = 0;
  for (uint64_t now = 1; now < 200000; ++now) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    const auto function = static_cast<uint32_t>(random >> 60) % 3;
    const uint64_t frame = 0x1000 + (random >> 50) % 100 * 16;
    if ((random >> 40) % 2 == 0) {
      Begin(function, frame, now);
      ++begins;
    } else {
      End(function, frame, now);
    }
    ASSERT_LE(timers_->depth, kMaxOpenCalls);
  }
  uint64_t calls = 0;
  for (uint32_t i = 0; i < 3; ++i) {
    calls += Calls(i);
    EXPECT_LE(Ticks(i), 200000u);
  }
  EXPECT_LE(calls, begins);
}

// A handler of the program, in which functions are called that are timed. By the trap flag it
// interrupts another call at each instruction.
CallTimers* g_timers = nullptr;
uint64_t g_steps = 0;
constexpr LatencyMoment kMoment = {1, 0};

void OnStep(int) {
  ++g_steps;
  const auto here = reinterpret_cast<uint64_t>(__builtin_frame_address(0));
  BeginCall(*g_timers, kG, kG, here, 10, here, kMoment);
  PassCall(*g_timers, here - 8, here);
  EndCall(*g_timers, kG, here, 20, here);
}

[[gnu::noinline]] void CallStepByStep(CallTimers& timers) {
  const auto here = reinterpret_cast<uint64_t>(__builtin_frame_address(0));
  asm volatile("pushfq; orq $0x100,(%%rsp); popfq" : : : "memory", "cc");
  BeginCall(timers, kF, kF, here, 100, here, kMoment);
  EndCall(timers, kF, here, 150, here);
  asm volatile("pushfq; andq $~0x100,(%%rsp); popfq" : : : "memory", "cc");
}

TEST_F(CallTimersTest, HandlerThatInterruptsAtAnyInstructionCountsNothingTwice) {
  struct sigaction action = {};
  struct sigaction old = {};
  action.sa_handler = OnStep;
  sigaction(SIGTRAP, &action, &old);
  g_timers = timers_.get();
  g_steps = 0;
  CallStepByStep(*timers_);
  sigaction(SIGTRAP, &old, nullptr);
  EXPECT_EQ(Calls(kF), 1u);
  EXPECT_EQ(Ticks(kF), 50u);
  EXPECT_GT(Calls(kG), 0u);
  EXPECT_LT(Calls(kG), g_steps) << "no instruction was within a begin or an end";
  EXPECT_EQ(Ticks(kG), 10 * Calls(kG));
  EXPECT_EQ(timers_->latencies[0].calls, 1 + Calls(kG));
  EXPECT_EQ(timers_->latencies[0].ticks, 50 + 10 * Calls(kG));
  EXPECT_EQ(timers_->latencies[0].changes, 2 * timers_->latencies[0].calls);
  EXPECT_EQ(timers_->depth, 0u);
  EXPECT_TRUE(std::all_of(std::begin(timers_->open), std::end(timers_->open),
                          [](uint32_t open) { return open == 0; }));
}

}  // namespace
}  // namespace coz::shared
