// The files that profiled processes have loaded, and the supervisor's line tables for them.
//
// Shape    a table that only grows. A process announces a file when the first sample falls into it;
//          its program it announces at start. The supervisor answers with a line table, or that the
//          file is out of scope
// Units    runtime addresses of the process that announced the file; bytes; ns
// Errors   none; a full table is counted in the block
// Threads  `state` says who may read or write the other fields
// Signals  lock-free
// Source   docs/design.md, "Shared memory"
#ifndef COZ_SHARED_MODULES_H_
#define COZ_SHARED_MODULES_H_

#include <atomic>
#include <cstdint>

#include "coz/shared/call_paths.h"

namespace coz::shared {

inline constexpr uint32_t kMaxModules = 256;
inline constexpr uint32_t kModulePathBytes = 1024;

enum class ModuleState : uint32_t { kFree, kBeingWritten, kAnnounced, kTableReady, kNotMapped };

struct ModuleSlot {
  std::atomic<ModuleState> state;
  uint32_t is_program;  // the executable of a process
  // They identify the file. A path alone does not: it may name another file to another process, or
  // later. All are 0 where they are not known.
  uint64_t device;
  uint64_t inode;
  uint64_t modified_ns;
  uint64_t load_bias;  // in the process that announced it
  char path[kModulePathBytes];
  // The answer. The first `common_units` lines of every table are the units 0, 1 ... that all
  // tables share. Line `common_units + i` is unit `first_unit + i`.
  uint64_t table_offset;  // from the start of the block; tables lie behind the block
  uint32_t first_unit;
  uint32_t common_units;
  uint64_t table_bytes;
  // Where units are call paths: line `unit_lines + i` stands for the lines of path i. There are
  // `inlined_paths` of them, from this offset on.
  uint32_t unit_lines;
  uint32_t inlined_paths;
  uint64_t inlined_paths_offset;
  // Of a program of Go's: the table of its functions, as in the file. 0 bytes: it has none.
  uint64_t go_functions_address;
  uint64_t go_functions_bytes;
};

// Lines of a table, which code was inlined into, from the innermost outwards.
struct InlinedPath {
  uint32_t count;
  uint32_t lines[kMaxPathFunctions];
};

}  // namespace coz::shared

#endif  // COZ_SHARED_MODULES_H_
