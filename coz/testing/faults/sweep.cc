// Lets each system call of coz and of the runtime fail in turn, and tells each case without a
// profile. Those in which more suffers than the profile are marked WRONG.
//
//   ./bazelw run //coz/testing/faults:sweep -- [CALLER...] [-- OPTIONS OF COZ RUN...]
//   ./bazelw run //coz/testing/faults:sweep -- attach [CALLER...] [-- OPTIONS OF COZ ATTACH...]
//
// The callers are those of caller.h; without any: all but the program. It takes some minutes for
// each. With PART/PARTS, such as 2/5, among them: every fifth case, from the second on. Cases have
// numbers, so that 40/1000 is case 40 alone. More parts may be given.
#include <signal.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "coz/testing/faults/attach_fault_run.h"
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

// What is wrong with one run, and the run.
struct Judged {
  FaultOutcome outcome;
  std::string wrong;
};

Judged Judge(const Fault& fault, bool attaches, const std::vector<std::string>& options) {
  if (!attaches) {
    FaultOutcome outcome = RunWithFault(fault, options);
    return {outcome, WhatIsWrong(outcome)};
  }
  const AttachOutcome outcome = AttachWithFault(fault, options);
  return {outcome.coz, WhatIsWrong(outcome)};
}

std::map<std::pair<Caller, int>, std::set<int>> Calls(bool attaches,
                                                      const std::vector<std::string>& options) {
  std::map<std::pair<Caller, int>, std::set<int>> calls;
  if (attaches) {
    calls = CallsOfAttach(/*of_process=*/false, /*by_place=*/true, options);
    calls.merge(CallsOfAttach(/*of_process=*/true, /*by_place=*/true, options));
  } else {
    for (const auto& [call, count] : CountCalls(options)) calls[call] = Nths(count);
  }
  return calls;
}

struct Part {
  int number = 0;
  int of = 0;

  bool Has(int nth_case) const { return nth_case % of == number % of; }
};

// Without any: of all.
bool AnyHas(const std::vector<Part>& parts, int nth_case) {
  return parts.empty() || std::any_of(parts.begin(), parts.end(),
                                      [nth_case](const Part& part) { return part.Has(nth_case); });
}

int Main(const std::vector<std::string>& arguments) {
  const auto dashes = std::find(arguments.begin(), arguments.end(), "--");
  const std::vector<std::string> options(dashes == arguments.end() ? dashes : dashes + 1,
                                         arguments.end());
  const bool attaches = std::find(arguments.begin(), dashes, "attach") != dashes;
  std::set<Caller> callers;
  std::vector<Part> parts;
  for (auto argument = arguments.begin() + 1; argument < dashes; ++argument) {
    Caller caller;
    Part part;
    if (CallerNamed(*argument, &caller)) callers.insert(caller);
    if (sscanf(argument->c_str(), "%d/%d", &part.number, &part.of) == 2 && part.of > 0) {
      parts.push_back(part);
    }
  }
  if (callers.empty()) {
    callers = {Caller::kSupervisor, Caller::kStarter, Caller::kRuntime, Caller::kInjected};
  }
  // A process that has ended is told of things, too.
  signal(SIGPIPE, SIG_IGN);
  int nth_case = 0, cases = 0, wrong = 0;
  for (const auto& [call, nths] : Calls(attaches, options)) {
    if (callers.count(call.first) == 0) continue;
    for (const int error : ErrorsOf(call.second)) {
      for (const int nth : nths) {
        if (!AnyHas(parts, ++nth_case)) continue;
        const Fault fault = {call.first, call.second, error, nth};
        const auto [outcome, what] = Judge(fault, attaches, options);
        if (!outcome.was_made) continue;
        ++cases;
        if (what.empty() && outcome.has_profile) continue;
        wrong += what.empty() ? 0 : 1;
        printf("case %d, %s: %s\n  at%s\n%s\n", nth_case, Describe(fault).c_str(),
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
