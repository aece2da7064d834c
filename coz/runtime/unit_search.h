// Which unit a place of the program belongs to, or the first of its callers that has one.
//
// Shape    functions on the process's one map of objects (runtime_state.h)
// Units    runtime addresses; numbers of units
// Errors   false where no unit is found; `unmapped` then says that some object has no answer yet
// Threads  safe
// Signals  async-signal-safe
// Source   docs/design.md, "The way of one sample"
#ifndef COZ_RUNTIME_UNIT_SEARCH_H_
#define COZ_RUNTIME_UNIT_SEARCH_H_

#include <ucontext.h>

#include <cstdint>

#include "coz/runtime/module_map.h"
#include "coz/shared/selection.h"
#include "coz/shared/thread_records.h"

namespace coz::runtime::runtime_internal {

struct UnitSearch {
  uint32_t unit = shared::kNoUnit;
  bool unmapped = false;
};

// The unit at an address of code that the process has compiled while it runs, as the supervisor has
// read in its perf map. kUnmapped where that knows nothing of it.
UnitLookup JitUnitAt(uint64_t lookup_address, uint32_t* unit);

// Whether `lookup_address` is in a unit. An InScopePredicate, whose argument is a UnitSearch.
bool IsInScope(uint64_t lookup_address, void* search);

// Walks from the registers of `context` outwards to the first address in a unit.
bool CallerInScope(const ucontext_t& context, UnitSearch* search);

// Makes `unit` what it is in the thread's group, where units are split by groups. False where the
// table has no room for that; then it counts `weight` samples as lost.
bool SplitByThreadGroup(const shared::ThreadRole& thread, uint64_t weight, uint32_t* unit);

}  // namespace coz::runtime::runtime_internal

#endif  // COZ_RUNTIME_UNIT_SEARCH_H_
