// Waits that the outside ends, as units (--unit=wait): counts each for its call site, and imposes
// delay if that is selected. Other waits are counted apart.
//
// Shape    the hooks ThreadHooks::outside_wait and ThreadHooks::own_wait
// Units    ns of CLOCK_MONOTONIC
// Errors   none
// Threads  each thread its own waits
// Signals  async-signal-safe
// Source   docs/design/waits-and-credit.md, "Waits as units"
#ifndef COZ_RUNTIME_WAIT_UNITS_H_
#define COZ_RUNTIME_WAIT_UNITS_H_

#include "coz/sync/delay/delay_ledger.h"
#include "coz/sync/delay/outside_wait.h"

namespace coz::runtime {

void OnOutsideWait(delay::ThreadLedger& ledger, const delay::OutsideWait& wait);

// Counts it for the line in scope that has made the call, if there is one.
void OnOwnWait(delay::ThreadLedger& ledger, const delay::OutsideWait& wait);

}  // namespace coz::runtime

#endif  // COZ_RUNTIME_WAIT_UNITS_H_
