// Decides how visits to a place in machine code can be counted by changing the code.
//
// Shape    one place: a jump to a stub where five bytes may move, else one that displaces less and
//          shares the bytes behind, else an int3, else none of them. A system call instruction gets
//          a jump or none
// Units    offsets from the beginning of the function's code; bytes
// Errors   Way::kNone with a sentence
// Threads  safe
// Signals  not safe
// Source   docs/design/patching.md
#ifndef COZ_PATCH_PLACE_PLAN_H_
#define COZ_PATCH_PLACE_PLAN_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "coz/patch/code_patch.h"

namespace coz::patch {

struct PlaceInCode {
  const uint8_t* code;    // of the function, of the padding behind it, and of what follows
  size_t function_bytes;  // 0: its end is not known
  size_t room;            // to the next function, at least function_bytes
  size_t offset;          // of the place
  size_t behind = 0;      // bytes that are known behind the room
};

// What may be done in the binary that the code is of.
struct PlanLimits {
  bool allow_jump = true;
  bool allow_five_bytes = true;  // false: a jump only where it shares bytes
  bool allow_trap = true;
  // A jump even where others lead to displaced instructions, each of which meets an int3. For a
  // probe that is jumped over only while nobody counts.
  bool allow_entries = false;
};

struct PlacePlan {
  Way way = Way::kNone;
  std::string why_no_jump;  // a sentence, where five bytes may not move
  std::string why_none;
  // Of the first byte to change: the place, or the instruction behind its endbr64.
  size_t offset = 0;
  // Of the jump's last bytes: they are what stands there, and stay.
  size_t shared_bytes = 0;
  std::vector<uint8_t> original;     // the bytes there: all that are displaced, changed or shared
  std::vector<uint8_t> displaced;    // whole instructions
  std::vector<size_t> instructions;  // where each displaced one begins, in `displaced`
  bool goes_on = true;               // behind the displaced bytes
  bool no_entry_inside = false;      // all code that may lead there is known; no bytes are shared
  bool keeps_flags = false;          // the stub has to
  bool keeps_red_zone = false;       // the same
  bool pushes_return_address = false;
  bool replaces_call = false;  // the first displaced instruction is a system call, and has no copy
};

PlacePlan PlanPlace(const PlaceInCode& place, const PlanLimits& limits);

// For a place that is a system call instruction, which a routine is to make in its place.
PlacePlan PlanSystemCall(const PlaceInCode& place);

}  // namespace coz::patch

#endif  // COZ_PATCH_PLACE_PLAN_H_
