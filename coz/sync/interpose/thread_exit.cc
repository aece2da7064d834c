// The destructor of a pthread key, which ends a thread's part in the profile. Process: target.
// Context: the ending thread.
#include "coz/sync/interpose/thread_exit.h"

#include "coz/sync/interpose/call_stacks.h"
#include "coz/sync/interpose/thread_sync.h"

namespace coz::interpose {
namespace {

pthread_key_t g_key;
bool g_have_key = false;

// Destructors of the program's own keys may still lock and signal. So the thread stays profiled in
// the first round of destructors. There are PTHREAD_DESTRUCTOR_ITERATIONS rounds, four in glibc.
constexpr uintptr_t kFirstRound = 1;
constexpr uintptr_t kLastRound = 2;

// The virtual time at which each thread ended. A later thread in the same entry overwrites the
// earlier end, which is then unknown.
struct End {
  std::atomic<uint64_t> thread;
  std::atomic<uint64_t> virtual_ns;
};
constexpr size_t kEnds = 1024;
End g_ends[kEnds];

End& EndOf(pthread_t thread) {
  // Fibonacci hashing, because stacks, and so descriptors, lie at multiples of a page.
  return g_ends[(static_cast<uint64_t>(thread) * 0x9E3779B97F4A7C15u) >> (64 - 10)];
}
static_assert(kEnds == size_t{1} << 10, "EndOf() takes 10 bits of the hash");

void PublishEnd(const delay::ThreadLedger& ledger) {
  End& end = EndOf(pthread_self());
  const uint64_t local_ns = ledger.local_delay_ns.load(std::memory_order_relaxed);
  end.thread.store(0, std::memory_order_relaxed);
  end.virtual_ns.store(MonotonicNowNs() - local_ns, std::memory_order_release);
  end.thread.store(static_cast<uint64_t>(pthread_self()), std::memory_order_release);
}

void OnThreadExit(void* round) {
  if (reinterpret_cast<uintptr_t>(round) < kLastRound) {
    pthread_setspecific(g_key, reinterpret_cast<void*>(kLastRound));
    return;
  }
  delay::ThreadLedger* ledger = CurrentThreadLedger();
  if (ledger == nullptr) return;
  ImposeAllAccruedHere(*ledger);
  PayBeforeWake(ThreadExitKey(pthread_self()));
  PublishEnd(*ledger);
  // The hook stops the sampling first. Else a sample could come after LeaveThreadSync and take
  // another ledger.
  sync_internal::g_hooks.exit(ledger);
  LeaveThreadSync();
  // A filter may forbid the system call by then.
  if (!HasLeftThreadSync()) FreeCallStacks();
}

}  // namespace

uint64_t VirtualEndOf(pthread_t thread) {
  const End& end = EndOf(thread);
  if (end.thread.load(std::memory_order_acquire) != static_cast<uint64_t>(thread)) return 0;
  const uint64_t virtual_ns = end.virtual_ns.load(std::memory_order_acquire);
  return end.thread.load(std::memory_order_relaxed) == static_cast<uint64_t>(thread) ? virtual_ns
                                                                                     : 0;
}

bool InitThreadExit() {
  if (g_have_key) return true;
  g_have_key = pthread_key_create(&g_key, OnThreadExit) == 0;
  return g_have_key;
}

void ArmThreadExit() {
  if (g_have_key) pthread_setspecific(g_key, reinterpret_cast<void*>(kFirstRound));
}

void ArmThreadExitAnywhere() {
  // A thread's descriptor has room for the values of this many keys (glibc, nptl/descr.h:
  // PTHREAD_KEY_2NDLEVEL_SIZE).
  constexpr pthread_key_t kKeysWithRoom = 32;
  if (g_have_key && g_key < kKeysWithRoom) ArmThreadExit();
}

}  // namespace coz::interpose
