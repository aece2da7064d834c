#include "coz/supervisor/target/tree_members.h"

#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <string>

#include "absl/strings/str_format.h"
#include "coz/base/clock.h"

namespace coz::supervisor {
namespace {

// A number is not given to another process so soon.
constexpr uint64_t kKeptNs = 1 * kNsPerSecond;

// A mapping as /proc/PID/maps has it.
struct Mapped {
  unsigned long long begin = 0;
  unsigned long long end = 0;
  std::string file;  // device and inode; "00:00 0": none
};

// Calls `visit` with each mapping until it returns true; returns whether it has.
template <typename Visit>
bool AnyMapping(pid_t pid, Visit visit) {
  std::ifstream maps(absl::StrFormat("/proc/%d/maps", pid));
  std::string line;
  while (std::getline(maps, line)) {
    Mapped mapped;
    char device[32] = "";
    unsigned long long inode = 0;
    if (sscanf(line.c_str(), "%llx-%llx %*s %*s %31s %llu", &mapped.begin, &mapped.end, device,
               &inode) != 4) {
      continue;
    }
    if (inode != 0) mapped.file = absl::StrFormat("%s %d", device, inode);
    if (visit(mapped)) return true;
  }
  return false;
}

// The file that is mapped there in this process; empty where none is.
std::string FileAt(const void* address) {
  const auto at = reinterpret_cast<uint64_t>(address);
  std::string file;
  AnyMapping(getpid(), [&](const Mapped& mapped) {
    if (at < mapped.begin || at >= mapped.end) return false;
    file = mapped.file;
    return true;
  });
  return file;
}

// Empty: in memory that is not shared.
bool HasMappedFile(const std::string& file, pid_t pid) {
  if (pid <= 0) return false;
  if (file.empty()) return pid == getpid();
  return AnyMapping(pid, [&file](const Mapped& mapped) { return mapped.file == file; });
}

}  // namespace

bool HasMapped(const shared::ControlBlock& control, pid_t pid) {
  return HasMappedFile(FileAt(&control), pid);
}

bool TreeMembers::Has(const shared::ControlBlock& control, uint32_t slot, pid_t pid,
                      uint64_t now_ns) {
  Answer& answer = answers_[slot];
  if (answer.pid == pid && now_ns < answer.until_ns) return answer.is_member;
  if (block_ != &control) {
    block_ = &control;
    file_ = FileAt(block_);
  }
  answer = {pid, HasMappedFile(file_, pid), now_ns + kKeptNs};
  return answer.is_member;
}

}  // namespace coz::supervisor
