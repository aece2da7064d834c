// Takes what threads of a process know by address from one control block into the next.
//
// A process may be attached to and detached from again and again. Its threads keep addresses into
// the block meanwhile: of their ledger, of counters of marks, of what they compare after a wait
// that has lasted since. So each block of a process lies where its first one lay, and begins with
// the slots and points of the one before.
//
// Shape    copies thread slots, points and the ledger; all else of `to` stays as it is
// Units    none
// Errors   none
// Threads  what threads of the process write meanwhile may be lost: some visits
// Signals  async-signal-safe
// Source   docs/design/attach.md
#ifndef COZ_SHARED_CARRY_OVER_H_
#define COZ_SHARED_CARRY_OVER_H_

#include "coz/shared/control_block.h"

namespace coz::shared {

// Virtual time goes on from where it was, nobody owes anything, and counts of visits and payments
// begin at 0. Samples that are under way belong to none of both.
void CarryOver(const ControlBlock& from, ControlBlock& to);

}  // namespace coz::shared

#endif  // COZ_SHARED_CARRY_OVER_H_
