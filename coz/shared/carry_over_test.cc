#include "coz/shared/carry_over.h"

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
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

constexpr int32_t kPid = 100;

// The process leaves `from` and joins `to` as the first, or beside others.
SlotPlaces TakeOver(const ControlBlock& from, ControlBlock& to, int32_t pid = kPid) {
  const Block kept = MakeBlock();
  Keep(from, pid, *kept);
  SlotPlaces places = {};
  EXPECT_EQ(CarryOver(*kept, 0, pid, to, &places), CarryFault::kNone);
  to.images.fetch_add(1);
  return places;
}

uint32_t NumberAt(const SlotPlaces& places, ptrdiff_t place) {
  const auto index = static_cast<uint32_t>(place);
  return index < places.used ? places.number_at[index] : index + 1;
}

TEST(CarryOverTest, ThreadKeepsItsSlotAndOwesNothing) {
  const Block from = MakeBlock();
  const Block to = MakeBlock();
  ThreadSlot* const slot = ReserveThreadSlot(*from, 0, kPid);
  slot->tid = 101;
  slot->ledger.local_delay_ns.store(30);
  slot->ledger.imposed_ns.store(20);
  slot->ledger.paused_ns.store(10);
  from->ledger.global_delay_ns.store(50);
  from->ledger.selection.store(77);
  EXPECT_EQ(TakeOver(*from, *to).used, 0u) << "each slot lies at its own place";
  const ThreadSlot& kept = to->threads[slot - from->threads];
  EXPECT_EQ(kept.tid, 101);
  EXPECT_EQ(to->ledger.global_delay_ns, 50u);
  EXPECT_EQ(to->ledger.selection, 0u);
  EXPECT_FALSE(delay::IsBehind(to->ledger, kept.ledger));
  EXPECT_EQ(kept.ledger.imposed_ns, 20u) << "a wait in progress compares with it";
  EXPECT_EQ(kept.ledger.paused_ns, 0u);
}

// Of the patterns of each session.
TEST(CarryOverTest, ThreadCountsAsTheNewSessionSays) {
  const Block from = MakeBlock();
  const Block to = MakeBlock();
  snprintf(from->thread_scope.patterns[0], kThreadPatternBytes, "io");
  from->thread_scope.patterns_used = 1;
  snprintf(to->thread_groups.patterns[0], kThreadPatternBytes, "work*");
  to->thread_groups.patterns_used = 1;
  to->thread_groups.groups_used = 1;
  for (const char* name : {"worker", "io"}) {
    ThreadSlot* const slot = ReserveThreadSlot(*from, 0, kPid);
    ThreadName words = {};
    memcpy(&words, name, strlen(name));
    slot->figures.name[0].store(words.words[0]);
    slot->figures.group.store(7);
  }
  TakeOver(*from, *to);
  EXPECT_EQ(to->threads[0].figures.group, 0u);
  EXPECT_EQ(to->threads[0].figures.is_in_scope, 1u);
  EXPECT_EQ(to->threads[1].figures.group, 1u);
}

TEST(CarryOverTest, ThreadWithExcessKeepsIt) {
  const Block from = MakeBlock();
  const Block to = MakeBlock();
  ThreadSlot* const slot = ReserveThreadSlot(*from, 0, kPid);
  slot->ledger.local_delay_ns.store(60);
  from->ledger.global_delay_ns.store(50);
  TakeOver(*from, *to);
  EXPECT_EQ(to->threads[slot - from->threads].ledger.local_delay_ns, 60u);
}

TEST(CarryOverTest, NextThreadGetsASlotThatNobodyHas) {
  const Block from = MakeBlock();
  const Block to = MakeBlock();
  ThreadSlot* const ended = ReserveThreadSlot(*from, 0, kPid);
  ThreadSlot* const lives = ReserveThreadSlot(*from, 0, kPid);
  FreeThreadSlot(*from, *ended);
  TakeOver(*from, *to);
  ThreadSlot* const next = ReserveThreadSlot(*to, 0, kPid);
  ThreadSlot* const one_more = ReserveThreadSlot(*to, 0, kPid);
  EXPECT_EQ(next - to->threads, ended - from->threads);
  EXPECT_NE(one_more - to->threads, lives - from->threads);
}

TEST(CarryOverTest, VisitsBeginAtZeroThoughCountersGoOn) {
  const Block from = MakeBlock();
  const Block to = MakeBlock();
  ThreadSlot* const slot = ReserveThreadSlot(*from, 0, kPid);
  from->points[0].state.store(PointState::kReady);
  from->points[0].kind = PointKind::kThroughput;
  slot->visits[0].store(1000);
  from->points[0].shared.count.store(5);
  TakeOver(*from, *to);
  EXPECT_EQ(UntimedVisits(*to, 0), 0u);
  to->threads[slot - from->threads].visits[0].fetch_add(3);
  EXPECT_EQ(UntimedVisits(*to, 0), 3u);
}

TEST(CarryOverTest, SlotsOfOtherProcessesAreNotKept) {
  const Block from = MakeBlock();
  const Block to = MakeBlock();
  ReserveThreadSlot(*from, 0, kPid + 1);
  ThreadSlot* const own = ReserveThreadSlot(*from, 1, kPid);
  own->tid = 101;
  TakeOver(*from, *to);
  EXPECT_EQ(to->threads[0].state, ThreadState::kFree);
  EXPECT_EQ(to->threads[1].tid, 101);
}

// Each was attached to alone, so each has a thread in the slot of number 1, and one beyond.
TEST(CarryOverTest, SecondProcessGetsOtherSlotsAtItsPlaces) {
  const Block one = MakeBlock();
  const Block other = MakeBlock();
  const Block to = MakeBlock();
  for (ThreadSlot* slot : {ReserveThreadSlot(*one, 0, 100), ReserveThreadSlot(*other, 0, 200)}) {
    slot->tid = slot->pid + 1;
    slot->visits[0].store(1000);
  }
  ReserveThreadSlot(*other, 0, 200)->tid = 202;
  for (ControlBlock* block : {one.get(), other.get()}) {
    block->points[0].state.store(PointState::kReady);
    block->points[0].kind = PointKind::kThroughput;
  }
  TakeOver(*one, *to, 100);
  const SlotPlaces places = TakeOver(*other, *to, 200);
  EXPECT_EQ(to->threads[0].tid, 101) << "the first one's stays";
  const uint32_t first = NumberAt(places, 0);
  const uint32_t second = NumberAt(places, 1);
  ASSERT_NE(first, 1u);
  ASSERT_NE(first, second);
  EXPECT_EQ(to->threads[first - 1].tid, 201);
  EXPECT_EQ(to->threads[first - 1].ledger.number, first);
  EXPECT_EQ(to->threads[second - 1].tid, 202);
  EXPECT_EQ(UntimedVisits(*to, 0), 0u);
  // The places are a permutation, so each slot lies somewhere.
  uint32_t sum = 0;
  for (uint32_t i = 0; i < places.used; ++i) sum += places.number_at[i];
  EXPECT_EQ(sum, places.used * (places.used + 1) / 2);
}

TEST(CarryOverTest, NobodyOwesWhatAnotherProcessHasServedBefore) {
  const Block one = MakeBlock();
  const Block other = MakeBlock();
  const Block to = MakeBlock();
  ReserveThreadSlot(*one, 0, 100)->ledger.local_delay_ns.store(30);
  one->ledger.global_delay_ns.store(30);
  ReserveThreadSlot(*other, 0, 200)->ledger.local_delay_ns.store(70);
  other->ledger.global_delay_ns.store(70);
  TakeOver(*one, *to, 100);
  TakeOver(*other, *to, 200);
  EXPECT_EQ(to->ledger.global_delay_ns, 70u);
  EXPECT_EQ(delay::OwedDelay(to->ledger, to->threads[0].ledger), 0u);
  EXPECT_EQ(delay::OwedDelay(to->ledger, to->threads[1].ledger), 0u);
}

TEST(CarryOverTest, MarkThatWouldCountForAnotherPointIsRefused) {
  const Block to = MakeBlock();
  const auto add = [](ControlBlock& block, PointKind kind, const char* name) {
    block.points[0].state.store(PointState::kReady);
    block.points[0].kind = kind;
    snprintf(block.points[0].name, sizeof(block.points[0].name), "%s", name);
  };
  add(*to, PointKind::kThroughput, "request");
  to->images.store(1);
  const auto fault = [&](PointKind kind, const char* name) {
    const Block kept = MakeBlock();
    add(*kept, kind, name);
    SlotPlaces places = {};
    return CarryOver(*kept, 0, kPid, *to, &places);
  };
  EXPECT_EQ(fault(PointKind::kThroughput, "order"), CarryFault::kOtherPoints);
  EXPECT_EQ(fault(PointKind::kThroughput, "request"), CarryFault::kNone);
  EXPECT_EQ(fault(PointKind::kPlace, "order"), CarryFault::kNone) << "its code is as it was";
}

TEST(CarryOverTest, ChildOfForkHasTheSlotOfItsThread) {
  const Block kept = MakeBlock();
  ThreadSlot* const other = ReserveThreadSlot(*kept, 0, kPid);
  ThreadSlot* const forker = ReserveThreadSlot(*kept, 0, kPid);
  ForgetOthers(forker, kPid + 1, *kept);
  EXPECT_EQ(other->state, ThreadState::kFree);
  EXPECT_EQ(forker->state, ThreadState::kReserved);
  EXPECT_EQ(forker->pid, kPid + 1);
}

}  // namespace
}  // namespace coz::shared
