#include "coz/supervisor/target/beside_watch.h"

#include <algorithm>
#include <utility>

#include "coz/base/clock.h"

namespace coz::supervisor {
namespace {

// A look takes some 10 us for each thread of the target.
constexpr uint64_t kLookNs = 200 * kNsPerMs;
constexpr double kLeastCpus = 0.1;
// A wake takes some 10 us, in a virtual machine up to 100, and a thread counts as queued meanwhile.
constexpr uint64_t kLongTurnNs = kNsPerMs;

}  // namespace

uint64_t QueuedForOthersNs(const ThreadTimes& times, int cpus) {
  const bool has_its_cpus = times.threads <= cpus;
  return has_its_cpus && times.ran_ns >= times.switches * kLongTurnNs ? times.queued_ns : 0;
}

bool BesideWatch::is_beside() const { return cpus_ >= kLeastCpus; }

void BesideWatch::Poll(uint64_t now_ns, uint64_t busy_ns, int cpus) {
  if (!is_beside()) {
    times_.reset();
    return;
  }
  if (times_.has_value() && now_ns < read_ns_ + kLookNs) return;
  const uint64_t elapsed_ns = now_ns - std::exchange(read_ns_, now_ns);
  const uint64_t busy_before_ns = std::exchange(busy_ns_, busy_ns);
  if (!times_.has_value()) times_.emplace(control_);
  const std::optional<ThreadTimes> growth = times_->TakeGrowth();
  if (!growth.has_value()) return;  // the first look
  use_.cpu_ns += static_cast<uint64_t>(cpus_ * static_cast<double>(elapsed_ns));
  use_.busy_ns += busy_ns - std::min(busy_ns, busy_before_ns);
  use_.ran_ns += growth->ran_ns;
  use_.queued_ns += growth->queued_ns;
  use_.queued_for_others_ns += QueuedForOthersNs(*growth, cpus);
}

}  // namespace coz::supervisor
