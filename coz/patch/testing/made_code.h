// Functions that a test makes of bytes, runs, and changes.
//
// Shape    a page of code; what a function leaves in registers and flags, for several starts
// Units    bytes; addresses of this process
// Errors   none: they end the test
// Threads  one at a time
// Source   docs/design/patching.md
#ifndef COZ_PATCH_TESTING_MADE_CODE_H_
#define COZ_PATCH_TESTING_MADE_CODE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "coz/patch/place_plan.h"

namespace coz::patch::made {

using Bytes = std::vector<uint8_t>;
using Function = uint64_t (*)(uint64_t);

struct State {
  uint64_t rax, rbx, rcx, rdx, rsi, rdi, rbp, r8, r9, r10, r11, r12, r13, r14, r15, flags;
};
static_assert(sizeof(State) == 128);

// Registers to begin with; rdi points into memory.
State StartState(uint64_t seed, uint64_t flags);
// Calls the function with these registers and flags, and leaves in them what it has made of them.
extern "C" void RunInState(State* state, const void* function);
// What it leaves for several starts.
std::vector<State> RunAll(const uint8_t* function);
bool IsEqual(const std::vector<State>& a, const std::vector<State>& b);

// Each function is on so many bytes of its own, with int3s behind.
inline constexpr size_t kFunctionBytes = 128;
// Makes one, which stays. It lies far from all that the system maps, so that a jump may lead to any
// address in its reach.
uint8_t* Add(const Bytes& code);

// kSharedJump: displaces less than five bytes, and shares those that follow.
enum class Kind { kJump, kSharedJump, kTrap };

Kind KindOf(const PlacePlan& plan);
std::string NameOf(Kind kind);
// For the instruction at `offset` of a function of so many bytes.
PlacePlan PlanFor(const uint8_t* code, size_t bytes, size_t offset, Kind kind);

// push rbx; mov rbx,rdi; lea rax,[rbx+42]; pop rbx; ret: three instructions within the jump.
inline const Bytes kAddsFortyTwo = {0x53, 0x48, 0x89, 0xfb, 0x48, 0x8d, 0x43, 42, 0x5b, 0xc3};

}  // namespace coz::patch::made

#endif  // COZ_PATCH_TESTING_MADE_CODE_H_
