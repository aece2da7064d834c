#include "coz/sampler/sampling_handler.h"

#include <sys/syscall.h>
#include <ucontext.h>

#include <atomic>
#include <cstdint>

#include "coz/base/clock.h"
#include "coz/base/errno_saver.h"
#include "coz/base/interrupted_call.h"
#include "coz/base/raw_syscall.h"
#include "coz/base/sampling_signal.h"
#include "coz/base/thread_cpu_clock.h"
#include "coz/sampler/perf_event.h"
#include "coz/sampler/sampler_state.h"

namespace coz::sampler {
namespace {

constexpr uint32_t kMaxDropsInARow = 64;

// A signal that was pending when the handler returned comes within this much CPU time.
constexpr uint64_t kLateNs = 10'000;

// Sampling of the process, or of this thread, has ended, and its source has still sent a signal.
void EndLateSource(const siginfo_t& info) {
  if (sampled_process.stopped_for_good.load(std::memory_order_relaxed)) return;
  if (info.si_code == SI_TIMER) AdoptTimer(info, &t_thread.source);
  StopThreadSource(&t_thread.source);
}

void HandleForeignSignal(int signo, siginfo_t* info, void* context) {
  Add(&sampled_process.counters.foreign_signals, 1);
  if (sampled_process.foreign_signal != nullptr) {
    sampled_process.foreign_signal(signo, info, context);
  } else {
    TakeDefaultAction(signo);
  }
}

// The signal is blocked while the callback runs. So a nested sample means that a handler of the
// program has interrupted the callback and unblocked the signal, or has left the callback by
// longjmp. After a longjmp the stack is shallower than the callback's frame; if it is not, the
// callback counts as left after kMaxDropsInARow drops.
bool IsCallbackActive(const ucontext_t& context) {
  if (t_thread.active_frame == 0) return false;
  const auto interrupted_sp = static_cast<uintptr_t>(context.uc_mcontext.gregs[REG_RSP]);
  return interrupted_sp < t_thread.active_frame && ++t_thread.drops_in_a_row <= kMaxDropsInARow;
}

// A thread that has waited for less counts as one that has run.
uint64_t PeriodsByCpuClock(uint64_t cpu_now_ns) {
  const uint64_t period_ns = sampled_process.sampling_period_ns;
  const uint64_t now_ns = MonotonicNowNs();
  const uint64_t passed_ns = now_ns - t_thread.last_sample_ns;
  const uint64_t ran_ns = cpu_now_ns - t_thread.tracker.last_ns();
  t_thread.last_sample_ns = now_ns;
  const bool has_waited = passed_ns > ran_ns + period_ns / 8;
  return t_thread.tracker.AdvanceByCpuClock(cpu_now_ns, period_ns, has_waited);
}

uint64_t WeightOfSample(const siginfo_t& info, uint32_t periods_in_signal, bool is_first) {
  const uint64_t period_ns = sampled_process.sampling_period_ns;
  const uint64_t now_ns = ThreadCpuNowNs();
  if (info.si_code == SI_TIMER) {
    t_thread.tracker.Restart(now_ns);
    if (is_first) {
      t_thread.tracker.ForgetLeftOut();
      return WeightOfFirstTimerSample(sampled_process.ended, period_ns, sampled_process.tick_ns);
    }
    const uint64_t left_out = t_thread.tracker.TakeLeftOut(periods_in_signal, period_ns);
    return periods_in_signal - left_out;
  }
  if (IsClockExpiry(info)) {
    const uint64_t ended = PeriodsByCpuClock(now_ns);
    return ended - t_thread.tracker.TakeLeftOut(ended, period_ns);
  }
  const uint64_t ended = t_thread.tracker.Advance(now_ns, period_ns);
  if (sampled_process.kernel_included) {
    return ended - t_thread.tracker.TakeLeftOut(ended, period_ns);
  }
  if (ended == 0) return 0;
  // Periods spent in the kernel belong to no address that this sample could name. Pauses are spent
  // there.
  const uint64_t lost = ended - 1 - t_thread.tracker.TakeLeftOut(ended - 1, period_ns);
  Add(&sampled_process.counters.lost_periods, lost);
  return 1;
}

void CallBack(const Sample& sample) {
  // Sequentially consistent on both sides: either StopSampler's caller sees this callback as
  // active, or this thread sees that sampling has ended.
  sampled_process.active_callbacks.fetch_add(1);
  if (sampled_process.enabled.load()) {
    if (!sample.is_extra) {
      Add(&sampled_process.counters.samples, 1);
      Add(&sampled_process.counters.weight, sample.weight);
    }
    sampled_process.callback(sample);
  }
  sampled_process.active_callbacks.fetch_sub(1);
}

// What follows from a signal of an event, whether or not it samples the thread.
void NoteEventSignal(bool own_event) {
  switch (t_thread.state.NoteSignal(own_event)) {
    case ThreadState::Change::kFirstOwnSample:
      ContinueThreadEvent(sampled_process.sampling_period_ns, t_thread.source);
      break;
    case ThreadState::Change::kProvedLong:
      StopThreadSource(&t_thread.source);
      break;
    case ThreadState::Change::kNone:
      break;
  }
}

// Takes the signal of the thread's source. False where it came from another event than the one that
// samples this thread.
bool TakeSignal(const siginfo_t& info) {
  const SamplingSource source = sampled_process.source.load(std::memory_order_relaxed);
  if (IsClockExpiry(info) || source == SamplingSource::kCpuClock) {
    // One sample of the thread's task clock may still be under way.
    t_thread.state.BecomeLong();
    CloseThreadEvent(&t_thread.source);
    if (!IsClockExpiry(info)) return false;
    // Another process has opened the events.
    SamplingSource events = SamplingSource::kPerfSigtrap;
    sampled_process.source.compare_exchange_strong(events, SamplingSource::kCpuClock);
    return source != SamplingSource::kCpuTimer;
  }
  if (source == SamplingSource::kPerfSetsig && info.si_code != SI_TIMER) {
    if (t_thread.awaits_first_sample) {
      ContinueThreadEvent(sampled_process.sampling_period_ns, t_thread.source);
    }
    return true;
  }
  if (source != SamplingSource::kCpuTimer) {
    const bool own_event = IsThreadSigtrap(info);
    const bool samples = t_thread.state.IsSampledBy(own_event);
    NoteEventSignal(own_event);
    return samples;
  }
  // Timers have taken the place of events. One sample of an event may still be under way, and
  // another thread has made this thread's timer.
  t_thread.state.BecomeLong();
  CloseThreadEvent(&t_thread.source);
  return info.si_code == SI_TIMER && AdoptTimer(info, &t_thread.source);
}

// Whether another event than the one that samples this thread has sent the signal. A thread that
// was created while events were opened for each thread may have one that it has inherited, and one
// that was opened for it.
bool IsSecondEvent(const siginfo_t& info) {
  const int32_t opened_for = ThreadOfSigtrap(info);
  if (opened_for == 0) return false;
  if (t_thread.tid == 0) t_thread.tid = static_cast<int32_t>(RawSyscall(SYS_gettid));
  if (opened_for == t_thread.tid) t_thread.has_event_from_outside = true;
  return opened_for != t_thread.tid && t_thread.has_event_from_outside;
}

// Whether this thread runs with the thread-local data of the one that has created it. Nothing there
// is its own. Threads that create such ones know their number (PrepareToCreateRawThread).
bool HasDataOfAnother() {
  return sampled_process.has_raw_threads.load(std::memory_order_relaxed) && t_thread.tid != 0 &&
         t_thread.tid != static_cast<int32_t>(RawSyscall(SYS_gettid));
}

// Sampling is suspended, or was since the thread's last sample.
bool WasSuspended(uint32_t suspensions) {
  const SamplingSource source = sampled_process.source.load(std::memory_order_relaxed);
  return (source == SamplingSource::kPerfSigtrap || source == SamplingSource::kCpuClock) &&
         (suspensions != t_thread.suspensions || IsSuspended(suspensions));
}

// A signal has come although sampling is suspended, or is the first since. The inherited event
// samples the threads that were there in a suspension when sampling resumes.
void Rest(uint32_t suspensions) {
  t_thread.suspensions = suspensions;
  // No sample stands for what has run since the last one.
  t_thread.tracker.Restart(ThreadCpuNowNs() - sampled_process.sampling_period_ns);
  if (!IsSuspended(suspensions)) return;
  StopThreadSource(&t_thread.source);
  t_thread.state.BecomeLong();
}

// Whether it is the first from what samples the thread since its beginning. Events of kPerfSigtrap
// have no part in this.
bool TakeFirstSample(const siginfo_t& info) {
  const bool is_inherited = IsInheritedSigtrap(info) && !IsClockExpiry(info);
  if (is_inherited || IsThreadSigtrap(info)) return false;
  const bool is_first = t_thread.awaits_first_sample;
  t_thread.awaits_first_sample = false;
  return is_first;
}

uint32_t PeriodsInSamplingSignal(const siginfo_t& info) {
  if (IsInheritedSigtrap(info) || IsThreadSigtrap(info)) return 1;
  return PeriodsInSignal(info);
}

void CallBackIn(const ucontext_t* context, Sample sample) {
  t_thread.active_frame = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
  t_thread.drops_in_a_row = 0;
  sample.ip = static_cast<uint64_t>(context->uc_mcontext.gregs[REG_RIP]);
  sample.context = context;
  CallBack(sample);
  if (HasExtraEvent()) t_thread.callback_end_ns = ThreadCpuNowNs();
  t_thread.active_frame = 0;
}

Sample ExtraSample() {
  Sample sample = {0, nullptr, 0, 1};
  sample.is_extra = true;
  sample.is_late = ThreadCpuNowNs() < t_thread.callback_end_ns + kLateNs;
  return sample;
}

}  // namespace

void OnSamplingSignal(int signo, siginfo_t* info, void* raw_context) {
  if (sampled_process.own_trap != nullptr &&
      sampled_process.own_trap(*info, static_cast<ucontext_t*>(raw_context))) {
    return;
  }
  ErrnoSaver errno_saver;
  InterruptedCall call(static_cast<ucontext_t*>(raw_context));
  if (__builtin_expect(call.waits_for_ring(), 0)) HoldSignalsThatEndRingWaits();
  const uint32_t periods = PeriodsInSamplingSignal(*info);
  if (periods == 0) {
    call.Settle();
    return HandleForeignSignal(signo, info, raw_context);
  }
  if (!sampled_process.enabled.load(std::memory_order_acquire) || t_thread.stopped) {
    return EndLateSource(*info);
  }
  if (HasDataOfAnother() || IsSecondEvent(*info)) return;
  const uint32_t suspensions = Suspensions();
  if (WasSuspended(suspensions)) {
    Rest(suspensions);
    if (IsSuspended(suspensions)) return;
  }
  const auto* context = static_cast<const ucontext_t*>(raw_context);
  if (IsThreadSigtrap(*info) && HasExtraEvent()) {
    if (!IsCallbackActive(*context)) CallBackIn(context, ExtraSample());
    return;
  }
  const bool weighs_rests = t_thread.state.by() == SampledBy::kInheritedRests;
  if (!TakeSignal(*info)) return;

  const bool is_first = TakeFirstSample(*info);
  uint64_t threads = is_first ? t_thread.first_stands_for : 1;
  uint64_t weight = WeightOfSample(*info, periods, is_first);
  if (IsThreadSigtrap(*info)) {  // the other threads of the group have no event
    threads = t_thread.stands_for;
    weight *= threads;
  }
  if (weighs_rests) weight += WeightOfRests(sampled_process.ended, weight);
  if (IsCallbackActive(*context)) return Add(&sampled_process.counters.dropped, weight);
  Sample sample = {0, nullptr, weight, threads};
  sample.by_timer = info->si_code == SI_TIMER;
  CallBackIn(context, sample);
}

}  // namespace coz::sampler
