// What to type after a session that measured nothing.
//
// Shape    commands with the options of the session, changed where that helps
// Units    none
// Errors   none
// Threads  safe: pure functions
// Signals  not async-signal-safe
// Source   coz/report/wording/repeat_command.h
#ifndef COZ_REPORT_WORDING_NEXT_COMMAND_H_
#define COZ_REPORT_WORDING_NEXT_COMMAND_H_

#include <string>

#include "coz/report/format/profile.pb.h"

namespace coz::report {

// `worker` below is the file name of the program that the started one runs to do the work; empty:
// the started one does it.

// Has the worker followed, and its code in scope where the scope is the default.
void FollowWorker(const std::string& worker, profile::Options* options);

struct NextCommands {
  std::string again;
  // Has more code in scope: all, or the worker's without debug information.
  std::string widened;
  // Of a session that coz attach made. Else empty.
  std::string counting;  // a function that is still to be named
  std::string listing;   // functions that would do
  std::string longer;
};

// `has_ended`: the process that was attached to. PID is in the place of its number.
NextCommands NextCommandsOf(const profile::Session& session, const std::string& worker,
                            bool has_ended = false);

}  // namespace coz::report

#endif  // COZ_REPORT_WORDING_NEXT_COMMAND_H_
