// Point slots of the control block for places that changed code counts.
//
// Shape    one slot for each name that is asked for. Marks of the program take slots of the same
//          table meanwhile
// Units    slot indices
// Errors   kNoSlot: the table is full
// Threads  safe
// Signals  none
// Source   coz/shared/points.h
#ifndef COZ_SUPERVISOR_POINTS_PLACE_SLOTS_H_
#define COZ_SUPERVISOR_POINTS_PLACE_SLOTS_H_

#include <cstdint>
#include <string>

#include "coz/shared/control_block.h"

namespace coz::supervisor {

inline constexpr uint32_t kNoSlot = ~uint32_t{0};

// A slot, or kNoSlot. In a process that coz attaches to again that is the one which the name had,
// so that code which was changed before fits again; else one that nobody had, or that of another
// name.
uint32_t TakePlaceSlot(const std::string& name, shared::ControlBlock* control);

}  // namespace coz::supervisor

#endif  // COZ_SUPERVISOR_POINTS_PLACE_SLOTS_H_
