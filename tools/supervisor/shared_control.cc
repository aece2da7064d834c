#include "tools/supervisor/shared_control.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_format.h"

namespace coz {

absl::StatusOr<SharedControl> SharedControl::Create() {
  UniqueFd fd(memfd_create("coz-control", MFD_CLOEXEC));
  if (!fd.ok() || ftruncate(fd.get(), sizeof(ControlBlock)) != 0) {
    return absl::ResourceExhaustedError(
        absl::StrFormat("cannot make %d MiB of shared memory for the profiled program: %s; free "
                        "some memory and try again",
                        sizeof(ControlBlock) >> 20, strerror(errno)));
  }
  void* mapped =
      mmap(nullptr, sizeof(ControlBlock), PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
  if (mapped == MAP_FAILED) {
    return absl::ResourceExhaustedError(absl::StrFormat(
        "cannot map the memory shared with the profiled program: %s", strerror(errno)));
  }
  ControlBlock* block = static_cast<ControlBlock*>(mapped);
  block->magic = kControlMagic;
  block->version = kControlVersion;
  block->supervisor_pid = getpid();
  block->bytes = sizeof(ControlBlock);
  struct stat space;
  if (stat("/proc/self/ns/pid", &space) == 0) block->pid_namespace = space.st_ino;
  return SharedControl(std::move(fd), block);
}

SharedControl::SharedControl(SharedControl&& other) noexcept
    : fd_(std::move(other.fd_)), block_(std::exchange(other.block_, nullptr)) {}

SharedControl::~SharedControl() {
  if (block_ != nullptr) munmap(block_, sizeof(ControlBlock));
}

std::string SharedControl::Path() const {
  return absl::StrFormat("/proc/%d/fd/%d", getpid(), fd_.get());
}

}  // namespace coz
