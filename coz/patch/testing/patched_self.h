// Lets a test or benchmark count visits in its own process.
//
// Shape    counters of each thread, a stub space of this process, a handler of SIGTRAP
// Units    visits; runtime addresses
// Errors   nothing where there is no address for a stub
// Threads  PatchFor: one at a time; the rest: safe
// Signals  the handler is the patcher's
// Source   docs/design/patching.md
#ifndef COZ_PATCH_TESTING_PATCHED_SELF_H_
#define COZ_PATCH_TESTING_PATCHED_SELF_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "coz/patch/code_patch.h"
#include "coz/patch/place_plan.h"

namespace coz::patch::self {

inline constexpr size_t kCounters = 16;

// Where the calling thread counts. A thread that sets nothing, or null, shares the process's.
void CountIn(uint64_t* counters);
uint64_t SharedVisits(size_t counter);
CounterPlace CounterOf(size_t counter);

// SIGTRAPs of int3s are taken. Others end the program, or reach `foreign`.
void HandleTraps(void (*foreign)(int) = nullptr);

// Counts ends, of begins that the second counts.
CounterPlace CounterOfEnds(size_t ends, size_t begins, size_t without_begin);

std::optional<CodePatch> PatchFor(const PlacePlan& plan, uint64_t address,
                                  const CounterPlace& counter, uint64_t semaphore = 0,
                                  const CallEdge& edge = {});
std::optional<CodePatch> PatchFor(const PlacePlan& plan, uint64_t address, size_t counter);

}  // namespace coz::patch::self

#endif  // COZ_PATCH_TESTING_PATCHED_SELF_H_
