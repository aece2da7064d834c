// Handles a sample: counts it for its unit, imposes delay if that unit is selected, and lets its
// thread pay.
//
// Shape    functions on the process's one state (runtime_state.h)
// Units    ns of CLOCK_MONOTONIC
// Errors   none
// Threads  each thread its own samples
// Signals  async-signal-safe: OnSample runs in the handler of the sampling signal
// Source   docs/design/delays.md
#ifndef COZ_RUNTIME_SAMPLE_HANDLER_H_
#define COZ_RUNTIME_SAMPLE_HANDLER_H_

#include <cstdint>

#include "coz/sampler/sampler.h"
#include "coz/sync/delay/delay_ledger.h"

namespace coz::runtime {

void OnSample(const sampler::Sample& sample);

// The calling thread is not sampled itself: its part of what the samples of `threads` others impose
// for it.
void ImposeShare(uint64_t threads, delay::ThreadLedger& ledger);

}  // namespace coz::runtime

#endif  // COZ_RUNTIME_SAMPLE_HANDLER_H_
