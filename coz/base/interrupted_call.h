// Lets a signal of the program end a blocking call even if a sample comes with it.
//
// Of two pending signals, the one that the kernel takes first decides whether the call is
// restarted. That is the sample, whose handler has SA_RESTART, as no call may fail for a sample.
// The program's handler runs too, but its call goes on, perhaps for ever. So the sample's handler
// begins with such signals blocked (sampling_signal.h), and ends the call itself if one is pending.
//
// The wait for an io_uring is the other way round: the kernel never restarts it, so this does where
// no signal is pending (ring_wait.h). Any handler of the program ends such a wait.
//
// Shape    one object, first in a handler; the registers that the handler returns to
// Units    none
// Errors   none
// Threads  any
// Signals  async-signal-safe; costs nothing as long as no signal ends calls, else a system call
// Source   signal(7) "Interruption of system calls"; arch/x86/kernel/signal.c, handle_signal: rax
//          is the call's number again and rip is back at its instruction, which has left its own
//          address + 2 in rcx and the flags in r11
#ifndef COZ_BASE_INTERRUPTED_CALL_H_
#define COZ_BASE_INTERRUPTED_CALL_H_

#include <ucontext.h>

#include <cstdint>

namespace coz {

// The program has a handler without SA_RESTART for these, or has had one. In a program whose waits
// for rings are known: or any handler.
uint64_t SignalsThatEndCalls();
// Adds a signal that has a handler, with or without SA_RESTART.
void AddHandledSignal(int signo, bool restarts_calls);
// From now on signals whose handlers restart calls are among them, too. False if they were already.
bool NoteRingWaits();

class InterruptedCall {
 public:
  // Unblocks the signals that end calls, unless a call is to be restarted.
  explicit InterruptedCall(ucontext_t* context);
  // If such a signal is pending, ends the call with EINTR instead of a restart. The signal's
  // handler runs when this one returns. May wait for a ring.
  ~InterruptedCall() {
    if (__builtin_expect(held_ != 0 || waits_for_ring_, 0)) End();
  }
  InterruptedCall(const InterruptedCall&) = delete;
  InterruptedCall& operator=(const InterruptedCall&) = delete;

  // Ends the call now if it ends, and unblocks. Call it before a handler of the program.
  void Settle();

  // The call is a wait for a ring, which may have been cut short.
  bool waits_for_ring() const { return waits_for_ring_; }

 private:
  void End();
  void EndIfSignalled();

  ucontext_t* context_;
  uint64_t held_;
  bool waits_for_ring_;
};

// Ends a call that is to be restarted, if there is one that a signal may end. For a signal that has
// come through the sample's handler.
void EndInterruptedCall(ucontext_t* context);

}  // namespace coz

#endif  // COZ_BASE_INTERRUPTED_CALL_H_
