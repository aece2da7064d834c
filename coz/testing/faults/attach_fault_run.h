// Short runs of coz attach in which one system call fails, and what must hold in each.
//
// Shape    a run profiles the puppet `resident`, started for it. Calls of the command fail as those
//          of coz run do (fault_run.h). Calls of the process (Caller::kRuntime, kInjected) fail
//          from where coz has looked at the process and not stopped it yet
// Units    none
// Errors   of the test's machine: an empty or odd outcome, which WhatIsWrong tells
// Threads  one run at a time
// Signals  none
// Source   none
//
// A program that uses it has //tools:coz, //coz/runtime:libcoz.so and
// //coz/testing/puppets:resident in its data.
#ifndef COZ_TESTING_FAULTS_ATTACH_FAULT_RUN_H_
#define COZ_TESTING_FAULTS_ATTACH_FAULT_RUN_H_

#include <chrono>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "coz/testing/faults/caller.h"
#include "coz/testing/faults/fault_run.h"

namespace coz::testing {

struct AttachOutcome {
  FaultOutcome coz;
  std::string waits;         // where coz was when its time was over
  uint64_t run_time_ns = 0;  // of the session in the profile; 0: there is none
  // Of the process, by StateFromOutside: before coz stops it, and when coz has ended.
  std::string before;
  std::string after;
  // How it ends, and what it says then.
  int wait_status = 0;
  std::string last_words;
};

// With more options for coz attach, or none.
AttachOutcome AttachWithFault(const Fault& fault, const std::vector<std::string>& options = {});

// A call that coz has the process make takes so much longer, and none fails.
AttachOutcome AttachSlowly(std::chrono::milliseconds wait);

// Of a run without fault, of the command or of the process: the first call of each kind and the
// last; with `by_place`, which is slow, the first calls from different places, too.
std::map<std::pair<Caller, int>, std::set<int>> CallsOfAttach(
    bool of_process, bool by_place = false, const std::vector<std::string>& options = {});

// Empty: the process ran on, ended as without coz, and was left as it was, or coz told that it was
// not; coz ended in time and without a crash, and told where there is no profile; and it said at
// most three things.
std::string WhatIsWrong(const AttachOutcome& outcome);

}  // namespace coz::testing

#endif  // COZ_TESTING_FAULTS_ATTACH_FAULT_RUN_H_
