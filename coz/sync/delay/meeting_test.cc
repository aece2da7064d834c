#include "coz/sync/delay/meeting.h"

#include <gtest/gtest.h>

#include <memory>

namespace coz::delay {
namespace {

TEST(LatestTimeTest, IsNeverSetBack) {
  LatestTime latest = {};
  EXPECT_EQ(latest.ns(), 0u);
  latest.Note(30);
  latest.Note(20);
  EXPECT_EQ(latest.ns(), 30u);
}

TEST(LatestTimeTest, OnlyWhoIsEarlierGoesOnLater) {
  const auto global = std::make_unique<GlobalLedger>();
  LatestTime latest = {};
  latest.Note(1000);
  ThreadLedger early = {};
  early.local_delay_ns = 500;
  GoOnAfterLatest(*global, early, latest, 1200);
  EXPECT_EQ(VirtualTimeAt(early, 1200), 1000u);
  ThreadLedger late = {};
  late.local_delay_ns = 100;
  GoOnAfterLatest(*global, late, latest, 1200);
  EXPECT_EQ(VirtualTimeAt(late, 1200), 1100u);
}

TEST(LatestTimeTest, NoArrivalIsNoTime) {
  const auto global = std::make_unique<GlobalLedger>();
  ThreadLedger thread = {};
  thread.local_delay_ns = 500;
  GoOnAfterLatest(*global, thread, LatestTime{}, 300);
  EXPECT_EQ(thread.local_delay_ns, 500u);
}

class BarrierTableTest : public ::testing::Test {
 protected:
  std::unique_ptr<BarrierTable> table_{new BarrierTable()};
  int barriers_[1000] = {};
};

TEST_F(BarrierTableTest, AllOfARoundSeeItsLatestArrival) {
  table_->Add(&barriers_[0], 2);
  const LatestTime* first = table_->Arrive(&barriers_[0], 70);
  const LatestTime* second = table_->Arrive(&barriers_[0], 50);
  EXPECT_EQ(first, second);
  EXPECT_EQ(first->ns(), 70u);
}

// As a thread that is slow to wake up does.
TEST_F(BarrierTableTest, WhoLeavesLateDoesNotSeeTheNextRound) {
  table_->Add(&barriers_[0], 2);
  const LatestTime* late = table_->Arrive(&barriers_[0], 70);
  table_->Arrive(&barriers_[0], 50);
  EXPECT_NE(table_->Arrive(&barriers_[0], 90), late);
  EXPECT_EQ(late->ns(), 70u);
}

TEST_F(BarrierTableTest, ABarrierThatIsMadeAnewHasNoArrivals) {
  table_->Add(&barriers_[0], 2);
  table_->Arrive(&barriers_[0], 70);
  table_->Add(&barriers_[0], 3);
  EXPECT_EQ(table_->Arrive(&barriers_[0], 20)->ns(), 20u);
}

TEST_F(BarrierTableTest, ForgetsBarriersButMixesNone) {
  for (const int& barrier : barriers_) table_->Add(&barrier, 2);
  int known = 0;
  for (const int& barrier : barriers_) {
    const auto at = static_cast<uint64_t>(&barrier - barriers_) + 1;
    const LatestTime* latest = table_->Arrive(&barrier, at);
    if (latest == nullptr) continue;
    ++known;
    EXPECT_EQ(latest->ns(), at);
  }
  EXPECT_GT(known, 64);
  EXPECT_LE(known, 128);
}

TEST_F(BarrierTableTest, WhatIsNoBarrierAnyMoreIsNotKnown) {
  EXPECT_EQ(table_->Arrive(&barriers_[0], 1), nullptr);
  table_->Add(&barriers_[0], 2);
  table_->Add(&barriers_[0], 0);
  EXPECT_EQ(table_->Arrive(&barriers_[0], 1), nullptr);
}

class MonitorTest : public ::testing::Test {
 protected:
  MonitorTest() {
    global_->selection = 1;
    releasing_.local_delay_ns = 100;
    acquiring_.local_delay_ns = 500;
  }
  void Release(uint64_t now_ns) {
    NoteRelease(*global_, *monitors_, releasing_, &mutex_, [now_ns] { return now_ns; });
  }
  void Acquire(uint64_t now_ns) {
    GoOnAfterRelease(*global_, *monitors_, waited_, acquiring_, &mutex_,
                     [now_ns] { return now_ns; });
  }

  std::unique_ptr<GlobalLedger> global_{new GlobalLedger()};
  std::unique_ptr<ReleaseTable> monitors_{new ReleaseTable()};
  ThreadLedger releasing_ = {};
  ThreadLedger acquiring_ = {};
  WaitedMonitors waited_ = {};
  int mutex_ = 0;
};

TEST_F(MonitorTest, WhoWaitsThereAndTakesItGoesOnAfterItsLastRelease) {
  monitors_->Add(&mutex_);
  waited_.Note(&mutex_, 1, 900);
  Release(1000);
  Acquire(1100);
  EXPECT_EQ(VirtualTimeAt(acquiring_, 1100), 900u);
}

// As one that puts items into a queue that is never full.
TEST_F(MonitorTest, WhoNeverWaitsThereDoesNotDependOnReleases) {
  monitors_->Add(&mutex_);
  Release(1000);
  Acquire(1100);
  EXPECT_EQ(acquiring_.local_delay_ns, 500u);
  waited_.Note(&mutex_, 1, 1000);
  Acquire(1000 + WaitedMonitors::kLastsNs);
  EXPECT_EQ(acquiring_.local_delay_ns, 500u) << "it has waited long ago";
  waited_.Note(&mutex_, 2, 1000);
  Acquire(1100);
  EXPECT_EQ(acquiring_.local_delay_ns, 500u) << "it has waited in another experiment";
}

// Threads take it in any order, and none depends on the one before.
TEST_F(MonitorTest, AMutexWithoutConditionPassesNoTime) {
  Release(1000);
  Acquire(1100);
  EXPECT_EQ(acquiring_.local_delay_ns, 500u);
}

TEST_F(MonitorTest, NoTimePassesWithoutDelayNorInACrowd) {
  monitors_->Add(&mutex_);
  waited_.Note(&mutex_, 1, 900);
  Release(1000);
  global_->selection = 0;
  Acquire(1100);
  global_->selection = 1;
  global_->cpus_of_crowd = 2;
  Acquire(1100);
  EXPECT_EQ(acquiring_.local_delay_ns, 500u);
}

TEST_F(MonitorTest, AForgottenMutexIsAddedWithoutTime) {
  monitors_->Add(&mutex_);
  Release(1000);
  int others[10000] = {};
  for (const int& other : others) monitors_->Add(&other);
  ASSERT_EQ(monitors_->Find(&mutex_), nullptr);
  EXPECT_EQ(monitors_->Add(&mutex_).ns(), 0u);
}

TEST_F(MonitorTest, WhoTakesAPostOfASemaphoreGoesOnAfterIt) {
  const auto at = [](uint64_t now_ns) { return [now_ns] { return now_ns; }; };
  const int semaphore = 0;
  GoOnAfterPost(*global_, *monitors_, acquiring_, &semaphore, at(1100));
  EXPECT_EQ(acquiring_.local_delay_ns, 500u) << "nobody has posted it";
  NotePost(*global_, *monitors_, releasing_, &semaphore, at(1000));
  GoOnAfterPost(*global_, *monitors_, acquiring_, &semaphore, at(1100));
  EXPECT_EQ(VirtualTimeAt(acquiring_, 1100), 900u);
  GoOnAfterPost(*global_, *monitors_, acquiring_, &semaphore, at(2000));
  EXPECT_EQ(VirtualTimeAt(acquiring_, 2000), 1800u) << "later than the post in any case";
}

TEST_F(MonitorTest, PostsPassNoTimeWithoutDelay) {
  const auto at = [](uint64_t now_ns) { return [now_ns] { return now_ns; }; };
  const int semaphore = 0;
  global_->selection = 0;
  NotePost(*global_, *monitors_, releasing_, &semaphore, at(1000));
  EXPECT_EQ(monitors_->Find(&semaphore), nullptr);
}

TEST(CallPaceTest, OfCallsInQuickSuccessionFewAreLookedAt) {
  CallPace pace = {};
  for (int i = 0; i < 10000; ++i) EXPECT_TRUE(pace.IsDue());
  pace.NoteSample(1);
  int due = 0;
  for (int i = 0; i < 10000; ++i) due += pace.IsDue() ? 1 : 0;
  EXPECT_GT(due, 16);
  EXPECT_LE(due, 64);
  pace.NoteSample(1);
  pace.NoteSample(1);
  EXPECT_TRUE(pace.IsDue());
}

// A CPU timer's samples are some periods apart. Calls that are skipped impose late, and a thread
// that such a call wakes then pays what its waker imposes only after it.
TEST(CallPaceTest, ASampleOfSeveralPeriodsHasAsManyTimesTheCalls) {
  CallPace pace = {};
  for (int i = 0; i < 4 * 64; ++i) EXPECT_TRUE(pace.IsDue());
  pace.NoteSample(4);
  for (int i = 0; i < 4 * 64; ++i) EXPECT_FALSE(pace.Skips() || !pace.IsDue());
  pace.NoteSample(2);
  EXPECT_TRUE(pace.Skips());
}

TEST(WaitedMonitorsTest, RememberTheLastFew) {
  WaitedMonitors waited = {};
  const int monitors[WaitedMonitors::kMonitors + 1] = {};
  uint64_t now_ns = 1000;
  for (const int& monitor : monitors) waited.Note(&monitor, 1, ++now_ns);
  EXPECT_FALSE(waited.HasWaited(&monitors[0], 1, now_ns));
  for (int i = 1; i <= WaitedMonitors::kMonitors; ++i) {
    EXPECT_TRUE(waited.HasWaited(&monitors[i], 1, now_ns));
  }
  waited.Note(&monitors[1], 1, now_ns + 10);
  waited.Note(&monitors[0], 1, now_ns + 20);
  EXPECT_TRUE(waited.HasWaited(&monitors[1], 1, now_ns + 20));
  EXPECT_FALSE(waited.HasWaited(&monitors[2], 1, now_ns + 20))
      << "the one that was waited at first";
}

}  // namespace
}  // namespace coz::delay
