// What text, JSON and the HTML page all say of a session.
//
// Shape    one session, and its end if it has one
// Units    ns of CPU time; ns since the epoch
// Errors   none; what is unknown is nullptr or an empty string
// Threads  compatible
// Signals  nothing here is async-signal-safe
// Source   none
#ifndef COZ_REPORT_ANALYSIS_SESSION_FACTS_H_
#define COZ_REPORT_ANALYSIS_SESSION_FACTS_H_

#include <cstdint>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "coz/report/format/profile.pb.h"

namespace coz::report {

// Finds the ends of a profile's sessions, of which a merged profile has thousands. The profile has
// to outlive it.
class SessionEnds {
 public:
  explicit SessionEnds(const profile::Profile& profile) {
    for (const profile::SessionEnd& end : profile.session_end()) ends_[end.session()] = &end;
  }
  // nullptr for a session that was cut short or is still running.
  const profile::SessionEnd* Of(const profile::Session& session) const {
    const auto found = ends_.find(session.id());
    return found == ends_.end() ? nullptr : found->second;
  }

 private:
  absl::flat_hash_map<uint64_t, const profile::SessionEnd*> ends_;
};

// CPU time between two samples of a thread; of a lone thread if the program never had a second one.
// `end` may be nullptr.
uint64_t TimeBetweenSamplesNs(const profile::Session& session, const profile::SessionEnd* end);

// The CPU time that a sample stands for, as the mean over all samples: sessions have different
// periods. 0 without sessions.
double MeanSamplingPeriodNs(const profile::Profile& profile);

// "perf_sigtrap", "perf_fsetsig", "cpu_timer", "cpu_clock", "unknown".
const char* SourceId(profile::SamplingSource source);

// nullptr unless CPU timers or clocks of the CPUs took over from perf events in the session.
const profile::SourceChange* SourceChangeOf(const profile::Profile& profile,
                                            const profile::Session& session);

// "perf sigtrap every 0.93 ms of CPU time, user code", and what took over from it. `end` may be
// nullptr.
std::string DescribeSampling(const profile::Profile& profile, const profile::Session& session,
                             const profile::SessionEnd* end);

// What the first source lacked, as a sentence. "" where that is nothing, and where timers took
// over: they sample time in the kernel too.
std::string WhatSourceLacks(const profile::Profile& profile, const profile::Session& session);

// Why another source of samples took over, and when: a sentence without a full stop.
std::string DescribeSourceChange(const profile::SourceChange& change);

// Whether every session was told to make no experiments but baselines, by --fixed-speedup=0. Then
// no line has a figure, however long they are.
bool MakesBaselinesAlone(const profile::Profile& profile);

// How long a run takes of a program that ends by itself, on average, in seconds. 0 where a session
// was ended otherwise, or was attached to.
double SecondsUntilItEnds(const profile::Profile& profile);

// An argument as one may type it in a shell: in quotes where it needs them.
std::string Quoted(const std::string& argument);

// The target's words as one may type them; "" where none are known.
std::string CommandText(const profile::Session& session);

// "predictions were off by 0.8 points on average, 2.1 at worst, in `coz selftest` there on
// 2026-11-24"; "" where there was none.
std::string DescribeCalibration(const profile::Session& session);

// By strftime(3), in the reader's time zone.
std::string LocalTime(uint64_t unix_ns, const char* format);

}  // namespace coz::report

#endif  // COZ_REPORT_ANALYSIS_SESSION_FACTS_H_
