// Reads the perf maps and jitdumps of profiled processes as they grow, and tells the processes
// which of the code that they have compiled belongs to which unit.
//
// Shape    /tmp/perf-PID.map of each process, in the process's own view of the files; or where it
//          has one, its jitdump alone, which tells more
// Units    ns of CLOCK_MONOTONIC; runtime addresses of the process
// Errors   a map that is of another user, older than its process, too large or damaged is left
//          alone, in whole or in part; TakeWarnings says so in one sentence
// Threads  compatible
// Signals  none
// Source   linux, perf's jit-interface.txt; docs/units.md
#ifndef COZ_SUPERVISOR_UNITS_PERF_MAP_WATCH_H_
#define COZ_SUPERVISOR_UNITS_PERF_MAP_WATCH_H_

#include <sys/stat.h>
#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "coz/shared/jit_code.h"
#include "coz/sourcemap/perf_map.h"
#include "coz/supervisor/target/shared_control.h"
#include "coz/supervisor/target/tree_members.h"
#include "coz/supervisor/units/jit_dump_file.h"
#include "coz/supervisor/units/unit_index.h"

namespace coz::supervisor {

class PerfMapWatch {
 public:
  // Does nothing where `units` take no such code.
  explicit PerfMapWatch(UnitIndex* units) : units_(units) {}

  // Often enough for code that a program has just compiled: every 20 ms or so.
  void Poll(SharedControl& control, uint64_t now_ns);

  // Since the last call.
  std::vector<std::string> TakeWarnings();

 private:
  // Of a process slot.
  struct Watched {
    pid_t pid = 0;  // 0: none
    uint32_t image = 0;
    uint64_t since_ns = 0;
    uint64_t next_look_ns = 0;
    // Of the map: what identifies it, and how far it was read.
    dev_t device = 0;
    ino_t inode = 0;
    timespec modified = {};
    uint64_t read_bytes = 0;
    std::string last_bytes;  // up to there
    sourcemap::PerfMapParser parser;
    JitDumpFile dump;
    uint64_t next_search_ns = 0;  // for the dump
    sourcemap::CodeRanges ranges{shared::kMaxJitRanges};
    bool is_changed = false;  // since the process was told
    bool has_warned = false;
    // Behind the control block; the slot keeps it for its next process.
    shared::JitCode* code = nullptr;
    uint64_t code_offset = 0;
  };

  void Look(SharedControl& control, shared::ProcessSlot& slot, uint32_t index, uint64_t now_ns);
  void Begin(const shared::ProcessSlot& slot, pid_t pid, uint64_t now_ns, Watched* watched);
  void Read(Watched* watched);
  bool ReadDump(Watched* watched, uint64_t now_ns);
  void ReadFrom(int fd, const struct stat& file, Watched* watched);
  void Publish(SharedControl& control, shared::ProcessSlot& slot, Watched* watched);
  void Warn(Watched* watched, const std::string& what);

  UnitIndex* units_;
  TreeMembers members_;
  std::map<uint32_t, Watched> watched_;  // by process slot
  std::vector<std::string> warnings_;
};

}  // namespace coz::supervisor

#endif  // COZ_SUPERVISOR_UNITS_PERF_MAP_WATCH_H_
