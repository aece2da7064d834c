// Counts how often threads of another process pass a place in its code, from outside: by a hardware
// breakpoint that the kernel counts, or by a probe (uprobe).
//
// A breakpoint's counter is opened on the process's threads and inherited by every thread they
// create; the kernel adds the counts of ended threads to it, so that one read gives the exact
// number at any moment, without a descriptor or an instruction in the process. Four at a time fit a
// thread (x86's debug registers). A probe's counters are opened per CPU and for all processes that
// run the file, for probes that threads inherit lose counts when these end (Linux 6.18), and every
// end waits long for the kernel. They need privileges, but there may be any number. `bench/points`
// measures what a visit costs.
//
// Shape    one counter for one place
// Units    visits since it was opened; runtime addresses; offsets in the file
// Errors   PERMISSION_DENIED, RESOURCE_EXHAUSTED (no free debug register), UNAVAILABLE (machine or
//          kernel has none), NOT_FOUND (the process is gone); each one sentence with what to do
// Threads  compatible
// Signals  not safe
// Source   perf_event_open(2); kernel/events/hw_breakpoint.c; kernel/trace/trace_uprobe.c
#ifndef COZ_POINTS_VISIT_COUNTER_H_
#define COZ_POINTS_VISIT_COUNTER_H_

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "coz/base/unique_fd.h"
#include "coz/points/cpu_list.h"

namespace coz::points {

inline constexpr int kBreakpoints = 4;  // debug registers of x86
// CPUs may fetch such a part of the code slowly where it has a breakpoint anywhere: so many bytes,
// from a multiple of them on.
inline constexpr uint64_t kBreakpointVicinity = 64;

class VisitCounter {
 public:
  // In all threads that the process has now, and in all that these create; in its children by fork,
  // too, where `with_children`. Counts nothing before Arm.
  static absl::StatusOr<VisitCounter> ForBreakpoint(pid_t process, bool with_children);
  // Counts from now on, in every process that runs the code at `offset` of the file, on these of
  // the CPUs.
  static absl::StatusOr<VisitCounter> ForProbe(const std::string& file, uint64_t offset,
                                               const std::vector<int>& cpus = PossibleCpus());

  // Breakpoints only: counts visits to the runtime address from now on.
  absl::Status Arm(uint64_t address);
  // Breakpoints only: counts nothing until it is armed again.
  void Disarm();

  uint64_t Read() const;

  // The visits are the sum of what is read from these.
  std::vector<int> Descriptors() const;

 private:
  absl::Status OpenInThreads(const std::vector<pid_t>& threads);

  std::vector<UniqueFd> events_;
  bool with_children_ = false;
};

// Whether breakpoints can be counted: some visits of this process to a breakpoint of its own.
absl::Status CheckBreakpoints();
absl::Status CheckProbes(const std::string& file, uint64_t offset);

// What one visit costs a thread, in ns, measured on this process; 0 where it cannot be measured.
double MeasureBreakpointCostNs();
double MeasureProbeCostNs();
// How many times as long a short loop takes that shares kBreakpointVicinity with a breakpoint,
// though none of its instructions has it, measured on this process. 1 where the CPU does not mind,
// or where it cannot be measured.
double MeasureBreakpointSlowdown();

}  // namespace coz::points

#endif  // COZ_POINTS_VISIT_COUNTER_H_
