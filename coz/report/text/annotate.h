// A source file with the figures of its lines in the margin: `coz annotate`.
//
// Shape    text: a head, which has the curves that bend, then each source line with its number.
//          Lines that have figures have gain, share of samples and verdict in the margin
// Units    gains and shares in percent
// Errors   those of ReadProfile; NOT_FOUND where the profile knows no line of the file, or the
//          source cannot be read; INVALID_ARGUMENT where the name fits several files
// Threads  safe
// Signals  not async-signal-safe
// Source   none
#ifndef COZ_REPORT_TEXT_ANNOTATE_H_
#define COZ_REPORT_TEXT_ANNOTATE_H_

#include <ostream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "coz/report/wording/typed_name.h"

namespace coz::report {

struct AnnotateOptions {
  std::string file;  // as typed: a path, or the end of one that is in the profile
  std::string path = "profile.pb";
  std::string point;                     // a progress point's name; empty: the most visited
  std::vector<std::string> source_path;  // folders to look for the source in, before the usual
  Suggest suggest;                       // for names that are not there
};

absl::Status Annotate(const AnnotateOptions& options, std::ostream& out);

}  // namespace coz::report

#endif  // COZ_REPORT_TEXT_ANNOTATE_H_
