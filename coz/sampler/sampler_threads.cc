// What the sampler does where threads start, end and are created.
#include <signal.h>
#include <sys/syscall.h>

#include <atomic>
#include <cerrno>
#include <cstdint>

#include "coz/base/raw_syscall.h"
#include "coz/base/signal_mask.h"
#include "coz/base/thread_cpu_clock.h"
#include "coz/sampler/sampler.h"
#include "coz/sampler/sampler_state.h"
#include "coz/sampler/timer_table.h"

namespace coz::sampler {

namespace {

void EndThreadSource() {
  (void)MayKeepDescriptors();
  if (sampled_process.stopped_for_good.load(std::memory_order_relaxed)) return;
  StopOwnSource();
  t_thread.phase_keeper.Release();
  t_thread.queue_clock.Release();
}

int32_t OwnTid() { return static_cast<int32_t>(RawSyscall(SYS_gettid)); }

// It would find a sample pending, and might take it by sigwait.
bool BlocksSamples() {
  if (!sampled_process.masks_are_programs) return false;
  uint64_t blocked = 0;
  RawSyscall(SYS_rt_sigprocmask, SIG_BLOCK, nullptr, &blocked, sizeof(blocked));
  return (blocked & SignalMaskOf(kSamplingSignal)) != 0;
}

// Whether first samples of other threads stand for what the calling one has run since its last.
bool FirstSamplesStandForRest() {
  switch (sampled_process.source.load(std::memory_order_relaxed)) {
    case SamplingSource::kPerfSetsig:
    case SamplingSource::kCpuTimer:
      return t_thread.source.fd_plus_1 != 0 || IsThere(t_thread.source.timer);
    case SamplingSource::kCpuClock:
      return true;
    case SamplingSource::kPerfSigtrap:
    case SamplingSource::kNone:
      return false;
  }
  return false;
}

void AwaitFirstSample(const FirstSamplePlan& plan) {
  t_thread.awaits_first_sample = true;
  t_thread.first_stands_for = plan.stands_for;
}

// Nobody knows yet which thread of a group is the sampled one, so each takes a share.
uint64_t SharersOfFirstSample() {
  return t_thread.first_stands_for > 1 ? t_thread.first_stands_for : 0;
}

bool StartOwnTimer() {
  const uint64_t period_ns = sampled_process.sampling_period_ns;
  const FirstSamplePlan plan =
      PlanThreadTimer(sampled_process.ended, period_ns, sampled_process.tick_ns);
  t_thread.tracker.Restart(ThreadCpuNowNs());
  AwaitFirstSample(plan);
  const int result =
      StartThreadTimer({plan.first_period_ns, period_ns}, kSamplingSignal, &t_thread.source);
  // Either this sees that sampling has ended, or DeleteTimersOfThreads sees the timer.
  if (result == 0 && !sampled_process.enabled.load()) StopThreadSource(&t_thread.source);
  return result == 0;
}

bool StartOwnEvent() {
  const uint64_t period_ns = sampled_process.sampling_period_ns;
  const FirstSamplePlan plan = PlanThreadEvent(sampled_process.ended, period_ns);
  // As if the thread had begun with the period.
  t_thread.tracker.Restart(ThreadCpuNowNs() - (period_ns - plan.first_period_ns));
  AwaitFirstSample(plan);
  return StartThreadEvent(plan.first_period_ns, kSamplingSignal, &t_thread.source) == 0;
}

uint64_t StartShortThread() {
  const ShortThreadPlan plan =
      PlanShortThread(sampled_process.ended, sampled_process.sampling_period_ns);
  t_thread.state.BeginShort(plan.weighs_rest ? SampledBy::kInheritedRests : SampledBy::kOthers);
  if (plan.weighs_rest) return 0;
  if (plan.first_period_ns == 0 ||
      StartThreadSigtrap(plan.first_period_ns, !sampled_process.kernel_included,
                         &t_thread.source) != 0) {
    return plan.stands_for - 1;  // the sampled one takes none
  }
  t_thread.state.BeginShort(SampledBy::kOwn);
  t_thread.stands_for = plan.stands_for;
  // As if the thread had begun with the period.
  t_thread.tracker.Restart(ThreadCpuNowNs() -
                           (sampled_process.sampling_period_ns - plan.first_period_ns));
  return 0;
}

}  // namespace

bool MayKeepDescriptors() {
  const uint32_t closings = sampled_process.closings.load();
  if (t_thread.closings != closings) {
    t_thread.closings = closings;
    t_thread.source.fd_plus_1 = 0;
    t_thread.phase_keeper.Forget();
    t_thread.queue_clock.Forget();
  }
  return closings % 2 == 0;
}

// Either this sees the new count, or CloseEventsOfThreads sees the reservation.
bool MustCloseAgain() {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  return sampled_process.closings.load() != t_thread.closings;
}

void StopOwnSource() {
  StopThreadSource(&t_thread.source);
  if (sampled_process.made_timers_for_others.load()) DeleteTimersOf(OwnTid());
}

uint64_t StartThreadSampling() {
  t_thread.stopped = false;
  if (!sampled_process.enabled.load(std::memory_order_acquire)) return 0;
  // SampleThreadByTimer can find the thread from here on: it is called for it, or the thread sees
  // the new source.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  const SamplingSource source = sampled_process.source.load(std::memory_order_relaxed);
  if (source == SamplingSource::kPerfSigtrap) {
    t_thread.state.BecomeLong();
    t_thread.suspensions = Suspensions();
    const bool takes_own =
        ThreadsAreShort(sampled_process.ended) && !IsSuspended(t_thread.suspensions);
    return __builtin_expect(takes_own, 0) ? StartShortThread() : 0;
  }
  if (source == SamplingSource::kCpuClock) {  // by the event that it has inherited
    t_thread.state.BecomeLong();
    t_thread.suspensions = Suspensions();
    AwaitFirstSample(PlanThreadClock(sampled_process.ended, sampled_process.sampling_period_ns));
    return SharersOfFirstSample();
  }
  if (BlocksSamples()) return 0;
  // No descriptor left for this thread is no reason to leave it out.
  const bool is_sampled =
      (source == SamplingSource::kPerfSetsig && StartOwnEvent()) || StartOwnTimer();
  if (!is_sampled) Add(&sampled_process.counters.unsampled_threads, 1);
  return SharersOfFirstSample();
}

void SampleLateThread() {
  if (!UsesCpuTimers() || IsThere(t_thread.source.timer) || HasTimer(OwnTid())) return;
  StartThreadSampling();
}

void StopThreadSampling() {
  t_thread.stopped = true;
  const bool is_in_a_group = t_thread.state.is_in_a_group();
  const bool is_made_up_for = FirstSamplesStandForRest();
  EndThreadSource();
  if (!sampled_process.enabled.load(std::memory_order_acquire)) return;
  // Part of its time was in a suspension.
  const bool is_known = t_thread.suspensions == Suspensions() && !IsSuspended(t_thread.suspensions);
  if (is_in_a_group || !is_known) return;
  const uint64_t now_ns = ThreadCpuNowNs();
  const uint64_t rest_ns = t_thread.tracker.RestNs(now_ns);
  NoteThreadEnd(sampled_process.ended, now_ns, rest_ns);
  if (!is_made_up_for && t_thread.state.by() != SampledBy::kInheritedRests) {
    Add(&sampled_process.counters.unsampled_ns, rest_ns);
  }
}

void PrepareToCreateRawThread() {
  if (t_thread.tid == 0) t_thread.tid = OwnTid();
  sampled_process.has_raw_threads.store(true);
}

void PrepareToCreateThread() {
  if (!sampled_process.enabled.load(std::memory_order_acquire) || !MayKeepDescriptors()) return;
  if (sampled_process.source.load(std::memory_order_relaxed) != SamplingSource::kPerfSigtrap) {
    t_thread.phase_keeper.Release();  // from before the source was changed
    return;
  }
  if (!CreatorsNeedPhaseKeepers(sampled_process.ended, sampled_process.sampling_period_ns)) {
    t_thread.phase_keeper.Release();
  } else if (t_thread.phase_keeper.Hold() != 0) {
    Add(&sampled_process.counters.unkept_phases, 1);
  }
  if (MustCloseAgain()) t_thread.phase_keeper.Release();
}

bool ReadQueueClock(uint64_t* queued_ns) {
  if (!MayKeepDescriptors()) return false;
  const bool is_read = t_thread.queue_clock.Read(queued_ns);
  if (MustCloseAgain()) t_thread.queue_clock.Release();
  return is_read;
}

void LeaveOutCpuTime(uint64_t cpu_ns) { t_thread.tracker.LeaveOut(cpu_ns); }

}  // namespace coz::sampler
