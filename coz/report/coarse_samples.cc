#include "coz/report/coarse_samples.h"

#include <cstdint>

#include "coz/report/session_facts.h"

namespace coz {
namespace {

// The kernel's tick.
constexpr double kTimerSampleNs = 4e6;
// A thread that pauses is switched as well, about once in a sample's time; PostgreSQL's is switched fifty times.
constexpr double kStretchesInSample = 4;

}  // namespace

CoarseSamples::CoarseSamples(const profile::Profile& profile) {
  const SessionEnds ends(profile);
  for (const profile::Session& session : profile.session()) {
    if (const profile::SourceChange* change = SourceChangeOf(profile, session)) {
      Add(session.id(), change->at_ns(),
          change->cpu_ns_per_second() / change->switches_per_second());
    } else if (session.sampling_source() == profile::SAMPLING_SOURCE_CPU_TIMER) {
      const profile::SessionEnd* end = ends.Of(session);
      if (end == nullptr || end->thread_switches() == 0) continue;
      const double cpu_ns = static_cast<double>(end->total_samples() + end->lost_samples()) *
                            static_cast<double>(session.sampling_period_ns());
      Add(session.id(), 0, cpu_ns / static_cast<double>(end->thread_switches()));
    }
  }
}

void CoarseSamples::Add(uint64_t session, uint64_t from_ns, double stretch_ns) {
  if (!(stretch_ns > 0) || stretch_ns > kTimerSampleNs / kStretchesInSample) return;
  sessions_[session] = {from_ns, stretch_ns};
  if (first_stretch_ns_ == 0) first_stretch_ns_ = stretch_ns;
}

double CoarseSamples::StretchNs(const ExperimentRow& row) const {
  const auto found = sessions_.find(row.session);
  if (found == sessions_.end() || row.start_ns < found->second.from_ns) return 0;
  return found->second.stretch_ns;
}

}  // namespace coz
