#include "coz/supervisor/target/sample_rate_limit.h"

#include <algorithm>
#include <fstream>

#include "coz/base/clock.h"

namespace coz::supervisor {
namespace {

bool IsPerfEvent(profile::SamplingSource source) {
  return source == profile::SAMPLING_SOURCE_PERF_SIGTRAP ||
         source == profile::SAMPLING_SOURCE_PERF_FSETSIG;
}

}  // namespace

uint64_t ReadSampleRateLimit(const std::string& path) {
  uint64_t rate = 0;
  std::ifstream(path) >> rate;
  return rate;
}

uint64_t MostThrottled(const profile::Session& session, const profile::Experiment& experiment,
                       uint64_t rate_limit) {
  if (!IsPerfEvent(session.sampling_source()) || session.sampling_period_ns() == 0) return 0;
  const double wanted_rate =
      static_cast<double>(kNsPerSecond) / static_cast<double>(session.sampling_period_ns());
  if (rate_limit == 0 || static_cast<double>(rate_limit) >= wanted_rate) return 0;
  const uint64_t lost = experiment.validity().lost_periods();
  const double periods = static_cast<double>(experiment.total_samples() + lost);
  const auto most =
      static_cast<uint64_t>(periods * (1 - static_cast<double>(rate_limit) / wanted_rate));
  // Where time in the kernel is sampled, a sample makes up for those that were held back before it.
  // They are not lost.
  return session.kernel_samples_included() ? most : std::min(most, lost);
}

}  // namespace coz::supervisor
