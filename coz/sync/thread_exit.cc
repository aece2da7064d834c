#include "coz/sync/thread_exit.h"

#include "coz/sync/thread_sync.h"

namespace coz {
namespace {

pthread_key_t g_key;
bool g_have_key = false;

// Destructors of the program's own keys may still lock and signal, so the thread stays profiled for
// the first round of them (there are PTHREAD_DESTRUCTOR_ITERATIONS rounds, four in glibc).
constexpr uintptr_t kFirstRound = 1;
constexpr uintptr_t kLastRound = 2;

void OnThreadExit(void* round) {
  if (reinterpret_cast<uintptr_t>(round) < kLastRound) {
    pthread_setspecific(g_key, reinterpret_cast<void*>(kLastRound));
    return;
  }
  ThreadLedger* ledger = CurrentThreadLedger();
  if (ledger == nullptr) return;
  ReleaseAllHeld(*ledger);
  PayBeforeWake(ThreadExitKey(pthread_self()));
  // It stops the sampling first, so that no sample looks for another ledger in between.
  sync_internal::g_hooks.exit(ledger);
  LeaveThreadSync();
}

}  // namespace

bool InitThreadExit() {
  g_have_key = pthread_key_create(&g_key, OnThreadExit) == 0;
  return g_have_key;
}

void ArmThreadExit() {
  if (g_have_key) pthread_setspecific(g_key, reinterpret_cast<void*>(kFirstRound));
}

}  // namespace coz
