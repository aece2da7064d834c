// Suspends the sampling of all profiled processes, so that the program runs as without it, and resumes it.
//
// Shape    one for a run; what has been suspended is resumed at the latest when it goes out of scope
// Units    none
// Errors   Suspend: false, with nothing suspended, where samples come from another source than inherited perf events, or a process's
//          descriptors may not be had (a seccomp filter without pidfd_getfd; another user's process)
// Threads  compatible
// Signals  none in the program: no thread of it is interrupted
// Source   coz/sampler/shared_event.h; pidfd_getfd(2)
#ifndef COZ_TOOLS_SUPERVISOR_SAMPLING_SWITCH_H_
#define COZ_TOOLS_SUPERVISOR_SAMPLING_SWITCH_H_

#include <map>

#include "coz/base/unique_fd.h"
#include "coz/shared/control_block.h"

namespace coz::supervisor {

class SamplingSwitch {
 public:
  explicit SamplingSwitch(shared::ControlBlock* control) : control_(*control) {}
  SamplingSwitch(const SamplingSwitch&) = delete;
  SamplingSwitch& operator=(const SamplingSwitch&) = delete;
  ~SamplingSwitch();

  bool Suspend();
  void Resume();

 private:
  // A duplicate of a process's event.
  struct Copy {
    int32_t pid;
    uint32_t image;
    int32_t fd_plus_1;  // its number there
    UniqueFd event;
  };
  enum class Access { kHad, kNone, kDenied };

  // Calls `change` with the event of each process that has one. False where one may not be had.
  template <typename Change>
  bool ForEachEvent(Change change);
  Access Take(const shared::ProcessSlot& process, uint32_t index);

  shared::ControlBlock& control_;
  bool suspended_ = false;
  std::map<uint32_t, Copy>
      copies_;  // by process slot, while suspended: a process may change its user meanwhile
};

}  // namespace coz::supervisor

#endif  // COZ_TOOLS_SUPERVISOR_SAMPLING_SWITCH_H_
