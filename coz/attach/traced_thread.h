// A thread of another process that is stopped for a moment: its registers, its memory, and calls
// that it makes for us.
//
// The thread must not depend on us. Whoever is killed while it traces leaves a thread that runs on
// from where it is. So registers are changed in one step only: the thread "returns from a signal"
// (rt_sigreturn) into the call, and the call returns into a second frame of that kind, which holds
// all that the thread had. From that one step on the thread makes the call and then goes on by
// itself, whether or not anybody watches. All signals are blocked until then.
//
// Shape    one thread; it runs again when the object is gone
// Units    addresses of the process
// Errors   UNAVAILABLE where the thread has ended, or is amid a signal or stopped by another one;
//          DEADLINE_EXCEEDED where it does not stop, or a call takes too long, which then goes on
//          alone; PERMISSION_DENIED where it may not be traced; ABORTED where the kernel does not
//          let a call be followed: it goes on alone, too, and the thread makes no other
// Threads  the one that seized it: ptrace knows threads
// Signals  what the thread gets meanwhile is delivered
// Source   ptrace(2); arch/x86/kernel/signal_64.c; Bosman and Bos, "Framing Signals", 2014
#ifndef COZ_ATTACH_TRACED_THREAD_H_
#define COZ_ATTACH_TRACED_THREAD_H_

#include <sys/types.h>
#include <sys/user.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "coz/attach/call_filter.h"
#include "coz/base/unique_fd.h"

namespace coz::attach {

// Where to find instructions in code of the process.
struct Gadgets {
  uint64_t syscall_return = 0;  // syscall; ret
  uint64_t sigreturn = 0;       // mov $15, %rax; syscall
};
// Finds them in [begin, end) of the process's memory; zeros where they are not there. UNAVAILABLE
// where that cannot be read.
absl::StatusOr<Gadgets> FindGadgets(pid_t pid, uint64_t begin, uint64_t end);

bool ReadMemory(pid_t pid, uint64_t address, void* to, size_t bytes);

class TracedThread {
 public:
  // Stops it.
  static absl::StatusOr<TracedThread> Stop(pid_t pid, pid_t tid);
  TracedThread(TracedThread&& other) noexcept;
  TracedThread& operator=(TracedThread&&) = delete;
  ~TracedThread();

  pid_t tid() const { return tid_; }
  const user_regs_struct& registers() const { return registers_; }

  // The system call in which it waits, or which it makes next; -1 where there is none.
  int64_t WaitingCall() const;
  // Whether it waits, in pthread_join or its like, for the end of a thread. A stripped libc has no
  // name for the function that does, which pthread_join jumps to.
  bool WaitsForThread() const;

  // Bit 0 for signal 1.
  uint64_t blocked_signals() const { return mask_; }
  absl::Status BlockSignals(uint64_t mask);

  // Whether its system calls become signals (PR_SET_SYSCALL_USER_DISPATCH), as Wine's do. False
  // where the kernel does not tell (before 6.4).
  bool DivertsCalls() const;

  // FAILED_PRECONDITION: this process may not see them. It needs CAP_SYS_ADMIN outside of all user
  // namespaces, and no filter of its own.
  absl::StatusOr<std::vector<CallFilter>> CallFilters() const;

  // Writes where the program itself may not write, too.
  bool Write(uint64_t address, const void* from, size_t bytes) const;

  // A system call in the thread. Its result is the kernel's: -errno for an error.
  struct Request {
    int64_t number;
    uint64_t arguments[6];
  };
  absl::StatusOr<int64_t> Call(const Gadgets& gadgets, const Request& request);

  // Lets it call `function(argument)` on the stack [stack, stack + bytes), which nobody else uses.
  absl::Status CallFunction(const Gadgets& gadgets, uint64_t stack, uint64_t bytes,
                            uint64_t function, uint64_t argument, double limit_s);

 private:
  enum class Event { kCallEntry, kCallExit, kOther, kEnded, kLost, kTimedOut };

  TracedThread(pid_t pid, pid_t tid) : pid_(pid), tid_(tid) {}
  absl::Status ReadState();
  // Undoes what the stop has done to a waiting call: the thread makes it again.
  void RestartCall();
  void NoteCallAhead();
  int64_t SleepThatGoesOn() const;
  struct Frame;
  Frame FrameOf(const user_regs_struct& registers, uint64_t mask) const;
  // Of signals, while a call is made.
  uint64_t MaskOfCalls() const;
  // Writes both frames below `top`, and sets the thread at the first. Returns the address of the
  // second.
  absl::StatusOr<uint64_t> EnterFrames(const Gadgets& gadgets, uint64_t top, user_regs_struct call);
  // Runs to the next entry or exit of a system call.
  Event RunToEvent(double deadline_s);
  absl::Status Lost(int error) const;
  absl::Status AwaitReturn(uint64_t frame, double deadline_s, int64_t* result);

  pid_t pid_;
  pid_t tid_;
  bool seized_ = false;
  bool stopped_ = false;
  bool is_lost_ = false;  // has ended, or is amid a call that nobody follows
  int signal_to_deliver_ = 0;
  user_regs_struct registers_ = {};
  std::vector<char> extended_;  // NT_X86_XSTATE
  uint64_t mask_ = 0;
};

}  // namespace coz::attach

#endif  // COZ_ATTACH_TRACED_THREAD_H_
