// How many samples the kernel may have held back because they came faster than it allows.
//
// Shape    kernel.perf_event_max_sample_rate, which the kernel lowers by itself when sampling takes too long (others' too) and never
//          raises; and what follows from it
// Units    rate: samples per second of each event on a CPU; sampling period in ns of thread CPU time
// Errors   a rate of 0 is unknown, and nothing is claimed then
// Threads  safe
// Signals  not async-signal-safe
// Source   kernel/events/core.c, __perf_event_account_interrupt: an event sleeps until the next tick after its share of the rate. That
//          is said to a ring buffer alone (PERF_RECORD_THROTTLE), and events that signal their thread have none
#ifndef COZ_TOOLS_SUPERVISOR_SAMPLE_RATE_LIMIT_H_
#define COZ_TOOLS_SUPERVISOR_SAMPLE_RATE_LIMIT_H_

#include <cstdint>
#include <string>

#include "coz/report/format/profile.pb.h"

namespace coz::supervisor {

inline constexpr char kSampleRateFile[] = "/proc/sys/kernel/perf_event_max_sample_rate";

uint64_t ReadSampleRateLimit(const std::string& path = kSampleRateFile);

// The most sampling periods of the experiment that throttling can have left without a sample of their own. Fewer may have
// been, for a tick's share of the rate is rounded up.
uint64_t MostThrottled(const profile::Session& session, const profile::Experiment& experiment,
                       uint64_t rate_limit);

}  // namespace coz::supervisor

#endif  // COZ_TOOLS_SUPERVISOR_SAMPLE_RATE_LIMIT_H_
