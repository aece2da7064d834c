// How a session was made, as the command that makes it again.
//
// Shape    words of `coz run`, or of `coz attach` where that has made it, options in the order of
//          its help, each quoted as a shell takes it
// Units    as users type them: percent, ms, s
// Errors   none
// Threads  safe: pure functions
// Signals  not async-signal-safe
// Source   coz/report/format/profile.proto, Options
#ifndef COZ_REPORT_WORDING_REPEAT_COMMAND_H_
#define COZ_REPORT_WORDING_REPEAT_COMMAND_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "coz/report/format/profile.pb.h"

namespace coz::report {

// The target's command line as one types it, for messages that name the next command.
std::string TargetCommand(const profile::Profile& profile);

// The same for headings: the program without its folder.
std::string TargetTitle(const profile::Profile& profile);

// The options that say what was measured and for what: units, groups, what is given, places of
// progress points. Figures of sessions that differ in them do not belong in one profile.
std::vector<std::string> MeasuredOptions(const profile::Options& options);

// `coz run OPTIONS --- PROGRAM ARGS`, or `coz attach OPTIONS PID`, with `options` as given.
std::string CommandWith(absl::string_view options, const profile::Profile& profile);

// The command that made the session, for a new one: without its seed.
std::string CommandAgain(const profile::Session& session);

// The command that adds runs to the profile `output` of the session; "": to that in the current
// folder. `runs` 0: as many as the session's series had.
std::string CommandToAdd(const std::string& output, uint32_t runs, const profile::Session& session);

// The command that repeats the session, with its seed and all options; for one of a series
// (--repeat), the whole series.
std::string RepeatCommand(const profile::Session& session);

// The words before the program, or the process, that put all experiments on one unit, and leave the
// rest as it was in the session.
std::string FixedUnitCommand(const profile::Options& options, const std::string& unit);
// The whole command that measures units of another kind, and leaves the rest as it was.
std::string CommandByUnit(profile::UnitKind kind, const profile::Profile& profile);
// The text with `coz attach` for `coz run` where that has made the profile and has the option.
std::string WithItsCommand(const std::string& text, const profile::Profile& profile);
// What follows those words: " --- PROGRAM ARGS", or " PID".
std::string TargetWords(const profile::Profile& profile);

}  // namespace coz::report

#endif  // COZ_REPORT_WORDING_REPEAT_COMMAND_H_
