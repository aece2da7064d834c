// Receives the signals that somebody sends to the supervisor and means for the program, and passes
// them on.
//
// Shape    one at a time; restores the mask at its end
// Units    none
// Errors   none
// Threads  one thread; it takes over the process's signals
// Signals  blocks what it receives
// Source   signalfd(2)
#ifndef COZ_SUPERVISOR_TARGET_SIGNAL_INBOX_H_
#define COZ_SUPERVISOR_TARGET_SIGNAL_INBOX_H_

#include <signal.h>
#include <sys/types.h>

#include "coz/base/unique_fd.h"

namespace coz::supervisor {

class SignalInbox {
 public:
  SignalInbox();
  // What has come last was meant for a program that has ended. Left pending it would end this
  // process, before it has reported.
  ~SignalInbox() {
    Forward(0);
    sigprocmask(SIG_SETMASK, &original_mask_, nullptr);
  }
  SignalInbox(const SignalInbox&) = delete;
  SignalInbox& operator=(const SignalInbox&) = delete;

  // Readable when a signal is there.
  int fd() const { return fd_.get(); }
  const sigset_t& original_mask() const { return original_mask_; }

  // Passes on what was sent to the supervisor alone; to nobody where `target` is 0. The terminal
  // sends to the whole process group, so the program has received that already.
  void Forward(pid_t target);
  bool interrupted() const { return interrupts_ != 0; }
  // How often it was told to end.
  int interrupts() const { return interrupts_; }

 private:
  sigset_t original_mask_;
  UniqueFd fd_;
  int interrupts_ = 0;
};

}  // namespace coz::supervisor

#endif  // COZ_SUPERVISOR_TARGET_SIGNAL_INBOX_H_
