// The threads of a process for which it is to make CPU timers, by which it is then sampled. The
// process makes them itself for threads whose start it sees.
//
// Shape    Look fills a request, the process answers, NoteAnswer reads that; until Look finds none
// Units    none
// Errors   a thread for which the system refuses a timer is counted
// Threads  compatible
// Signals  none
// Source   docs/design/attach.md, "Samples"
#ifndef COZ_SUPERVISOR_TARGET_THREAD_TIMERS_H_
#define COZ_SUPERVISOR_TARGET_THREAD_TIMERS_H_

#include <sys/types.h>

#include <set>
#include <string>
#include <vector>

#include "coz/shared/control_block.h"

namespace coz::supervisor {

class ThreadTimers {
 public:
  explicit ThreadTimers(pid_t pid) : pid_(pid) {}

  // False: no thread needs one. One that the last look has not seen may be about to make its own.
  bool Look(shared::ControlBlock* control);
  void NoteAnswer(const shared::ControlBlock& control);

  size_t count() const { return timed_.size(); }
  // -errno of the last one that was refused; 0: none was.
  int refusal() const { return refusal_; }
  // Names of the threads that have blocked the signal at the last look.
  const std::vector<std::string>& blocking() const { return blocking_; }

 private:
  bool NeedsOne(pid_t tid, const std::set<pid_t>& with_slots) const;

  pid_t pid_;
  bool has_looked_ = false;
  std::set<pid_t> waiting_;  // were there at the first look, or have blocked the signal
  std::set<pid_t> seen_;     // at the last look, without a timer
  std::set<pid_t> timed_;    // asked for
  std::vector<pid_t> asked_;
  int refusal_ = 0;
  std::vector<std::string> blocking_;
};

}  // namespace coz::supervisor

#endif  // COZ_SUPERVISOR_TARGET_THREAD_TIMERS_H_
