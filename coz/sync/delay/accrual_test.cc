#include "coz/sync/delay/accrual.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <memory>

#include "coz/base/clock.h"

namespace coz::delay {
namespace {

constexpr uint64_t kPeriodNs = 1000000;
constexpr uint64_t kForever = ~uint64_t{0};
constexpr uint32_t kUnit = 7;

// Places in a program.
const char kSites[2] = {};
const void* const kInside = &kSites[0];
const void* const kOutside = &kSites[1];

class StretchTest : public ::testing::Test {
 protected:
  StretchTest() { global_->selection = 1; }
  SampleDelay Half(uint64_t deadline_ns = kForever) const {
    return {SampledUnit::kSelected, period_ns_ / 2, period_ns_, deadline_ns, global_->selection};
  }
  void Run(uint64_t ns) { now_ns_ += ns; }
  void Call(const void* site) { EndStretch(*global_, sampled_, site, now_ns_); }
  void Sample(SampledUnit unit) {
    ImposeAccrued(*global_, sampled_, now_ns_);
    if (!IsOutsideStretches(sampled_)) sampled_.stretches.Count(unit, kUnit);
    if (unit == SampledUnit::kSelected) ImposeSample(*global_, sampled_, Half(), now_ns_);
  }
  // Alternates stretches of `inside_ns` in the unit with stretches of the same length outside.
  // Takes samples until both kinds are known.
  void LearnStretches(uint64_t inside_ns) {
    for (int i = 0; i < 40; ++i) {
      Run(inside_ns / 2);
      Sample(SampledUnit::kSelected);
      Run(inside_ns - inside_ns / 2);
      Call(kOutside);
      Run(inside_ns);
      Sample(SampledUnit::kOther);
      Call(kInside);
    }
  }
  uint64_t global_ns() const { return global_->global_delay_ns; }

  std::unique_ptr<GlobalLedger> global_ = std::make_unique<GlobalLedger>();
  ThreadLedger sampled_ = {};  // its samples fall into the selected unit
  uint64_t now_ns_ = 1;
  uint64_t period_ns_ = kPeriodNs;
};

TEST_F(StretchTest, SamplesOfAnUnknownKindImposeAtOnce) {
  Sample(SampledUnit::kSelected);
  EXPECT_EQ(global_ns(), kPeriodNs / 2);
  EXPECT_EQ(sampled_.local_delay_ns, kPeriodNs / 2);
}

TEST_F(StretchTest, KnownStretchesImposeByTheirLength) {
  LearnStretches(kPeriodNs / 2);
  const uint64_t before_ns = global_ns();
  Run(kPeriodNs / 10);
  Call(kOutside);
  EXPECT_EQ(global_ns() - before_ns, kPeriodNs / 20);
  Run(kPeriodNs);
  Call(kInside);  // imposes nothing for the time outside
  EXPECT_EQ(global_ns() - before_ns, kPeriodNs / 20);
  Run(kPeriodNs / 5);
  Call(kOutside);
  EXPECT_EQ(global_ns() - before_ns, kPeriodNs / 20 + kPeriodNs / 10);
  EXPECT_EQ(sampled_.local_delay_ns, global_ns());
}

// Four periods are two samples' worth in the balance, were they two samples. As one they are one.
TEST_F(StretchTest, AllPeriodsOfASampleAccrueAsStretchesRun) {
  LearnStretches(kPeriodNs / 2);
  SampleDelay sample = Half();
  sample.periods = 4;
  const uint64_t before_ns = global_ns();
  ImposeAccrued(*global_, sampled_, now_ns_);
  ImposeSample(*global_, sampled_, sample, now_ns_);
  EXPECT_EQ(global_ns(), before_ns);
  for (int i = 1; i <= 8; ++i) {
    Run(kPeriodNs / 2);
    Call(kOutside);
    EXPECT_EQ(global_ns() - before_ns, i * kPeriodNs / 4);
    Run(kPeriodNs / 2);
    Call(kInside);
  }
}

TEST_F(StretchTest, SamplesInOutputBelongToTheStretch) {
  LearnStretches(kPeriodNs / 2);
  const uint32_t samples = sampled_.stretches.SamplesOfKindForTest(kInside);
  const uint64_t before_ns = global_ns();
  BeginOutput(sampled_, now_ns_);
  Sample(SampledUnit::kSelected);
  EXPECT_EQ(global_ns(), before_ns);
  EXPECT_EQ(sampled_.stretches.SamplesOfKindForTest(kInside), samples + 1);
  EndWaitUncredited(sampled_);
  BeginWait(sampled_, now_ns_);
  Sample(SampledUnit::kSelected);
  EXPECT_EQ(global_ns() - before_ns, kPeriodNs / 2);
}

TEST_F(StretchTest, PeriodsMayBeAsLongAsASecond) {
  period_ns_ = kNsPerSecond;
  LearnStretches(period_ns_ / 2);
  const uint64_t before_ns = global_ns();
  Run(2 * period_ns_);
  Call(kOutside);
  EXPECT_EQ(global_ns() - before_ns, period_ns_);
}

TEST_F(StretchTest, SamplesAndStretchesImposeAsMuchInTheLongRun) {
  LearnStretches(kPeriodNs / 2);
  const uint64_t before_ns = global_ns();
  // One sample for each period of running time, in whatever stretch it falls.
  uint64_t until_sample_ns = kPeriodNs / 3;
  uint64_t samples = 0;
  for (int i = 0; i < 1000; ++i) {
    const bool inside = i % 2 == 0;
    uint64_t left_ns = kPeriodNs / 2;
    while (left_ns > 0) {
      const uint64_t step_ns = std::min(left_ns, until_sample_ns);
      Run(step_ns);
      left_ns -= step_ns;
      until_sample_ns -= step_ns;
      if (until_sample_ns > 0) continue;
      until_sample_ns = kPeriodNs * 97 / 100;  // never in step with the stretches
      samples += inside ? 1 : 0;
      Sample(inside ? SampledUnit::kSelected : SampledUnit::kOther);
    }
    Call(inside ? kOutside : kInside);
  }
  EXPECT_NEAR(static_cast<double>(global_ns() - before_ns) / kPeriodNs,
              static_cast<double>(samples) / 2, static_cast<double>(samples) * 0.02);
}

TEST_F(StretchTest, TimeOfAWaitOrAPauseImposesNothing) {
  LearnStretches(kPeriodNs / 2);
  const uint64_t before_ns = global_ns();
  Run(kPeriodNs / 10);
  const Wait wait = BeginWait(sampled_, now_ns_);
  Run(50 * kPeriodNs);
  ResumeStretch(sampled_, now_ns_);
  EndWaitCredited(*global_, sampled_, wait, now_ns_, 0);
  Call(kOutside);
  EXPECT_EQ(global_ns() - before_ns, kPeriodNs / 20);
  Call(kInside);
  BeginWait(sampled_, now_ns_);
  Run(50 * kPeriodNs);
  EndWaitUncredited(sampled_);  // nobody resumes the stretch
  Call(kOutside);
  EXPECT_EQ(global_ns() - before_ns, kPeriodNs / 20);
}

TEST_F(StretchTest, SamplesOfAWaitThatSpinsAreOfNoKind) {
  for (int i = 0; i < 40; ++i) {
    const Wait wait = BeginWait(sampled_, now_ns_);
    Run(kPeriodNs / 2);
    Sample(SampledUnit::kOther);
    Run(kPeriodNs / 2);
    ResumeStretch(sampled_, now_ns_);
    EndWaitCredited(*global_, sampled_, wait, now_ns_, 0);
    Run(kPeriodNs / 2);
    Sample(SampledUnit::kSelected);
    Run(kPeriodNs / 2);
    Call(kInside);
  }
  const uint64_t before_ns = global_ns();
  Run(kPeriodNs / 4);
  Call(kInside);
  EXPECT_EQ(global_ns() - before_ns, kPeriodNs / 8);
}

TEST_F(StretchTest, ASampleInAWaitImposesAtOnce) {
  LearnStretches(kPeriodNs / 2);
  BeginWait(sampled_, now_ns_);
  const uint64_t before_ns = global_ns();
  Run(kPeriodNs);
  Sample(SampledUnit::kSelected);
  EXPECT_EQ(global_ns() - before_ns, kPeriodNs / 2);
}

TEST_F(StretchTest, NotMuchIsImposedAheadOfSamples) {
  LearnStretches(kPeriodNs / 2);
  const uint64_t before_ns = global_ns();
  for (int i = 0; i < 100; ++i) {  // it waits in a call that is not wrapped: there are no samples
    Run(kPeriodNs);
    Call(kInside);
  }
  // At most what two samples still have to impose, plus the 32 samples that accrual may be ahead.
  EXPECT_LE(global_ns() - before_ns, 34 * kPeriodNs / 2);
}

// For twenty rounds each sample falls in the half of the round that is in the unit. For the next
// twenty it falls in the other half. That is so where a round takes a fortieth less than a sampling
// period.
TEST_F(StretchTest, SamplesInStepImposeAsMuchInEachRound) {
  LearnStretches(kPeriodNs / 2);
  for (int i = 0; i < 400; ++i) {
    const bool finds_it = i / 20 % 2 == 0;
    const uint64_t before_ns = global_ns();
    Run(kPeriodNs / 4);
    if (finds_it) Sample(SampledUnit::kSelected);
    Run(kPeriodNs / 4);
    Call(kOutside);
    Run(kPeriodNs / 4);
    if (!finds_it) Sample(SampledUnit::kOther);
    Run(kPeriodNs / 4);
    Call(kInside);
    if (i < 40) continue;
    EXPECT_NEAR(static_cast<double>(global_ns() - before_ns), kPeriodNs / 4.0, kPeriodNs / 100.0)
        << i;
  }
}

TEST_F(StretchTest, LongStretchesImposeAtSamples) {
  for (int i = 0; i < 40; ++i) {
    Run(2 * kPeriodNs);
    Sample(SampledUnit::kSelected);
    Run(2 * kPeriodNs);
    Call(kInside);
  }
  const uint64_t before_ns = global_ns();
  Run(kPeriodNs / 2);
  Sample(SampledUnit::kSelected);
  EXPECT_EQ(global_ns() - before_ns, kPeriodNs / 2);
}

// Their first half is in the unit.
TEST_F(StretchTest, StretchesOfWhichMuchIsElsewhereImposeTheirShareWhereTheyAreAlike) {
  for (int i = 0; i < 81; ++i) {
    Run(kPeriodNs / 4);
    if (i % 2 == 0) Sample(SampledUnit::kSelected);
    Run(kPeriodNs / 2);
    if (i % 2 == 1) Sample(SampledUnit::kOther);
    Run(kPeriodNs / 4);
    Call(kInside);
  }
  const uint64_t before_ns = global_ns() + sampled_.stretches.accrued_ns();
  Run(kPeriodNs);
  Call(kInside);
  const uint64_t imposed_ns = global_ns() + sampled_.stretches.accrued_ns() - before_ns;
  EXPECT_NEAR(static_cast<double>(imposed_ns) / kPeriodNs, 0.5 * 0.5, 0.05);
}

// Every other stretch is in the unit. A function that makes the call for several places has one
// address behind it.
TEST_F(StretchTest, StretchesThatAreNotAlikeImposeAtSamples) {
  for (int i = 0; i < 80; ++i) {
    Run(kPeriodNs / 2);
    Sample(i % 2 == 0 ? SampledUnit::kSelected : SampledUnit::kOther);
    Run(kPeriodNs / 2);
    Call(kInside);
  }
  const uint64_t before_ns = global_ns();
  Run(kPeriodNs / 2);
  Sample(SampledUnit::kSelected);
  EXPECT_EQ(global_ns() - before_ns, kPeriodNs / 2);
}

TEST_F(StretchTest, ShortStretchesImposeTheirShareOfIt) {
  for (int i = 0; i < 81; ++i) {
    Run(kPeriodNs / 20);
    Sample(i % 2 == 0 ? SampledUnit::kSelected : SampledUnit::kOther);
    Run(kPeriodNs / 20);
    Call(kInside);
  }
  const uint64_t before_ns = global_ns() + sampled_.stretches.accrued_ns();
  Run(kPeriodNs / 10);
  Call(kInside);
  const uint64_t imposed_ns = global_ns() + sampled_.stretches.accrued_ns() - before_ns;
  EXPECT_NEAR(static_cast<double>(imposed_ns) / kPeriodNs, 0.1 * 0.5 * 0.5, 0.005);
}

TEST_F(StretchTest, LittleDelayIsKeptUntilItIsWorthAPause) {
  LearnStretches(kPeriodNs / 2);
  const uint64_t before_ns = global_ns();
  Run(2 * kLeastImposedNs - 2);
  Call(kInside);
  EXPECT_EQ(global_ns(), before_ns);
  Run(2);
  Call(kInside);
  EXPECT_EQ(global_ns() - before_ns, kLeastImposedNs);
}

TEST_F(StretchTest, NothingIsImposedAfterTheExperiment) {
  LearnStretches(kPeriodNs / 2);
  sampled_.stretches.Count(SampledUnit::kSelected, kUnit);
  ImposeSample(*global_, sampled_, Half(now_ns_ + kPeriodNs / 2), now_ns_);
  const uint64_t before_ns = global_ns();
  Run(kPeriodNs * 6 / 10);
  ImposeAccrued(*global_, sampled_, now_ns_);
  ImposeAllAccrued(*global_, sampled_, now_ns_);
  EXPECT_EQ(global_ns(), before_ns);
  EXPECT_FALSE(Accrues(sampled_));
}

TEST_F(StretchTest, OthersCanAskWhatAStretchInProgressStandsFor) {
  LearnStretches(kPeriodNs / 2);
  Call(kInside);
  const uint64_t local_ns = sampled_.local_delay_ns;
  const uint64_t after_ns = local_ns + kPeriodNs / 10;
  constexpr uint64_t kRounding = kPeriodNs / 1000;
  Run(kPeriodNs / 5);
  EXPECT_NEAR(LocalDelayAt(*global_, sampled_, now_ns_), after_ns, kRounding);
  EXPECT_EQ(sampled_.local_delay_ns, local_ns) << "asking imposes nothing";
  Call(kOutside);
  EXPECT_NEAR(sampled_.local_delay_ns, after_ns, kRounding);
  Run(kPeriodNs / 5);
  EXPECT_EQ(LocalDelayAt(*global_, sampled_, now_ns_), sampled_.local_delay_ns);
}

TEST_F(StretchTest, WhoWaitsOrIsOfAnotherExperimentStandsForNothing) {
  LearnStretches(kPeriodNs / 2);
  Call(kInside);
  Run(kPeriodNs / 5);
  ASSERT_GT(LocalDelayAt(*global_, sampled_, now_ns_), sampled_.local_delay_ns);
  global_->selection = 2;
  EXPECT_EQ(LocalDelayAt(*global_, sampled_, now_ns_), 0u);
  global_->selection = 1;
  BeginWait(sampled_, now_ns_);
  EXPECT_EQ(LocalDelayAt(*global_, sampled_, now_ns_ + kPeriodNs), 0u);
}

TEST_F(StretchTest, NothingIsImposedOnceSomethingElseIsSelected) {
  LearnStretches(kPeriodNs / 2);
  ASSERT_TRUE(Accrues(sampled_));
  const uint64_t before_ns = global_ns();
  global_->selection = 2;
  Run(kPeriodNs / 2);
  Call(kOutside);
  EXPECT_EQ(global_ns(), before_ns);
  EXPECT_FALSE(Accrues(sampled_));
}

TEST_F(StretchTest, TheNextSelectionStartsWithNothingAheadOfItsSamples) {
  LearnStretches(kPeriodNs / 2);
  sampled_.stretches.SetBalanceForTest(-static_cast<int64_t>(16 * kPeriodNs));
  global_->selection = 2;
  sampled_.stretches.Count(SampledUnit::kSelected, kUnit);
  ImposeSample(*global_, sampled_, Half(), now_ns_);
  EXPECT_EQ(sampled_.stretches.balance_ns(), kPeriodNs / 2);
}

TEST_F(StretchTest, AtItsEndAThreadImposesWhatItsSamplesStandForBeyondItsStretches) {
  LearnStretches(kPeriodNs / 2);
  const int64_t balance_ns = sampled_.stretches.balance_ns();
  const uint64_t before_ns = global_ns();
  sampled_.stretches.SetBalanceForTest(70000);
  ImposeAllAccrued(*global_, sampled_, now_ns_);
  EXPECT_EQ(global_ns() - before_ns, 70000u) << balance_ns;
}

// A server takes locks and writes in many places. Each is behind half of the unit's samples.
TEST_F(StretchTest, KindsBeyondThoseThatAThreadKnowsAccrueTogether) {
  constexpr int kPlaces = 4 * Stretches::kKinds;
  const char places[kPlaces] = {};
  const auto call_and_sample = [&](int i) {
    Call(&places[i % kPlaces]);
    Run(kPeriodNs / 20);
    Sample(i / kPlaces % 2 == 0 ? SampledUnit::kSelected : SampledUnit::kOther);
  };
  for (int i = 0; i < 10 * kPlaces; ++i) call_and_sample(i);
  for (int i = 0; i < 2 * kPlaces; ++i) {
    const uint64_t before_ns = global_ns();
    call_and_sample(i);
    ASSERT_LE(global_ns() - before_ns, kPeriodNs / 20) << "no more than the stretch is long";
  }
}

TEST_F(StretchTest, KindsThatComeNoMoreMakeRoom) {
  const char places[3 * Stretches::kKinds] = {};
  for (const char& place : places) {
    Call(&place);
    Sample(SampledUnit::kOther);
  }
  for (int i = 0; i < 40 * Stretches::kKinds; ++i) {
    Call(&places[2 * Stretches::kKinds + i % 4]);
    Sample(SampledUnit::kSelected);
  }
  EXPECT_EQ(sampled_.stretches.SamplesOfKindForTest(&places[0]), 0u);
  EXPECT_GE(sampled_.stretches.SamplesOfKindForTest(&places[size_t{2} * Stretches::kKinds]), 4u);
}

TEST_F(StretchTest, AnotherSelectionStartsToCountAnew) {
  LearnStretches(kPeriodNs / 2);
  sampled_.stretches.Count(SampledUnit::kSelected, kUnit + 1);
  EXPECT_EQ(sampled_.stretches.SamplesOfKindForTest(kInside), 1u);
  EXPECT_EQ(sampled_.stretches.SamplesOfKindForTest(kOutside), 0u);
}

TEST_F(StretchTest, AHandlerThatInterruptsLeavesStretchesAlone) {
  LearnStretches(kPeriodNs / 2);
  const uint64_t before_ns = global_ns();
  const int64_t balance_ns = sampled_.stretches.balance_ns();
  const Stretches::BusyScope interrupted(sampled_.stretches);
  Run(kPeriodNs / 2);
  Call(kOutside);
  EXPECT_EQ(global_ns(), before_ns);
  ImposeSample(*global_, sampled_, Half(), now_ns_);
  EXPECT_EQ(global_ns() - before_ns, kPeriodNs / 2);
  EXPECT_EQ(sampled_.stretches.balance_ns(), balance_ns);
  sampled_.stretches.Count(SampledUnit::kSelected, kUnit + 1);
  EXPECT_NE(sampled_.stretches.SamplesOfKindForTest(kOutside), 0u) << "what it works on is gone";
}

TEST_F(StretchTest, OfCallsInQuickSuccessionFewEndAStretch) {
  constexpr int kCalls = 10000;
  for (int i = 0; i < kCalls; ++i) sampled_.stretches.CallEnds(CallsThatEnd::kFew);
  sampled_.stretches.Count(SampledUnit::kSelected, kUnit);
  int ends = 0;
  for (int i = 0; i < kCalls; ++i) ends += sampled_.stretches.CallEnds(CallsThatEnd::kFew) ? 1 : 0;
  EXPECT_GT(ends, 32);
  EXPECT_LE(ends, 80);
}

TEST_F(StretchTest, CallsThatAreSkippedCountForThePaceOnce) {
  constexpr int kCalls = 10000;
  for (int i = 0; i < kCalls; ++i) {
    if (!sampled_.stretches.SkipsCall(CallsThatEnd::kFew)) {
      sampled_.stretches.CallEnds(CallsThatEnd::kFew);
    }
  }
  sampled_.stretches.Count(SampledUnit::kSelected, kUnit);
  int looked_at = 0;
  for (int i = 0; i < kCalls; ++i) {
    if (sampled_.stretches.SkipsCall(CallsThatEnd::kFew)) continue;
    ++looked_at;
    EXPECT_TRUE(sampled_.stretches.CallEnds(CallsThatEnd::kFew));
  }
  EXPECT_GT(looked_at, 32);
  EXPECT_LE(looked_at, 80);
}

// What a caller does for TakeSample.
struct FakeSeam {
  uint64_t NowNs() {
    ++looks_at_clock;
    return now_ns;
  }
  void BeforeImposing(uint64_t delay_ns) { announced_ns += delay_ns; }
  bool Spins() {
    ++times_asked;
    return spins;
  }
  bool TakesSpinProbes() const { return takes_probes; }
  bool BeginSpinProbes() {
    if (can_probe) takes_probes = true;
    return can_probe;
  }

  uint64_t now_ns = 1;
  bool spins = false;
  bool takes_probes = false;
  bool can_probe = true;
  uint64_t announced_ns = 0;
  int times_asked = 0;
  int looks_at_clock = 0;
};

class TakeSampleTest : public ::testing::Test {
 protected:
  TakeSampleTest() { global_->selection = 1; }
  SampleInput Selected(uint64_t periods) const {
    return {1,
            kUnit,
            SampledUnit::kSelected,
            kPeriodNs / 2,
            kPeriodNs / 2,
            kPeriodNs,
            kForever,
            periods,
            periods - 1,
            0};
  }
  SampleInput Other() const {
    return {1, kUnit, SampledUnit::kOther, 0, kPeriodNs / 2, kPeriodNs, kForever, 1, 0, 0};
  }
  SampleResult Take(const SampleInput& sample) {
    return TakeSample(*global_, thread_, shared_, sample, seam_);
  }
  void OweToAnother(uint64_t delay_ns) {
    ThreadLedger other = {};
    other.local_delay_ns = global_->global_delay_ns.load();
    ImposeDelay(*global_, other, delay_ns);
  }

  std::unique_ptr<GlobalLedger> global_ = std::make_unique<GlobalLedger>();
  ThreadLedger thread_ = {};
  SharedDelay shared_;
  FakeSeam seam_;
};

TEST_F(TakeSampleTest, ASampleInTheSelectedUnitGetsItsThreadAhead) {
  const SampleResult result = Take(Selected(1));
  EXPECT_TRUE(result.imposes);
  EXPECT_EQ(result.next, AfterSample::kGoOn);
  EXPECT_EQ(thread_.local_delay_ns, kPeriodNs / 2);
  EXPECT_EQ(global_->global_delay_ns, kPeriodNs / 2);
  EXPECT_EQ(seam_.announced_ns, kPeriodNs / 2);
}

TEST_F(TakeSampleTest, ASampleElsewhereOnlyPays) {
  EXPECT_EQ(Take(Other()).next, AfterSample::kGoOn);
  OweToAnother(1000);
  const SampleResult result = Take(Other());
  EXPECT_FALSE(result.imposes);
  EXPECT_EQ(result.next, AfterSample::kPay);
  EXPECT_EQ(seam_.announced_ns, 0u);
}

TEST_F(TakeSampleTest, NothingIsImposedPastTheDeadline) {
  SampleInput sample = Selected(1);
  sample.deadline_ns = 99;
  seam_.now_ns = 100;
  EXPECT_FALSE(Take(sample).imposes);
  EXPECT_EQ(global_->global_delay_ns, 0u);
  seam_.now_ns = 99;
  EXPECT_TRUE(Take(sample).imposes);
}

TEST_F(TakeSampleTest, EachPeriodOfASampleImposesItsDelay) {
  Take(Selected(3));
  EXPECT_EQ(global_->global_delay_ns, 3 * kPeriodNs / 2);
}

// A timer that is set anew at each switch is late, while the thread runs on. So every second period
// ends without a sample, and the next sample stands for both. Stretches have followed both.
TEST_F(TakeSampleTest, WhatALateSampleStandsForIsNotImposedTwice) {
  constexpr uint64_t kStretchNs = kPeriodNs / 2;
  constexpr int kLearned = 40;
  constexpr int kRounds = 120;
  SampleInput elsewhere = Other();
  elsewhere.periods = 2;
  elsewhere.periods_past = 1;
  uint64_t learned_ns = 0;
  for (int round = 0; round < kRounds; ++round) {
    if (round == kLearned) learned_ns = global_->global_delay_ns;
    seam_.now_ns += kStretchNs / 2;
    if (round % 4 == 3) Take(Selected(2));
    seam_.now_ns += kStretchNs - kStretchNs / 2;
    EndStretch(*global_, thread_, kOutside, seam_.now_ns);
    seam_.now_ns += kStretchNs;
    if (round % 4 == 1) Take(elsewhere);
    EndStretch(*global_, thread_, kInside, seam_.now_ns);
  }
  constexpr uint64_t kInUnitNs = (kRounds - kLearned) * kStretchNs;
  EXPECT_NEAR(static_cast<double>(global_->global_delay_ns - learned_ns), kInUnitNs / 2.0,
              kPeriodNs);
}

TEST_F(TakeSampleTest, WhatASampleStandsForInOtherThreadsIsSharedWithThem) {
  SampleInput sample = Selected(1);
  sample.periods_of_others = 3;
  Take(sample);
  EXPECT_EQ(global_->global_delay_ns, kPeriodNs / 2);
  EXPECT_EQ(shared_.Take(1, 1), 3 * kPeriodNs / 2 / 4) << "of four groups of threads the first";
}

TEST_F(TakeSampleTest, AThreadThatIsKnownToRunTheUnitAccruesFromItsFirstSampleOn) {
  Take(Other());
  EXPECT_FALSE(Accrues(thread_)) << "nothing is known of it";
  Take(Selected(1));
  EXPECT_TRUE(Accrues(thread_));
  global_->selection = 2;
  SampleInput next = Other();
  next.selection = 2;
  next.deadline_ns = 99;
  seam_.now_ns = 100;
  Take(next);
  EXPECT_NE(thread_.stretches.selection(), 2u) << "past the deadline";
  seam_.now_ns = 99;
  Take(next);
  EXPECT_EQ(thread_.stretches.selection(), 2u);
  next.selection = global_->selection = 3;
  next.selected_unit = kUnit + 1;
  Take(next);
  EXPECT_NE(thread_.stretches.selection(), 3u) << "it may not run that unit";
}

// 64 calls in each of its periods end a stretch.
TEST_F(TakeSampleTest, NoCallIsSkippedForASampleOfManyPeriods) {
  for (int i = 0; i < 4 * 64; ++i) EXPECT_TRUE(thread_.stretches.CallEnds(CallsThatEnd::kFew));
  for (int i = 0; i < 4 * 64; ++i) EXPECT_TRUE(thread_.releases.IsDue());
  Take(Selected(4));
  EXPECT_FALSE(thread_.stretches.SkipsCall(CallsThatEnd::kFew));
  EXPECT_FALSE(thread_.releases.Skips());
}

TEST_F(TakeSampleTest, AThreadThatWaitsNeitherPaysNorSpins) {
  OweToAnother(1000);
  BeginWait(thread_, 1);
  EXPECT_EQ(Take(Other()).next, AfterSample::kGoOn);
  EXPECT_EQ(seam_.times_asked, 0);
}

TEST_F(TakeSampleTest, TheFirstSampleThatSpinsBeginsProbesAndCountsForNothing) {
  seam_.spins = true;
  Take(Other());
  EXPECT_TRUE(seam_.takes_probes);
  Take(Other());
  EXPECT_EQ(thread_.spinning.Spend(kPeriodNs), 0u) << "probes count, samples do not";
}

TEST_F(TakeSampleTest, WhereProbesCannotBeHadSamplesCount) {
  seam_.spins = true;
  seam_.can_probe = false;
  for (int i = 0; i < 100; ++i) Take(Other());
  OweToAnother(kPeriodNs / 2);
  EXPECT_EQ(Take(Other()).next, AfterSample::kGoOn);
  EXPECT_EQ(thread_.credited_ns, kPeriodNs / 2) << "it spins nearly all of its time";
}

TEST_F(TakeSampleTest, ASampleOfNoWeightOnlyPays) {
  OweToAnother(1000);
  EXPECT_EQ(Take(Selected(0)).next, AfterSample::kPay);
  EXPECT_EQ(seam_.announced_ns, 0u);
  EXPECT_EQ(seam_.times_asked, 0);
}

// A thread that takes samples in and out of the selected unit, and calls in quick succession.
class BaselineTest : public ::testing::Test {
 protected:
  struct Run {
    explicit Run(uint64_t sample_delay_ns) : delay_ns(sample_delay_ns) {
      global->selection = (uint64_t{kUnit} + 1) << 32 | delay_ns;
      for (int i = 0; i < 200; ++i) Period(i % 4 != 3);
    }
    void Period(bool in_unit) {
      constexpr int kCalls = 500;  // more than CallPace::kFewLooks
      for (int i = 0; i < kCalls; ++i) {
        seam.now_ns += kPeriodNs / kCalls;
        const bool skips = Accrues(thread) && !IsBehind(*global, thread) &&
                           thread.stretches.SkipsCall(CallsThatEnd::kFew);  // as MaySkipCall
        skipped += skips ? 1 : 0;
        if (skips) continue;
        NoteCallAt(
            *global, thread, kInside, [this] { return seam.NowNs(); }, CallsThatEnd::kFew);
      }
      const SampledUnit unit = in_unit ? SampledUnit::kSelected : SampledUnit::kOther;
      TakeSample(*global, thread, shared,
                 {global->selection, kUnit, unit, in_unit ? delay_ns : 0, delay_ns, kPeriodNs,
                  kForever, 1, 0, 0},
                 seam);
    }

    const uint64_t delay_ns;
    std::unique_ptr<GlobalLedger> global = std::make_unique<GlobalLedger>();
    ThreadLedger thread = {};
    SharedDelay shared;
    FakeSeam seam;
    int skipped = 0;
  };
};

TEST_F(BaselineTest, CallsAndSamplesLookAtTheClockAsOftenAsInAnExperiment) {
  const Run baseline(0);
  const Run experiment(kPeriodNs / 2);
  ASSERT_GT(experiment.global->global_delay_ns, 0u);
  EXPECT_GT(experiment.seam.looks_at_clock, 200 * 32);
  EXPECT_EQ(baseline.seam.looks_at_clock, experiment.seam.looks_at_clock);
  EXPECT_EQ(baseline.skipped, experiment.skipped);
  EXPECT_TRUE(Accrues(baseline.thread));
}

TEST_F(BaselineTest, NothingIsImposed) {
  Run baseline(0);
  ImposeAllAccrued(*baseline.global, baseline.thread, baseline.seam.now_ns);
  EXPECT_EQ(baseline.global->global_delay_ns, 0u);
  EXPECT_EQ(baseline.thread.local_delay_ns, 0u);
  EXPECT_EQ(baseline.thread.imposed_ns, 0u);
  EXPECT_EQ(baseline.shared.Take(baseline.global->selection, 1), 0u);
}

// What is left of the experiment before, such as a pause that was overslept, leads nobody.
TEST_F(BaselineTest, NobodyPausesForAStretchInProgress) {
  Run baseline(0);
  Run experiment(kPeriodNs / 2);
  baseline.thread.local_delay_ns = experiment.thread.local_delay_ns = kPeriodNs * 1000;
  EXPECT_EQ(LocalDelayAt(*baseline.global, baseline.thread, baseline.seam.now_ns), 0u);
  EXPECT_GT(LocalDelayAt(*experiment.global, experiment.thread, experiment.seam.now_ns), 0u);
}

TEST_F(BaselineTest, AGivenUnitImposesInItToo) {
  Run baseline(0);
  TakeSample(*baseline.global, baseline.thread, baseline.shared,
             {baseline.global->selection, kUnit, SampledUnit::kGiven, kPeriodNs / 2, 0, kPeriodNs,
              kForever, 1, 0, 0},
             baseline.seam);
  ImposeAllAccrued(*baseline.global, baseline.thread, baseline.seam.now_ns);
  EXPECT_GT(baseline.global->global_delay_ns, 0u);
  EXPECT_TRUE(baseline.thread.stretches.imposes());
}

// Its own running time is no delay, of whatever it samples.
TEST(BeginAheadTest, AThreadThatGetsAheadByWaitsImposesNothingByRunning) {
  static GlobalLedger global;
  static ThreadLedger thread;
  global.selection = 7;
  EXPECT_FALSE(Accrues(thread));
  BeginAhead(thread, {SampledUnit::kSelected, 0, 1'000'000, 1'000'000'000, 7, 0}, 1000);
  EXPECT_TRUE(Accrues(thread));
  for (int i = 1; i <= 10; ++i) {
    thread.stretches.Count(SampledUnit::kOther, 3);
    EndStretch(global, thread, &global, 1000 + i * uint64_t{1'000'000});
  }
  EXPECT_EQ(global.global_delay_ns, 0u);
  EXPECT_EQ(LocalDelayAt(global, thread, 20'000'000), 0u);
  global.selection = 8;
  EndStretch(global, thread, &global, 20'000'000);
  EXPECT_FALSE(Accrues(thread));
}

}  // namespace
}  // namespace coz::delay
