// Lets each system call of coz and of the runtime fail in turn, and tells each case without a
// profile. Those in which more suffers than the profile are marked WRONG.
//
//   ./bazelw run //coz/testing/faults:sweep -- [CALLER...] [-- OPTIONS OF COZ RUN...]
//
// The callers are those of caller.h; without any: supervisor, starter and runtime. It takes some
// minutes for each.
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <set>
#include <string>
#include <vector>

#include "coz/testing/faults/fault_run.h"

namespace coz::testing {
namespace {

// The first ones, and the last of those that the counting run made.
std::set<int> Nths(int count) {
  std::set<int> nths;
  for (const int nth : {1, 2, 3, 5, count / 2, count}) {
    if (nth >= 1 && nth <= count) nths.insert(nth);
  }
  return nths;
}

int Main(const std::vector<std::string>& arguments) {
  const auto dashes = std::find(arguments.begin(), arguments.end(), "--");
  const std::vector<std::string> options(dashes == arguments.end() ? dashes : dashes + 1,
                                         arguments.end());
  std::set<Caller> callers;
  for (auto argument = arguments.begin() + 1; argument < dashes; ++argument) {
    Caller caller;
    if (CallerNamed(*argument, &caller)) callers.insert(caller);
  }
  if (callers.empty()) callers = {Caller::kSupervisor, Caller::kStarter, Caller::kRuntime};
  int cases = 0, wrong = 0;
  for (const auto& [call, count] : CountCalls(options)) {
    if (callers.count(call.first) == 0) continue;
    for (const int error : ErrorsOf(call.second)) {
      for (const int nth : Nths(count)) {
        const Fault fault = {call.first, call.second, error, nth};
        const FaultOutcome outcome = RunWithFault(fault, options);
        if (!outcome.was_made) continue;
        ++cases;
        const std::string what = WhatIsWrong(outcome);
        if (what.empty() && outcome.has_profile) continue;
        wrong += what.empty() ? 0 : 1;
        printf("%s: %s\n  at%s\n%s\n", Describe(fault).c_str(),
               what.empty() ? "no profile" : ("WRONG: " + what).c_str(), outcome.stack.c_str(),
               outcome.result.errors.c_str());
        fflush(stdout);
      }
    }
  }
  printf("%d cases, %d wrong\n", cases, wrong);
  return wrong == 0 && cases != 0 ? 0 : 1;
}

}  // namespace
}  // namespace coz::testing

int main(int argc, char** argv) { return coz::testing::Main({argv, argv + argc}); }
