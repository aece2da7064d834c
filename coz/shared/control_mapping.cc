#include "coz/shared/control_mapping.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "coz/base/raw_syscall.h"
#include "coz/base/unique_fd.h"

namespace coz::shared {
namespace {

// The first process is the supervisor's child. Any other may outlive the supervisor, or have other rights, and nobody has asked for it
// by name.
bool IsChildOfSupervisor(const char* control_path) {
  static constexpr char kPrefix[] = "/proc/";
  return strncmp(control_path, kPrefix, sizeof(kPrefix) - 1) == 0 &&
         atoi(control_path + sizeof(kPrefix) - 1) == getppid();
}

void Complain(const char* control_path, const char* what) {
  if (!IsChildOfSupervisor(control_path)) return;
  static constexpr char kPrefix[] = "coz: the program runs without the profiler: ";
  char line[256];
  strcpy(line, kPrefix);
  strncat(line, what, sizeof(line) - sizeof(kPrefix) - 1);
  strcat(line, "\n");
  (void)!write(STDERR_FILENO, line, strlen(line));
}

constexpr char kOtherVersion[] =
    "the supervisor is of another version; use the coz command this library came with";

// A debugger would stop at each sample's SIGTRAP as at a breakpoint of its own, and strace would print it.
bool IsTraced() {
  static constexpr char kField[] = "\nTracerPid:\t";
  char status[1024];  // the field is among the first
  const UniqueFd fd(open("/proc/self/status", O_RDONLY | O_CLOEXEC));
  if (!fd.ok()) return false;
  const ssize_t length = read(fd.get(), status, sizeof(status) - 1);
  if (length <= 0) return false;
  status[length] = '\0';
  const char* found = strstr(status, kField);
  return found != nullptr && found[sizeof(kField) - 1] != '0';
}

bool IsWanted(const ControlBlock& control) {
  if (control.stop.load(std::memory_order_relaxed) != 0) return false;
  if (control.target_pid.load(std::memory_order_acquire) == getpid()) {
    return control.follow != Follow::kOne || control.images.load(std::memory_order_relaxed) == 0;
  }
  return control.follow == Follow::kAll && IsInNamespaceOf(control);
}

}  // namespace

ControlBlock* MapControlBlock() {
  const char* path = getenv(kControlVariable);
  if (path == nullptr) return nullptr;
  const UniqueFd fd(open(path, O_RDWR | O_CLOEXEC));
  struct stat status;
  if (!fd.ok() || fstat(fd.get(), &status) != 0) {
    Complain(path, "its supervisor cannot be reached (is it in another container?)");
    return nullptr;
  }
  if (static_cast<uint64_t>(status.st_size) < sizeof(ControlBlock)) {
    Complain(path, kOtherVersion);
    return nullptr;
  }
  void* mapped =
      mmap(nullptr, kControlMappingBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
  if (mapped == MAP_FAILED) {
    Complain(path, "the memory shared with its supervisor cannot be mapped");
    return nullptr;
  }
  madvise(mapped, kControlMappingBytes, MADV_DONTDUMP);
  ControlBlock* control = static_cast<ControlBlock*>(mapped);
  const bool same_version = control->magic == kControlMagic && control->version == kControlVersion;
  if (!same_version) Complain(path, kOtherVersion);
  if (same_version && IsWanted(*control)) {
    if (!IsTraced()) return control;
    Complain(path, "it is traced (by gdb or strace?); run it under coz without them");
  }
  munmap(mapped, kControlMappingBytes);
  return nullptr;
}

bool IsInNamespaceOf(const ControlBlock& control) {
  struct stat space;
  return RawSyscall(SYS_stat, "/proc/self/ns/pid", &space) == 0 &&
         space.st_ino == control.pid_namespace;
}

}  // namespace coz::shared
