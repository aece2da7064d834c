// A place in a binary, and a process that may have mapped it.
//
// Shape    values
// Units    ns of CLOCK_MONOTONIC; offsets in the file
// Errors   none
// Threads  values
// Signals  none
// Source   none
#ifndef COZ_SUPERVISOR_POINTS_PLACE_IN_FILE_H_
#define COZ_SUPERVISOR_POINTS_PLACE_IN_FILE_H_

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "coz/points/code_places.h"
#include "coz/supervisor/target/mapped_code.h"

namespace coz::supervisor {

struct PlaceInFile {
  std::string file;  // its real path
  points::CodePlace code;
};

// A process that runs the program now.
struct ImageProcess {
  pid_t pid;
  uint64_t start_ns;
  std::vector<MappedCode> mapped;
};

}  // namespace coz::supervisor

#endif  // COZ_SUPERVISOR_POINTS_PLACE_IN_FILE_H_
