// Runs a command for a test and keeps what it printed.
//
// Shape    standard input is a text; standard output and error come back apart
// Units    seconds
// Errors   a command that takes longer than its limit is killed and reports SIGKILL
// Threads  safe
// Signals  none
// Source   posix_spawn(3)
#ifndef COZ_TESTING_RUN_COMMAND_H_
#define COZ_TESTING_RUN_COMMAND_H_

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

namespace coz::testing {

struct CommandResult {
  int status = -1;  // exit status, or -1
  int signal = 0;   // that ended it, or 0
  std::string output;
  std::string errors;
};

struct CommandOptions {
  std::string input;
  std::string folder;                        // to run in; empty: this one
  std::vector<std::string> environment;      // NAME=VALUE, added to this one's
  std::function<void(pid_t)> while_running;  // called once it runs
  int limit_s = 200;                         // below what bazel gives a test
};

CommandResult RunCommand(const std::vector<std::string>& arguments,
                         const CommandOptions& options = {});

// A data file of the test, by its path in the repository.
std::string RunfilePath(const std::string& path);

// A fresh folder of this test's.
std::string TemporaryFolder();

}  // namespace coz::testing

#endif  // COZ_TESTING_RUN_COMMAND_H_
