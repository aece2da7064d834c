// Functions of libraries whose calls from outside are counted and timed by caller: which ones are
// asked for, and where they are in a library.
//
// Shape    a pattern LIBRARY or LIBRARY:FUNCTION, both globs; a library is looked at once, when it
//          is first mapped. Functions are numbered in the control block
// Units    offsets in the file
// Errors   Prepare: one sentence with the option. Later: warnings, one for each library
// Threads  compatible
// Signals  none
// Source   docs/libraries.md; docs/design/calls-into-libraries.md
#ifndef COZ_SUPERVISOR_POINTS_API_FUNCTIONS_H_
#define COZ_SUPERVISOR_POINTS_API_FUNCTIONS_H_

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "coz/points/code_places.h"
#include "coz/shared/control_block.h"
#include "coz/supervisor/points/patched_places.h"
#include "coz/supervisor/points/place_in_file.h"
#include "coz/supervisor/points/plan_in_file.h"
#include "coz/supervisor/points/timed_ends.h"

namespace coz::supervisor {

// Before the pattern, of a progress point.
inline constexpr char kApiPrefix[] = "api:";

struct ApiPattern {
  std::string text;      // as typed
  std::string library;   // a glob
  std::string function;  // a glob; empty: every one
};

// Whether a text after --latency is a point of calls, and no pair.
bool IsCallLatency(const std::string& text);

// INVALID_ARGUMENT where the text names no library.
absl::StatusOr<ApiPattern> ParseApiPattern(absl::string_view text);

// "libz.so" is "/usr/lib/libz.so.1.3" too.
bool IsLibrary(const ApiPattern& pattern, const std::string& path);

class ApiFunctions {
 public:
  // A place of a function that is to be changed.
  struct Place {
    std::string function;  // "libz.so.1!deflate"
    PlaceInFile in_file;
    PlacePlans plans;
    PlaceEdge edge;
  };

  struct Points {
    std::vector<std::string> progress;   // of which those of calls into libraries are taken
    std::vector<std::string> latencies;  // as IsCallLatency has them
  };
  // `times`: the ends of calls are wanted too, as they are for latencies.
  absl::Status Prepare(const std::vector<std::string>& patterns, const Points& points, bool times);
  bool empty() const { return asked_.empty(); }
  // By the index of their sums.
  const std::vector<std::string>& latencies() const { return latencies_; }

  // What is to be changed in this library; the slots of progress points are there already.
  std::vector<Place> LookInFile(shared::ControlBlock* control, const std::string& path);

  // Problems since the last call.
  std::vector<std::string> TakeWarnings();
  // Of patterns that matched no function, a sentence each. `loaded`: paths of all that was.
  std::vector<std::string> Missing(const std::set<std::string>& loaded) const;

 private:
  struct Asked {
    ApiPattern pattern;
    std::string point;     // its name; empty: it is none
    uint32_t latency = 0;  // as in shared::LatencyMoment
    bool has_library = false;
    bool has_function = false;
    std::string passed_over;  // file name of a library of the system that only a whole name means
  };
  struct Function {
    points::CodePlaces::Function code;
    uint32_t point = 0;  // as in shared::ApiFunction
    uint32_t latency = 0;
  };

  // Names of functions of a library.
  struct LeftOut {
    std::set<std::string> calls;    // which are not counted
    std::set<std::string> no_room;  // the same
    std::set<std::string> latency;  // which are, and whose ends are not seen
  };

  absl::Status Ask(const std::string& option, const std::string& text, uint32_t latency);
  std::vector<Function> FindAsked(const shared::ControlBlock& control,
                                  const points::CodePlaces& binary, const std::string& path,
                                  LeftOut* left_out);
  std::vector<TimedEnd> EndsOf(const PlaceInFile& entry, const PlacePlans& plans,
                               bool has_restartable_code) const;
  void AddFunction(shared::ControlBlock* control, const Function& function,
                   const points::CodePlaces& binary, const std::string& path,
                   std::vector<Place>* places, LeftOut* left_out);
  void WarnOf(const LeftOut& left_out, const std::string& library);

  bool times_ = true;
  size_t places_ = 0;
  uint32_t count_ = 0;  // of ApiFunctions
  std::vector<Asked> asked_;
  std::vector<std::string> latencies_;
  std::vector<std::string> warnings_;
};

}  // namespace coz::supervisor

#endif  // COZ_SUPERVISOR_POINTS_API_FUNCTIONS_H_
