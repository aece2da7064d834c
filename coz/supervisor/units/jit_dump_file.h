// The jitdump of a profiled process: finds the file and reads it as it grows.
//
// Shape    one file for a process, which the process has mapped executable; "jit-PID.dump"
// Units    ns of CLOCK_MONOTONIC; runtime addresses of the process
// Errors   problem(): one sentence where the file, or what follows in it, is left alone
// Threads  compatible
// Signals  none
// Source   linux, perf's jitdump-specification.txt; docs/units.md
#ifndef COZ_SUPERVISOR_UNITS_JIT_DUMP_FILE_H_
#define COZ_SUPERVISOR_UNITS_JIT_DUMP_FILE_H_

#include <sys/stat.h>
#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "coz/sourcemap/jit_dump.h"
#include "coz/sourcemap/perf_map.h"
#include "coz/supervisor/units/unit_index.h"

namespace coz::supervisor {

// The path of a jitdump in the text of /proc/PID/maps; empty where there is none.
std::string JitDumpIn(std::string_view maps);

class JitDumpFile {
 public:
  bool is_found() const { return !path_.empty(); }

  // Looks whether the process has mapped one.
  void Find(pid_t pid);

  // Reads what is new into `ranges`. True where that has changed them.
  bool Read(pid_t pid, UnitIndex* units, sourcemap::CodeRanges* ranges);

  const std::string& problem() const { return problem_; }

 private:
  bool IsUsable(pid_t pid, const struct stat& file);
  void Take(const sourcemap::JitDumpParser::Load& load, UnitIndex* units,
            sourcemap::CodeRanges* ranges);
  void NoteRoom(bool has_room);

  std::string path_;
  uint64_t read_bytes_ = 0;
  sourcemap::JitDumpParser parser_;
  std::string problem_;
};

}  // namespace coz::supervisor

#endif  // COZ_SUPERVISOR_UNITS_JIT_DUMP_FILE_H_
