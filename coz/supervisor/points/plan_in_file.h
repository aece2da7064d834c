// Decides by a binary's file how visits to a place in it may be counted by changed code.
//
// Shape    one place
// Units    offsets in the file
// Errors   `best` holds the sentence where the place's code is not to be changed
// Threads  safe
// Signals  none
// Source   docs/design/points.md, "By changed code"
#ifndef COZ_SUPERVISOR_POINTS_PLAN_IN_FILE_H_
#define COZ_SUPERVISOR_POINTS_PLAN_IN_FILE_H_

#include <optional>
#include <string>

#include "coz/patch/place_plan.h"
#include "coz/points/code_places.h"

namespace coz::supervisor {

// How the place may be counted; `best` holds the sentence where it may not.
struct PlacePlans {
  patch::PlacePlan best;
  // Where a jump is best that shares no bytes, and one that does is possible too.
  std::optional<patch::PlacePlan> by_shared_jump;
  // Where a jump is best, and an int3 is possible too.
  std::optional<patch::PlacePlan> by_trap;
};
// Whether it is a library that blocks signals inside, or that the runtime's own handler calls.
// There no thread may come to an int3, and so no code is changed while threads run.
bool MayBlockSigtrap(const std::string& file);

PlacePlans PlanInFile(const std::string& file, const points::CodePlace& place,
                      bool has_restartable_code);

}  // namespace coz::supervisor

#endif  // COZ_SUPERVISOR_POINTS_PLAN_IN_FILE_H_
