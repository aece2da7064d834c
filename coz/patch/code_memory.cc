#include "coz/patch/code_memory.h"

#include <fcntl.h>
#include <linux/membarrier.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "coz/base/raw_syscall.h"
#include "coz/base/spared_calls.h"

namespace coz::patch {
namespace {

constexpr uint64_t kPageBytes = 4096;

uint64_t PageOf(uint64_t address) { return address & ~(kPageBytes - 1); }

bool Protect(uint64_t address, size_t bytes, int protection) {
  const uint64_t begin = PageOf(address);
  const uint64_t end = PageOf(address + bytes - 1) + kPageBytes;
  return RawSyscall(SYS_mprotect, begin, end - begin, protection) == 0;
}

// This process's memory as a file, which may be written to whatever the protection of its pages.
int g_memory = -1;
int g_memory_users = 0;

// Far from the numbers that the program's next descriptors get.
bool OpenMemory() {
  constexpr int kHighDescriptor = 512;
  if (g_memory_users++ > 0) return true;
  const long opened = RawSyscall(SYS_openat, AT_FDCWD, "/proc/self/mem", O_RDWR | O_CLOEXEC, 0);
  if (opened >= 0) {
    const long moved = RawSyscall(SYS_fcntl, opened, F_DUPFD_CLOEXEC, kHighDescriptor);
    if (moved >= 0) RawSyscall(SYS_close, opened);
    g_memory = static_cast<int>(moved >= 0 ? moved : opened);
    return true;
  }
  g_memory_users = 0;
  return false;
}

}  // namespace

bool MapStubPage(uint64_t page) {
  const long mapped = RawSyscall(SYS_mmap, page, kPageBytes, PROT_READ | PROT_EXEC,
                                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  if (mapped < 0 && mapped > -4096) return false;
  if (static_cast<uint64_t>(mapped) == page) return true;
  RawSyscall(SYS_munmap, mapped, kPageBytes);  // kernels before 4.17 take the address as a hint
  return false;
}

bool AllowWriting(uint64_t address, size_t bytes) {
  return Protect(address, bytes, PROT_READ | PROT_WRITE | PROT_EXEC) || OpenMemory();
}

void ForbidWriting(uint64_t address, size_t bytes) {
  if (g_memory_users == 0) {
    Protect(address, bytes, PROT_READ | PROT_EXEC);
  } else if (--g_memory_users == 0) {
    RawSyscall(SYS_close, g_memory);
  }
}

void OnForkOfWriter() {
  if (g_memory_users != 0) RawSyscall(SYS_close, g_memory);
  g_memory_users = 0;
}

void StoreByte(uint64_t address, uint8_t byte) {
  if (g_memory_users == 0) {
    __atomic_store_n(reinterpret_cast<uint8_t*>(address), byte, __ATOMIC_SEQ_CST);
  } else {
    RawSyscall(SYS_pwrite64, g_memory, &byte, 1, address);
  }
}

bool SyncCores() {
  if (SparedRawCall<SYS_membarrier>(MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE, 0, 0) == 0)
    return true;
  return SparedRawCall<SYS_membarrier>(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE, 0, 0) ==
             0 &&
         SparedRawCall<SYS_membarrier>(MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE, 0, 0) == 0;
}

bool HasOneThread() {
  struct stat tasks = {};
  return RawSyscall(SYS_newfstatat, AT_FDCWD, "/proc/self/task", &tasks, 0) == 0 &&
         tasks.st_nlink == 3;  // itself, its parent, and a thread
}

bool HasShadowStack() {
  constexpr int kShadowStackStatus = 0x5005;  // ARCH_SHSTK_STATUS
  uint64_t features = 0;
  return RawSyscall(SYS_arch_prctl, kShadowStackStatus, &features) == 0 && (features & 1) != 0;
}

}  // namespace coz::patch
