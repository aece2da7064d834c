// Where a process has mapped the code of its program and libraries.
//
// Shape    one entry for each executable mapping of a file, as it is at the moment
// Units    runtime addresses; offsets in the file
// Errors   none: a process that is gone has no mappings
// Threads  safe
// Signals  not safe
// Source   proc(5), /proc/PID/maps
#ifndef COZ_SUPERVISOR_TARGET_MAPPED_CODE_H_
#define COZ_SUPERVISOR_TARGET_MAPPED_CODE_H_

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

namespace coz::supervisor {

struct MappedCode {
  uint64_t start;
  uint64_t end;
  uint64_t file_offset;
  std::string path;
};

// Takes some 50 us.
std::vector<MappedCode> ReadMappedCode(pid_t pid);

// Everything that the process has mapped, with room for its heap and its stack to grow.
struct MappedRange {
  uint64_t begin;
  uint64_t end;
  bool may_grow;  // false: little code of no file, such as stubs of an earlier session
};
std::vector<MappedRange> ReadMappedRanges(pid_t pid);

// The address of this offset in the file (its real path), or 0 where it is not mapped.
uint64_t RuntimeAddress(const std::vector<MappedCode>& mapped, const std::string& file,
                        uint64_t file_offset);

// The path without links, or as it is where there is no such file.
std::string RealPath(const std::string& path);

}  // namespace coz::supervisor

#endif  // COZ_SUPERVISOR_TARGET_MAPPED_CODE_H_
