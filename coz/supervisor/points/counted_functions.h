// Functions whose calls are counted for each thread, or timed too, and that are no progress points;
// of libraries also by caller.
//
// Shape    found in the program before it starts, in libraries when they are mapped; each function
//          of a glob has a counter of its own. Processes count by changed code alone
// Units    calls, in the counters of thread slots
// Errors   Prepare: what can be known before the program runs, one sentence with the option. Later:
//          warnings, the program runs on
// Threads  compatible
// Signals  none
// Source   docs/threads.md; docs/design/patching.md
#ifndef COZ_SUPERVISOR_POINTS_COUNTED_FUNCTIONS_H_
#define COZ_SUPERVISOR_POINTS_COUNTED_FUNCTIONS_H_

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "coz/points/code_places.h"
#include "coz/points/point_spec.h"
#include "coz/shared/control_block.h"
#include "coz/supervisor/points/api_functions.h"
#include "coz/supervisor/points/look_pace.h"
#include "coz/supervisor/points/patched_places.h"
#include "coz/supervisor/points/place_in_file.h"
#include "coz/supervisor/points/refused_calls.h"
#include "coz/supervisor/points/seen_images.h"
#include "coz/supervisor/points/timed_ends.h"
#include "coz/supervisor/target/live_target.h"
#include "coz/supervisor/target/tree_members.h"

namespace coz::supervisor {

struct CountedFunctionOptions {
  std::vector<std::string> count;      // as for --progress
  std::vector<std::string> time;       // the same, of functions whose calls are timed too
  std::vector<std::string> api;        // LIBRARY or LIBRARY:FUNCTION, by caller
  std::vector<std::string> points;     // places that are progress points
  std::vector<std::string> latencies;  // latency points of calls into libraries
  std::string runtime_library;         // no BINARY matches it
};

class CountedFunctions {
 public:
  // `program` is the executable, or a launcher that becomes one by exec.
  static absl::StatusOr<std::unique_ptr<CountedFunctions>> Prepare(
      const CountedFunctionOptions& options, const std::string& program, bool is_launcher);

  // Where there are any, programs that attach have to wait for Poll.
  bool empty() const { return specs_.empty() && api_.empty(); }

  // Before anything else, where the program runs already.
  void SetLate(const LateProcess& late) { patched_.SetLate(late); }

  // Before the program starts, behind the points that have taken theirs: takes point slots.
  void TakeSlots(shared::ControlBlock* control);

  // Adds the latency points of calls to the target, which then asks for their counts.
  void AddTo(const shared::ControlBlock* control, LiveTarget* target) const;

  // `releases`: nobody else tells programs to go on.
  void Poll(shared::ControlBlock& control, uint64_t now_ns, bool releases);

  // Problems since the last call.
  std::vector<std::string> TakeWarnings();
  // Of functions that were never found, a sentence each.
  std::vector<std::string> Missing() const;

 private:
  struct Spec {
    points::PointSpec spec;
    bool is_timed = false;
    bool was_found = false;
    std::string why_missing;
  };
  // One column: a function, with all places of its name.
  struct Function {
    std::string name;
    std::vector<PlaceInFile> places;
    std::vector<PlacePlans> plans;
    bool is_timed = false;
    std::vector<TimedEnd> ends;  // of all its places
    uint32_t slot = kNoSlot;
  };

  static absl::Status Parse(const std::vector<std::string>& texts, bool is_timed,
                            std::vector<Spec>* specs);

  absl::Status ResolveInProgram(Spec* spec, const std::vector<std::string>& points);
  absl::Status AddFunctions(const std::string& path, const points::CodePlaces& binary,
                            const std::vector<points::CodePlace>& found, const Spec& spec,
                            std::vector<size_t>* added);
  void AddPlace(const PlaceInFile& place, PlacePlans plans, bool is_timed,
                bool has_restartable_code, Function* function);
  void TakeSlot(shared::ControlBlock* control, Function* function);
  void AddPatches(shared::ControlBlock* control, const Function& function);
  void FindInLibraries(shared::ControlBlock* control, const ImageProcess& process);
  void LookForApi(shared::ControlBlock* control, const std::string& path);
  void LookInFile(shared::ControlBlock* control, const std::string& path, bool is_program);
  void WarnOfRefused(const std::vector<PatchedPlaces::Refused>& refused);
  void Warn(const std::string& sentence);

  std::string program_;
  std::string runtime_library_;
  bool is_launcher_ = false;
  bool may_come_later_ = false;  // in binaries that are mapped while the program runs
  std::vector<Spec> specs_;
  ApiFunctions api_;
  std::vector<Function> functions_;
  PatchedPlaces patched_;
  std::vector<RefusedCalls> refusals_;  // without why, by the number of the patched place
  uint32_t timed_ = 0;                  // functions
  std::set<std::string> seen_files_;
  SeenImages seen_images_;
  TreeMembers members_;
  LookPace look_pace_;
  std::vector<std::string> warnings_;
  std::set<std::string> warned_of_;
};

}  // namespace coz::supervisor

#endif  // COZ_SUPERVISOR_POINTS_COUNTED_FUNCTIONS_H_
