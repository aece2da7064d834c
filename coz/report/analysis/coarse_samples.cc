#include "coz/report/analysis/coarse_samples.h"

#include <cstdint>

#include "coz/base/sampling_period.h"
#include "coz/report/analysis/session_facts.h"

namespace coz::report {
namespace {

constexpr auto kTimerSampleNs = static_cast<double>(kCpuTimerSampleNs);
// A pause is a switch, too: about one in a sample's time. A thread of PostgreSQL has fifty.
constexpr double kStretchesInSample = 4;

// Share of the CPU time. Measured is the least that sampling adds to a switch: PostgreSQL lost
// twice as much of its rate, and its slopes shrank as much.
constexpr double kDearShare = 0.05;

double SampledCpuNs(const profile::Session& session, const profile::SessionEnd& end) {
  return static_cast<double>(end.total_samples() + end.lost_samples()) *
         static_cast<double>(session.sampling_period_ns());
}

// Whether sampling made switches take more than kDearShare of the CPU time.
bool AreSwitchesDear(const profile::SessionEnd& end, double cpu_ns) {
  const double cost_ns =
      static_cast<double>(end.thread_switches()) * static_cast<double>(end.switch_cost_ns());
  return cost_ns > kDearShare * cpu_ns;
}

}  // namespace

CoarseSamples::CoarseSamples(const profile::Profile& profile) {
  const SessionEnds ends(profile);
  for (const profile::Session& session : profile.session()) {
    if (session.options().unit_kind() == profile::UNIT_KIND_WAIT) continue;
    const profile::SourceChange* change = SourceChangeOf(profile, session);
    if (change != nullptr) {
      AddCoarse(session, change->sampling_source(), change->at_ns(),
                change->cpu_ns_per_second() / change->switches_per_second());
      continue;
    }
    const profile::SessionEnd* end = ends.Of(session);
    if (end == nullptr || end->thread_switches() == 0) continue;
    const double cpu_ns = SampledCpuNs(session, *end);
    const double stretch_ns = cpu_ns / static_cast<double>(end->thread_switches());
    if (session.sampling_source() == profile::SAMPLING_SOURCE_CPU_TIMER ||
        session.sampling_source() == profile::SAMPLING_SOURCE_CPU_CLOCK) {
      AddCoarse(session, session.sampling_source(), 0, stretch_ns);
    } else if (AreSwitchesDear(*end, cpu_ns)) {
      sessions_[session.id()] = {0, stretch_ns, true};
    }
  }
}

void CoarseSamples::AddCoarse(const profile::Session& session, profile::SamplingSource source,
                              uint64_t from_ns, double stretch_ns) {
  const double sample_ns = source == profile::SAMPLING_SOURCE_CPU_CLOCK
                               ? static_cast<double>(session.sampling_period_ns())
                               : kTimerSampleNs;
  if (!(stretch_ns > 0) || stretch_ns > sample_ns / kStretchesInSample) return;
  sessions_[session.id()] = {from_ns, stretch_ns, false};
  if (first_.stretch_ns == 0) first_ = {stretch_ns, sample_ns};
}

const CoarseSamples::Coarse* CoarseSamples::Find(const ExperimentRow& row) const {
  const auto found = sessions_.find(row.session);
  return found == sessions_.end() || row.start_ns < found->second.from_ns ? nullptr
                                                                          : &found->second;
}

double CoarseSamples::StretchNs(const ExperimentRow& row) const {
  const Coarse* coarse = Find(row);
  return coarse == nullptr ? 0 : coarse->stretch_ns;
}

bool CoarseSamples::IsByPerfEvents(const ExperimentRow& row) const {
  const Coarse* coarse = Find(row);
  return coarse != nullptr && coarse->by_perf_events;
}

}  // namespace coz::report
