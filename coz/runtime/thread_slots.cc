#include "coz/runtime/thread_slots.h"

namespace coz {
namespace {

// Head of the free list: a tag that changes with every exchange, and index + 1 of the first free slot.
constexpr uint64_t WithTag(uint64_t old_head, uint32_t index_plus_1) {
  return ((old_head >> 32) + 1) << 32 | index_plus_1;
}

ThreadSlot* PopFree(ControlBlock& control) {
  uint64_t head = control.free_threads.load(std::memory_order_acquire);
  while (static_cast<uint32_t>(head) != 0) {
    ThreadSlot& slot = control.threads[static_cast<uint32_t>(head) - 1];
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
      return &control.threads[used];
    }
  }
  return nullptr;
}

}  // namespace

ThreadSlot* ReserveThreadSlot(ControlBlock& control) {
  ThreadSlot* slot = PopFree(control);
  if (slot == nullptr) slot = TakeUnused(control);
  if (slot == nullptr) {
    control.threads_without_slot.fetch_add(1, std::memory_order_relaxed);
    return nullptr;
  }
  slot->state.store(ThreadState::kReserved, std::memory_order_release);
  return slot;
}

void FreeThreadSlot(ControlBlock& control, ThreadSlot& slot) {
  slot.state.store(ThreadState::kFree, std::memory_order_release);
  const uint32_t index_plus_1 = static_cast<uint32_t>(&slot - control.threads) + 1;
  uint64_t head = control.free_threads.load(std::memory_order_relaxed);
  do {
    slot.next_free.store(static_cast<uint32_t>(head), std::memory_order_relaxed);
  } while (!control.free_threads.compare_exchange_weak(head, WithTag(head, index_plus_1),
                                                       std::memory_order_release));
}

}  // namespace coz
