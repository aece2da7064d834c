#include "coz/sampler/sampler.h"

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>

#include "coz/base/clock.h"
#include "coz/base/errno_saver.h"
#include "coz/base/interrupted_call.h"
#include "coz/base/raw_syscall.h"
#include "coz/base/reserved_descriptors.h"
#include "coz/base/sampling_signal.h"
#include "coz/base/thread_cpu_clock.h"
#include "coz/sampler/perf_event.h"
#include "coz/sampler/period_tracker.h"
#include "coz/sampler/phase_keeper.h"
#include "coz/sampler/short_threads.h"
#include "coz/sampler/thread_source.h"
#include "coz/sampler/thread_state.h"

namespace coz::sampler {
namespace {

struct Counters {
  std::atomic<uint64_t> samples{0};
  std::atomic<uint64_t> weight{0};
  std::atomic<uint64_t> dropped{0};
  std::atomic<uint64_t> lost_periods{0};
  std::atomic<uint64_t> unsampled_ns{0};
  std::atomic<uint64_t> foreign_signals{0};
  std::atomic<uint64_t> unsampled_threads{0};
  std::atomic<uint64_t> unkept_phases{0};
};

// Written by StartSampler while the process has one thread; `enabled`, `inherited_fd` and `source` later too.
struct Process {
  std::atomic<bool> enabled{false};
  std::atomic<bool> stopped_for_good{false};
  std::atomic<uint32_t> active_callbacks{0};
  std::atomic<int> inherited_fd{-1};
  long pid = 0;
  std::atomic<SamplingSource> source{SamplingSource::kNone};
  bool kernel_included = false;
  uint64_t sampling_period_ns = 0;
  SampleCallback callback = nullptr;
  ForeignSignalCallback foreign_signal = nullptr;
  SharedEvent* shared_event = nullptr;
  const SuspensionCount* suspensions = nullptr;
  Counters counters;
  EndedThreads ended;
};

struct Thread {
  ThreadSource source;
  PhaseKeeper phase_keeper;
  PeriodTracker tracker;
  uintptr_t active_frame = 0;  // the handler's, while the callback runs
  uint32_t drops_in_a_row = 0;
  uint64_t stands_for = 1;  // threads that each sample of its own event stands for
  ThreadState state;
  bool stopped = false;
  uint64_t callback_end_ns = 0;  // of its CPU time; kept while it takes extra samples
  uint32_t suspensions = 0;      // the count when the tracker last knew the thread's time
};

Process process;

// Initial-exec, as the first touch of dynamic thread-local data allocates, within a handler here.
__attribute__((tls_model("initial-exec"))) thread_local Thread thread;

constexpr uint32_t kMaxDropsInARow = 64;

// A signal that was pending when the handler returned comes within so much of the thread's CPU time.
constexpr uint64_t kLateNs = 10 * 1000;

// Several times what a sample costs: a thread that does little but take them does nothing else.
constexpr uint64_t kShortestExtraNs = 20 * 1000;

void Add(std::atomic<uint64_t>* counter, uint64_t amount) {
  counter->fetch_add(amount, std::memory_order_relaxed);
}

// A child of vfork, or one of fork that has not told us, shares our descriptors but is not us.
bool InSampledProcess() { return RawSyscall(SYS_getpid) == process.pid; }

uint32_t Suspensions() { return process.suspensions == nullptr ? 0 : process.suspensions->load(); }

// Where another process finds the inherited event; -1: nowhere.
void ShareEvent(int fd) {
  if (process.shared_event == nullptr) return;
  process.shared_event->event.store(fd < 0 ? 0 : PerfEventId(fd));
  process.shared_event->fd_plus_1.store(fd + 1);
}

void ShareAndEnableEvent(int fd) {
  if (process.shared_event == nullptr) {
    EnablePerfEvent(fd);
    return;
  }
  const SharedEventHold hold(process.shared_event);
  ShareEvent(fd);
  if (!IsSuspended(Suspensions())) EnablePerfEvent(fd);
}

void DisableEventForExec(int fd) {
  if (process.shared_event == nullptr) {
    DisablePerfEvent(fd);
    return;
  }
  const SharedEventHold hold(process.shared_event);
  ShareEvent(-1);
  DisablePerfEvent(fd);
}

// Gives up the descriptor, -1 where there is none.
int TakeInheritedEvent() {
  ShareEvent(-1);
  return process.inherited_fd.exchange(-1);
}

void EndThreadSource() {
  if (process.stopped_for_good.load(std::memory_order_relaxed)) return;
  StopThreadSource(&thread.source);
  thread.phase_keeper.Release();
}

// Sampling of the process, or of this thread, has ended, and its source has still sent a signal.
void EndLateSource(const siginfo_t& info) {
  if (process.stopped_for_good.load(std::memory_order_relaxed)) return;
  if (info.si_code == SI_TIMER) AdoptTimer(info, &thread.source);
  StopThreadSource(&thread.source);
}

void HandleForeignSignal(int signo, siginfo_t* info, void* context) {
  Add(&process.counters.foreign_signals, 1);
  if (process.foreign_signal != nullptr) {
    process.foreign_signal(signo, info, context);
  } else {
    TakeDefaultAction(signo);
  }
}

// The signal is blocked while the callback runs, so a nested sample means that a handler of the
// program, which has interrupted the callback, has unblocked it — or that such a handler has left
// the callback by longjmp, and it will never return. Then the stack is shallower than the callback
// was, or, at the latest, no other sample gets through for a while.
bool IsCallbackActive(const ucontext_t& context) {
  if (thread.active_frame == 0) return false;
  const auto interrupted_sp = static_cast<uintptr_t>(context.uc_mcontext.gregs[REG_RSP]);
  return interrupted_sp < thread.active_frame && ++thread.drops_in_a_row <= kMaxDropsInARow;
}

// A long thread has the inherited event, and so its own is there for extra samples.
bool MayTakeExtraSamples() {
  return process.source.load(std::memory_order_relaxed) == SamplingSource::kPerfSigtrap &&
         thread.state.is_long();
}

bool HasExtraEvent() { return MayTakeExtraSamples() && thread.source.fd_plus_1 != 0; }

uint64_t WeightOfSample(const siginfo_t& info, uint32_t periods_in_signal) {
  const uint64_t period_ns = process.sampling_period_ns;
  const uint64_t now_ns = ThreadCpuNowNs();
  if (info.si_code == SI_TIMER) {
    thread.tracker.Restart(now_ns);
    const uint64_t left_out = thread.tracker.TakeLeftOut(periods_in_signal, period_ns);
    return periods_in_signal - left_out;
  }
  const uint64_t ended = thread.tracker.Advance(now_ns, period_ns);
  if (process.kernel_included) {
    return ended - thread.tracker.TakeLeftOut(ended, period_ns);
  }
  // What was spent in the kernel belongs to no address that this sample could name. Pauses are spent there.
  const uint64_t lost = ended - 1 - thread.tracker.TakeLeftOut(ended - 1, period_ns);
  Add(&process.counters.lost_periods, lost);
  return 1;
}

void CallBack(const Sample& sample) {
  // Sequentially consistent on both sides: either StopSampler's caller sees this callback as
  // active, or this thread sees that sampling has ended.
  process.active_callbacks.fetch_add(1);
  if (process.enabled.load()) {
    if (!sample.is_extra) {
      Add(&process.counters.samples, 1);
      Add(&process.counters.weight, sample.weight);
    }
    process.callback(sample);
  }
  process.active_callbacks.fetch_sub(1);
}

uint64_t StartShortThread() {
  const ShortThreadPlan plan = PlanShortThread(process.ended, process.sampling_period_ns);
  thread.state.BeginShort(plan.weighs_rest ? SampledBy::kInheritedRests : SampledBy::kOthers);
  if (plan.weighs_rest) return 0;
  if (plan.first_period_ns == 0 ||
      StartThreadSigtrap(plan.first_period_ns, !process.kernel_included, &thread.source) != 0) {
    return plan.stands_for;
  }
  thread.state.BeginShort(SampledBy::kOwn);
  thread.stands_for = plan.stands_for;
  // As if the thread had begun with the period.
  thread.tracker.Restart(ThreadCpuNowNs() - (process.sampling_period_ns - plan.first_period_ns));
  return 0;
}

// What follows from a signal of an event, whether or not it samples the thread.
void NoteEventSignal(bool own_event) {
  switch (thread.state.NoteSignal(own_event)) {
    case ThreadState::Change::kFirstOwnSample:
      ContinueThreadSigtrap(process.sampling_period_ns, thread.source);
      break;
    case ThreadState::Change::kProvedLong:
      StopThreadSource(&thread.source);
      break;
    case ThreadState::Change::kNone:
      break;
  }
}

// Takes the signal of the thread's source. False where it came from another event than the one that
// samples this thread.
bool TakeSignal(const siginfo_t& info) {
  if (process.source.load(std::memory_order_relaxed) != SamplingSource::kCpuTimer) {
    const bool own_event = IsThreadSigtrap(info);
    const bool samples = thread.state.IsSampledBy(own_event);
    NoteEventSignal(own_event);
    return samples;
  }
  // Timers have taken the place of events. One sample of an event may still be under way, and another
  // thread has made this thread's timer.
  thread.state.BecomeLong();
  CloseThreadEvent(&thread.source);
  return info.si_code == SI_TIMER && AdoptTimer(info, &thread.source);
}

// Sampling is suspended, or was since the thread's last sample.
bool WasSuspended(uint32_t suspensions) {
  return process.source.load(std::memory_order_relaxed) == SamplingSource::kPerfSigtrap &&
         (suspensions != thread.suspensions || IsSuspended(suspensions));
}

// An event of the thread's own, or a signal that was under way, has come although sampling is
// suspended, or is the first since. Threads that are there in a suspension are sampled by the
// inherited event when it is resumed.
void Rest(uint32_t suspensions) {
  thread.suspensions = suspensions;
  // What has run since the last sample is nobody's.
  thread.tracker.Restart(ThreadCpuNowNs() - process.sampling_period_ns);
  if (!IsSuspended(suspensions)) return;
  StopThreadSource(&thread.source);
  thread.state.BecomeLong();
}

// A sample of an event of the thread's own stands for other threads too.
uint64_t ThreadsThatSampleStandsFor(const siginfo_t& info) {
  return IsThreadSigtrap(info) ? thread.stands_for : 1;
}

uint32_t PeriodsInSamplingSignal(const siginfo_t& info) {
  if (IsInheritedSigtrap(info) || IsThreadSigtrap(info)) return 1;
  return PeriodsInSignal(info);
}

void CallBackIn(const ucontext_t* context, Sample sample) {
  thread.active_frame = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
  thread.drops_in_a_row = 0;
  sample.ip = static_cast<uint64_t>(context->uc_mcontext.gregs[REG_RIP]);
  sample.context = context;
  CallBack(sample);
  if (HasExtraEvent()) thread.callback_end_ns = ThreadCpuNowNs();
  thread.active_frame = 0;
}

Sample ExtraSample() {
  Sample sample = {0, nullptr, 0, 1};
  sample.is_extra = true;
  sample.is_late = ThreadCpuNowNs() < thread.callback_end_ns + kLateNs;
  return sample;
}

void OnSamplingSignal(int signo, siginfo_t* info, void* raw_context) {
  ErrnoSaver errno_saver;
  InterruptedCall call(static_cast<ucontext_t*>(raw_context));
  const uint32_t periods = PeriodsInSamplingSignal(*info);
  if (periods == 0) {
    call.Settle();
    return HandleForeignSignal(signo, info, raw_context);
  }
  if (!process.enabled.load(std::memory_order_acquire) || thread.stopped) {
    return EndLateSource(*info);
  }
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
  const bool weighs_rests = thread.state.by() == SampledBy::kInheritedRests;
  if (!TakeSignal(*info)) return;

  const uint64_t threads = ThreadsThatSampleStandsFor(*info);
  uint64_t weight = WeightOfSample(*info, periods) * threads;
  if (weighs_rests) weight += WeightOfRests(process.ended);
  if (IsCallbackActive(*context)) return Add(&process.counters.dropped, weight);
  CallBackIn(context, {0, nullptr, weight, threads});
}

bool IsWanted(const SamplerOptions& options, SamplingSource source) {
  return process.source == SamplingSource::kNone &&
         (options.source == SamplingSource::kNone || options.source == source);
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
  process.inherited_fd.store(fd, std::memory_order_relaxed);
  process.source = SamplingSource::kPerfSigtrap;
  process.kernel_included = !event.exclude_kernel;
}

// The first thread's own source is the proof that the kind works.
void TryPerfSetsig(const SamplerOptions& options, SamplerStatus* status) {
  const int result = StartThreadEvent(options.sampling_period_ns, kSamplingSignal, &thread.source);
  if (result == 0) process.source = SamplingSource::kPerfSetsig;
  status->perf_setsig_errno = -result;
}

void TryCpuTimer(const SamplerOptions& options, SamplerStatus* status) {
  const int result = StartThreadTimer(options.sampling_period_ns, kSamplingSignal, &thread.source);
  if (result == 0) {
    process.source = SamplingSource::kCpuTimer;
    process.kernel_included = true;
  }
  status->cpu_timer_errno = -result;
}

}  // namespace

SamplerStatus StartSampler(const SamplerOptions& options) {
  SamplerStatus status;
  process.pid = RawSyscall(SYS_getpid);
  process.source = SamplingSource::kNone;
  process.kernel_included = false;
  process.sampling_period_ns = options.sampling_period_ns;
  process.callback = options.callback;
  process.foreign_signal = options.foreign_signal;
  process.shared_event = options.shared_event;
  process.suspensions = options.suspensions;
  thread.suspensions = Suspensions();
  thread.stopped = false;
  thread.tracker.Restart(ThreadCpuNowNs());
  InstallSignalHandler(kSamplingSignal, &OnSamplingSignal);
  UnblockSignal(kSamplingSignal);
  process.enabled.store(true);

  if (IsWanted(options, SamplingSource::kPerfSigtrap)) TryPerfSigtrap(options, &status);
  if (IsWanted(options, SamplingSource::kPerfSetsig)) TryPerfSetsig(options, &status);
  if (IsWanted(options, SamplingSource::kCpuTimer)) TryCpuTimer(options, &status);
  status.source = process.source;
  status.kernel_included = process.kernel_included;
  if (process.source == SamplingSource::kPerfSigtrap) {
    ShareAndEnableEvent(process.inherited_fd.load(std::memory_order_relaxed));
  } else if (process.source == SamplingSource::kNone) {
    process.enabled.store(false);
  }
  return status;
}

uint64_t StartThreadSampling() {
  thread.stopped = false;
  if (!process.enabled.load(std::memory_order_acquire)) return 0;
  // Before, the thread has become one that SampleThreadByTimer is called for; so is it, or it sees the new source.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  const SamplingSource source = process.source.load(std::memory_order_relaxed);
  if (source == SamplingSource::kPerfSigtrap) {
    thread.state.BecomeLong();
    thread.suspensions = Suspensions();
    const bool takes_own = ThreadsAreShort(process.ended) && !IsSuspended(thread.suspensions);
    return __builtin_expect(takes_own, 0) ? StartShortThread() : 0;
  }
  thread.tracker.Restart(ThreadCpuNowNs());
  const uint64_t period = process.sampling_period_ns;
  int result = -ENOENT;
  if (source == SamplingSource::kPerfSetsig) {
    result = StartThreadEvent(period, kSamplingSignal, &thread.source);
  }
  // No descriptor left for this thread is no reason to leave it out.
  if (result != 0) result = StartThreadTimer(period, kSamplingSignal, &thread.source);
  if (result != 0) Add(&process.counters.unsampled_threads, 1);
  return 0;
}

void StopThreadSampling() {
  thread.stopped = true;
  const bool is_in_a_group = thread.state.is_in_a_group();
  EndThreadSource();
  if (!process.enabled.load(std::memory_order_acquire)) return;
  // Part of its time was in a suspension.
  const bool is_known = thread.suspensions == Suspensions() && !IsSuspended(thread.suspensions);
  if (is_in_a_group || !is_known) return;
  const uint64_t now_ns = ThreadCpuNowNs();
  const uint64_t rest_ns = thread.tracker.RestNs(now_ns);
  NoteThreadEnd(process.ended, now_ns, rest_ns);
  if (thread.state.by() != SampledBy::kInheritedRests) {
    Add(&process.counters.unsampled_ns, rest_ns);
  }
}

void PrepareToCreateThread() {
  if (!process.enabled.load(std::memory_order_acquire) ||
      process.source.load(std::memory_order_relaxed) != SamplingSource::kPerfSigtrap) {
    return;
  }
  if (!CreatorsNeedPhaseKeepers(process.ended, process.sampling_period_ns)) {
    thread.phase_keeper.Release();
  } else if (thread.phase_keeper.Hold() != 0) {
    Add(&process.counters.unkept_phases, 1);
  }
}

bool ChangeToCpuTimers() {
  if (process.source.load(std::memory_order_relaxed) == SamplingSource::kCpuTimer) return false;
  if (!InSampledProcess() || !process.enabled.load(std::memory_order_acquire)) return false;
  if (process.source.exchange(SamplingSource::kCpuTimer) == SamplingSource::kCpuTimer) return false;
  const int fd = TakeInheritedEvent();
  if (fd >= 0) {
    DisablePerfEvent(fd);
    if (ReleaseDescriptor(fd)) RawSyscall(SYS_close, fd);
  }
  CloseThreadEvent(&thread.source);
  const uint64_t period = process.sampling_period_ns;
  if (thread.source.timer_plus_1 == 0 &&
      StartThreadTimer(period, kSamplingSignal, &thread.source) != 0) {
    Add(&process.counters.unsampled_threads, 1);
  }
  return true;
}

void SampleThreadByTimer(int32_t tid) {
  const uint64_t period = process.sampling_period_ns;
  const int result = StartTimerOfThread(tid, period, kSamplingSignal);
  if (result != 0 && result != -EINVAL)
    Add(&process.counters.unsampled_threads, 1);  // or it has ended
}

bool TakeExtraSampleAfter(uint64_t cpu_ns) {
  if (!MayTakeExtraSamples() || !InSampledProcess()) return false;
  cpu_ns = std::max(cpu_ns, kShortestExtraNs);
  // Another thread may have made way for the program there.
  if (HasExtraEvent() && !IsReservedDescriptor(thread.source.fd_plus_1 - 1)) thread.source = {};
  if (!HasExtraEvent()) {
    if (StartThreadSigtrap(cpu_ns, !process.kernel_included, &thread.source) != 0) return false;
  }
  if (ContinueThreadSigtrap(cpu_ns, thread.source) == 0) return true;
  StopThreadSource(&thread.source);
  return false;
}

bool TakesExtraSamples() { return HasExtraEvent(); }

void StopExtraSamples() {
  if (HasExtraEvent()) StopThreadSource(&thread.source);
}

void LeaveOutCpuTime(uint64_t cpu_ns) { thread.tracker.LeaveOut(cpu_ns); }

void StopSampler() {
  if (!InSampledProcess()) return;
  process.enabled.store(false);
  const int fd = TakeInheritedEvent();
  if (fd >= 0) {
    DisablePerfEvent(fd);
    ReleaseDescriptor(fd);
    RawSyscall(SYS_close, fd);
  }
  // Other threads' own sources end with the next signal that they send.
  StopThreadSource(&thread.source);
  thread.phase_keeper.Release();
}

void StopSamplerForGood() {
  StopSampler();
  process.stopped_for_good.store(true, std::memory_order_relaxed);
}

uint32_t ActiveSampleCallbacks() { return process.active_callbacks.load(); }

void OnForkInChild() {
  process.enabled.store(false);
  process.active_callbacks.store(0);
  process.shared_event = nullptr;  // the parent's
  process.suspensions = nullptr;
  const int fd = process.inherited_fd.exchange(-1);
  if (fd >= 0 && !IsReservedDescriptor(fd)) RawSyscall(SYS_close, fd);
  CloseInheritedEvents();
  thread.source = ThreadSource();
  thread.phase_keeper.Forget();
  thread.state.BecomeLong();
  thread.active_frame = 0;
}

void MakeWayForDescriptor(int fd) {
  if (!InSampledProcess()) return;
  const int moved = MoveOutOfTheWay(fd);
  if (moved == fd) {  // no room: the program closes the event by taking its number
    int inherited = fd;
    if (process.inherited_fd.compare_exchange_strong(inherited, -1)) ShareEvent(-1);
  } else if (ReserveDescriptor(moved)) {
    int inherited = fd;
    if (process.inherited_fd.compare_exchange_strong(inherited, moved)) ShareEvent(moved);
    // Another thread's event stays open until the process ends, and sends nothing when its thread has.
    if (thread.source.fd_plus_1 == fd + 1) thread.source.fd_plus_1 = moved + 1;
    thread.phase_keeper.NoteMove(fd, moved);
  }
  ReleaseDescriptor(fd);
}

void PrepareForExec() {
  if (!InSampledProcess()) return;
  const int fd = process.inherited_fd.load(std::memory_order_relaxed);
  if (fd >= 0) DisableEventForExec(fd);
  StopThreadSource(&thread.source);
  thread.state.BecomeLong();
}

void ResumeAfterFailedExec() {
  if (!InSampledProcess() || !process.enabled.load(std::memory_order_acquire)) return;
  const int fd = process.inherited_fd.load(std::memory_order_relaxed);
  if (fd >= 0) ShareAndEnableEvent(fd);
  StartThreadSampling();
}

SamplerCounters ReadSamplerCounters() {
  const Counters& from = process.counters;
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
