// When a call of a latency point begins or ends, in the thread's virtual time.
//
// Shape    what the thread has served so far, beside the time-stamp counter: the supervisor takes
//          the one from the other
// Units    ticks of the CPU's time-stamp counter; ns of delay
// Errors   none
// Threads  the ledger's own thread
// Signals  async-signal-safe
// Source   coz/runtime/timed_visits.h, of which this is the same for calls
#ifndef COZ_RUNTIME_CALL_MOMENTS_H_
#define COZ_RUNTIME_CALL_MOMENTS_H_

#include <atomic>
#include <cstdint>

#include "coz/sync/delay/accrual.h"
#include "coz/sync/delay/delay_ledger.h"

namespace coz::runtime::runtime_internal {

// From now on delay is imposed here.
void ImposeAtCallsIn(delay::GlobalLedger* global);

// Keeps all registers, so that its callers need not.
extern "C" __attribute__((visibility("hidden"), no_caller_saved_registers)) void
coz_keep_and_impose_accrued(delay::ThreadLedger* ledger);

struct CallMoment {
  uint64_t ticks;
  uint64_t local_delay_ns;
};

// First imposes what has accrued for the time that the thread has run so far: after the call, it
// would shorten the time until the next one. Keeps the vector registers.
inline CallMoment MomentOfCall(delay::ThreadLedger& ledger) {
  if (__builtin_expect(delay::Accrues(ledger), false)) coz_keep_and_impose_accrued(&ledger);
  CallMoment moment;
  do {  // again where a handler of this thread has paused or imposed between the two
    moment.local_delay_ns = ledger.local_delay_ns.load(std::memory_order_relaxed);
    moment.ticks = __builtin_ia32_rdtsc();
  } while (moment.local_delay_ns != ledger.local_delay_ns.load(std::memory_order_relaxed));
  return moment;
}

}  // namespace coz::runtime::runtime_internal

#endif  // COZ_RUNTIME_CALL_MOMENTS_H_
