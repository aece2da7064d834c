// The breakpoints that count the places of one progress point in all processes that run one
// program: the one that began it, and its children by fork.
//
// Children inherit the first process's breakpoints, at one address for all: where the place lies in
// the first, or else in most of the others. Children that open a library after fork mostly have it
// at the same address. Those that have it elsewhere get breakpoints of their own.
//
// Shape    Set as often as libraries may have come or gone; counts are kept when processes end
// Units    visits; runtime addresses; ns of CLOCK_MONOTONIC
// Errors   as VisitCounter; where one place fails the others are set
// Threads  compatible
// Signals  none
// Source   coz/points/visit_counter.h; docs/progress-points.md
#ifndef COZ_TOOLS_SUPERVISOR_IMAGE_BREAKPOINTS_H_
#define COZ_TOOLS_SUPERVISOR_IMAGE_BREAKPOINTS_H_

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "coz/points/code_places.h"
#include "coz/points/visit_counter.h"
#include "coz/supervisor/points/place_in_file.h"
#include "coz/supervisor/target/mapped_code.h"

namespace coz::supervisor {

class ImageBreakpoints {
 public:
  // `first` has begun the program, and waits.
  ImageBreakpoints(pid_t first, uint32_t image, bool with_children)
      : first_(first), image_(image), with_children_(with_children) {}

  uint32_t image() const { return image_; }

  // Reserves a breakpoint, in all threads and children to come, for the first place that loads
  // later.
  absl::Status Reserve();
  // Counts the places where they lie in `processes`, which are all that run the program, and
  // nowhere else. `places` only grows.
  absl::Status Set(const std::vector<PlaceInFile>& places,
                   const std::vector<ImageProcess>& processes);

  uint64_t Read() const;
  // Whether there has been anything to count.
  bool was_set() const { return was_set_; }
  bool has_room() const { return !shared_.empty(); }
  std::vector<uint64_t> AddressesIn(pid_t process) const;
  // The visits are visits_before() plus what is read from these.
  std::vector<int> Descriptors() const;
  uint64_t visits_before() const { return visits_before_; }

 private:
  static constexpr size_t kNoPlace = ~size_t{0};
  struct Breakpoint {
    pid_t pid;  // of which process with its children, or alone
    size_t place = kNoPlace;
    uint64_t address = 0;   // 0: counts nothing
    uint64_t since_ns = 0;  // older processes do not have it; 0: all do
    points::VisitCounter counter;
  };
  using Addresses = std::vector<uint64_t>;  // of one place, by process; 0 where it is not loaded

  absl::Status SetPlace(size_t place, const Addresses& addresses,
                        const std::vector<ImageProcess>& processes);
  // The breakpoint of all processes for this place; nullptr where there is none and none can be
  // made.
  Breakpoint* Shared(size_t place, bool is_in_first, absl::Status* status);
  // Where to set it: never where a process has other code; 0: nowhere.
  uint64_t CommonAddress(const Addresses& addresses, uint64_t until_now,
                         const std::vector<ImageProcess>& processes) const;
  uint64_t AddressUntilNow(size_t place, pid_t process) const;
  absl::Status SetOwn(pid_t process, size_t place, uint64_t address);
  void DropOwn(pid_t process, size_t place);
  void DropOwnOfEnded(const std::vector<ImageProcess>& processes);
  absl::Status Move(Breakpoint* breakpoint, uint64_t address);

  pid_t first_;
  uint32_t image_;
  bool with_children_;
  bool was_set_ = false;
  std::vector<Breakpoint> shared_;
  std::vector<Breakpoint> own_;
  uint64_t visits_before_ = 0;  // of breakpoints that are no more
};

}  // namespace coz::supervisor

#endif  // COZ_TOOLS_SUPERVISOR_IMAGE_BREAKPOINTS_H_
