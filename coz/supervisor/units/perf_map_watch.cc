#include "coz/supervisor/units/perf_map_watch.h"

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <utility>

#include "absl/strings/str_format.h"
#include "coz/base/clock.h"
#include "coz/base/unique_fd.h"
#include "coz/shared/slot_loops.h"

namespace coz::supervisor {
namespace {

// Most programs write no map, or begin when they start.
constexpr uint64_t kLookNs = 50 * kNsPerMs;
constexpr uint64_t kSlowLookNs = 1 * kNsPerSecond;
constexpr uint64_t kStartNs = 10 * kNsPerSecond;
constexpr uint64_t kSearchNs = 200 * kNsPerMs;

constexpr uint64_t kMostMapBytes = uint64_t{256} << 20;
constexpr uint64_t kMostBytesPerLook = uint64_t{4} << 20;
constexpr size_t kRememberedBytes = 64;

std::string MapPath(pid_t pid) { return absl::StrFormat("/tmp/perf-%d.map", pid); }

// In the process's view of the files, where that may be seen.
UniqueFd OpenMap(pid_t pid) {
  // A pipe or a link in its place does not hold coz up, nor lead it elsewhere.
  constexpr int kFlags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
  UniqueFd fd(open(absl::StrFormat("/proc/%d/root%s", pid, MapPath(pid)).c_str(), kFlags));
  if (!fd.ok() && errno == EACCES) fd.Reset(open(MapPath(pid).c_str(), kFlags));
  return fd;
}

// When the process was made, as the clock of files has it; 0 where that is unknown.
double StartOf(pid_t pid) {
  std::ifstream file(absl::StrFormat("/proc/%d/stat", pid));
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  // Behind the name in parentheses: state, and 18 more fields before the start.
  const size_t name_end = text.rfind(')');
  unsigned long long ticks = 0;
  if (name_end == std::string::npos ||
      sscanf(text.c_str() + name_end + 1,
             " %*c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %llu",
             &ticks) != 1) {
    return 0;
  }
  timespec boot;
  timespec real;
  clock_gettime(CLOCK_BOOTTIME, &boot);
  clock_gettime(CLOCK_REALTIME, &real);
  const double boot_to_real = static_cast<double>(real.tv_sec - boot.tv_sec) +
                              static_cast<double>(real.tv_nsec - boot.tv_nsec) / 1e9;
  return boot_to_real + static_cast<double>(ticks) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

// Both clocks are coarse.
constexpr double kClockErrorS = 0.1;

}  // namespace

void PerfMapWatch::Warn(Watched* watched, const std::string& what) {
  if (!std::exchange(watched->has_warned, true)) warnings_.push_back(what);
}

std::vector<std::string> PerfMapWatch::TakeWarnings() { return std::exchange(warnings_, {}); }

// A child of fork runs the code that its parent has compiled.
void PerfMapWatch::Begin(const shared::ProcessSlot& slot, pid_t pid, uint64_t now_ns,
                         Watched* watched) {
  Watched begun;
  begun.pid = pid;
  begun.image = slot.image.load(std::memory_order_relaxed);
  begun.since_ns = now_ns;
  begun.code = watched->code;
  begun.code_offset = watched->code_offset;
  const pid_t parent = slot.parent_pid;
  for (const auto& [index, other] : watched_) {
    if (other.pid == 0 || other.pid != parent || other.image != begun.image) continue;
    begun.ranges = other.ranges;
    begun.is_changed = !begun.ranges.ranges().empty();
  }
  *watched = std::move(begun);
}

void PerfMapWatch::ReadFrom(int fd, const struct stat& file, Watched* watched) {
  std::string last(watched->last_bytes.size(), '\0');
  const bool goes_on =
      watched->device == file.st_dev && watched->inode == file.st_ino &&
      static_cast<uint64_t>(file.st_size) >= watched->read_bytes &&
      pread(fd, last.data(), last.size(), static_cast<off_t>(watched->read_bytes - last.size())) ==
          static_cast<ssize_t>(last.size()) &&
      last == watched->last_bytes;
  if (!goes_on) {
    // Another map, or written anew (as jcmd does).
    watched->device = file.st_dev;
    watched->inode = file.st_ino;
    watched->read_bytes = 0;
    watched->last_bytes.clear();
    watched->parser = sourcemap::PerfMapParser();
    watched->ranges.Clear();
    watched->is_changed = true;
  }
  std::string bytes(std::min(kMostBytesPerLook, static_cast<uint64_t>(file.st_size)), '\0');
  const ssize_t count =
      pread(fd, bytes.data(), bytes.size(), static_cast<off_t>(watched->read_bytes));
  if (count <= 0) return;
  bytes.resize(static_cast<size_t>(count));
  watched->read_bytes += bytes.size();
  watched->last_bytes += bytes;
  watched->last_bytes.erase(
      0, watched->last_bytes.size() - std::min(watched->last_bytes.size(), kRememberedBytes));
  watched->parser.Feed(bytes, [&](const sourcemap::PerfMapEntry& entry) {
    const uint32_t unit = units_->UnitOfJitCode(entry.name);
    watched->is_changed = true;
    if (watched->ranges.Put(entry.start, entry.start + entry.size, unit)) return;
    Warn(watched,
         absl::StrFormat("process %d has compiled more functions than coz has room for (%d); the "
                         "rest of %s counts for nothing",
                         watched->pid, shared::kMaxJitRanges, MapPath(watched->pid)));
  });
  if (watched->parser.bad_lines() == 0) return;
  Warn(watched, absl::StrFormat("%s has lines that are no \"START SIZE NAME\"; they count for "
                                "nothing",
                                MapPath(watched->pid)));
}

void PerfMapWatch::Read(Watched* watched) {
  const UniqueFd fd = OpenMap(watched->pid);
  struct stat file;
  if (!fd.ok() || fstat(fd.get(), &file) != 0) return;
  const bool is_as_before = file.st_dev == watched->device && file.st_ino == watched->inode &&
                            file.st_mtim.tv_sec == watched->modified.tv_sec &&
                            file.st_mtim.tv_nsec == watched->modified.tv_nsec &&
                            static_cast<uint64_t>(file.st_size) == watched->read_bytes;
  if (is_as_before) return;
  struct stat process;
  const bool is_owned = stat(absl::StrFormat("/proc/%d", watched->pid).c_str(), &process) == 0 &&
                        (file.st_uid == process.st_uid || file.st_uid == 0);
  if (!S_ISREG(file.st_mode) || !is_owned) {
    return Warn(watched, absl::StrFormat("%s is not used, for it is no file of the process's user; "
                                         "remove it and start the program again",
                                         MapPath(watched->pid)));
  }
  const double modified =
      static_cast<double>(file.st_mtim.tv_sec) + static_cast<double>(file.st_mtim.tv_nsec) / 1e9;
  // An earlier process of this number has left it.
  if (modified + kClockErrorS < StartOf(watched->pid)) return;
  if (static_cast<uint64_t>(file.st_size) > kMostMapBytes) {
    return Warn(watched, absl::StrFormat("%s is larger than %d MiB; code that it names from now on "
                                         "counts for nothing",
                                         MapPath(watched->pid), kMostMapBytes >> 20));
  }
  watched->modified = file.st_mtim;
  ReadFrom(fd.get(), file, watched);
}

// False where there is none, or not yet.
bool PerfMapWatch::ReadDump(Watched* watched, uint64_t now_ns) {
  if (!watched->dump.is_found()) {
    if (now_ns < watched->next_search_ns) return false;
    watched->next_search_ns =
        now_ns + (now_ns > watched->since_ns + kStartNs ? kSlowLookNs : kSearchNs);
    watched->dump.Find(watched->pid);
    if (!watched->dump.is_found()) return false;
    watched->ranges.Clear();
    watched->is_changed = true;
  }
  watched->is_changed |= watched->dump.Read(watched->pid, units_, &watched->ranges);
  if (!watched->dump.problem().empty()) Warn(watched, watched->dump.problem());
  return true;
}

void PerfMapWatch::Publish(SharedControl& control, shared::ProcessSlot& slot, Watched* watched) {
  if (watched->code == nullptr) {
    void* mapped = nullptr;
    const absl::StatusOr<uint64_t> offset = control.AppendMapped(sizeof(shared::JitCode), &mapped);
    if (!offset.ok()) {
      return Warn(watched, absl::StrFormat("what process %d compiles counts for nothing: %s",
                                           watched->pid, offset.status().message()));
    }
    watched->code = static_cast<shared::JitCode*>(mapped);
    watched->code_offset = *offset;
  }
  shared::PublishJitCode(*watched->code, shared::JitOwner(watched->pid, watched->image),
                         [watched](auto add) {
                           for (const auto& [start, range] : watched->ranges.ranges()) {
                             add(start, range.end, range.unit);
                           }
                         });
  slot.jit_code.store(watched->code_offset, std::memory_order_release);
  watched->is_changed = false;
}

void PerfMapWatch::Look(SharedControl& control, shared::ProcessSlot& slot, uint32_t index,
                        uint64_t now_ns) {
  if (slot.state.load(std::memory_order_acquire) != shared::ProcessState::kRunning) return;
  const pid_t pid = slot.pid;
  if (!members_.Has(control.block(), index, pid, now_ns)) return;
  Watched* const watched = &watched_[index];
  if (watched->pid != pid || watched->image != slot.image.load(std::memory_order_relaxed)) {
    Begin(slot, pid, now_ns, watched);
  }
  if (now_ns < watched->next_look_ns) return;
  const bool is_slow = watched->read_bytes == 0 && !watched->dump.is_found() &&
                       now_ns > watched->since_ns + kStartNs;
  watched->next_look_ns = now_ns + (is_slow ? kSlowLookNs : kLookNs);
  if (!ReadDump(watched, now_ns)) Read(watched);
  if (watched->is_changed) Publish(control, slot, watched);
}

void PerfMapWatch::Poll(SharedControl& control, uint64_t now_ns) {
  if (!units_->TakesJitCode()) return;
  shared::ForEachProcess(control.block(), [&](shared::ProcessSlot& slot, uint32_t index) {
    Look(control, slot, index, now_ns);
  });
}

}  // namespace coz::supervisor
