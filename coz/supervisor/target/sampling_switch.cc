#include "coz/supervisor/target/sampling_switch.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <utility>

#include "coz/base/clock.h"
#include "coz/base/spared_calls.h"
#include "coz/sampler/perf_event.h"
#include "coz/shared/slot_loops.h"

namespace coz::supervisor {
namespace {

// For one process, whose sampler may give its event another number at any time.
constexpr int kMostTries = 3;
// Processes that hold their event, in which case this goes on in the end. More at a time there are
// not by chance.
constexpr int kMostAwaited = 8;

}  // namespace

SamplingSwitch::~SamplingSwitch() { Resume(); }

SamplingSwitch::Access SamplingSwitch::Take(const shared::ProcessSlot& process, uint32_t index) {
  const pid_t pid = process.pid;
  for (int i = 0; i < kMostTries; ++i) {
    const int32_t fd_plus_1 = process.event.fd_plus_1.load();
    const uint32_t image = process.image.load(std::memory_order_relaxed);
    if (fd_plus_1 <= 0) return Access::kNone;
    const auto it = copies_.find(index);
    if (it != copies_.end() && it->second.pid == pid && it->second.image == image &&
        it->second.fd_plus_1 == fd_plus_1) {
      return Access::kHad;
    }
    const UniqueFd pidfd(SparedCall<SYS_pidfd_open>(pid, 0));
    // It has ended. Or it is another process, whose events are not to be touched.
    if (!pidfd.ok() || !HasMapped(control_, pid)) return Access::kNone;
    UniqueFd event(SparedCall<SYS_pidfd_getfd>(pidfd.get(), fd_plus_1 - 1, 0));
    if (event.ok()) {
      if (sampler::PerfEventId(event.get()) != process.event.event.load()) continue;
      copies_.insert_or_assign(index, Copy{pid, image, fd_plus_1, std::move(event)});
      return Access::kHad;
    }
    if (errno == ESRCH) return Access::kNone;
    if (errno != EBADF) return Access::kDenied;
  }
  return Access::kNone;
}

template <typename Change>
bool SamplingSwitch::ForEachEvent(Change change) {
  bool all = true;
  int awaited = 0;
  const uint64_t now_ns = MonotonicNowNs();
  shared::ForEachProcess(control_, [&](shared::ProcessSlot& process, uint32_t i) {
    if (process.state.load(std::memory_order_acquire) != shared::ProcessState::kRunning) {
      return true;
    }
    // One that has changed its user meanwhile may not be looked into any more.
    if (copies_.count(i) == 0 && !members_.Has(control_, i, process.pid, now_ns)) return true;
    std::optional<sampler::SharedEventHold> hold;
    const bool is_free = process.event.held.load() == 0;
    if (is_free || ++awaited <= kMostAwaited) hold.emplace(&process.event);
    const Access access = Take(process, i);
    if (access == Access::kHad) change(copies_.at(i).event.get());
    all = access != Access::kDenied;
    return all;
  });
  return all;
}

bool SamplingSwitch::Suspend() {
  if (suspended_) return true;
  if (set_clocks_) {
    if (control_.clock_refusals.load() != 0) return false;  // CPU timers sample some of them
    suspended_ = true;
    control_.suspensions.fetch_add(1);
    set_clocks_(false);
    return true;
  }
  if (control_.sampler_status.source != sampler::SamplingSource::kPerfSigtrap ||
      control_.use_cpu_timers.load(std::memory_order_relaxed) != 0) {
    return false;
  }
  suspended_ = true;
  control_.suspensions.fetch_add(1);
  if (set_own_events_) set_own_events_(false);
  const bool all = ForEachEvent(sampler::DisablePerfEvent);
  if (!all) Resume();
  return all;
}

void SamplingSwitch::Resume() {
  if (!suspended_) return;
  suspended_ = false;
  control_.suspensions.fetch_add(1);
  if (set_clocks_) return set_clocks_(true);
  if (set_own_events_) set_own_events_(true);
  ForEachEvent(sampler::EnablePerfEvent);
  copies_.clear();
}

}  // namespace coz::supervisor
