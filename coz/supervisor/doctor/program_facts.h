// What a program's file tells of it before it runs.
//
// Shape    plain data, so that tests make their own
// Units    bytes of code; counts
// Errors   LookAtProgram: those of FindProgram and DescribeBinary; what cannot be known of a part
//          is empty or 0
// Threads  safe
// Signals  none
// Source   the sources of its parts
#ifndef COZ_SUPERVISOR_DOCTOR_PROGRAM_FACTS_H_
#define COZ_SUPERVISOR_DOCTOR_PROGRAM_FACTS_H_

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "coz/points/marks_in_file.h"
#include "coz/sourcemap/binary_info.h"
#include "coz/sourcemap/dwarf/debug_summary.h"
#include "coz/supervisor/doctor/unseen_waits.h"

namespace coz::supervisor {

struct ProgramFacts {
  sourcemap::BinaryInfo info;
  std::string word;           // as the user named it
  pid_t pid = 0;              // of the process that runs it, if one is to be attached to
  bool gains_rights = false;  // setuid, setgid or file capabilities: the loader preloads nothing
  sourcemap::DebugSummary debug;
  uint64_t lines_in_scope = 0;  // that the default scope leaves to be tried
  uint64_t bytes_in_scope = 0;  // of code
  points::MarksInFile marks;
  UnseenWaits waits;  // without the system calls of a program of Go's whose waits are seen
  std::string why_no_goroutines;      // of a program of Go's: why its waits are not seen, or empty
  bool takes_signals_itself = false;  // see TakesSignalsItself
};

// Whether the file is setuid, setgid or has capabilities. False, too, where it cannot be seen.
bool GainsRights(const std::string& path);

// `name`: a path, or a name to be sought in $PATH. Reads its debug information, as a run would.
absl::StatusOr<ProgramFacts> LookAtProgram(const std::string& name);

}  // namespace coz::supervisor

#endif  // COZ_SUPERVISOR_DOCTOR_PROGRAM_FACTS_H_
