// Process: target. Context: the library's constructor.
#include "coz/runtime/second_copy.h"

#include <dlfcn.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "coz/base/raw_syscall.h"
#include "coz/shared/slot_loops.h"

namespace coz::runtime {
namespace {

constexpr int kLongestLine = 4352;  // of a path of 4096 bytes

ino_t FileOfThisLibrary() {
  Dl_info info;
  struct stat file;
  if (dladdr(reinterpret_cast<const void*>(&IsSecondCopy), &info) == 0) return 0;
  return stat(info.dli_fname, &file) == 0 ? file.st_ino : 0;
}

bool IsFirstPageOf(ino_t wanted, const char* line) {
  unsigned long offset = 1;
  unsigned long file = 0;
  return sscanf(line, "%*x-%*x %*s %lx %*x:%*x %lu", &offset, &file) == 2 && offset == 0 &&
         file == wanted;
}

// Copies are of one file, and each has its first page mapped.
int CopiesLoaded() {
  const ino_t wanted = FileOfThisLibrary();
  // An emulator shows its program that program's mappings alone, at the names that programs know.
  char path[64];
  snprintf(path, sizeof(path), "/proc/self/task/%ld/maps", RawSyscall(SYS_gettid));
  FILE* const maps = fopen(path, "re");
  if (wanted == 0 || maps == nullptr) return 1;
  int copies = 0;
  char line[kLongestLine];
  while (fgets(line, sizeof(line), maps) != nullptr) copies += IsFirstPageOf(wanted, line) ? 1 : 0;
  fclose(maps);
  return copies;
}

// Not so after an exec that the library saw. After another one, as Go's runtime makes it, it is,
// and where an earlier process had the same number.
bool MayBeAttached(shared::ControlBlock& control, pid_t pid) {
  bool is_found = false;
  shared::ForEachProcess(control, [&](shared::ProcessSlot& slot) {
    is_found = slot.pid == pid &&
               slot.state.load(std::memory_order_acquire) == shared::ProcessState::kRunning;
    return !is_found;
  });
  return is_found;
}

}  // namespace

bool IsSecondCopy(shared::ControlBlock& control, pid_t pid) {
  return MayBeAttached(control, pid) && CopiesLoaded() > 1;
}

}  // namespace coz::runtime
