// Has processes change the places where a program makes system calls itself, and where it switches
// between threads of its own, so that the runtime sees its waits.
//
// Shape    Go's programs: the functions of its runtime and its package syscall that hold system
//          call instructions, and those of its scheduler. They are found in the program's file when
//          it is first seen
// Units    ns of CLOCK_MONOTONIC
// Errors   warnings, one for each program: its waits are not seen
// Threads  compatible
// Signals  none
// Source   docs/design/goroutines.md
#ifndef COZ_SUPERVISOR_POINTS_OWN_CALLS_H_
#define COZ_SUPERVISOR_POINTS_OWN_CALLS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "coz/shared/control_block.h"
#include "coz/supervisor/points/look_pace.h"
#include "coz/supervisor/points/patched_places.h"
#include "coz/supervisor/points/place_in_file.h"
#include "coz/supervisor/points/plan_in_file.h"
#include "coz/supervisor/points/seen_images.h"
#include "coz/supervisor/target/tree_members.h"

namespace coz::supervisor {

struct OwnCall {
  PlaceInFile place;
  PlacePlans plans;
  PlaceEdge edge;
  bool is_needed = false;  // by the scheduler's other moments
};
// Those of the program in this file, with all that Go's scheduler needs or nothing of that. `why`:
// a clause where something is missing.
std::vector<OwnCall> FindOwnCalls(const std::string& path, std::string* why);

class OwnCalls {
 public:
  void SetLate(const LateProcess& late) { patched_.SetLate(late); }

  // A process that makes calls itself waits at its start for what this does. `releases`: nobody
  // else tells it to go on.
  void Poll(shared::ControlBlock& control, uint64_t now_ns, bool releases);

  // Problems since the last call.
  std::vector<std::string> TakeWarnings() { return std::exchange(warnings_, {}); }

 private:
  // Returns its real path, or nothing where the process has ended.
  std::string LookInProgram(const ImageProcess& process);
  void WarnOf(const std::vector<PatchedPlaces::Refused>& refused);

  PatchedPlaces patched_;
  // By file: the places of the scheduler, without all of which none is of use.
  std::map<std::string, std::vector<size_t>> moments_;
  std::set<std::string> warned_of_;  // files
  SeenImages seen_images_;
  TreeMembers members_;
  LookPace look_pace_;
  std::vector<std::string> warnings_;
};

}  // namespace coz::supervisor

#endif  // COZ_SUPERVISOR_POINTS_OWN_CALLS_H_
