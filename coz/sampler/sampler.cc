#include "coz/sampler/sampler.h"

#include <sys/syscall.h>

#include <atomic>
#include <cerrno>
#include <cstdint>

#include "coz/base/raw_syscall.h"
#include "coz/base/reserved_descriptors.h"
#include "coz/base/sampling_signal.h"
#include "coz/base/thread_cpu_clock.h"
#include "coz/sampler/clock_events.h"
#include "coz/sampler/perf_event.h"
#include "coz/sampler/sampler_state.h"
#include "coz/sampler/sampling_handler.h"
#include "coz/sampler/timer_table.h"

namespace coz::sampler {

namespace {

// 0, or why nothing is to be tried. A child of fork may start a sampler of its own.
int RefusalOf(const SamplerOptions& options) {
  if (sampled_process.enabled.load() && InSampledProcess()) return EBUSY;
  const bool can_work = options.callback != nullptr &&
                        options.sampling_period_ns >= kLeastSamplingPeriodNs &&
                        options.source <= SamplingSource::kCpuClock;
  return can_work ? 0 : EINVAL;
}

bool IsWanted(const SamplerOptions& options, SamplingSource source) {
  return sampled_process.source == SamplingSource::kNone &&
         (options.source == SamplingSource::kNone || options.source == source);
}

// Where the program has not taken its number.
void CloseEvent(int fd) {
  if (ReleaseDescriptor(fd)) RawSyscall(SYS_close, fd);
}

void TryPerfSigtrap(const SamplerOptions& options, SamplerStatus* status) {
  PerfEventOptions event;
  event.sampling_period_ns = options.sampling_period_ns;
  event.inherited_sigtrap = true;
  event.exclude_kernel = options.exclude_kernel;
  int fd = OpenTaskClock(event);
  if ((fd == -EACCES || fd == -EPERM) && !event.exclude_kernel) {
    status->kernel_errno = -fd;
    event.exclude_kernel = true;
    fd = OpenTaskClock(event);
  }
  if (fd < 0) {
    status->perf_sigtrap_errno = -fd;
    status->kernel_errno = 0;
    return;
  }
  ReserveDescriptor(fd);
  sampled_process.inherited_fd.store(fd, std::memory_order_relaxed);
  sampled_process.source = SamplingSource::kPerfSigtrap;
  sampled_process.kernel_included = !event.exclude_kernel;
  const int result = ShareAndEnableEvent(fd);  // last: the first sample may come at once
  if (result == 0) return;
  CloseEvent(TakeInheritedEvent());
  sampled_process.source = SamplingSource::kNone;
  sampled_process.kernel_included = false;
  *status = SamplerStatus();
  status->perf_sigtrap_errno = -result;
}

// The first thread's own source is the proof that the kind works.
void TryPerfSetsig(const SamplerOptions& options, SamplerStatus* status) {
  t_thread.awaits_first_sample = true;
  const int result =
      StartThreadEvent(options.sampling_period_ns, kSamplingSignal, &t_thread.source);
  if (result != 0) t_thread.awaits_first_sample = false;
  if (result == 0) sampled_process.source = SamplingSource::kPerfSetsig;
  status->perf_setsig_errno = -result;
}

void TryCpuTimer(const SamplerOptions& options, SamplerStatus* status) {
  const uint64_t period_ns = options.sampling_period_ns;
  const int result = StartThreadTimer({period_ns, period_ns}, kSamplingSignal, &t_thread.source);
  if (result == 0) {
    sampled_process.source = SamplingSource::kCpuTimer;
    sampled_process.kernel_included = true;
  }
  status->cpu_timer_errno = -result;
}

void TryCpuClock(const SamplerOptions& options, SamplerStatus* status) {
  const auto self = static_cast<int32_t>(RawSyscall(SYS_gettid));
  sampled_process.source = SamplingSource::kCpuClock;  // first: a sample may come at once
  sampled_process.kernel_included = true;
  const int result = options.exclude_kernel ? -EINVAL : AddClockEvent(self, options.expiry);
  status->cpu_clock_errno = -result;
  if (result == 0) return;
  sampled_process.source = SamplingSource::kNone;
  sampled_process.kernel_included = false;
}

void DescribeProcess(const SamplerOptions& options) {
  sampled_process.pid = RawSyscall(SYS_getpid);
  sampled_process.source = SamplingSource::kNone;
  sampled_process.kernel_included = false;
  sampled_process.masks_are_programs = false;
  sampled_process.sampling_period_ns = options.sampling_period_ns;
  timespec tick = {};
  RawSyscall(SYS_clock_getres, CLOCK_MONOTONIC_COARSE, &tick);
  sampled_process.tick_ns = static_cast<uint64_t>(tick.tv_nsec);
  sampled_process.expiry = options.expiry;
  sampled_process.excludes_kernel = options.exclude_kernel;
  sampled_process.callback = options.callback;
  sampled_process.foreign_signal = options.foreign_signal;
  sampled_process.own_trap = options.own_trap;
  sampled_process.shared_event = options.shared_event;
  sampled_process.suspensions = options.suspensions;
}

}  // namespace

SamplerStatus StartSampler(const SamplerOptions& options) {
  SamplerStatus status;
  status.options_errno = RefusalOf(options);
  if (status.options_errno != 0) return status;
  DescribeProcess(options);
  t_thread.suspensions = Suspensions();
  t_thread.stopped = false;
  t_thread.tracker.Restart(ThreadCpuNowNs());
  // Without the handler the first sample would end the process.
  status.handler_errno = -InstallSignalHandler(kSamplingSignal, &OnSamplingSignal);
  if (status.handler_errno != 0) return status;
  UnblockSignal(kSamplingSignal);
  sampled_process.enabled.store(true);

  if (options.source == SamplingSource::kCpuClock) TryCpuClock(options, &status);
  if (IsWanted(options, SamplingSource::kPerfSigtrap)) TryPerfSigtrap(options, &status);
  if (IsWanted(options, SamplingSource::kPerfSetsig)) TryPerfSetsig(options, &status);
  if (IsWanted(options, SamplingSource::kCpuTimer)) TryCpuTimer(options, &status);
  status.source = sampled_process.source;
  status.kernel_included = sampled_process.kernel_included;
  if (sampled_process.source == SamplingSource::kNone) sampled_process.enabled.store(false);
  return status;
}

int StartSamplerFromOutside(const SamplerOptions& options, bool kernel_included) {
  DescribeProcess(options);
  sampled_process.masks_are_programs = true;
  sampled_process.source =
      options.source == SamplingSource::kNone ? SamplingSource::kPerfSigtrap : options.source;
  sampled_process.kernel_included = kernel_included;
  if (sampled_process.closings.load() % 2 != 0) sampled_process.closings.fetch_add(1);
  const int result = InstallSignalHandler(kSamplingSignal, &OnSamplingSignal);
  if (result == 0) sampled_process.enabled.store(true);
  return result;
}

// A thread may be in a call that waits, and would open one when it comes back.
void CloseEventsOfThreads() {
  sampled_process.closings.fetch_or(1);
  CloseInheritedEvents();
}

void ChangeToCpuTimersFromOutside() {
  sampled_process.source = SamplingSource::kCpuTimer;
  sampled_process.kernel_included = true;
}

void DeleteTimersOfThreads() { DeleteAllTimers(); }

bool UsesCpuTimers() {
  return sampled_process.enabled.load(std::memory_order_acquire) &&
         sampled_process.source.load(std::memory_order_relaxed) == SamplingSource::kCpuTimer;
}

bool ChangeToCpuTimers() {
  if (sampled_process.source.load(std::memory_order_relaxed) == SamplingSource::kCpuTimer)
    return false;
  if (!InSampledProcess() || !sampled_process.enabled.load(std::memory_order_acquire)) return false;
  if (sampled_process.source.exchange(SamplingSource::kCpuTimer) == SamplingSource::kCpuTimer)
    return false;
  const int fd = TakeInheritedEvent();
  if (fd >= 0) {
    DisablePerfEvent(fd);
    CloseEvent(fd);
  }
  CloseThreadEvent(&t_thread.source);
  const uint64_t period = sampled_process.sampling_period_ns;
  if (!IsThere(t_thread.source.timer) &&
      StartThreadTimer({period, period}, kSamplingSignal, &t_thread.source) != 0) {
    Add(&sampled_process.counters.unsampled_threads, 1);
  }
  return true;
}

// The event that was there goes when the new one works.
ClockChange ChangeToCpuClock(const ClockExpiry& expiry) {
  SamplingSource before = sampled_process.source.load(std::memory_order_relaxed);
  if (before != SamplingSource::kPerfSigtrap && before != SamplingSource::kPerfSetsig)
    return ClockChange::kNone;
  if (!InSampledProcess() || !sampled_process.enabled.load(std::memory_order_acquire))
    return ClockChange::kNone;
  if (sampled_process.excludes_kernel) return ClockChange::kRefused;
  if (!sampled_process.source.compare_exchange_strong(before, SamplingSource::kCpuClock))
    return ClockChange::kNone;
  sampled_process.expiry = expiry;
  if (AddClockEvent(static_cast<int32_t>(RawSyscall(SYS_gettid)), expiry) != 0) {
    sampled_process.source.store(before);
    return ClockChange::kRefused;
  }
  sampled_process.kernel_included = true;
  const int fd = TakeInheritedEvent();
  if (fd >= 0) {
    DisablePerfEvent(fd);
    CloseEvent(fd);
  }
  CloseThreadEvent(&t_thread.source);
  return ClockChange::kBegun;
}

void SampleThreadByCpuClock(int32_t tid) {
  const int result = AddClockEvent(tid, sampled_process.expiry);
  if (result == 0) {
    if (!sampled_process.enabled.load()) CloseClockEvents();
  } else if (result != -ESRCH) {
    Add(&sampled_process.counters.unsampled_threads, 1);  // or it has ended
  }
}

int SampleThreadByTimer(int32_t tid) {
  if (HasTimer(tid)) return 0;
  sampled_process.made_timers_for_others.store(true);
  const uint64_t period = sampled_process.sampling_period_ns;
  const int result = StartTimerOfThread(tid, period, kSamplingSignal);
  if (result == 0) {
    if (!sampled_process.enabled.load()) DeleteTimersOf(tid);
  } else if (result != -EINVAL) {
    Add(&sampled_process.counters.unsampled_threads, 1);  // or it has ended
  }
  return result;
}

void StopSampler() {
  if (!InSampledProcess()) return;
  sampled_process.enabled.store(false);
  const int fd = TakeInheritedEvent();
  if (fd >= 0) {
    DisablePerfEvent(fd);
    ReleaseDescriptor(fd);
    RawSyscall(SYS_close, fd);
  }
  CloseClockEvents();
  (void)MayKeepDescriptors();
  // Other threads' own sources end with the next signal that they send.
  StopThreadSource(&t_thread.source);
  t_thread.phase_keeper.Release();
  t_thread.queue_clock.Release();
}

void StopSamplerForGood() {
  StopSampler();
  sampled_process.stopped_for_good.store(true, std::memory_order_relaxed);
}

uint32_t ActiveSampleCallbacks() { return sampled_process.active_callbacks.load(); }

SamplerCounters ReadSamplerCounters() {
  const AtomicCounters& from = sampled_process.counters;
  const auto relaxed = std::memory_order_relaxed;
  SamplerCounters to;
  to.samples = from.samples.load(relaxed);
  to.weight = from.weight.load(relaxed);
  to.dropped = from.dropped.load(relaxed);
  to.lost_periods = from.lost_periods.load(relaxed);
  to.unsampled_ns = from.unsampled_ns.load(relaxed);
  to.foreign_signals = from.foreign_signals.load(relaxed);
  to.unsampled_threads = from.unsampled_threads.load(relaxed);
  to.unkept_phases = from.unkept_phases.load(relaxed);
  return to;
}

}  // namespace coz::sampler
