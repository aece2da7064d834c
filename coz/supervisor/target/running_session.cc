#include "coz/supervisor/target/running_session.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "coz/base/names_in.h"
#include "coz/base/unique_fd.h"
#include "coz/shared/slot_loops.h"

namespace coz::supervisor {
namespace {

namespace fs = std::filesystem;

enum class Seen { kNothing, kOtherVersion, kBlock };

// Its head is the same in all versions.
struct Head {
  uint64_t magic;
  uint32_t version;
};
static_assert(offsetof(shared::ControlBlock, magic) == offsetof(Head, magic));
static_assert(offsetof(shared::ControlBlock, version) == offsetof(Head, version));

// Whoever has the file cannot shorten it, which would end this process where it reads.
bool KeepsItsLength(int fd) {
  const int seals = fcntl(fd, F_GET_SEALS);
  return seals >= 0 && (seals & F_SEAL_SHRINK) != 0;
}

// Null unless the file holds a control block of this version.
SessionView MapBlock(const std::string& path, Seen* seen) {
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  Head head = {};
  if (!fd.ok() || pread(fd.get(), &head, sizeof(head), 0) != sizeof(head) ||
      head.magic != shared::kControlMagic) {
    return nullptr;
  }
  *seen = Seen::kOtherVersion;
  struct stat status;
  const size_t bytes = sizeof(shared::ControlBlock);
  if (head.version != shared::kControlVersion || fstat(fd.get(), &status) != 0 ||
      static_cast<size_t>(status.st_size) < bytes || !KeepsItsLength(fd.get())) {
    return nullptr;
  }
  void* const mapped = mmap(nullptr, bytes, PROT_READ, MAP_SHARED, fd.get(), 0);
  if (mapped == MAP_FAILED) return nullptr;
  SessionView view(static_cast<const shared::ControlBlock*>(mapped));
  if (view->bytes != bytes) return nullptr;
  *seen = Seen::kBlock;
  return view;
}

bool HasProcess(const shared::ControlBlock& block, pid_t pid) {
  if (block.supervisor_pid == pid) return true;
  bool has = false;
  shared::ForEachProcess(block, [&has, pid](const shared::ProcessSlot& slot) {
    const shared::ProcessState state = slot.state.load(std::memory_order_acquire);
    has = state != shared::ProcessState::kFree && slot.pid == pid;
    return !has;
  });
  return has;
}

// Memory that has no name in a file system, of one process.
std::vector<std::string> MemoryFilesOf(const std::string& process) {
  std::vector<std::string> files;
  for (const std::string& fd : NamesIn(process + "/fd")) {
    const std::string file = absl::StrCat(process, "/fd/", fd);
    std::error_code gone;
    const std::string target = fs::read_symlink(file, gone).string();
    if (!gone && absl::StartsWith(target, "/memfd:")) files.push_back(file);
  }
  return files;
}

absl::Status NotFound(pid_t pid, bool saw_other_version) {
  if (saw_other_version) {
    return absl::FailedPreconditionError(absl::StrFormat(
        "no session of this version of coz has process %d, but one of another version runs; look "
        "at it with the coz that runs it",
        pid));
  }
  return absl::NotFoundError(absl::StrFormat(
      "process %d is not being profiled, or its session is another user's; start one with "
      "`coz run --- PROGRAM` or `coz attach %d`",
      pid, pid));
}

}  // namespace

void Unmap::operator()(const shared::ControlBlock* block) const {
  munmap(const_cast<shared::ControlBlock*>(block), sizeof(shared::ControlBlock));
}

absl::StatusOr<SessionView> FindSession(pid_t pid) {
  bool saw_other_version = false;
  for (const std::string& process : NamesIn("/proc")) {
    pid_t owner = 0;
    if (!absl::SimpleAtoi(process, &owner)) continue;
    for (const std::string& file : MemoryFilesOf(absl::StrCat("/proc/", process))) {
      Seen seen = Seen::kNothing;
      SessionView view = MapBlock(file, &seen);
      saw_other_version |= seen == Seen::kOtherVersion;
      if (seen == Seen::kBlock && view->supervisor_pid == owner && HasProcess(*view, pid)) {
        return view;
      }
    }
  }
  return NotFound(pid, saw_other_version);
}

}  // namespace coz::supervisor
