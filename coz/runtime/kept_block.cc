// Process: target. Context: the call that detaches, and the one thread of a child of fork.
#include "coz/runtime/kept_block.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>

#include "coz/base/raw_syscall.h"
#include "coz/runtime/patched_code.h"
#include "coz/runtime/runtime_state.h"
#include "coz/shared/carry_over.h"
#include "coz/shared/control_block.h"
#include "coz/shared/slot_loops.h"
#include "coz/sync/interpose/memory_limit.h"
#include "coz/sync/interpose/thread_sync.h"

namespace coz::runtime::runtime_internal {
namespace {

// What is mapped of the block's address space.
uint64_t g_mapped_bytes = shared::kControlMappingBytes;

// Up to the last slot that was ever used. Slots are whole pages.
uint64_t BytesToKeep() {
  static_assert(offsetof(shared::ControlBlock, threads) % 4096 == 0);
  static_assert(shared::kThreadSlotBytes % 4096 == 0);
  return offsetof(shared::ControlBlock, threads) +
         shared::kThreadSlotBytes * shared::UsedThreadSlots(*g_control);
}

char* AddressOf(uint64_t offset) { return reinterpret_cast<char*>(g_control) + offset; }

void GiveUpBeyond(uint64_t bytes) {
  munmap(AddressOf(bytes), shared::kControlMappingBytes - bytes);
  g_mapped_bytes = bytes;
  interpose::SetProfilersMemory(0);
}

template <typename KeepIn>
void KeepBlockAs(KeepIn keep_in) {
  const uint64_t bytes = BytesToKeep();
  void* const copy = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (copy == MAP_FAILED) return;
  keep_in(*static_cast<shared::ControlBlock*>(copy));
  RawSyscall(SYS_mremap, copy, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, g_control);
  GiveUpBeyond(bytes);
}

}  // namespace

bool MakeRoomForBlock() {
  if (g_mapped_bytes == shared::kControlMappingBytes) return true;
  char* const wanted = AddressOf(g_mapped_bytes);
  const uint64_t bytes = shared::kControlMappingBytes - g_mapped_bytes;
  void* const got = mmap(wanted, bytes, PROT_NONE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
  if (got == MAP_FAILED) return false;
  if (got != wanted) {  // an old kernel, which takes the address for a wish
    munmap(got, bytes);
    errno = EEXIST;
    return false;
  }
  g_mapped_bytes = shared::kControlMappingBytes;
  return true;
}

void ReplaceBlock() {
  const uint64_t bytes = BytesToKeep();
  const void* const own = mmap(g_control, bytes, PROT_READ | PROT_WRITE,
                               MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (own != MAP_FAILED) GiveUpBeyond(bytes);
}

void KeepBlock(int32_t pid) {
  KeepBlockAs([pid](shared::ControlBlock& kept) { shared::Keep(*g_control, pid, kept); });
}

void KeepBlockInChild() {
  delay::ThreadLedger* const ledger = interpose::LedgerEvenIfUnseen();
  const shared::ThreadSlot* const own = ledger == nullptr ? nullptr : &SlotOf(ledger);
  if (g_process != nullptr) {
    KeepBlockAs([own](shared::ControlBlock& kept) { shared::KeepOnly(*g_control, own, kept); });
  }
  shared::ForgetOthers(own, static_cast<int32_t>(RawSyscall(SYS_getpid)), *g_control);
  ForgetSlotOfNobody();
}

}  // namespace coz::runtime::runtime_internal
