// Tries the sampler on this machine: which source it gets, how often samples really come, and what
// one takes.
//
// Shape    half a second of work in a child process, since a process has one sampler
// Units    ns of CPU time of the sampled thread
// Errors   a status without a source where nothing can be sampled; 0 for what cannot be measured
// Threads  call it where there is one thread: it forks
// Signals  none in this process
// Source   coz/sampler/sampler.h
#ifndef COZ_SUPERVISOR_DOCTOR_SAMPLING_TRIAL_H_
#define COZ_SUPERVISOR_DOCTOR_SAMPLING_TRIAL_H_

#include <cstdint>

#include "coz/sampler/sampler_status.h"

namespace coz::supervisor {

struct SamplingTrial {
  sampler::SamplerStatus status;
  uint64_t asked_period_ns = 0;
  uint64_t real_period_ns = 0;  // CPU time between two callbacks
  // From the interrupt to the return from the handler, without a walk of the stack.
  uint64_t sample_cost_ns = 0;
};

SamplingTrial TrySampling(uint64_t period_ns);

}  // namespace coz::supervisor

#endif  // COZ_SUPERVISOR_DOCTOR_SAMPLING_TRIAL_H_
