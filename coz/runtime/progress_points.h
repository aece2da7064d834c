// The progress points of the target, as slots of the control block.
//
// Shape    found by kind and name; slots are only ever added
// Units    slot indices
// Errors   table full or name too long for a slot: see each function
// Threads  safe, across processes too
// Signals  not strictly async-signal-safe: a thread may wait for another that is writing a slot
// Source   coz.h
#ifndef COZ_RUNTIME_PROGRESS_POINTS_H_
#define COZ_RUNTIME_PROGRESS_POINTS_H_

#include <cstddef>

#include "coz/shared/control_block.h"

namespace coz::runtime {

// The slot of the point, made on first use; null (and counted) when the table is full. A name is
// cut to its last kPointNameBytes - 1 bytes: paths differ at their end.
shared::PointSlot* FindOrAddPoint(shared::ControlBlock& control, shared::PointKind kind,
                                  const char* name);

// Adds every mark of coz.h in [begin, end), which is initialised data of a loaded object. So marks
// that are never visited are known too.
void AddPointsOfMarks(shared::ControlBlock& control, const void* begin, const void* end);

// Marks that were visited without the profiler ask for it no more. From now on those in [begin,
// end) ask again; or do not ask, for the profiler goes.
enum class MarksAsk { kAgain, kNoMore };
void LetMarksAsk(MarksAsk ask, void* begin, const void* end);

}  // namespace coz::runtime

#endif  // COZ_RUNTIME_PROGRESS_POINTS_H_
