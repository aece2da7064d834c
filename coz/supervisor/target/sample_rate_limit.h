// How many samples the kernel may have held back because they came faster than it allows.
//
// Shape    what follows from kernel.perf_event_max_sample_rate. The kernel lowers it by itself when
//          sampling takes too long, other programs' sampling too, and never raises it
// Units    rate: samples per second of each event on a CPU. Sampling period: ns of thread CPU time
// Errors   a rate of 0 is unknown, and then nothing is claimed
// Threads  safe
// Signals  not async-signal-safe
// Source   kernel/events/core.c, __perf_event_account_interrupt: an event that has used its share
//          of the rate sleeps until the next tick. Only a ring buffer is told
//          (PERF_RECORD_THROTTLE); events that signal their thread have none
#ifndef COZ_SUPERVISOR_TARGET_SAMPLE_RATE_LIMIT_H_
#define COZ_SUPERVISOR_TARGET_SAMPLE_RATE_LIMIT_H_

#include <cstdint>
#include <string>

#include "coz/report/format/profile.pb.h"

namespace coz::supervisor {

inline constexpr char kSampleRateFile[] = "/proc/sys/kernel/perf_event_max_sample_rate";

uint64_t ReadSampleRateLimit(const std::string& path = kSampleRateFile);

// The most sampling periods of the experiment that throttling leaves without a sample of their own.
// There may be fewer, as the kernel rounds a tick's share of the rate up.
uint64_t MostThrottled(const profile::Session& session, const profile::Experiment& experiment,
                       uint64_t rate_limit);

}  // namespace coz::supervisor

#endif  // COZ_SUPERVISOR_TARGET_SAMPLE_RATE_LIMIT_H_
