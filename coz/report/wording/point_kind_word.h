// What kind of progress point it is, in one word or some: the same in text and on the page.
//
// Shape    ASCII, lower case; JSON has identifiers of its own (PointKindId)
// Units    none
// Errors   none
// Threads  safe: pure functions
// Signals  not async-signal-safe
// Source   docs/glossary.md, docs/progress-points.md
#ifndef COZ_REPORT_WORDING_POINT_KIND_WORD_H_
#define COZ_REPORT_WORDING_POINT_KIND_WORD_H_

#include "absl/strings/string_view.h"
#include "coz/report/format/profile.pb.h"

namespace coz::report {

// "throughput", "latency", "end to end", "sampled". "place" is one of --progress, however it is
// counted: by a jump, an int3, a breakpoint or a probe.
absl::string_view PointKindWord(profile::ProgressPointKind kind);

}  // namespace coz::report

#endif  // COZ_REPORT_WORDING_POINT_KIND_WORD_H_
