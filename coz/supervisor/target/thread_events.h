// The perf events by which a process is sampled from outside, after it has started: one for each of
// its threads, which threads that they create inherit.
//
// All are this process's. So the other one has no descriptor of them, and when this one ends, for
// whatever reason, the samples end too.
//
// Shape    Open, Enable, LookForThreads; the destructor closes all
// Units    ns of thread CPU time
// Errors   Open: what keeps events from being opened, with the next command. Later: a thread
//          without an event is counted
// Threads  compatible
// Signals  none
// Source   perf_event_open(2); coz/sampler/perf_event.h
#ifndef COZ_SUPERVISOR_TARGET_THREAD_EVENTS_H_
#define COZ_SUPERVISOR_TARGET_THREAD_EVENTS_H_

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "coz/base/unique_fd.h"
#include "coz/sampler/clock_expiry.h"
#include "coz/sampler/sampler_status.h"

namespace coz::supervisor {

class ThreadEvents {
 public:
  // One event for each thread that there is, still disabled. Time in the kernel is left out where
  // it is not wanted or not permitted.
  absl::Status Open(pid_t pid, uint64_t sampling_period_ns, bool exclude_kernel);
  // The same by clocks of the CPUs, which this process keeps (cpu_clock.h).
  absl::Status OpenForClocks(pid_t pid, const sampler::ClockExpiry& expiry);

  // From here on the process has to handle the signals.
  void Enable();
  void Disable();
  // Finds threads that were created before their creator had an event, and those that have blocked
  // the signal for a moment only. Call it until it returns false, for a while: none was found.
  bool LookForThreads();
  void Close() { events_.clear(); }

  const sampler::SamplerStatus& status() const { return status_; }
  size_t count() const { return events_.size(); }
  // Names of the threads that have blocked the signal at the last look.
  const std::vector<std::string>& blocking() const { return blocking_; }

 private:
  int OpenFor(pid_t tid);

  pid_t pid_ = 0;
  uint64_t sampling_period_ns_ = 0;
  bool exclude_kernel_ = false;
  std::optional<sampler::ClockExpiry> expiry_;
  bool enabled_ = false;
  std::vector<std::string> blocking_;
  sampler::SamplerStatus status_;
  std::map<pid_t, UniqueFd> events_;  // no event: the thread blocks the signal, or has ended
};

}  // namespace coz::supervisor

#endif  // COZ_SUPERVISOR_TARGET_THREAD_EVENTS_H_
