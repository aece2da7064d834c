#include "coz/supervisor/target/thread_events.h"

#include <signal.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "absl/strings/str_format.h"
#include "coz/attach/process_view.h"
#include "coz/base/signal_mask.h"
#include "coz/base/spared_calls.h"
#include "coz/sampler/perf_event.h"
#include "coz/supervisor/target/file_limit.h"

namespace coz::supervisor {
namespace {

absl::Status WhyNoEvents(pid_t pid, int error) {
  if (error == EPERM && IsFiltered(SYS_perf_event_open)) {
    return absl::PermissionDeniedError(absl::StrFormat(
        "cannot sample process %d: perf_event_open is not permitted here; %s, or attach with: coz "
        "attach --sampler=cpu-timer %d",
        pid, kAllowPerfEvents, pid));
  }
  if (error == EPERM || error == EACCES) {
    return absl::PermissionDeniedError(
        absl::StrFormat("cannot sample process %d: perf_event_open is not permitted (%s); allow it "
                        "with: sudo sysctl kernel.perf_event_paranoid=1, or attach with: coz "
                        "attach --sampler=cpu-timer %d",
                        pid, strerror(error), pid));
  }
  if (error == EOPNOTSUPP || error == EINVAL) {
    return absl::UnimplementedError(absl::StrFormat(
        "cannot sample process %d by perf events: that needs a kernel from 5.19 on; attach with: "
        "coz attach --sampler=cpu-timer %d",
        pid, pid));
  }
  return absl::UnavailableError(absl::StrFormat(
      "cannot sample process %d: perf_event_open: %s; attach with: coz attach --sampler=cpu-timer "
      "%d",
      pid, strerror(error), pid));
}

}  // namespace

int ThreadEvents::OpenFor(pid_t tid) {
  if (expiry_.has_value()) return sampler::OpenClockExpiriesOf(tid, *expiry_);
  return sampler::OpenTaskClockOf(tid, sampling_period_ns_, exclude_kernel_);
}

absl::Status ThreadEvents::Open(pid_t pid, uint64_t sampling_period_ns, bool exclude_kernel) {
  pid_ = pid;
  sampling_period_ns_ = sampling_period_ns;
  exclude_kernel_ = exclude_kernel;
  RaiseFileLimit();
  UniqueFd probe(OpenFor(pid));
  if (!probe.ok() && !exclude_kernel_) {
    status_.kernel_errno = -probe.get();
    exclude_kernel_ = true;
    probe.Reset(OpenFor(pid));
  }
  if (!probe.ok()) {
    status_.kernel_errno = 0;
    status_.perf_sigtrap_errno = -probe.get();
    return WhyNoEvents(pid, -probe.get());
  }
  probe.Reset();
  status_.source = sampler::SamplingSource::kPerfSigtrap;
  status_.kernel_included = !exclude_kernel_;
  LookForThreads();
  return absl::OkStatus();
}

absl::Status ThreadEvents::OpenForClocks(pid_t pid, const sampler::ClockExpiry& expiry) {
  pid_ = pid;
  expiry_ = expiry;
  RaiseFileLimit();
  const UniqueFd probe(OpenFor(pid));
  if (!probe.ok()) {
    status_.cpu_clock_errno = -probe.get();
    return WhyNoEvents(pid, -probe.get());
  }
  status_.source = sampler::SamplingSource::kCpuClock;
  status_.kernel_included = true;
  LookForThreads();
  return absl::OkStatus();
}

// A thread that blocks the signal would find it pending, and might take it by sigwait.
bool ThreadEvents::LookForThreads() {
  bool found = false;
  blocking_.clear();
  for (const pid_t tid : attach::ReadThreads(pid_)) {
    UniqueFd& event = events_[tid];
    if (event.ok()) continue;
    const attach::StatusFields status = attach::ReadThreadStatus(pid_, tid);
    if ((attach::SignalsIn(status, "SigBlk") & SignalMaskOf(SIGTRAP)) != 0) {
      const auto name = status.find("Name");
      blocking_.push_back(name == status.end() ? "" : name->second);
      continue;
    }
    event.Reset(OpenFor(tid));
    if (!event.ok()) continue;
    found = true;
    if (enabled_) sampler::EnablePerfEvent(event.get());
  }
  return found;
}

void ThreadEvents::Enable() {
  enabled_ = true;
  for (const auto& [tid, event] : events_) {
    if (event.ok()) sampler::EnablePerfEvent(event.get());
  }
}

void ThreadEvents::Disable() {
  enabled_ = false;
  for (const auto& [tid, event] : events_) {
    if (event.ok()) sampler::DisablePerfEvent(event.get());
  }
}

}  // namespace coz::supervisor
