// A process that was running before the supervisor: joins the profile, is sampled by perf events of
// the supervisor's or by CPU timers of its own, and is left as it was.
//
// Shape    Prepare, then Join once the control block is filled; Poll while it is profiled; Leave
// Units    none
// Errors   one sentence with what to type next
// Threads  one: ptrace knows threads
// Signals  none
// Source   docs/design/attach.md
#ifndef COZ_SUPERVISOR_TARGET_ATTACHED_PROCESS_H_
#define COZ_SUPERVISOR_TARGET_ATTACHED_PROCESS_H_

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "coz/attach/injector.h"
#include "coz/base/unique_fd.h"
#include "coz/sampler/clock_expiry.h"
#include "coz/sampler/sampler_status.h"
#include "coz/shared/control_block.h"
#include "coz/supervisor/target/thread_events.h"
#include "coz/supervisor/target/thread_timers.h"

namespace coz::supervisor {

// The program that it runs, and its arguments. Refuses as coz::attach does.
struct RunningProgram {
  std::string path;
  std::vector<std::string> command;
};
absl::StatusOr<RunningProgram> FindRunningProgram(pid_t pid, const std::string& runtime_library);
// What the user has started: `executable`, or a link beside it that the kernel's name of the
// process names; and how, where `arguments`, as /proc has them, are no title.
std::string NameOfProgram(const std::string& executable, const std::string& comm);
std::vector<std::string> CommandOf(const std::string& program, const std::string& arguments);

class AttachedProcess {
 public:
  struct Options {
    std::string runtime_library;
    uint64_t sampling_period_ns = 0;
    bool exclude_kernel = false;
    // kPerfSigtrap, kCpuTimer, kCpuClock, or kNone: perf events, and timers where those are not to
    // be had.
    sampler::SamplingSource source = sampler::SamplingSource::kNone;
    sampler::ClockExpiry expiry;  // for kCpuClock
    double join_limit_s = 10;     // see attach::InjectorOptions
    // For tests: see attach::InjectorOptions.
    std::function<void(const char* step)> on_step = nullptr;
  };
  // Nothing of the program is different yet, but for some memory. `control`: the file of the block
  // that others have joined; -1: it is the first.
  static absl::StatusOr<AttachedProcess> Prepare(pid_t pid, const Options& options,
                                                 int control = -1);
  // A child of fork of one that has joined, which is in `slot` of the block by itself. Nothing of
  // it is stopped for that. What number the slot has now is the program's word.
  static absl::StatusOr<AttachedProcess> Adopt(pid_t pid, shared::ProcessSlot* slot,
                                               const Options& options,
                                               shared::ControlBlock* control);

  // Of the first one: the file for the control block, to be filled before Join.
  UniqueFd TakeControl() { return injector_->TakeControl(); }

  // The first process, whose source of samples is that of the profile; then any other.
  absl::Status Join(shared::ControlBlock* control);
  absl::Status JoinToo(shared::ControlBlock* control);

  pid_t pid() const { return pid_; }
  // Its number may be another process's by now.
  bool HasEnded() const;
  bool is_adopted() const { return is_adopted_; }
  // Since it has become another program by exec, which has no part of the profile. Its number may
  // still be looked for.
  bool has_left_by_exec() const { return has_left_by_exec_; }

  // At least every 50 ms: new threads, and an exec.
  void Poll();
  // Looks for an exec alone. Poll does so where the process has said that it begins one, and now
  // and then, as Go's is not announced.
  void LookForExec();
  // Suspends samples of perf events, or resumes them.
  void SetSampling(bool on);
  // From now on CPU timers sample it. False: it stays with its events.
  bool ChangeToCpuTimers();
  bool ChangeToCpuClock(const sampler::ClockExpiry& expiry);
  // Whether no thread is sought any more; and names of those that get no samples, since they block
  // SIGTRAP.
  bool knows_threads() const;
  const std::vector<std::string>& threads_without_samples() const {
    return timers_ != nullptr ? timers_->blocking() : events_->blocking();
  }

  // Why its code is not to be changed now, a clause; empty: it may be. An int3 would end a thread
  // that blocks SIGTRAP. From the first time on no thread comes to block it.
  std::string WhyNotChangeCode();
  // Has it do at once what is asked for in ControlBlock::patch_request.
  void ChangeCode();
  // What could not be undone is in the status's message; it does no harm. CANCELLED: only a handler
  // of SIGTRAP stays, which is no failure.
  absl::Status Leave();

 private:
  AttachedProcess(pid_t pid, UniqueFd pidfd, std::unique_ptr<attach::Injector> injector)
      : pid_(pid), pidfd_(std::move(pidfd)), injector_(std::move(injector)) {}
  absl::Status ChooseSource(const Options& options);
  shared::ProcessSlot* Slot() const;
  void SampleByEvents(bool on);
  void LetExecGoOn(shared::ProcessSlot* slot);
  absl::Status SampleByTimers();
  bool LookForThreads();
  absl::Status EndSignals();
  // Makes the process leave the profile without a call in it, and says why.
  absl::Status EndProfiling();
  bool LetSamplesOut() const;

  pid_t pid_;
  UniqueFd pidfd_;
  std::unique_ptr<attach::Injector> injector_;
  std::unique_ptr<ThreadEvents> events_;  // null: timers sample it
  std::unique_ptr<ThreadTimers> timers_;  // null: events do
  sampler::SamplerStatus status_;
  shared::ControlBlock* control_ = nullptr;
  int looks_without_thread_ = 0;
  bool had_events_ = false;  // whatever samples it now
  bool changes_code_ = false;
  bool is_adopted_ = false;
  // CPU time of threads that slept when their events began. Those that it still holds for have had
  // no sample.
  std::map<pid_t, uint64_t> ran_before_;
  std::set<pid_t> unblocked_;  // threads whose mask is to be given back
  bool is_suspended_ = false;
  bool is_in_exec_ = false;
  bool has_left_by_exec_ = false;
  int looks_without_exec_ = 0;
};

}  // namespace coz::supervisor

#endif  // COZ_SUPERVISOR_TARGET_ATTACHED_PROCESS_H_
