// Builds the bytes of a change: the stub, and what is stored at the place.
//
// Shape    for one place in one process, at a stub address that fits (stub_space.h)
// Units    runtime addresses; bytes
// Errors   nothing where an operand would be out of the stub's reach
// Threads  safe
// Signals  not safe
// Source   docs/design/patching.md
#ifndef COZ_PATCH_PATCH_BUILDER_H_
#define COZ_PATCH_PATCH_BUILDER_H_

#include <cstddef>
#include <cstdint>
#include <optional>

#include "coz/patch/code_patch.h"
#include "coz/patch/place_plan.h"

namespace coz::patch {

// No stub of this plan takes more.
size_t MostStubBytes(const PlacePlan& plan);

// Which of the four bytes of the jump's distance have to be an int3, a bit for each, lowest first:
// those where a displaced instruction begins.
uint32_t TrapsInDistance(const PlacePlan& plan);

std::optional<CodePatch> BuildPatch(const PlacePlan& plan, uint64_t address, uint64_t stub,
                                    const CounterPlace& counter, uint64_t semaphore = 0,
                                    const CallEdge& edge = {});

}  // namespace coz::patch

#endif  // COZ_PATCH_PATCH_BUILDER_H_
