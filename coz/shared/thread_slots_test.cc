#include "coz/shared/thread_slots.h"

#include <unistd.h>

#include <array>
#include <set>
#include <thread>
#include <vector>

#include "coz/shared/slot_loops.h"
#include "coz/testing/in_child.h"
#include "coz/testing/zeroed_control.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace coz::shared {
namespace {

using ::testing::AnyOf;
using ::testing::ElementsAre;

// Zero-initialised, as the supervisor's memfd is.
testing::OwnedControl NewControl() { return testing::ZeroedControl(); }

ThreadSlot* Reserve(ControlBlock& control) { return ReserveThreadSlot(control, 0, 1); }

TEST(ThreadSlotsTest, GivesEachThreadASlotOfItsOwn) {
  const auto control = NewControl();
  std::set<ThreadSlot*> slots;
  for (int i = 0; i < 100; ++i) slots.insert(Reserve(*control));
  EXPECT_EQ(slots.size(), 100u);
  EXPECT_EQ(control->threads_high_water.load(), 100u);
}

TEST(ThreadSlotsTest, GivesAFreedSlotToTheNextThread) {
  const auto control = NewControl();
  ThreadSlot* first = Reserve(*control);
  ThreadSlot* second = Reserve(*control);
  FreeThreadSlot(*control, *first);
  EXPECT_EQ(first->state.load(), ThreadState::kFree);
  EXPECT_EQ(Reserve(*control), first);
  FreeThreadSlot(*control, *second);
  FreeThreadSlot(*control, *first);
  EXPECT_EQ(Reserve(*control), first);
  EXPECT_EQ(Reserve(*control), second);
  EXPECT_EQ(control->threads_high_water.load(), 2u);
}

TEST(ThreadSlotsTest, CountsThreadsThatFindNoSlot) {
  const auto control = NewControl();
  for (uint32_t i = 0; i < kMaxThreads; ++i) ASSERT_NE(Reserve(*control), nullptr);
  EXPECT_EQ(Reserve(*control), nullptr);
  EXPECT_EQ(control->counters.threads_without_slot.load(), 1u);
  FreeThreadSlot(*control, control->threads[7]);
  EXPECT_EQ(Reserve(*control), &control->threads[7]);
}

TEST(ThreadSlotsTest, NeverGivesOneSlotToTwoThreadsAtATime) {
  const auto control = NewControl();
  std::atomic<bool> shared{false};
  const auto churn = [&] {
    for (int i = 0; i < 20000; ++i) {
      ThreadSlot* slot = Reserve(*control);
      // `tid` is the owner's while the slot is taken.
      if (slot->tid.exchange(1, std::memory_order_relaxed) != 0) shared = true;
      slot->tid.store(0, std::memory_order_relaxed);
      FreeThreadSlot(*control, *slot);
    }
  };
  std::vector<std::thread> threads;
  threads.reserve(4);
  for (int i = 0; i < 4; ++i) threads.emplace_back(churn);
  for (std::thread& thread : threads) thread.join();
  EXPECT_FALSE(shared);
  EXPECT_LE(control->threads_high_water.load(), 4u);
}

// As the supervisor does. The thread sanitizer says where a field is not made for that.
TEST(ThreadSlotsTest, CanBeReadWhileTheyPassFromThreadToThread) {
  const auto control = NewControl();
  std::atomic<bool> goes_on{true};
  std::set<std::array<int64_t, 3>> seen;
  std::thread reader([&] {
    while (goes_on) {
      ForEachThread(*control, [&seen](const ThreadSlot& slot) {
        seen.insert({slot.process.load(), slot.pid.load(), slot.tid.load()});
      });
    }
  });
  for (int i = 0; i < 20000; ++i) {
    ThreadSlot* const slot = ReserveThreadSlot(*control, 3, 100);
    slot->tid = 101;
    FreeThreadSlot(*control, *slot);
  }
  goes_on = false;
  reader.join();
  // The fields of a new slot come one after another.
  for (const std::array<int64_t, 3>& ids : seen) {
    EXPECT_THAT(ids, ElementsAre(AnyOf(0, 3), AnyOf(0, 100), AnyOf(0, 101)));
  }
}

TEST(ThreadSlotsTest, FreesWhatAProcessHasLeft) {
  const auto control = NewControl();
  ThreadSlot* left = ReserveThreadSlot(*control, 3, 100);
  ThreadSlot* others = ReserveThreadSlot(*control, 4, 200);
  others->state = ThreadState::kRunning;
  FreeThreadSlotsOf(*control, 100);
  FreeThreadSlotsOf(*control, 100);  // a second time does no harm
  EXPECT_EQ(left->state.load(), ThreadState::kFree);
  EXPECT_EQ(others->state.load(), ThreadState::kRunning);
  EXPECT_EQ(Reserve(*control), left);
  EXPECT_NE(Reserve(*control), left);
}

// In a child of fork, with the block shared between both.
class ForkedSlotsTest : public ::testing::Test {
 protected:
  testing::SharedValue<ControlBlock> control_;
};

TEST_F(ForkedSlotsTest, TheChildCountsAtTheInheritedAddressInASlotOfItsOwn) {
  ThreadSlot* parents = ReserveThreadSlot(*control_, 0, 1);
  parents->visits[5] = 100;
  std::atomic<uint64_t>* const counter = &parents->visits[5];  // as a mark keeps it
  const int status = testing::RunInChild([&] {
    ThreadSlot* own = ReplaceInheritedSlot(*control_, *parents, 1, 2);
    if (own != parents || own->ledger.number != 2 || own->pid != 2) _exit(1);
    counter->fetch_add(7);
  });
  EXPECT_EQ(status, 0);
  EXPECT_EQ(parents->visits[5].load(), 100u);
  EXPECT_EQ(control_->threads[1].visits[5].load(), 7u);
  EXPECT_EQ(control_->threads[1].pid, 2);
}

// As of a daemon, whose parent ends at once.
TEST_F(ForkedSlotsTest, TheSlotOfAParentThatHasEndedServesTheChild) {
  ThreadSlot* parents = ReserveThreadSlot(*control_, 0, 1);
  const int status = testing::RunInChild([&] {
    FreeThreadSlotsOf(*control_, 1);
    ThreadSlot* own = ReplaceInheritedSlot(*control_, *parents, 1, 2);
    if (own != parents || own->ledger.number != 1 || own->pid != 2) _exit(1);
    own->visits[5].fetch_add(7);
  });
  EXPECT_EQ(status, 0);
  EXPECT_EQ(control_->threads[0].visits[5].load(), 7u);
  EXPECT_EQ(control_->threads[0].state.load(), ThreadState::kReserved);
}

TEST_F(ForkedSlotsTest, SlotsAreTheSameToAllAfterForksOfForks) {
  ThreadSlot* first = ReserveThreadSlot(*control_, 0, 1);
  const int status = testing::RunInChild([&] {
    ReplaceInheritedSlot(*control_, *first, 0, 2);
    _exit(testing::RunInChild([&] {
      // The address of the first slot leads to the third now, and it got there in two steps.
      ReplaceInheritedSlot(*control_, *first, 0, 3);
      FreeThreadSlotsOf(*control_, 1);
      FreeThreadSlotsOf(*control_, 2);
      for (int i = 0; i < 3; ++i) ReserveThreadSlot(*control_, 0, 4)->tid = 40 + i;
    }));
  });
  EXPECT_EQ(status, 0);
  EXPECT_EQ(control_->threads_high_water.load(), 4u);
  std::set<int> tids;
  for (int i : {0, 1, 3}) {
    EXPECT_EQ(control_->threads[i].pid, 4);
    EXPECT_EQ(control_->threads[i].ledger.number.load(), static_cast<uint32_t>(i) + 1);
    tids.insert(control_->threads[i].tid);
  }
  EXPECT_EQ(tids, (std::set<int>{40, 41, 42}));
  EXPECT_EQ(control_->threads[2].pid, 3);
}

}  // namespace
}  // namespace coz::shared
