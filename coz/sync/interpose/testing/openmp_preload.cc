#include "coz/sync/interpose/testing/openmp_preload.h"

#include "coz/sync/interpose/testing/fake_process.h"
#include "coz/sync/interpose/thread_sync.h"

namespace {

coz::testing::FakeProcess* g_process = nullptr;

__attribute__((constructor)) void StartProcess() {
  g_process = new coz::testing::FakeProcess();  // lives as long as the process
}

const coz::delay::ThreadLedger& Ledger(const void* ledger) {
  return *static_cast<const coz::delay::ThreadLedger*>(ledger);
}

}  // namespace

extern "C" {

void* coz_test_ledger() { return coz::interpose::CurrentThreadLedger(); }
void coz_test_impose(uint64_t delay_ns) { g_process->ImposeBeyondExcess(delay_ns); }
void coz_test_give_excess(void* ledger, uint64_t excess_ns) {
  static_cast<coz::delay::ThreadLedger*>(ledger)->local_delay_ns += excess_ns;
}
uint64_t coz_test_local_delay_ns(const void* ledger) { return Ledger(ledger).local_delay_ns; }
uint64_t coz_test_credited_ns(const void* ledger) { return Ledger(ledger).credited_ns; }
uint64_t coz_test_paused_ns(const void* ledger) { return Ledger(ledger).paused_ns; }
int coz_test_is_blocked(const void* ledger) { return Ledger(ledger).blocked != 0; }

}  // extern "C"
