#include "coz/shared/carry_over.h"

#include <sys/mman.h>

#include <memory>

#include "coz/shared/charged_pairs.h"
#include "coz/shared/thread_slots.h"
#include "gtest/gtest.h"

namespace coz::shared {
namespace {

struct Unmap {
  void operator()(ControlBlock* block) const { munmap(block, sizeof(ControlBlock)); }
};
using Block = std::unique_ptr<ControlBlock, Unmap>;

Block MakeBlock() {
  void* const memory = mmap(nullptr, sizeof(ControlBlock), PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  EXPECT_NE(memory, MAP_FAILED);
  return Block(static_cast<ControlBlock*>(memory));
}

TEST(CarryOverTest, ThreadKeepsItsSlotAndOwesNothing) {
  const Block from = MakeBlock();
  const Block to = MakeBlock();
  ThreadSlot* const slot = ReserveThreadSlot(*from, 0, 100);
  slot->tid = 101;
  slot->ledger.local_delay_ns.store(30);
  slot->ledger.imposed_ns.store(20);
  slot->ledger.paused_ns.store(10);
  from->ledger.global_delay_ns.store(50);
  from->ledger.selection.store(77);
  CarryOver(*from, *to);
  const ThreadSlot& kept = to->threads[slot - from->threads];
  EXPECT_EQ(kept.tid, 101);
  EXPECT_EQ(to->ledger.global_delay_ns, 50u);
  EXPECT_EQ(to->ledger.selection, 0u);
  EXPECT_FALSE(delay::IsBehind(to->ledger, kept.ledger));
  EXPECT_EQ(kept.ledger.imposed_ns, 20u) << "a wait in progress compares with it";
  EXPECT_EQ(kept.ledger.paused_ns, 0u);
}

TEST(CarryOverTest, ThreadWithExcessKeepsIt) {
  const Block from = MakeBlock();
  const Block to = MakeBlock();
  ThreadSlot* const slot = ReserveThreadSlot(*from, 0, 100);
  slot->ledger.local_delay_ns.store(60);
  from->ledger.global_delay_ns.store(50);
  CarryOver(*from, *to);
  EXPECT_EQ(to->threads[slot - from->threads].ledger.local_delay_ns, 60u);
}

TEST(CarryOverTest, NextThreadGetsASlotThatNobodyHas) {
  const Block from = MakeBlock();
  const Block to = MakeBlock();
  ThreadSlot* const ended = ReserveThreadSlot(*from, 0, 100);
  ThreadSlot* const lives = ReserveThreadSlot(*from, 0, 100);
  FreeThreadSlot(*from, *ended);
  CarryOver(*from, *to);
  ThreadSlot* const next = ReserveThreadSlot(*to, 0, 100);
  ThreadSlot* const one_more = ReserveThreadSlot(*to, 0, 100);
  EXPECT_EQ(next - to->threads, ended - from->threads);
  EXPECT_NE(one_more - to->threads, lives - from->threads);
}

TEST(CarryOverTest, VisitsBeginAtZeroThoughCountersGoOn) {
  const Block from = MakeBlock();
  const Block to = MakeBlock();
  ThreadSlot* const slot = ReserveThreadSlot(*from, 0, 100);
  from->points[0].state.store(PointState::kReady);
  from->points[0].kind = PointKind::kThroughput;
  slot->visits[0].store(1000);
  from->points[0].shared.count.store(5);
  CarryOver(*from, *to);
  EXPECT_EQ(UntimedVisits(*to, 0), 0u);
  to->threads[slot - from->threads].visits[0].fetch_add(3);
  EXPECT_EQ(UntimedVisits(*to, 0), 3u);
}

TEST(CarryOverTest, SuspensionsAreOtherAndOver) {
  const Block from = MakeBlock();
  const Block to = MakeBlock();
  for (const uint32_t before : {0u, 2u, 3u}) {
    from->suspensions.store(before);
    CarryOver(*from, *to);
    EXPECT_FALSE(sampler::IsSuspended(to->suspensions));
    EXPECT_NE(to->suspensions, before);
  }
}

}  // namespace
}  // namespace coz::shared
