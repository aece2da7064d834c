// Takes what threads of a process know by address from one control block into the next.
//
// A process may be attached to and detached from again and again. Its threads keep addresses into
// the block meanwhile: of their ledger, of counters of marks, of what they compare after a wait
// that has lasted since. So each block of a process lies where its first one lay, and begins with
// the slots and points of the one before. Several processes may join one block, each with what it
// has kept. Where two have kept slots of one number, one gets slots of other numbers, which lie in
// its memory where the old ones lay (SlotPlaces).
//
// Shape    Keep when the process leaves, CarryOver when it joins again
// Units    slot numbers, from 1; indices of places, from 0
// Errors   CarryFault; nothing of the kept block has changed then
// Threads  what threads of the process write meanwhile may be lost: some visits. Other processes
//          may be in the block already
// Signals  async-signal-safe
// Source   docs/design/attach.md
#ifndef COZ_SHARED_CARRY_OVER_H_
#define COZ_SHARED_CARRY_OVER_H_

#include <cstdint>

#include "coz/shared/control_block.h"

namespace coz::shared {

// Which slot lies at which place of a process's memory. Beyond `used` each lies at its own.
struct SlotPlaces {
  uint32_t used;
  uint32_t number_at[kMaxThreads];
};

// Copies into the empty block `kept` the slots that process `pid` has in `from`, at the places
// where they lie in its memory, and points and ledger. With `only`, no other slot is kept: that of
// the thread which forked, in the child.
void Keep(const ControlBlock& from, int32_t pid, ControlBlock& kept);
void KeepOnly(const ControlBlock& from, const ThreadSlot* only, ControlBlock& kept);
// In the child of fork of a process that has kept a block: `only` is its first thread's from now
// on, and all others are free. Null: that thread has none.
void ForgetOthers(const ThreadSlot* only, int32_t pid, ControlBlock& kept);

enum class CarryFault {
  kNone,
  kOtherPoints,  // its marks have the numbers of others' points
  kNoSlot
};

// The process `pid`, which has slot `process` in `to`, brings what it has kept. Virtual time goes
// on from the latest of all, nobody owes anything, and counts of visits and payments begin at 0.
// Samples that are under way belong to none of both sessions.
CarryFault CarryOver(const ControlBlock& kept, uint32_t process, int32_t pid, ControlBlock& to,
                     SlotPlaces* places);

}  // namespace coz::shared

#endif  // COZ_SHARED_CARRY_OVER_H_
