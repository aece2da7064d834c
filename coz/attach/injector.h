// Loads libcoz.so into a process that runs already, lets it join a profile, and lets it leave
// again.
//
// Shape    one process; Prepare, then Join, then Leave. For each, one thread of it is stopped for
//          some milliseconds, in which it lends memory
// Units    seconds
// Errors   one sentence with what to type next. Where a call takes too long the process is left to
//          finish it: it does so by itself
// Threads  one: ptrace knows threads
// Signals  none
// Source   docs/design/attach.md
#ifndef COZ_ATTACH_INJECTOR_H_
#define COZ_ATTACH_INJECTOR_H_

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "coz/attach/process_view.h"
#include "coz/attach/traced_thread.h"
#include "coz/base/unique_fd.h"

namespace coz::attach {

struct InjectorOptions {
  std::string library;       // path of libcoz.so
  int control = -1;          // the file of a control block that others have joined, to join that
  double limit_s = 10;       // for a thread to come to a safe point, and for a call
  double join_limit_s = 10;  // for a thread to come to a safe point before the process has joined
  // For tests: called between the steps, by name.
  std::function<void(const char* step)> on_step;
};

class Injector {
 public:
  // Refuses where WhyNotAttach does. Then makes the memory for the control block in the process,
  // since only that can be opened by both; or gives it a descriptor of `options.control`. Nothing
  // is loaded yet.
  static absl::StatusOr<std::unique_ptr<Injector>> Prepare(pid_t pid,
                                                           const InjectorOptions& options);
  // One that has joined already, as a child of fork: only to change its code, to ask it for
  // timers, and to let it leave.
  static std::unique_ptr<Injector> Adopt(pid_t pid, const InjectorOptions& options);
  ~Injector();
  Injector(const Injector&) = delete;
  Injector& operator=(const Injector&) = delete;

  // The memory's file, still empty. The caller has formatted and filled it before Join.
  UniqueFd TakeControl() { return std::move(control_); }

  absl::Status Join();
  // Whether filters of system calls have come since a call was last found to be safe. They may have
  // come amid the call, which cannot prevent it: the process does not know of them.
  bool HasNewFilters() const;
  // See shared::kSampleByTimersFunction, kChangeCodeFunction and kEndSignalsFunction.
  absl::Status SampleByTimers();
  absl::Status ChangeCode(bool is_first);
  absl::Status EndSignals();
  // `restores_disposition`: see shared::kDetachFunction.
  absl::Status Leave(bool restores_disposition);

  // In which functions are found and calls are made.
  const ProgramImage& image() const { return image_; }

 private:
  Injector(pid_t pid, const InjectorOptions& options);

  // Memory of the process that is lent for one stop.
  struct Room {
    uint64_t code = 0;  // a page with the code that is called; 0: there is none
    uint64_t data = 0;  // for what it is told, and its stack
  };

  absl::Status FindFunctions();
  // A filter may come between two calls, so each is judged.
  absl::Status JudgeFilters(const TracedThread& thread);
  absl::StatusOr<TracedThread> StopSafely();
  absl::Status Borrow(TracedThread* thread, Room* room) const;
  void GiveBack(TracedThread* thread, const Room& room) const;
  absl::Status MakeControl();
  absl::Status SendControl();
  absl::StatusOr<int64_t> Receive(TracedThread* thread, uint64_t room) const;
  void CloseLeftOver();
  absl::Status StatusOf(const char* wish, int64_t answer) const;
  absl::StatusOr<int64_t> CallLibrary(const char* function, int64_t argument);
  absl::StatusOr<int64_t> CallIn(TracedThread* thread, const char* function, int64_t argument,
                                 Room* room) const;
  // By errno.
  absl::Status CannotWrite() const;
  absl::Status CannotRead() const;
  std::string WhyNotLoaded(uint64_t error_at) const;
  void Step(const char* name) const {
    if (options_.on_step) options_.on_step(name);
  }

  const pid_t pid_;
  const InjectorOptions options_;
  // Before anything else is known of it.
  const ProgramImage image_;
  // How many filters of system calls the threads had that were found to let calls be made.
  std::optional<int64_t> judged_filters_;
  bool had_filters_ = false;  // when Prepare looked
  bool has_joined_ = false;
  Gadgets gadgets_;
  UniqueFd control_;
  int64_t control_there_ = -1;  // its descriptor in the process
  struct {
    uint64_t errno_location = 0;
    uint64_t dlopen = 0;
    uint64_t dlsym = 0;
    uint64_t dlerror = 0;
  } functions_;
};

}  // namespace coz::attach

#endif  // COZ_ATTACH_INJECTOR_H_
