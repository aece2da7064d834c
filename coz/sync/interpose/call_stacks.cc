#include "coz/sync/interpose/call_stacks.h"

#include <sys/mman.h>
#include <sys/syscall.h>

#include <atomic>

#include "coz/base/raw_syscall.h"

namespace coz::interpose {
namespace {

// Below the stacks, so that an overflow ends in a fault.
constexpr size_t kGuardBytes = 4096;
constexpr size_t kMappedBytes = kGuardBytes + kCallStacks * kCallStackBytes;

std::atomic<bool> g_given = false;

}  // namespace

__thread CallStacks t_call_stacks __attribute__((tls_model("initial-exec")));

void GiveCallStacksToThreads() { g_given.store(true, std::memory_order_relaxed); }

void TakeCallStacksIfGiven() {
  if (!g_given.load(std::memory_order_relaxed) || t_call_stacks.limit != 0) return;
  const long mapped = RawSyscall(SYS_mmap, nullptr, kMappedBytes, PROT_READ | PROT_WRITE,
                                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped < 0 && mapped >= -4095) return;
  const auto begin = static_cast<uint64_t>(mapped);
  RawSyscall(SYS_mprotect, begin, kGuardBytes, PROT_NONE);
  t_call_stacks.limit = begin + kGuardBytes;
  t_call_stacks.top = begin + kMappedBytes;
}

void FreeCallStacks() {
  const CallStacks stacks = t_call_stacks;
  if (stacks.limit == 0) return;
  t_call_stacks = {0, 0};
  RawSyscall(SYS_munmap, stacks.limit - kGuardBytes, kMappedBytes);
}

}  // namespace coz::interpose
