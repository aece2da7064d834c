// Runs a command whose system calls are shown to a callback before they are made, which lets them
// be made or fail.
//
// Shape    the command, what it starts and all their threads. It is no tracer (ptrace), which
//          programs under coz would notice: each call waits for an answer of a seccomp listener.
// Units    none
// Errors   Intercept ends the test program with a sentence where there is no such listener. Where
//          the time is over all processes of the command are killed.
// Threads  one at a time
// Signals  none
// Source   seccomp_unotify(2), /proc/TID/syscall in proc(5)
#ifndef COZ_TESTING_FAULTS_INTERCEPT_H_
#define COZ_TESTING_FAULTS_INTERCEPT_H_

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace coz::testing {

struct InterceptedCall {
  pid_t tid = 0;
  int number = 0;
  uint64_t ip = 0;  // behind the instruction that makes the call
};

struct Intercepted {
  int wait_status = 0;  // of the command, as of waitpid
  bool timed_out = false;
};

// The error that the call is to fail with, or 0.
using OnCall = std::function<int(const InterceptedCall& call)>;

// Of the calls of `numbers` and of execve; of all where there are none.
Intercepted Intercept(const std::vector<std::string>& command, const std::vector<int>& numbers,
                      int limit_s, const OnCall& on_call);

}  // namespace coz::testing

#endif  // COZ_TESTING_FAULTS_INTERCEPT_H_
