// Which program a session is of. Experiments of different builds cannot be added up: the same line
// number is another line, and the same work takes another time.
//
// Shape    the path and the GNU build-id of a session's first binary, which is its program
// Units    none
// Errors   none; what is unknown is empty
// Threads  safe
// Signals  not async-signal-safe
// Source   docs/compare.md
#ifndef COZ_REPORT_FORMAT_PROGRAM_IDENTITY_H_
#define COZ_REPORT_FORMAT_PROGRAM_IDENTITY_H_

#include <string>
#include <vector>

#include "coz/report/format/profile.pb.h"

namespace coz::report {

// The Session.coz_version of what was imported. Such a session does not say what program it is of.
inline constexpr char kOriginalCozVersion[] = "(the original)";

bool IsImported(const profile::Session& session);

struct ProgramIdentity {
  std::string build_id;  // raw bytes
  std::string path;

  // By build-id where both have one, else by path.
  bool Matches(const ProgramIdentity& other) const;
  // "/src/server, build-id 1a2b".
  std::string Text() const;
};

ProgramIdentity IdentityOf(const profile::Binary& binary);

// Of all sessions, each once, in the order of the profile.
std::vector<ProgramIdentity> ProgramsOf(const profile::Profile& profile);

}  // namespace coz::report

#endif  // COZ_REPORT_FORMAT_PROGRAM_IDENTITY_H_
