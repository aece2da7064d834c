// Where the calls of a function end, so that changed code can time them.
//
// Shape    every end of the code that lies at a place; each has a plan for its change
// Units    offsets in the file
// Errors   a clause where not all ends can be changed
// Threads  safe
// Signals  none
// Source   coz/patch/function_ends.h
#ifndef COZ_SUPERVISOR_POINTS_TIMED_ENDS_H_
#define COZ_SUPERVISOR_POINTS_TIMED_ENDS_H_

#include <string>
#include <vector>

#include "coz/patch/code_patch.h"
#include "coz/supervisor/points/place_in_file.h"
#include "coz/supervisor/points/plan_in_file.h"

namespace coz::supervisor {

struct TimedEnd {
  PlaceInFile place;
  PlacePlans plans;
  patch::FrameRule frame;
  bool is_jump;  // to another function, whose time is not in that of the call
};

// Whether one of them is a jump.
bool EndsInJump(const std::vector<TimedEnd>& ends);

// Adds them to `ends`.
std::string FindTimedEnds(const PlaceInFile& place, bool has_restartable_code,
                          std::vector<TimedEnd>* ends);

}  // namespace coz::supervisor

#endif  // COZ_SUPERVISOR_POINTS_TIMED_ENDS_H_
