// Reads profiles of the original Coz: its text with tabs, and its JSON lines.
//
// Shape    lines in, a profile out; each "startup" begins a session, whose id is made of its text,
//          so that the same file gives the same sessions
// Units    as in profile.proto; the original's durations are effective durations in ns
// Errors   INVALID_ARGUMENT where the text is no such profile or holds no experiment, with the
//          line. Lines that make no sense are counted and skipped; a cut last line is one of them
// Threads  safe
// Signals  not async-signal-safe
// Source   docs/export.md
//
// What the original does not record is missing: total samples, delays, validity. So there is no
// phase correction, and a line's baselines are its own alone. Its counts of samples are cumulative;
// the last of each location counts.
#ifndef COZ_REPORT_EXCHANGE_IMPORT_COZ_H_
#define COZ_REPORT_EXCHANGE_IMPORT_COZ_H_

#include <cstdint>
#include <istream>
#include <string>

#include "absl/status/statusor.h"
#include "coz/report/format/profile.pb.h"

namespace coz::report {

struct ImportResult {
  profile::Profile profile;
  uint64_t skipped_lines = 0;
  std::string first_skipped;  // "NAME:LINE: reason"
};

// `name` is used in messages.
absl::StatusOr<ImportResult> ImportCoz(std::istream& in, const std::string& name);

}  // namespace coz::report

#endif  // COZ_REPORT_EXCHANGE_IMPORT_COZ_H_
