// How this process enters the profile: at the library's load, and again in a child of fork.
//
// Shape    two steps: the process is published to the supervisor, then its threads are sampled
// Units    as in control_block.h
// Errors   StartSampling: SamplingSource::kNone where nothing can be sampled
// Threads  called while the process has one thread; StartSamplingFromOutside also later
// Signals  async-signal-safe
// Source   docs/design/processes.md
#ifndef COZ_RUNTIME_PROCESS_ENTRY_H_
#define COZ_RUNTIME_PROCESS_ENTRY_H_

#include <cstdint>

#include "coz/sampler/sampler.h"
#include "coz/shared/control_block.h"

namespace coz::runtime {

// From now on the supervisor looks at the process. `image` numbers the program that it runs.
void PublishProcess(shared::ProcessSlot& process, uint32_t image);

// Before that: a program of Go's makes system calls itself, and its threads switch between
// goroutines. The supervisor changes its code for both. Returns whether it is such a program, which
// waits for that at its start.
bool PublishOwnCalls(shared::ProcessSlot& process);

// Starts the source of samples that the supervisor wants, or CPU timers where it allows only these.
sampler::SamplerStatus StartSampling(shared::ControlBlock& control);

// Takes the samples of events that the supervisor opens, or of timers that it asks for. False where
// the signal has no handler.
bool StartSamplingFromOutside(const shared::ControlBlock& control);

}  // namespace coz::runtime

#endif  // COZ_RUNTIME_PROCESS_ENTRY_H_
