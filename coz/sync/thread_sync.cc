#include "coz/sync/thread_sync.h"

#include "coz/sync/pause.h"

namespace coz {

namespace sync_internal {
__thread ThreadLedger* t_ledger = nullptr;
GlobalLedger* g_ledger = nullptr;
ThreadHooks g_hooks = {};
}  // namespace sync_internal

void InitThreadSync(GlobalLedger* global, const ThreadHooks& hooks) {
  sync_internal::g_ledger = global;
  sync_internal::g_hooks = hooks;
}

void EnterThreadSync(ThreadLedger* ledger, uint64_t inherited_local_delay_ns) {
  ledger->blocked.store(0, std::memory_order_relaxed);
  ledger->pausing.store(0, std::memory_order_relaxed);
  ledger->local_delay_ns.store(inherited_local_delay_ns, std::memory_order_relaxed);
  sync_internal::t_ledger = ledger;
}

ThreadLedger* LeaveThreadSync() {
  ThreadLedger* ledger = sync_internal::t_ledger;
  sync_internal::t_ledger = nullptr;
  return ledger;
}

void PayDebt(ThreadLedger& thread) {
  const uint64_t owed_ns = OwedDelay(*sync_internal::g_ledger, thread);
  if (owed_ns == 0) return;
  // Whoever pays does not wait for a thread; this also mends the flag after a wait that was left by cancellation or longjmp.
  thread.blocked.store(0, std::memory_order_relaxed);
  thread.pausing.store(1, std::memory_order_relaxed);
  RecordPause(thread, owed_ns, PauseFor(owed_ns));
  thread.pausing.store(0, std::memory_order_relaxed);
}

}  // namespace coz
