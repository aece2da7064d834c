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
#include "coz/patch/stub_space.h"

namespace coz::patch {

// No stub of this plan takes more.
size_t MostStubBytes(const PlacePlan& plan);

// Of the jump's distance: an int3 wherever a displaced instruction begins, and the bytes that the
// jump shares. An int3's stub may lie at any distance.
GivenBytes GivenInDistance(const PlacePlan& plan);

// Takes the address of a stub for the plan at this place.
std::optional<uint64_t> TakeStub(const PlacePlan& plan, uint64_t address, StubSpace* space);

std::optional<CodePatch> BuildPatch(const PlacePlan& plan, uint64_t address, uint64_t stub,
                                    const CounterPlace& counter, uint64_t semaphore = 0,
                                    const CallEdge& edge = {});

}  // namespace coz::patch

#endif  // COZ_PATCH_PATCH_BUILDER_H_
