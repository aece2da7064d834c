// A process that was running before the supervisor, and those that descend from it, in one profile.
// Children that are forked meanwhile join by themselves (coz/runtime/fork.cc) and are adopted here.
//
// Shape    Prepare and Join the first; JoinDescendants; then as AttachedProcess
// Units    none
// Errors   one sentence with what to type next. Of a descendant that cannot be attached to the
//          others are none the worse
// Threads  one: ptrace knows threads
// Signals  none
// Source   docs/design/attach.md, "Descendants"
#ifndef COZ_SUPERVISOR_TARGET_ATTACHED_TREE_H_
#define COZ_SUPERVISOR_TARGET_ATTACHED_TREE_H_

#include <sys/types.h>

#include <cstddef>
#include <deque>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "coz/base/unique_fd.h"
#include "coz/shared/control_block.h"
#include "coz/supervisor/target/attached_process.h"
#include "coz/supervisor/target/tree_members.h"

namespace coz::supervisor {

class AttachedTree {
 public:
  static absl::StatusOr<AttachedTree> Prepare(pid_t pid, const AttachedProcess::Options& options);

  UniqueFd TakeControl() { return processes_.front().TakeControl(); }
  absl::Status Join(shared::ControlBlock* control);

  // Looks for descendants until there are no new ones. `control_fd`: the file of the block. Returns
  // a sentence for each that cannot be attached to, and has not ended. Where many come to no safe
  // point, the later ones get less time for it, so that the profile begins.
  std::vector<std::string> JoinDescendants(int control_fd);

  // Those that run, the first one included. Not those that have become another program by exec.
  std::vector<pid_t> Running() const;

  // Those that have become another program since the last call, but for children that were forked
  // meanwhile: many are made for that.
  std::vector<pid_t> TakeReplaced();
  size_t replaced() const { return replaced_.size(); }  // in all

  // Once, when all threads are known: a sentence on those that get no samples.
  std::string TakeThreadsWithoutSamples();

  // See AttachedProcess. Also adopts processes that have joined by fork.
  void Poll();
  void SetSampling(bool on);
  // From now on CPU timers sample them. False: the first one stays with its events, and so do all.
  bool ChangeToCpuTimers();
  bool ChangeToCpuClock(const sampler::ClockExpiry& expiry);
  std::string WhyNotChangeCode(pid_t pid);
  // Not where it has ended, nor where it is about to.
  bool IsRunning(pid_t pid) const;
  void ChangeCode(pid_t pid);
  // Leaves all, whatever happens with one, and tells of the first failure; CANCELLED as in
  // AttachedProcess. ControlBlock::stop is set: no more join.
  absl::Status Leave();
  // One that cannot be left now, as it is stopped; 0: none.
  pid_t Stopped() const;

 private:
  explicit AttachedTree(const AttachedProcess::Options& options) : options_(options) {}
  absl::Status JoinOne(pid_t pid, int control_fd, double limit_s);
  bool Adopt(pid_t pid);
  void AdoptForked();
  void AwaitForked() const;
  void ForgetEnded();
  AttachedProcess* Find(pid_t pid);

  AttachedProcess::Options options_;
  shared::ControlBlock* control_ = nullptr;
  std::deque<AttachedProcess> processes_;
  std::set<pid_t> seen_;
  std::set<pid_t> replaced_;
  TreeMembers members_;
  bool has_told_of_threads_ = false;
  bool is_suspended_ = false;
};

}  // namespace coz::supervisor

#endif  // COZ_SUPERVISOR_TARGET_ATTACHED_TREE_H_
