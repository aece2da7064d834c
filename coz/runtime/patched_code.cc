#include "coz/runtime/patched_code.h"

#include <sys/mman.h>
#include <sys/syscall.h>

#include <algorithm>

#include "coz/base/raw_syscall.h"
#include "coz/patch/code_patcher.h"
#include "coz/shared/thread_slots.h"

namespace coz::runtime::runtime_internal {
namespace {

// In the place of a slot for threads that have none; a slot's page is mapped over it.
alignas(4096) char g_nobody[shared::kThreadSlotBytes];

// Where that slot lies in the block, + 1, in a process that is attached to; 0: it has none yet.
uint32_t g_place_of_nobody = 0;

void MapNobody(shared::ThreadSlot* slot) {
  // An old size of 0 maps the same page a second time.
  RawSyscall(SYS_mremap, slot, 0, shared::kThreadSlotBytes, MREMAP_MAYMOVE | MREMAP_FIXED,
             &g_nobody[0]);
}

}  // namespace

// Threads start with nobody's.
__thread char* t_counted __attribute__((tls_model("initial-exec"))) = g_nobody;

void CountVisitsIn(shared::ThreadSlot* slot) {
  t_counted = slot == nullptr ? g_nobody : reinterpret_cast<char*>(slot);
}

int32_t CountersFsOffset() {
  // Volatile: gcc would subtract 32-bit halves, by an instruction that linkers cannot relax.
  volatile auto pointer = reinterpret_cast<uint64_t>(&t_counted);
  volatile auto thread = reinterpret_cast<uint64_t>(__builtin_thread_pointer());
  return static_cast<int32_t>(pointer - thread);
}

void ShareVisitsOfNobody(shared::ControlBlock& control, uint32_t process, int32_t pid) {
  shared::ThreadSlot* slot = shared::ReserveThreadSlot(control, process, pid);
  if (slot != nullptr) MapNobody(slot);
}

// Each block of the process has the slots of the one before.
void ShareVisitsOfNobodyAgain(shared::ControlBlock& control, uint32_t process, int32_t pid) {
  if (g_place_of_nobody == 0) {
    const shared::ThreadSlot* slot = shared::ReserveThreadSlot(control, process, pid);
    if (slot == nullptr) return;
    g_place_of_nobody = static_cast<uint32_t>(slot - control.threads) + 1;
  }
  MapNobody(&control.threads[g_place_of_nobody - 1]);
}

void ForgetSlotOfNobody() { g_place_of_nobody = 0; }

void ShareNoVisits() {
  RawSyscall(SYS_mmap, &g_nobody[0], shared::kThreadSlotBytes, PROT_READ | PROT_WRITE,
             MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

void ChangeCodeIfAsked(shared::ControlBlock& control, int32_t pid) {
  shared::PatchRequest& request = control.patch_request;
  if (request.state.load(std::memory_order_acquire) != shared::PatchRequestState::kAsked ||
      request.pid.load(std::memory_order_relaxed) != pid) {
    return;
  }
  auto asked = shared::PatchRequestState::kAsked;
  if (!request.state.compare_exchange_strong(asked, shared::PatchRequestState::kTaken,
                                             std::memory_order_acquire)) {
    return;
  }
  // Another request may have taken its place in between.
  if (request.pid.load(std::memory_order_relaxed) != pid) {
    request.state.store(shared::PatchRequestState::kAsked, std::memory_order_release);
    return;
  }
  const uint32_t count = std::min(request.count, shared::kMaxAskedPatches);
  for (uint32_t i = 0; i < count; ++i) {
    const patch::CodePatch& asked_patch = request.patches[i];
    request.results[i] =
        static_cast<uint32_t>(request.removes != 0 ? patch::RemovePatch(asked_patch.address)
                                                   : patch::InsertPatch(asked_patch));
  }
  request.state.store(shared::PatchRequestState::kAnswered, std::memory_order_release);
}

}  // namespace coz::runtime::runtime_internal
