#include "coz/shared/thread_records.h"

#include <sys/prctl.h>
#include <unistd.h>

#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include "coz/shared/thread_slots.h"
#include "coz/testing/zeroed_control.h"
#include "gtest/gtest.h"

namespace coz::shared {
namespace {

// Zero-initialised, as the supervisor's memfd is.
testing::OwnedControl NewControl() {
  auto control = testing::ZeroedControl();
  control->ended_threads.has_reader = 1;
  control->points[0].kind = PointKind::kPlace;
  control->points[0].state = PointState::kReady;
  return control;
}

ThreadSlot& TakeSlot(ControlBlock& control) {
  ThreadSlot* slot = ReserveThreadSlot(control, 0, getpid());
  slot->tid = gettid();
  BeginFigures(control, *slot);
  slot->state = ThreadState::kRunning;
  return *slot;
}

void SetOwnName(const char* name) { prctl(PR_SET_NAME, name); }

std::string Name(const EndedThread& ended) {
  char text[kThreadNameBytes];
  ended.name.Get(text);
  return text;
}

class ThreadRecordsTest : public ::testing::Test {
 protected:
  ThreadRecordsTest() { SetOwnName("first"); }

  const EndedThread& ended(uint64_t number) const {
    return control_->ended_threads.threads[number];
  }
  uint64_t count() const { return control_->ended_threads.next; }

  testing::OwnedControl control_ = NewControl();
};

TEST_F(ThreadRecordsTest, AnEndedThreadLeavesItsFigures) {
  ThreadSlot& slot = TakeSlot(*control_);
  EXPECT_TRUE(NoteSample(*control_, slot, 3).is_in_scope);
  EXPECT_TRUE(NoteSample(*control_, slot, 1).is_in_scope);
  slot.visits[0] += 5;
  NoteCpuTime(slot);
  FreeThreadSlot(*control_, slot);
  ASSERT_EQ(count(), 1u);
  EXPECT_EQ(ended(0).written, 1u);
  EXPECT_EQ(Name(ended(0)), "first");
  EXPECT_EQ(ended(0).pid, getpid());
  EXPECT_EQ(ended(0).tid, gettid());
  EXPECT_EQ(ended(0).samples, 4u);
  EXPECT_EQ(ended(0).visits[0], 5u);
  EXPECT_GT(ended(0).cpu_ns, 0u);
  EXPECT_GE(ended(0).end_ns, ended(0).start_ns);
}

TEST_F(ThreadRecordsTest, ASlotThatPassesToAnotherThreadMixesNothing) {
  ThreadSlot* const slot = &TakeSlot(*control_);
  NoteSample(*control_, *slot, 7);
  slot->visits[0] += 5;
  FreeThreadSlot(*control_, *slot);
  SetOwnName("second");
  ASSERT_EQ(&TakeSlot(*control_), slot);
  NoteSample(*control_, *slot, 1);
  slot->visits[0] += 2;
  FreeThreadSlot(*control_, *slot);
  ASSERT_EQ(count(), 2u);
  EXPECT_EQ(ended(0).samples, 7u);
  EXPECT_EQ(ended(0).visits[0], 5u);
  EXPECT_EQ(Name(ended(1)), "second");
  EXPECT_EQ(ended(1).samples, 1u);
  EXPECT_EQ(ended(1).visits[0], 2u);
}

TEST_F(ThreadRecordsTest, ANewNameBeginsNewFigures) {
  ThreadSlot& slot = TakeSlot(*control_);
  NoteSample(*control_, slot, 2);
  slot.visits[0] += 1;
  SetOwnName("second");
  NoteSample(*control_, slot, 3);
  slot.visits[0] += 10;
  FreeThreadSlot(*control_, slot);
  ASSERT_EQ(count(), 2u);
  EXPECT_EQ(Name(ended(0)), "first");
  EXPECT_EQ(ended(0).samples, 2u);
  EXPECT_EQ(ended(0).visits[0], 1u);
  EXPECT_EQ(Name(ended(1)), "second");
  EXPECT_EQ(ended(1).samples, 3u);
  EXPECT_EQ(ended(1).visits[0], 10u);
  EXPECT_GE(ended(1).start_ns, ended(0).end_ns);
}

TEST_F(ThreadRecordsTest, ANameBeforeTheFirstSampleIsTheOnlyOne) {
  ThreadSlot& slot = TakeSlot(*control_);
  SetOwnName("second");
  NoteSample(*control_, slot, 3);
  FreeThreadSlot(*control_, slot);
  ASSERT_EQ(count(), 1u);
  EXPECT_EQ(Name(ended(0)), "second");
}

// A call that is open when the name changes is one of the new name's.
TEST_F(ThreadRecordsTest, TimesOfCallsPassOnWithTheFigures) {
  control_->timed_functions[0] = 1;
  control_->timed_functions[1] = 2;
  ThreadSlot* const slot = &TakeSlot(*control_);
  NoteSample(*control_, *slot, 1);
  BeginCall(slot->timers, 0, 0, 0x9000, 100, 0x8000);
  BeginCall(slot->timers, 1, 1, 0x7000, 110, 0x6000);
  NoteSample(*control_, *slot, 4);
  EndCall(slot->timers, 1, 0x7000, 130, 0x6000);
  SetOwnName("second");
  NoteSample(*control_, *slot, 3);
  EndCall(slot->timers, 0, 0x9000, 150, 0x8000);
  BeginCall(slot->timers, 1, 1, 0x7000, 160, 0x6000);  // left open
  FreeThreadSlot(*control_, *slot);
  ASSERT_EQ(&TakeSlot(*control_), slot);
  EndCall(slot->timers, 1, 0x7000, 190, 0x6000);
  FreeThreadSlot(*control_, *slot);
  ASSERT_EQ(count(), 3u);
  EXPECT_EQ(ended(0).times[0].calls, 0u);
  EXPECT_EQ(ended(0).times[1].calls, 1u);
  EXPECT_EQ(ended(0).times[1].ticks, 20u);
  EXPECT_EQ(ended(0).times[1].samples, 4u);
  EXPECT_EQ(ended(1).times[0].calls, 1u);
  EXPECT_EQ(ended(1).times[0].ticks, 50u);
  EXPECT_EQ(ended(1).times[0].samples, 7u);
  EXPECT_EQ(ended(1).times[1].calls, 0u);
  EXPECT_EQ(ended(2).times[0].calls, 0u);
  EXPECT_EQ(ended(2).times[1].calls, 0u);
}

TEST_F(ThreadRecordsTest, TheNameAtTheSampleDecidesWhetherItCounts) {
  ThreadScope& scope = control_->thread_scope;
  snprintf(scope.patterns[scope.patterns_used++], kThreadPatternBytes, "sec*");
  ThreadSlot& slot = TakeSlot(*control_);
  EXPECT_FALSE(NoteSample(*control_, slot, 1).is_in_scope);
  SetOwnName("second");
  EXPECT_TRUE(NoteSample(*control_, slot, 1).is_in_scope);
  SetOwnName("first");
  EXPECT_FALSE(NoteSample(*control_, slot, 1).is_in_scope);
}

TEST_F(ThreadRecordsTest, TheNameAtTheSampleDecidesItsGroup) {
  ThreadGroups& groups = control_->thread_groups;
  for (const char* pattern : {"sec*", "third", "f*"}) {
    groups.group_of_pattern[groups.patterns_used] =
        groups.patterns_used == 2 ? 0 : groups.patterns_used;
    snprintf(groups.patterns[groups.patterns_used++], kThreadPatternBytes, "%s", pattern);
  }
  groups.groups_used = 2;
  ThreadSlot& slot = TakeSlot(*control_);
  EXPECT_EQ(NoteSample(*control_, slot, 1).group, 0u);  // "first", by the third pattern
  SetOwnName("third");
  EXPECT_EQ(NoteSample(*control_, slot, 1).group, 1u);
  EXPECT_EQ(NoteSample(*control_, slot, 1).group, 1u);
  SetOwnName("other");
  EXPECT_EQ(NoteSample(*control_, slot, 1).group, 2u);
  EXPECT_EQ(OwnRole(*control_).group, 2u);
  SetOwnName("second");
  EXPECT_EQ(OwnRole(*control_).group, 0u);
  // Its slot still holds the figures of another.
  slot.state = ThreadState::kFree;
  EXPECT_EQ(NoteSample(*control_, slot, 1).group, 0u);
}

// A sample may come between the moment in which a thread gets its slot and that in which its
// figures begin.
TEST_F(ThreadRecordsTest, ASampleOfAThreadThatIsAboutToStartTouchesNoFigures) {
  ThreadSlot* const slot = &TakeSlot(*control_);
  NoteSample(*control_, *slot, 7);
  FreeThreadSlot(*control_, *slot);
  SetOwnName("second");
  ASSERT_EQ(ReserveThreadSlot(*control_, 0, getpid()), slot);
  EXPECT_TRUE(NoteSample(*control_, *slot, 1).is_in_scope);
  EXPECT_EQ(count(), 1u);
}

TEST_F(ThreadRecordsTest, ASlotThatWasOnlyReservedLeavesNothing) {
  FreeThreadSlot(*control_, *ReserveThreadSlot(*control_, 0, getpid()));
  EXPECT_EQ(count(), 0u);
}

TEST_F(ThreadRecordsTest, NobodyWritesWhereNobodyReads) {
  control_->ended_threads.has_reader = 0;
  FreeThreadSlot(*control_, TakeSlot(*control_));
  EXPECT_EQ(count(), 0u);
}

TEST_F(ThreadRecordsTest, WhatFindsNoRoomIsCounted) {
  control_->ended_threads.next = kMaxEndedThreads;
  ThreadSlot& slot = TakeSlot(*control_);
  NoteSample(*control_, slot, 7);
  FreeThreadSlot(*control_, slot);
  EXPECT_EQ(count(), kMaxEndedThreads);
  EXPECT_EQ(control_->ended_threads.lost, 1u);
  EXPECT_EQ(control_->ended_threads.lost_samples, 7u);
  control_->ended_threads.read = 1;
  FreeThreadSlot(*control_, TakeSlot(*control_));
  EXPECT_EQ(ended(0).written, kMaxEndedThreads + 1u);
}

TEST_F(ThreadRecordsTest, ThreadsThatEndTogetherLoseNothing) {
  constexpr int kThreads = 4;
  constexpr int kEach = 500;
  std::vector<std::thread> threads;
  threads.reserve(kThreads);
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([this] {
      for (int j = 0; j < kEach; ++j) {
        ThreadSlot& slot = TakeSlot(*control_);
        NoteSample(*control_, slot, 2);
        slot.visits[0] += 3;
        FreeThreadSlot(*control_, slot);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  ASSERT_EQ(count(), uint64_t{kThreads} * kEach);
  for (uint64_t i = 0; i < count(); ++i) {
    ASSERT_EQ(ended(i).written, i + 1);
    ASSERT_EQ(ended(i).samples, 2u);
    ASSERT_EQ(ended(i).visits[0], 3u);
  }
}

}  // namespace
}  // namespace coz::shared
