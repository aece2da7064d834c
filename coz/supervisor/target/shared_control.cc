#include "coz/supervisor/target/shared_control.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_format.h"
#include "coz/shared/control_mapping.h"

namespace coz::supervisor {
namespace {

// Who has the file may shorten it no more: this process would be killed where it reads behind the
// end. And nobody adds a seal that keeps it from growing.
bool KeepFromShrinking(int fd) { return fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_SEAL) == 0; }

const char* NextFor(int error) {
  switch (error) {
    case EMFILE:
      return "coz needs some descriptors, run: ulimit -n 64";
    case EPERM:
    case EACCES:
    case ENOSYS:
      return "look for a filter of system calls with: grep Seccomp /proc/self/status";
    case EFBIG:
      return "allow larger files with: ulimit -f unlimited";
    default:
      return "free some memory and try again";
  }
}

}  // namespace

absl::StatusOr<SharedControl> SharedControl::Create() {
  return CreateIn(UniqueFd(memfd_create("coz-control", MFD_CLOEXEC | MFD_ALLOW_SEALING)));
}

absl::StatusOr<SharedControl> SharedControl::CreateIn(UniqueFd fd) {
  if (!fd.ok() || !shared::FormatControl(fd.get()) || !KeepFromShrinking(fd.get())) {
    return absl::ResourceExhaustedError(
        absl::StrFormat("cannot make %d MiB of shared memory for the profiled program: %s; %s",
                        sizeof(shared::ControlBlock) >> 20, strerror(errno), NextFor(errno)));
  }
  shared::ControlBlock* const block =
      shared::MapControl(fd.get(), sizeof(shared::ControlBlock)).control;
  if (block == nullptr) {
    return absl::ResourceExhaustedError(absl::StrFormat(
        "cannot map the memory shared with the profiled program: %s; look at: ulimit -v",
        strerror(errno)));
  }
  block->supervisor_pid = getpid();
  struct stat space;
  if (stat("/proc/self/ns/pid", &space) == 0) block->pid_namespace = space.st_ino;
  return SharedControl(std::move(fd), block);
}

SharedControl::SharedControl(SharedControl&& other) noexcept
    : fd_(std::move(other.fd_)),
      block_(std::exchange(other.block_, nullptr)),
      mapped_(std::move(other.mapped_)),
      end_(other.end_) {
  other.mapped_.clear();
}

absl::StatusOr<uint64_t> SharedControl::MakeRoom(uint64_t bytes) {
  const uint64_t offset = (end_ + 4095) / 4096 * 4096;
  if (offset + bytes > shared::kControlMappingBytes) {
    return absl::ResourceExhaustedError(
        "its line table finds no room beside those of other binaries");
  }
  if (ftruncate(fd_.get(), static_cast<off_t>(offset + bytes)) != 0) {
    return absl::ResourceExhaustedError(
        absl::StrFormat("there is no memory for its line table: %s", strerror(errno)));
  }
  end_ = offset + bytes;
  return offset;
}

absl::StatusOr<uint64_t> SharedControl::Append(std::string_view bytes) {
  if (bytes.empty()) return 0;
  absl::StatusOr<uint64_t> offset = MakeRoom(bytes.size());
  if (!offset.ok()) return offset;
  for (size_t done = 0; done < bytes.size();) {
    const ssize_t count = pwrite(fd_.get(), bytes.data() + done, bytes.size() - done,
                                 static_cast<off_t>(*offset + done));
    if (count <= 0) {
      return absl::ResourceExhaustedError(
          absl::StrFormat("its call paths cannot be shared with the program: %s", strerror(errno)));
    }
    done += static_cast<size_t>(count);
  }
  return offset;
}

absl::StatusOr<uint64_t> SharedControl::Append(int fd, uint64_t bytes) {
  absl::StatusOr<uint64_t> offset = MakeRoom(bytes);
  if (!offset.ok()) return offset;
  std::vector<char> part(1 << 16);
  for (uint64_t done = 0; done < bytes;) {
    const ssize_t count = pread(fd, part.data(), std::min<uint64_t>(part.size(), bytes - done),
                                static_cast<off_t>(done));
    if (count <= 0 || pwrite(fd_.get(), part.data(), static_cast<size_t>(count),
                             static_cast<off_t>(*offset + done)) != count) {
      return absl::ResourceExhaustedError(
          absl::StrFormat("its line table cannot be shared with the program: %s", strerror(errno)));
    }
    done += static_cast<uint64_t>(count);
  }
  return offset;
}

absl::StatusOr<uint64_t> SharedControl::AppendMapped(uint64_t bytes, void** mapped) {
  absl::StatusOr<uint64_t> offset = MakeRoom(bytes);
  if (!offset.ok()) return offset;
  *mapped = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd_.get(),
                 static_cast<off_t>(*offset));
  if (*mapped == MAP_FAILED) {
    return absl::ResourceExhaustedError(
        absl::StrFormat("memory behind the block cannot be mapped: %s", strerror(errno)));
  }
  mapped_.emplace_back(*mapped, bytes);
  return offset;
}

SharedControl::~SharedControl() {
  for (const auto& [address, bytes] : mapped_) munmap(address, bytes);
  if (block_ != nullptr) munmap(block_, sizeof(shared::ControlBlock));
}

std::string SharedControl::Path() const {
  return absl::StrFormat("/proc/%d/fd/%d", getpid(), fd_.get());
}

}  // namespace coz::supervisor
