// The profiled processes: which have come, what they run, which are gone, and how often they waited
// for the disk in a page fault. It frees what the gone ones held, however they ended.
//
// Shape    a list of the first programs that processes ran, and how many there were in all
// Units    ns of CLOCK_MONOTONIC; page faults
// Errors   the end of a process is looked up by its number where no descriptor is left to watch it;
//          faults that cannot be read count as none
// Threads  compatible
// Signals  none
// Source   pidfd_open(2), proc_pid_stat(5)
#ifndef COZ_SUPERVISOR_TARGET_PROCESS_WATCH_H_
#define COZ_SUPERVISOR_TARGET_PROCESS_WATCH_H_

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "coz/base/unique_fd.h"
#include "coz/shared/control_block.h"

namespace coz::supervisor {

// "majflt" of the text of /proc/PID/stat: page faults of all threads that waited for the disk.
std::optional<uint64_t> ParseMajorFaults(absl::string_view stat);

class ProcessWatch {
 public:
  struct Process {
    pid_t pid = 0;
    pid_t parent_pid = 0;
    uint32_t image = 0;
    std::string program;     // path; empty if unknown
    uint64_t load_bias = 0;  // of the program
    uint64_t start_ns = 0;
    uint64_t end_ns = 0;           // 0 while it runs; it may have ended up to a poll earlier
    uint64_t major_faults = 0;     // from the first CountPageFaults to the last one
    uint64_t major_faults_ns = 0;  // the time between these
  };

  // `root`: what stands for "/", in tests.
  explicit ProcessWatch(shared::ControlBlock* control, const std::string& root = "")
      : control_(*control), proc_(root + "/proc"), watched_(shared::kMaxProcesses) {}

  // At least every 50 ms.
  void Poll();

  // Every second or so. The first look at a process tells nothing: a program that starts reads
  // itself from the disk.
  void CountPageFaults(uint64_t now_ns);

  // The first kMostKept, in the order in which they were seen.
  static constexpr size_t kMostKept = 1000;
  const std::vector<Process>& processes() const { return processes_; }
  // Programs that were seen.
  uint64_t seen() const { return seen_; }
  // Numbers of those that run.
  std::vector<pid_t> Running() const;
  // Profiled processes at the last poll.
  int live() const { return live_; }

 private:
  struct Watched {
    UniqueFd pidfd;
    pid_t pid = 0;
    uint32_t image = 0;
    size_t process = kMostKept;            // index into processes_; kMostKept: it is not kept
    std::optional<uint64_t> major_faults;  // at the last look
    uint64_t looked_ns = 0;                // then
  };

  void Look(shared::ProcessSlot& slot, Watched* watched);
  void Begin(const shared::ProcessSlot& slot, pid_t pid, Watched* watched);
  bool HasEnded(const Watched& watched) const;
  void NoteEnd(const Watched& watched, uint64_t end_ns);

  shared::ControlBlock& control_;
  const std::string proc_;
  std::vector<Watched> watched_;  // by process slot; pid 0: none
  std::vector<Process> processes_;
  uint64_t seen_ = 0;
  int live_ = 0;
};

}  // namespace coz::supervisor

#endif  // COZ_SUPERVISOR_TARGET_PROCESS_WATCH_H_
