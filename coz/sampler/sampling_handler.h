// What the sampling signal does; private to the sampler.
//
// Signals  async-signal-safe: it is the handler
#ifndef COZ_SAMPLER_SAMPLING_HANDLER_H_
#define COZ_SAMPLER_SAMPLING_HANDLER_H_

#include <signal.h>

namespace coz::sampler {

void OnSamplingSignal(int signo, siginfo_t* info, void* raw_context);

}  // namespace coz::sampler

#endif  // COZ_SAMPLER_SAMPLING_HANDLER_H_
