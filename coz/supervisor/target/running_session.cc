#include "coz/supervisor/target/running_session.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "coz/base/unique_fd.h"
#include "coz/shared/slot_loops.h"

namespace coz::supervisor {
namespace {

namespace fs = std::filesystem;

enum class Seen { kNothing, kOtherVersion, kBlock };

// Null unless the file holds a control block.
SessionView MapBlock(const std::string& path, Seen* seen) {
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status;
  // Its head is the same in all versions.
  constexpr off_t kHeadBytes = sizeof(uint64_t) + 2 * sizeof(uint32_t);
  if (!fd.ok() || fstat(fd.get(), &status) != 0 || status.st_size < kHeadBytes) return nullptr;
  const size_t bytes = sizeof(shared::ControlBlock);
  void* const mapped = mmap(nullptr, bytes, PROT_READ, MAP_SHARED, fd.get(), 0);
  if (mapped == MAP_FAILED) return nullptr;
  SessionView view(static_cast<const shared::ControlBlock*>(mapped));
  if (view->magic != shared::kControlMagic) return nullptr;
  const bool is_ours = view->version == shared::kControlVersion &&
                       static_cast<size_t>(status.st_size) >= bytes && view->bytes == bytes;
  *seen = is_ours ? Seen::kBlock : Seen::kOtherVersion;
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
  std::error_code error;
  for (fs::directory_iterator fd(process + "/fd", error), end; !error && fd != end;
       fd.increment(error)) {
    std::error_code gone;
    const std::string target = fs::read_symlink(fd->path(), gone).string();
    if (!gone && absl::StartsWith(target, "/memfd:")) files.push_back(fd->path().string());
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
  std::error_code error;
  for (fs::directory_iterator process("/proc", error), end; !error && process != end;
       process.increment(error)) {
    pid_t owner = 0;
    if (!absl::SimpleAtoi(process->path().filename().string(), &owner)) continue;
    for (const std::string& file : MemoryFilesOf(process->path().string())) {
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
