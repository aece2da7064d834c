// Turns an errno of a profile file's system call into a status whose text says what to do next.
//
// Shape    a status
// Units    none
// Errors   none
// Threads  safe
// Signals  not async-signal-safe
// Source   open(2), write(2), read(2)
#ifndef COZ_REPORT_FORMAT_PROFILE_IO_ERROR_H_
#define COZ_REPORT_FORMAT_PROFILE_IO_ERROR_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace coz::report {

// `tried` is a verb, e.g. "write"; the sentence is "cannot <tried> the profile <path>: <errno
// text>; <next>".
absl::Status ProfileWriteError(absl::string_view tried, const std::string& path, int error);
// Of `coz merge`.
absl::Status MergeWriteError(absl::string_view tried, const std::string& path, int error);
absl::Status ProfileReadError(absl::string_view tried, const std::string& path, int error);

}  // namespace coz::report

#endif  // COZ_REPORT_FORMAT_PROFILE_IO_ERROR_H_
