// Counts calls of functions in a running program by changed code, as many as there are counters.
//
// The program runs with the runtime in it, which changes the code with its next sample. So a
// function is counted some milliseconds after it was added, and Slices tells from when on.
//
// Shape    functions come one after the other and are taken away together
// Units    visits; ns of CLOCK_MONOTONIC
// Errors   a function that a process refuses to change is told once, by its number
// Threads  compatible
// Signals  none
// Source   docs/design/points.md, "By changed code"
#ifndef COZ_SUPERVISOR_POINTS_CODE_COUNTERS_H_
#define COZ_SUPERVISOR_POINTS_CODE_COUNTERS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "coz/points/point_rating.h"
#include "coz/shared/control_block.h"
#include "coz/supervisor/points/patched_places.h"
#include "coz/supervisor/target/tree_members.h"

namespace coz::supervisor {

class CodeCounters {
 public:
  explicit CodeCounters(shared::ControlBlock* control) : control_(*control) {}

  // The program runs already.
  void SetLate(const LateProcess& late) { patched_.SetLate(late); }

  // The function's number; nothing where all counters are taken.
  std::optional<size_t> Add(const std::string& name, const PlaceInFile& place,
                            const PlacePlans& plans);

  // Asks the program's processes for changes and takes their answers. Returns the numbers of
  // functions that a process refuses to change, whose counts are not whole.
  std::vector<size_t> Poll();
  // Why the last of them was refused; empty: none was.
  const std::string& why_refused() const { return why_refused_; }

  // By number: the calls since the last time, where the function has been counted since then in all
  // processes.
  std::vector<std::optional<points::VisitSlice>> TakeSlices();

  void RemoveAll();
  // Whether all code is as it was asked for.
  bool IsSettled() const { return patched_.IsSettled(); }

 private:
  struct Counter {
    size_t place = 0;  // in patched_
    uint32_t slot = kNoSlot;
    uint64_t since_ns = 0;  // of the slice; 0: it is not counted yet
    uint64_t visits = 0;    // by then
  };
  uint64_t Read(const Counter& counter) const;

  shared::ControlBlock& control_;
  TreeMembers members_;
  PatchedPlaces patched_;
  std::vector<Counter> counters_;
  std::string why_refused_;
};

}  // namespace coz::supervisor

#endif  // COZ_SUPERVISOR_POINTS_CODE_COUNTERS_H_
