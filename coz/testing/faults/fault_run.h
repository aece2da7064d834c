// Short runs of coz in which one system call fails, and what must hold in each.
//
// Shape    a run profiles the puppet `busy` into a folder of its own, with no line table cached
// Units    none
// Errors   of the test's machine: an empty or odd outcome, which WhatIsWrong tells
// Threads  compatible
// Signals  none
// Source   none
//
// A program that uses it has :fail_call, //tools:coz, //coz/runtime:libcoz.so and
// //coz/testing/puppets:busy in its data.
#ifndef COZ_TESTING_FAULTS_FAULT_RUN_H_
#define COZ_TESTING_FAULTS_FAULT_RUN_H_

#include <sys/syscall.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "coz/testing/faults/caller.h"
#include "coz/testing/run_command.h"

namespace coz::testing {

// ptrace does many things: these take the place of its number.
constexpr int kNumbersEnd = 1000;
constexpr int PtraceRequest(int request) { return SYS_ptrace + request * kNumbersEnd; }

struct Fault {
  Caller caller = Caller::kSupervisor;
  int number = 0;  // of the system call
  int error = 0;
  int nth = 1;
};

// As "runtime mmap ENOMEM 2".
std::string Describe(const Fault& fault);

struct FaultOutcome {
  CommandResult result;
  bool was_made = false;     // the call came
  bool timed_out = false;    // and was killed
  bool has_profile = false;  // with experiments, samples and an end
  std::string stack;         // of the call
};

// With more options for coz run, or none.
FaultOutcome RunWithFault(const Fault& fault, const std::vector<std::string>& options = {});

// Of a run without fault.
std::map<std::pair<Caller, int>, int> CountCalls(const std::vector<std::string>& options = {});

// Empty: the program printed and ended as without coz, or coz refused in a sentence; coz ended in
// time and without a crash; and it told where there is no profile.
std::string WhatIsWrong(const FaultOutcome& outcome);

// The errors with which a call of that number may fail, and that libc does not end the process for.
// close is none: it closes whatever it returns.
std::vector<int> ErrorsOf(int number);

// A data file of the test by a path that any folder sees.
std::string File(const std::string& name);
// Whether the file is a profile with experiments, samples and an end.
bool IsProfile(const std::string& path);
// Whether the text is that of a command that has crashed; and how many sentences of coz it has.
bool IsCrash(const std::string& errors);
int LinesOfCoz(const std::string& errors);

}  // namespace coz::testing

#endif  // COZ_TESTING_FAULTS_FAULT_RUN_H_
