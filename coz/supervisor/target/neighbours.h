// Which other programs use the most CPU time while the target is profiled, and whether one of them
// talks to the target: a load generator. And how much those use that hardly ever wait, whatever the
// target does: a compiler, say.
//
// Shape    CPU time by the name of the program (comm), gained between looks 2 s apart, and 0.3 s at
//          first. A process counts with the CPU on which it ran last. What ended between looks is
//          known by the CPU time of its parent's children, and judged by the processes that were
//          seen young
// Units    ns of CPU time, to a clock tick
// Errors   none: what cannot be read counts as nothing; without the right to read its descriptors
//          nobody talks to the target
// Threads  compatible
// Signals  none
// Source   proc(5), /proc/PID/stat, /proc/PID/task/TID/status, /proc/PID/net/tcp
#ifndef COZ_SUPERVISOR_TARGET_NEIGHBOURS_H_
#define COZ_SUPERVISOR_TARGET_NEIGHBOURS_H_

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"

namespace coz::supervisor {

// Of /proc/PID/stat.
struct ProcessTimes {
  std::string name;
  uint64_t ticks = 0;        // of CPU time, user and system
  uint64_t child_ticks = 0;  // of children that ended and were waited for, and of theirs
  uint64_t start_tick = 0;   // since boot: tells processes of one number apart
  uint32_t cpu = 0;          // on which it ran last
};
std::optional<ProcessTimes> ParseProcessStat(absl::string_view stat);

// Whether a connection leads from one of the sockets to one of the others, by the text of
// /proc/net/tcp or tcp6. Sockets are known by inode.
bool AreConnected(absl::string_view tcp, const std::set<uint64_t>& sockets,
                  const std::set<uint64_t>& others);

// "voluntary_ctxt_switches" of /proc/PID/task/TID/status.
std::optional<uint64_t> ParseWaits(absl::string_view status);

class NeighbourWatch {
 public:
  struct Neighbour {
    std::string name;
    uint64_t cpu_ns = 0;
    bool talks_to_target = false;  // over TCP on this machine
  };

  // `cpus`: by number, those that the target may use. `root`: what stands for "/", in tests.
  explicit NeighbourWatch(std::vector<bool> cpus, const std::string& root = "")
      : cpus_(std::move(cpus)), proc_(root + "/proc") {}

  // Whether it is time for another look.
  bool IsDue(uint64_t now_ns) const;
  // `own`: processes that are no neighbours.
  void Look(uint64_t now_ns, const std::set<pid_t>& own);

  // Those with the most CPU time since the first look, at most `most` of them.
  std::vector<Neighbour> Busiest(size_t most) const;

  // How many CPUs those kept busy between the last two looks that hardly wait.
  double CpusOfTireless() const { return tireless_cpus_; }

 private:
  struct Seen {
    uint64_t start_tick = 0;
    uint64_t ticks = 0;
  };

  // Adds what each gained since the last look. Returns the one that gained most of those whose
  // connections were not looked at yet, or 0.
  pid_t Count(const std::vector<pid_t>& pids, const std::set<pid_t>& own, uint64_t elapsed_ns);
  // How often the threads of the process have waited. Nothing of one with many threads.
  std::optional<uint64_t> WaitsOf(pid_t pid) const;
  // Whether it seldom waits, which has used so many ticks in all; of one that is new since the last
  // look.
  bool IsTireless(pid_t pid, uint64_t ticks) const;
  bool IsTirelessYoung(pid_t pid, uint64_t ticks) const;
  // Of those that ended since the last look, the part that hardly waited. `all_ticks`: of all that
  // live and their children; `gained_ticks`: by those that live.
  uint64_t TirelessTicksOfEnded(uint64_t all_ticks, uint64_t gained_ticks);
  bool Talks(pid_t pid, const std::set<pid_t>& own) const;
  std::set<uint64_t> SocketsOf(pid_t pid) const;

  const std::vector<bool> cpus_;
  const std::string proc_;
  uint64_t read_ns_ = 0;
  uint64_t tireless_ticks_ = 0;  // gained at the last look
  double tireless_cpus_ = 0;
  uint64_t looks_ = 0;
  uint64_t all_ticks_ = 0;    // at the last look, of all that lived, and of their children
  uint64_t young_ticks_ = 0;  // of processes that were seen for the first time, over all looks
  uint64_t tireless_young_ticks_ = 0;
  absl::flat_hash_map<pid_t, Seen> seen_;
  absl::flat_hash_map<std::string, uint64_t> ticks_by_name_;
  std::set<std::string> talkers_;
  std::set<pid_t> judged_;  // processes whose connections were looked at: one at each look
};

}  // namespace coz::supervisor

#endif  // COZ_SUPERVISOR_TARGET_NEIGHBOURS_H_
