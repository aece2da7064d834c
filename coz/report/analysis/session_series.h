// Sessions that repeat each other: runs of one program with the same arguments and options on the
// same machine. Short ones have too few baselines of their own, so they are compared together.
//
// Shape    a number for each series, from 1 in the order of the profile
// Units    none
// Errors   0 for a session that no record describes
// Threads  compatible
// Signals  not async-signal-safe
// Source   docs/design/statistics.md, "A slope"
#ifndef COZ_REPORT_ANALYSIS_SESSION_SERIES_H_
#define COZ_REPORT_ANALYSIS_SESSION_SERIES_H_

#include <cstdint>
#include <map>
#include <string>

#include "coz/report/format/profile.pb.h"

namespace coz::report {

class SessionSeries {
 public:
  // Some of the records of a profile, in the order of the file.
  void Add(const profile::Profile& records);

  // Parts of sessions with other sources of samples are series of their own. Call it after the last
  // Add.
  uint64_t Of(uint64_t session, uint32_t part);

 private:
  std::map<uint64_t, std::string> common_;    // what the series has in common, by session
  std::map<uint64_t, std::string> programs_;  // the first binary, by session
  std::map<std::string, uint64_t> numbers_;
};

}  // namespace coz::report

#endif  // COZ_REPORT_ANALYSIS_SESSION_SERIES_H_
