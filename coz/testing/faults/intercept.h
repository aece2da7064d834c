// Shows system calls to a callback before they are made, which lets them be made or fail.
//
// Shape    Intercept: a command, what it starts and all their threads. ShownCalls: a process that
//          runs already. Neither is a tracer (ptrace), which programs under coz would notice: each
//          call waits for an answer of a seccomp listener.
// Units    none
// Errors   ends the test program with a sentence where there is no such listener. Where the time is
//          over all processes of the command are killed.
// Threads  Intercept: one at a time; ShownCalls has one of its own, which calls back
// Signals  none
// Source   seccomp_unotify(2), /proc/TID/syscall in proc(5)
#ifndef COZ_TESTING_FAULTS_INTERCEPT_H_
#define COZ_TESTING_FAULTS_INTERCEPT_H_

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "coz/base/unique_fd.h"

namespace coz::testing {

struct InterceptedCall {
  pid_t tid = 0;
  int number = 0;
  uint64_t ip = 0;  // behind the instruction that makes the call
  uint64_t first_argument = 0;
};

struct Intercepted {
  int wait_status = 0;  // of the command, as of waitpid
  bool timed_out = false;
  std::string waits;  // where each of its processes was then
};

// The error that the call is to fail with, or 0.
using OnCall = std::function<int(const InterceptedCall& call)>;

// Of the calls of `numbers` and of execve; of all where there are none.
Intercepted Intercept(const std::vector<std::string>& command, const std::vector<int>& numbers,
                      int limit_s, const OnCall& on_call);

// The calls of a process that has made the listener itself, which is its descriptor `number`
// (coz/testing/puppets/show_calls.h). They are answered until the process has ended, for which the
// destructor waits.
class ShownCalls {
 public:
  ShownCalls(pid_t pid, int number, OnCall on_call);
  ~ShownCalls() { thread_.join(); }
  ShownCalls(const ShownCalls&) = delete;
  ShownCalls& operator=(const ShownCalls&) = delete;

 private:
  void Answer() const;

  UniqueFd listener_;
  OnCall on_call_;
  std::thread thread_;
};

}  // namespace coz::testing

#endif  // COZ_TESTING_FAULTS_INTERCEPT_H_
