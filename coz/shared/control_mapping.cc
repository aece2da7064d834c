#include "coz/shared/control_mapping.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>

#include "coz/base/raw_syscall.h"
#include "coz/base/unique_fd.h"

namespace coz::shared {
namespace {

// The first process is the supervisor's child. Only it complains: any other may outlive the
// supervisor or have other rights, and nobody has asked for it by name.
bool IsChildOfSupervisor(const char* control_path) {
  static constexpr char kPrefix[] = "/proc/";
  return strncmp(control_path, kPrefix, sizeof(kPrefix) - 1) == 0 &&
         atoi(control_path + sizeof(kPrefix) - 1) == getppid();
}

// `fd`: the control block, so that the supervisor does not guess at the reason; -1: it is of
// another layout, or cannot be had.
void Complain(const char* control_path, int fd, const char* what) {
  if (!IsChildOfSupervisor(control_path)) return;
  static constexpr char kPrefix[] = "coz: the program runs without the profiler: ";
  char line[384];
  const int length = snprintf(line, sizeof(line), "%s%s\n", kPrefix, what);
  if (length <= 0) return;
  (void)!write(STDERR_FILENO, line, std::min(static_cast<size_t>(length), sizeof(line) - 1));
  constexpr uint32_t kSaid = 1;
  if (fd >= 0) (void)!pwrite(fd, &kSaid, sizeof(kSaid), offsetof(ControlBlock, has_complained));
}

const char* WhyNoMemory() {
  rlimit limit;
  if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
    return "the memory shared with its supervisor does not fit into the limit on its address space "
           "(RLIMIT_AS); raise it with: ulimit -v unlimited";
  }
  return "the memory shared with its supervisor cannot be mapped";
}

// A debugger would stop at each sample's SIGTRAP as at a breakpoint of its own. strace would print
// it.
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

bool IsWanted(ControlBlock& control) {
  if (control.stop.load(std::memory_order_relaxed) != 0) return false;
  if (control.target_pid.load(std::memory_order_acquire) == getpid()) {
    return control.follow != Follow::kOne || control.images.load(std::memory_order_relaxed) == 0;
  }
  return control.follow == Follow::kAll && MayJoinFromHere(control);
}

// A wish. Beside the libraries, where the kernel would put it, it would take the addresses at which
// most stubs of theirs have to lie (docs/design/patching.md, "While threads run").
void* FarFromCode() {
  constexpr uint64_t kDistance = uint64_t{8} << 30;
  constexpr uint64_t kPageBytes = 4096;
  const auto here = reinterpret_cast<uint64_t>(&FarFromCode);
  return here < 2 * kDistance ? nullptr
                              : reinterpret_cast<void*>((here - kDistance) & ~(kPageBytes - 1));
}

}  // namespace

const char* Explain(MapFault fault, int error) {
  switch (fault) {
    case MapFault::kNone:
      break;
    case MapFault::kNoFile:
      // The kernel asks what ptrace(2) asks before it opens a file in /proc/PID/fd.
      return error == EACCES || error == EPERM
                 ? "it may not open the memory of its supervisor, which has another user or more "
                   "capabilities; start coz itself with those of the program, as with `setpriv … "
                   "coz run`"
                 : "its supervisor cannot be reached (is it in another container?)";
    case MapFault::kOtherVersion:
      return "the supervisor is of another version; use the coz command this library came with";
    case MapFault::kNoMemory:
      return WhyNoMemory();
  }
  return "";
}

bool FormatControl(int fd) {
  if (ftruncate(fd, sizeof(ControlBlock)) != 0) return false;
  const uint64_t bytes = sizeof(ControlBlock);
  return pwrite(fd, &kControlMagic, sizeof(kControlMagic), offsetof(ControlBlock, magic)) ==
             sizeof(kControlMagic) &&
         pwrite(fd, &kControlVersion, sizeof(kControlVersion), offsetof(ControlBlock, version)) ==
             sizeof(kControlVersion) &&
         pwrite(fd, &bytes, sizeof(bytes), offsetof(ControlBlock, bytes)) == sizeof(bytes);
}

MappedControl MapControl(int fd, uint64_t mapped_bytes) {
  struct stat status;
  if (fstat(fd, &status) != 0) return {nullptr, MapFault::kNoFile};
  // A shorter file may not even hold the version.
  if (static_cast<uint64_t>(status.st_size) < sizeof(ControlBlock)) {
    return {nullptr, MapFault::kOtherVersion};
  }
  void* mapped = mmap(FarFromCode(), mapped_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (mapped == MAP_FAILED) return {nullptr, MapFault::kNoMemory};
  ControlBlock* control = static_cast<ControlBlock*>(mapped);
  if (control->magic == kControlMagic && control->version == kControlVersion &&
      control->bytes == sizeof(ControlBlock)) {
    return {control, MapFault::kNone};
  }
  munmap(mapped, mapped_bytes);
  return {nullptr, MapFault::kOtherVersion};
}

bool PlaceControl(int fd, const SlotPlaces& places, ControlBlock* at) {
  const auto place = [&](size_t to, size_t from, size_t bytes) {
    return mmap(reinterpret_cast<char*>(at) + to, bytes, PROT_READ | PROT_WRITE,
                MAP_SHARED | MAP_FIXED, fd, static_cast<off_t>(from)) != MAP_FAILED;
  };
  constexpr size_t kSlots = offsetof(ControlBlock, threads);
  static_assert(kSlots % 4096 == 0);
  for (uint32_t i = 0; i < places.used;) {
    // Those that follow each other here and there.
    uint32_t end = i + 1;
    while (end < places.used && places.number_at[end] == places.number_at[end - 1] + 1) ++end;
    const size_t from = kSlots + kThreadSlotBytes * (places.number_at[i] - 1);
    if (!place(kSlots + kThreadSlotBytes * i, from, kThreadSlotBytes * (end - i))) return false;
    i = end;
  }
  const size_t rest = kSlots + kThreadSlotBytes * places.used;
  return place(rest, rest, kControlMappingBytes - rest) && place(0, 0, kSlots);
}

ControlBlock* MapControlBlock() {
  const char* path = getenv(kControlVariable);
  if (path == nullptr) return nullptr;
  const UniqueFd fd(open(path, O_RDWR | O_CLOEXEC));
  const int open_error = errno;
  const MappedControl mapped = MapControl(fd.get());
  ControlBlock* control = mapped.control;
  if (control == nullptr) {
    Complain(path, mapped.fault == MapFault::kOtherVersion ? -1 : fd.get(),
             Explain(mapped.fault, fd.ok() ? 0 : open_error));
    return nullptr;
  }
  madvise(control, kControlMappingBytes, MADV_DONTDUMP);
  if (IsWanted(*control)) {
    if (!IsTraced()) return control;
    Complain(path, fd.get(), "it is traced (by gdb or strace?); run it under coz without them");
  }
  munmap(control, kControlMappingBytes);
  return nullptr;
}

bool MayJoinFromHere(ControlBlock& control) {
  struct stat space;
  if (RawSyscall(SYS_stat, "/proc/self/ns/pid", &space) == 0 &&
      space.st_ino == control.pid_namespace) {
    return true;
  }
  control.counters.processes_elsewhere.store(1, std::memory_order_relaxed);
  return false;
}

}  // namespace coz::shared
