// Process: target. Context: the call that detaches, and the one thread of a child of fork.
#include "coz/runtime/kept_block.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "coz/base/raw_syscall.h"
#include "coz/runtime/patched_code.h"
#include "coz/runtime/runtime_state.h"
#include "coz/shared/carry_over.h"
#include "coz/shared/control_block.h"
#include "coz/sync/interpose/thread_sync.h"

namespace coz::runtime::runtime_internal {
namespace {

template <typename KeepIn>
void KeepBlockAs(KeepIn keep_in) {
  constexpr uint64_t kBlockBytes = (sizeof(shared::ControlBlock) + 4095) / 4096 * 4096;
  void* const copy = mmap(nullptr, kBlockBytes, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (copy == MAP_FAILED) return;
  keep_in(*static_cast<shared::ControlBlock*>(copy));
  RawSyscall(SYS_mremap, copy, kBlockBytes, kBlockBytes, MREMAP_MAYMOVE | MREMAP_FIXED, g_control);
  // Without memory for that the supervisor's tables stay mapped there.
  (void)mmap(reinterpret_cast<char*>(g_control) + kBlockBytes,
             shared::kControlMappingBytes - kBlockBytes, PROT_NONE,
             MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
}

}  // namespace

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
