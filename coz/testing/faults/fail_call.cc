// Runs a command in which one system call fails.
//
//   fail_call REPORT LIMIT_S count COMMAND...
//   fail_call REPORT LIMIT_S CALLER NUMBER ERROR NTH COMMAND...
//
// The first way counts all calls. The second lets the NTH call (from 1) of the caller (caller.h)
// with that number fail with that error, without making it. It ends as the command does. REPORT is
// a file that gets "calls CALLER NUMBER COUNT" for each, "failed STACK" where one has failed, and
// "killed" where the time was over.
#include <signal.h>
#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "coz/testing/faults/caller.h"
#include "coz/testing/faults/intercept.h"

namespace coz::testing {
namespace {

struct Fault {
  Caller caller = Caller::kProgram;
  int number = -1;
  int error = 0;
  int nth = 0;
};

int Run(const std::string& report_file, int limit_s, const Fault& fault,
        const std::vector<std::string>& command) {
  Callers callers(command.front());
  std::map<std::pair<Caller, int>, int> calls;
  std::ofstream report(report_file);
  const Intercepted result =
      Intercept(command, fault.number < 0 ? std::vector<int>() : std::vector<int>{fault.number},
                limit_s, [&](const InterceptedCall& call) {
                  const Caller caller = callers.Of(call);
                  const int nth = ++calls[{caller, call.number}];
                  if (call.number != fault.number || caller != fault.caller || nth != fault.nth) {
                    return 0;
                  }
                  report << "failed" << callers.Stack(call) << std::endl;
                  return fault.error;
                });
  for (const auto& [call, count] : calls) {
    report << "calls " << Name(call.first) << " " << call.second << " " << count << "\n";
  }
  if (result.timed_out) report << "killed\n";
  report.flush();
  if (WIFEXITED(result.wait_status)) return WEXITSTATUS(result.wait_status);
  signal(WTERMSIG(result.wait_status), SIG_DFL);
  raise(WTERMSIG(result.wait_status));
  return 126;
}

int Main(const std::vector<std::string>& arguments) {
  Fault fault;
  size_t used = 4;
  const bool counts = arguments.size() > 4 && arguments[3] == "count";
  if (!counts) {
    used = 7;
    if (arguments.size() <= used || !CallerNamed(arguments[3], &fault.caller)) {
      fprintf(stderr, "write: fail_call REPORT LIMIT_S count|CALLER NUMBER ERROR NTH COMMAND...\n");
      return 2;
    }
    fault.number = atoi(arguments[4].c_str());
    fault.error = atoi(arguments[5].c_str());
    fault.nth = atoi(arguments[6].c_str());
  }
  return Run(arguments[1], atoi(arguments[2].c_str()), fault,
             {arguments.begin() + static_cast<ptrdiff_t>(used), arguments.end()});
}

}  // namespace
}  // namespace coz::testing

int main(int argc, char** argv) { return coz::testing::Main({argv, argv + argc}); }
