#include "coz/runtime/thread_slots.h"

#include <memory>
#include <set>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace coz {
namespace {

// Zero-initialised, as the supervisor's memfd is.
std::unique_ptr<ControlBlock> NewControl() { return std::make_unique<ControlBlock>(); }

TEST(ThreadSlotsTest, GivesEachThreadASlotOfItsOwn) {
  const auto control = NewControl();
  std::set<ThreadSlot*> slots;
  for (int i = 0; i < 100; ++i) slots.insert(ReserveThreadSlot(*control));
  EXPECT_EQ(slots.size(), 100u);
  EXPECT_EQ(control->threads_high_water.load(), 100u);
}

TEST(ThreadSlotsTest, GivesAFreedSlotToTheNextThread) {
  const auto control = NewControl();
  ThreadSlot* first = ReserveThreadSlot(*control);
  ThreadSlot* second = ReserveThreadSlot(*control);
  FreeThreadSlot(*control, *first);
  EXPECT_EQ(first->state.load(), ThreadState::kFree);
  EXPECT_EQ(ReserveThreadSlot(*control), first);
  FreeThreadSlot(*control, *second);
  FreeThreadSlot(*control, *first);
  EXPECT_EQ(ReserveThreadSlot(*control), first);
  EXPECT_EQ(ReserveThreadSlot(*control), second);
  EXPECT_EQ(control->threads_high_water.load(), 2u);
}

TEST(ThreadSlotsTest, CountsThreadsThatFindNoSlot) {
  const auto control = NewControl();
  for (uint32_t i = 0; i < kMaxThreads; ++i) ASSERT_NE(ReserveThreadSlot(*control), nullptr);
  EXPECT_EQ(ReserveThreadSlot(*control), nullptr);
  EXPECT_EQ(control->threads_without_slot.load(), 1u);
  FreeThreadSlot(*control, control->threads[7]);
  EXPECT_EQ(ReserveThreadSlot(*control), &control->threads[7]);
}

TEST(ThreadSlotsTest, NeverGivesOneSlotToTwoThreadsAtATime) {
  const auto control = NewControl();
  std::atomic<bool> shared{false};
  const auto churn = [&] {
    for (int i = 0; i < 20000; ++i) {
      ThreadSlot* slot = ReserveThreadSlot(*control);
      // `tid` is the owner's while the slot is taken.
      if (__atomic_exchange_n(&slot->tid, 1, __ATOMIC_RELAXED) != 0) shared = true;
      __atomic_store_n(&slot->tid, 0, __ATOMIC_RELAXED);
      FreeThreadSlot(*control, *slot);
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back(churn);
  for (std::thread& thread : threads) thread.join();
  EXPECT_FALSE(shared);
  EXPECT_LE(control->threads_high_water.load(), 4u);
}

}  // namespace
}  // namespace coz
