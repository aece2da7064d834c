// Where commands write: a file or standard output, and names with parts to fill in.
#ifndef COZ_TOOLS_OUTPUT_FILE_H_
#define COZ_TOOLS_OUTPUT_FILE_H_

#include <functional>
#include <ostream>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace coz {

// %p is this process's id, %h the host's name, %q{NAME} the environment variable, %% a percent
// sign. INVALID_ARGUMENT for any other.
absl::StatusOr<std::string> ExpandOutputName(const std::string& pattern);

// INVALID_ARGUMENT where `output` is the file that is read, by whatever path: it would be lost.
absl::Status CheckInputIsKept(const std::string& input, const std::string& output);

// Calls `write` with a stream to `path`, or to standard output where `path` is empty or "-". A file
// is either whole or as it was (coz/base/file_replacement.h). `is_binary` output is not written to
// a terminal.
absl::Status WriteOutput(const std::string& path, bool is_binary,
                         const std::function<absl::Status(std::ostream&)>& write);

// Whether WriteOutput writes it to standard output.
bool IsStandardOutput(const std::string& path);

// What stands behind "is in": "all.pb: coz report all.pb". No command reads standard output again.
std::string PlaceOfProfile(const std::string& path);

// Whether standard output has taken all that was printed. Says so where it has not.
bool IsAllPrinted();

}  // namespace coz

#endif  // COZ_TOOLS_OUTPUT_FILE_H_
