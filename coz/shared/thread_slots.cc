#include "coz/shared/thread_slots.h"

#include <sys/mman.h>
#include <sys/syscall.h>

#include "coz/base/raw_syscall.h"
#include "coz/shared/slot_loops.h"
#include "coz/shared/thread_records.h"

namespace coz::shared {
namespace {

// Head of the free list: a tag that changes with every exchange, and the number of the first free
// slot.
constexpr uint64_t WithTag(uint64_t old_head, uint32_t number) {
  return ((old_head >> 32) + 1) << 32 | number;
}

// The slot with this number. Where slots have changed places, another one lies at its index. Going
// on from that one's index leads to it in the end, because changes of places only make cycles.
ThreadSlot& SlotNumbered(ControlBlock& control, uint32_t number) {
  uint32_t at = number;
  for (uint32_t i = 0; i < kMaxThreads; ++i) {
    const uint32_t here = control.threads[at - 1].ledger.number.load(std::memory_order_relaxed);
    if (here == 0 || here > kMaxThreads || here == number) break;
    at = here;
  }
  return control.threads[at - 1];
}

ThreadSlot* PopFree(ControlBlock& control) {
  uint64_t head = control.free_threads.load(std::memory_order_acquire);
  while (static_cast<uint32_t>(head) != 0) {
    ThreadSlot& slot = SlotNumbered(control, static_cast<uint32_t>(head));
    const uint64_t next = WithTag(head, slot.next_free.load(std::memory_order_relaxed));
    if (control.free_threads.compare_exchange_weak(head, next, std::memory_order_acquire)) {
      return &slot;
    }
  }
  return nullptr;
}

ThreadSlot* TakeUnused(ControlBlock& control) {
  uint32_t used = control.threads_high_water.load(std::memory_order_relaxed);
  while (used < kMaxThreads) {
    if (control.threads_high_water.compare_exchange_weak(used, used + 1,
                                                         std::memory_order_relaxed)) {
      // Slots change places only when they are in use, so this one lies at its index.
      control.threads[used].ledger.number.store(used + 1, std::memory_order_relaxed);
      return &control.threads[used];
    }
  }
  return nullptr;
}

void* Remap(void* from, size_t old_bytes, void* to) {
  const long flags = to == nullptr ? MREMAP_MAYMOVE : MREMAP_MAYMOVE | MREMAP_FIXED;
  const long result = RawSyscall(SYS_mremap, from, old_bytes, kThreadSlotBytes, flags, to);
  return result < 0 && result > -4096 ? nullptr : reinterpret_cast<void*>(result);
}

// An old size of 0 maps the same pages a second time.
bool ChangePlaces(ThreadSlot& a, ThreadSlot& b) {
  void* const second_a = Remap(&a, 0, nullptr);
  if (second_a == nullptr) return false;
  if (Remap(&b, 0, &a) == nullptr) {
    RawSyscall(SYS_munmap, second_a, kThreadSlotBytes);
    return false;
  }
  return Remap(second_a, kThreadSlotBytes, &b) != nullptr;
}

ThreadSlot* Reserve(ControlBlock& control, ThreadSlot* slot, uint32_t process, int32_t pid) {
  if (slot == nullptr) {
    Add(control.counters.threads_without_slot);
    return nullptr;
  }
  // Who sees one of these sees that the slot's former thread has left it.
  slot->process.store(process, std::memory_order_release);
  slot->pid.store(pid, std::memory_order_release);
  slot->state.store(ThreadState::kReserved, std::memory_order_release);
  return slot;
}

}  // namespace

ThreadSlot* ReserveThreadSlot(ControlBlock& control, uint32_t process, int32_t pid) {
  ThreadSlot* slot = PopFree(control);
  if (slot == nullptr) slot = TakeUnused(control);
  return Reserve(control, slot, process, pid);
}

ThreadSlot* ReserveUnusedThreadSlot(ControlBlock& control, uint32_t process, int32_t pid) {
  return Reserve(control, TakeUnused(control), process, pid);
}

void FreeThreadSlot(ControlBlock& control, ThreadSlot& slot) {
  if (slot.state.load(std::memory_order_acquire) == ThreadState::kRunning) {
    EndFigures(control, slot);
  }
  slot.state.store(ThreadState::kFree, std::memory_order_release);
  const uint32_t number = slot.ledger.number.load(std::memory_order_relaxed);
  uint64_t head = control.free_threads.load(std::memory_order_relaxed);
  do {
    slot.next_free.store(static_cast<uint32_t>(head), std::memory_order_relaxed);
  } while (!control.free_threads.compare_exchange_weak(head, WithTag(head, number),
                                                       std::memory_order_release));
}

void FreeThreadSlotsOf(ControlBlock& control, int32_t pid) {
  ForEachThread(control, [&control, pid](ThreadSlot& slot) {
    const ThreadState state = slot.state.load(std::memory_order_acquire);
    if (state != ThreadState::kFree && slot.pid.load(std::memory_order_relaxed) == pid) {
      FreeThreadSlot(control, slot);
    }
  });
}

ThreadSlot* ReplaceInheritedSlot(ControlBlock& control, ThreadSlot& inherited, uint32_t process,
                                 int32_t pid) {
  ThreadSlot* fresh = ReserveThreadSlot(control, process, pid);
  if (fresh == nullptr) return nullptr;
  // The parent has ended, its slot was freed, and this is it. It lies where it should; mremap would
  // unmap it.
  if (fresh == &inherited) return fresh;
  fresh->blocks_reserved_signal = inherited.blocks_reserved_signal;
  if (ChangePlaces(inherited, *fresh)) return &inherited;
  FreeThreadSlot(control, *fresh);
  return nullptr;
}

}  // namespace coz::shared
