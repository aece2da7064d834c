// Suspends the sampling of all profiled processes, and resumes it. In between, the program runs as
// it would without sampling.
//
// Shape    one for a run; its destructor resumes what is suspended
// Units    none
// Errors   Suspend: false, and nothing is suspended. Either samples come from another source than
//          inherited perf events, or a process's descriptors cannot be had (a seccomp filter
//          without pidfd_getfd; another user's process)
// Threads  compatible
// Signals  none in the program: no thread of it is interrupted
// Source   coz/sampler/shared_event.h; pidfd_getfd(2)
#ifndef COZ_SUPERVISOR_TARGET_SAMPLING_SWITCH_H_
#define COZ_SUPERVISOR_TARGET_SAMPLING_SWITCH_H_

#include <functional>
#include <map>
#include <utility>

#include "coz/base/unique_fd.h"
#include "coz/shared/control_block.h"
#include "coz/supervisor/target/tree_members.h"

namespace coz::supervisor {

class SamplingSwitch {
 public:
  explicit SamplingSwitch(shared::ControlBlock* control) : control_(*control) {}
  SamplingSwitch(const SamplingSwitch&) = delete;
  SamplingSwitch& operator=(const SamplingSwitch&) = delete;
  ~SamplingSwitch();

  // For a process whose events are this one's: `set` switches them on or off.
  void SetOwnEvents(std::function<void(bool on)> set) { set_own_events_ = std::move(set); }

  // From now on clocks of the CPUs sample all processes: `set` switches them on or off. Not while
  // sampling is suspended.
  void SetClocks(std::function<void(bool on)> set) { set_clocks_ = std::move(set); }

  bool Suspend();
  void Resume();
  bool is_suspended() const { return suspended_; }

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
  std::function<void(bool on)> set_own_events_;
  std::function<void(bool on)> set_clocks_;
  bool suspended_ = false;
  TreeMembers members_;
  // By process slot, while suspended: a process may change its user meanwhile.
  std::map<uint32_t, Copy> copies_;
};

}  // namespace coz::supervisor

#endif  // COZ_SUPERVISOR_TARGET_SAMPLING_SWITCH_H_
