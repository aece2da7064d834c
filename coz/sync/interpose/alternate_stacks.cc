// See the header. Process: target. Context: the program's threads and signal handlers;
// NoteAlternateStackHere: the sampling signal's handler.
#include "coz/sync/interpose/alternate_stacks.h"

#include <sys/syscall.h>

#include <algorithm>
#include <cstddef>

#include "coz/base/raw_syscall.h"
#include "coz/base/readable.h"
#include "coz/base/sampling_signal.h"
#include "coz/sync/interpose/thread_sync.h"

namespace coz::interpose {
namespace {

using Entry = std::atomic<uintptr_t>;  // where a stack begins, or 0

constexpr size_t kStacks = 4096;
Entry g_stacks[kStacks];
std::atomic<size_t> g_ever_used{0};  // the entries that have been taken begin the array
__thread Entry* t_entry __attribute__((tls_model("initial-exec"))) = nullptr;

void Release(Entry* entry) {
  if (entry != nullptr) entry->store(0);
}

// Returns an entry with `stack`, or nullptr where all are taken.
Entry* Take(uintptr_t stack) {
  for (size_t i = 0; i < kStacks; ++i) {
    uintptr_t nobody = 0;
    if (!g_stacks[i].compare_exchange_strong(nobody, stack)) continue;
    size_t used = g_ever_used.load();
    while (used <= i && !g_ever_used.compare_exchange_weak(used, i + 1)) {
    }
    return &g_stacks[i];
  }
  return nullptr;
}

bool IsOfAnotherThread(uintptr_t stack, const Entry* added) {
  const Entry* const begin = g_stacks;
  return std::any_of(begin, begin + g_ever_used.load(), [&](const Entry& entry) {
    return &entry != added && &entry != t_entry && entry.load() == stack;
  });
}

// Of two threads that take the same stack at a time, the one that looks last sees the other.
Entry* TakeAndLeaveStacksIfShared(const stack_t& stack) {
  if ((stack.ss_flags & SS_DISABLE) != 0 || stack.ss_sp == nullptr) return nullptr;
  const auto begin = reinterpret_cast<uintptr_t>(stack.ss_sp);
  Entry* const added = Take(begin);
  if (IsOfAnotherThread(begin, added)) HandleOffAlternateStacks();
  return added;
}

}  // namespace

AlternateStackChange::AlternateStackChange(const stack_t* stack) {
  if (stack == nullptr || HasLeftThreadSync() || !IsReadable(stack, sizeof(*stack))) return;
  is_change_ = true;
  added_ = TakeAndLeaveStacksIfShared(*stack);
}

void AlternateStackChange::End(bool is_set) {
  if (!is_change_) return;
  Release(is_set ? t_entry : added_);
  if (is_set) t_entry = added_;
}

void NoteAlternateStackHere() {
  stack_t stack = {};
  if (t_entry != nullptr || RawSyscall(SYS_sigaltstack, nullptr, &stack) != 0) return;
  t_entry = TakeAndLeaveStacksIfShared(stack);
}

bool NoteUnmapped(const void* begin, size_t bytes) {
  if (HasLeftThreadSync()) return false;  // no samples, perhaps no right to change their handler
  const auto first = reinterpret_cast<uintptr_t>(begin);
  const auto is_in_it = [first, bytes](const Entry& entry) {
    const uintptr_t stack = entry.load(std::memory_order_relaxed);
    return stack != 0 && stack - first < bytes;
  };
  const Entry* const stacks = g_stacks;
  const Entry* const end = stacks + g_ever_used.load();
  if (std::none_of(stacks, end, is_in_it)) return false;
  HandleOffAlternateStacks();
  return std::any_of(stacks, end, [&is_in_it](const Entry& entry) {
    return &entry != t_entry && is_in_it(entry);
  });
}

void ForgetAlternateStackHere() {
  Release(t_entry);
  t_entry = nullptr;
}

void OnForkInAlternateStacks() {
  for (size_t i = 0; i < g_ever_used.load(); ++i) {
    if (&g_stacks[i] != t_entry) Release(&g_stacks[i]);
  }
}

}  // namespace coz::interpose
