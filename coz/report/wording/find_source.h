// Finds a source file of a profile on this machine, which need not be where it was compiled, and
// tells whether it is what was profiled.
//
// Shape    a path in, a path that can be read out
// Units    ns since the epoch
// Errors   "" where it is nowhere
// Threads  safe
// Signals  not async-signal-safe
// Source   none
#ifndef COZ_REPORT_WORDING_FIND_SOURCE_H_
#define COZ_REPORT_WORDING_FIND_SOURCE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "coz/report/format/profile.pb.h"

namespace coz::report {

// `file` as the profile names it: at its path; else, in each folder, by the longest end of the path
// that exists there.
std::string FindSource(const std::string& file, const std::vector<std::string>& folders);

// Folders to look in: the user's, then the current one, that in which the program was profiled, the
// base of Bazel's relative paths, that of the program and the one above it, where builds often have
// the sources.
std::vector<std::string> SourceFolders(const std::vector<std::string>& wanted,
                                       const profile::Profile& profile);

// When the profile was begun, by its first session; 0 where no session says it.
uint64_t BeginNs(const profile::Profile& profile);

// Whether the file was modified after that time. What was edited since is not what was measured.
// False where either time is not known.
bool IsModifiedAfter(const std::string& path, uint64_t unix_ns);

}  // namespace coz::report

#endif  // COZ_REPORT_WORDING_FIND_SOURCE_H_
