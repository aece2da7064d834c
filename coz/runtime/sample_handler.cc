#include "coz/runtime/sample_handler.h"

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "coz/base/clock.h"
#include "coz/base/random.h"
#include "coz/base/raw_syscall.h"
#include "coz/patch/code_patcher.h"
#include "coz/runtime/patched_code.h"
#include "coz/runtime/published_counters.h"
#include "coz/runtime/runtime_state.h"
#include "coz/runtime/unit_search.h"
#include "coz/sampler/unwind/unwinder.h"
#include "coz/shared/charged_pairs.h"
#include "coz/shared/process_slots.h"
#include "coz/shared/sample_ring.h"
#include "coz/shared/slot_loops.h"
#include "coz/shared/thread_records.h"
#include "coz/sync/delay/accrual.h"
#include "coz/sync/delay/polling_loop.h"
#include "coz/sync/delay/shared_delay.h"
#include "coz/sync/delay/spin_hint.h"
#include "coz/sync/interpose/thread_sync.h"

namespace coz::runtime {
namespace {

using runtime_internal::CallerInScope;
using runtime_internal::CurrentSlot;
using runtime_internal::g_control;
using runtime_internal::g_modules;
using runtime_internal::g_pid;
using runtime_internal::g_process;
using runtime_internal::IsInScope;
using runtime_internal::SplitByThreadGroup;
using runtime_internal::UnitSearch;

constexpr uint32_t kSamplesBetweenChecks = 256;
constexpr uint64_t kSupervisorSilenceNs = 5 * kNsPerSecond;

// Samples until this thread next looks at whether the supervisor is alive.
__thread uint32_t t_until_check __attribute__((tls_model("initial-exec"))) = 0;

delay::SharedDelay g_shared_delay;
shared::ChargeBudget g_charge_budget;

// Of a call path, beyond the innermost function in scope: so many take some 5 us.
constexpr uint32_t kMostFramesOfPath = 256;

struct PathSearch {
  shared::CallPath path;
  uint32_t frames = 0;  // beyond the innermost function
  bool unmapped = false;
};

bool EndsPath(uint64_t lookup_address, void* opaque) {
  PathSearch& search = *static_cast<PathSearch*>(opaque);
  if (search.path.count() != 0 && ++search.frames > kMostFramesOfPath) return true;
  uint32_t functions[shared::kMaxPathFunctions];
  uint32_t count = 0;
  const UnitLookup lookup = g_modules.FunctionsAt(lookup_address, functions, &count);
  if (lookup == UnitLookup::kUnmapped) search.unmapped = true;
  if (lookup != UnitLookup::kFound) {
    return g_control->innermost_only != 0 && search.path.count() == 0;
  }
  for (uint32_t i = 0; i < count; ++i) {
    if (search.path.Add(functions[i])) return true;
  }
  return false;
}

// The innermost function in scope, with its callers in scope.
bool FindPath(const sampler::Sample& sample, UnitSearch* found) {
  PathSearch search = {shared::CallPath(g_control->path_callers)};
  const sampler::WalkResult end = sampler::WalkOutwards(sample.context, EndsPath, &search);
  found->unmapped = search.unmapped;
  if (search.path.count() == 0) return false;
  if (end != sampler::WalkResult::kOutermost) search.path.Add(shared::kUnknownCaller);
  found->unit = shared::PathUnit(g_control->paths, search.path);
  if (found->unit != shared::kNoUnit) return true;
  shared::Add(g_control->counters.paths_without_slot, sample.weight);
  return false;
}

bool FindPlace(const sampler::Sample& sample, UnitSearch* search) {
  if (g_control->path_callers != 0) return FindPath(sample, search);
  if (g_control->innermost_only != 0) return IsInScope(sample.ip, search);
  return CallerInScope(*sample.context, search);
}

bool FindUnit(const sampler::Sample& sample, const shared::ThreadRole& thread, UnitSearch* search) {
  return FindPlace(sample, search) && SplitByThreadGroup(thread, sample.weight, &search->unit);
}

// The unit of a sample, counted by what became of it.
uint32_t Attribute(const sampler::Sample& sample, bool is_counting, shared::ThreadSlot* slot) {
  const shared::ThreadRole thread = slot != nullptr
                                        ? shared::NoteSample(*g_control, *slot, sample.weight)
                                        : shared::OwnRole(*g_control);
  if (!thread.is_in_scope) {
    shared::Add(g_control->counters.other_thread_samples, sample.weight);
    return shared::kNoUnit;
  }
  // Coz's own time, which is to be no reason to look at the function that is counted.
  const bool is_timing =
      slot != nullptr && slot->timers.busy_at.load(std::memory_order_relaxed) != 0;
  if (is_counting || is_timing ||
      (g_process != nullptr && shared::IsCountedPlace(*g_process, sample.ip))) {
    g_control->samples.out_of_scope.fetch_add(sample.weight, std::memory_order_relaxed);
    return shared::kNoUnit;
  }
  if (g_control->waits_are_units != 0) return shared::kNoUnit;
  UnitSearch search;
  if (FindUnit(sample, thread, &search)) {
    g_control->samples.in_scope.fetch_add(sample.weight, std::memory_order_relaxed);
    if (slot != nullptr) shared::Add(slot->figures.samples_in_scope, sample.weight);
    shared::PushSample(g_control->ring, search.unit, sample.weight);
    return search.unit;
  }
  std::atomic<uint64_t>& counter =
      search.unmapped ? g_control->counters.unmapped_samples : g_control->samples.out_of_scope;
  counter.fetch_add(sample.weight, std::memory_order_relaxed);
  return shared::kNoUnit;
}

// What delay::TakeSample asks of the runtime.
class SampleSeam {
 public:
  SampleSeam(const sampler::Sample& sample, uint32_t unit, delay::ThreadLedger& ledger)
      : sample_(sample), unit_(unit), ledger_(ledger) {}

  static uint64_t NowNs() { return MonotonicNowNs(); }
  void BeforeImposing(uint64_t delay_ns) {
    shared::ChargePairs(*g_control, shared::RiseBy(g_control->ledger, ledger_, delay_ns),
                        &g_charge_budget);
  }
  // Whether the sample is in a loop that tells the CPU that it spins, computes nothing, or tries to
  // take a lock again and again.
  bool Spins() {
    const bool tries = ledger_.spinning.TakeTries() >= delay::SpinShare::kTriesOfALoop;
    uint32_t unit = shared::kNoUnit;
    const UnitLookup lookup = g_modules.UnitAt(sample_.ip, &unit);
    const bool is_in_file = lookup != UnitLookup::kUnmapped;
    const bool spins =
        tries ||
        (is_in_file && (delay::IsInSpinLoop(sample_.ip) || delay::IsInPollingLoop(sample_.ip)));
    if (spins && !sample_.is_extra) {
      shared::Add(g_control->counters.spinning_samples, sample_.weight);
      // The loop that tries may be in scope, around a call of a library.
      if (!tries && lookup == UnitLookup::kOutOfScope) {
        shared::Add(g_control->counters.spinning_outside_samples, sample_.weight);
      }
      shared::AddSpinning(g_control->spinning_units, unit_, sample_.weight);
    }
    return spins;
  }
  static bool TakesSpinProbes() { return sampler::TakesExtraSamples(); }
  bool BeginSpinProbes() {
    Random random(MonotonicNowNs(), reinterpret_cast<uintptr_t>(&ledger_));
    return sampler::TakeExtraSampleAfter(random.ExponentialTime(
        delay::SpinShare::kPeriodsBetweenProbes * g_control->sampling_period_ns));
  }

 private:
  const sampler::Sample& sample_;
  const uint32_t unit_;
  delay::ThreadLedger& ledger_;
};

// What a sample in `unit` is to the experiment. The selected unit and the given one are never the
// same.
delay::SampleInput InputOf(uint32_t unit, const sampler::Sample& sample) {
  delay::SampleInput input = {};
  input.selection = g_control->ledger.selection.load(std::memory_order_acquire);
  const auto selection = shared::Selection::Unpack(input.selection);
  const auto given = shared::Selection::Unpack(g_control->given.load(std::memory_order_relaxed));
  input.selected_unit = selection.unit;
  input.selected_delay_ns = selection.delay_per_sample_ns;
  input.unit = delay::SampledUnit::kOther;
  if (selection.Selects(unit) || selection.unit == shared::kAllCode) {
    input.unit = delay::SampledUnit::kSelected;
    input.delay_ns = selection.delay_per_sample_ns;
  } else if (given.Selects(unit)) {
    input.unit = delay::SampledUnit::kGiven;
    input.delay_ns = given.delay_per_sample_ns;
  }
  input.period_ns = g_control->sampling_period_ns;
  input.deadline_ns = g_control->selection_deadline_ns.load(std::memory_order_relaxed);
  // Of all threads that the sample stands for, this one imposes its own part.
  input.periods = sample.weight / sample.threads;
  input.periods_past = sample.by_timer || input.periods == 0 ? 0 : input.periods - 1;
  input.periods_of_others = sample.threads > 1 ? sample.weight - input.periods : 0;
  return input;
}

void CountForExperiment(const delay::SampleInput& input, const delay::SampleResult& result,
                        uint64_t weight) {
  if (input.selection != 0 && input.unit == delay::SampledUnit::kSelected) {
    g_control->samples.selected.fetch_add(weight, std::memory_order_relaxed);
  }
  if (result.imposes && input.unit == delay::SampledUnit::kGiven) {
    g_control->samples.given.fetch_add(weight, std::memory_order_relaxed);
  }
}

// A spin probe. Regular samples keep step with rounds, and so would probes that come late.
void OnExtraSample(const sampler::Sample& sample, delay::ThreadLedger& ledger) {
  SampleSeam seam(sample, shared::kNoUnit, ledger);
  if (delay::Waits(ledger) || sample.is_late || ledger.spinning.NoteProbe(seam.Spins())) {
    seam.BeginSpinProbes();
  } else {
    sampler::StopExtraSamples();
  }
}

// Stops for good when the supervisor said so, or is gone.
bool ShouldStop() {
  if (g_control->stop.load(std::memory_order_relaxed) != 0) return true;
  if (t_until_check-- != 0) return false;
  t_until_check = kSamplesBetweenChecks;
  const uint64_t heartbeat_ns = g_control->heartbeat_ns.load(std::memory_order_relaxed);
  if (MonotonicNowNs() < heartbeat_ns + kSupervisorSilenceNs) return false;
  return syscall(SYS_kill, g_control->supervisor_pid, 0) != 0 && errno == ESRCH;
}

template <typename Function>
void ForEachOtherThread(Function function) {
  const auto self = static_cast<int32_t>(RawSyscall(SYS_gettid));
  shared::ForEachRunningThread(*g_control, [self, &function](const shared::ThreadSlot& slot) {
    const int32_t tid = slot.tid.load(std::memory_order_relaxed);
    const bool is_own = slot.pid.load(std::memory_order_relaxed) == g_pid;
    if (is_own && tid != self) function(tid);
  });
}

// The supervisor has found that perf events cost this program too much. Where it has attached it
// asks in another way (late_attach.cc).
void ChangeSourceIfAsked() {
  if (runtime_internal::g_is_late) return;
  if (g_control->use_cpu_clock.load(std::memory_order_acquire) != 0) {
    switch (sampler::ChangeToCpuClock(g_control->clock_expiry)) {
      case sampler::ClockChange::kNone:
        return;
      case sampler::ClockChange::kBegun:
        return ForEachOtherThread(sampler::SampleThreadByCpuClock);
      case sampler::ClockChange::kRefused:
        g_control->clock_refusals.fetch_add(1);
        break;
    }
  } else if (g_control->use_cpu_timers.load(std::memory_order_relaxed) == 0) {
    return;
  }
  if (!sampler::ChangeToCpuTimers()) return;
  ForEachOtherThread([](int32_t tid) { (void)sampler::SampleThreadByTimer(tid); });
}

}  // namespace

namespace {

uintptr_t StackPointerOf(const ucontext_t& context) {
  return static_cast<uintptr_t>(context.uc_mcontext.gregs[REG_RSP]);
}

// A sample in a stub, as one in the code that the stub stands for.
sampler::Sample InOriginal(sampler::Sample sample, const patch::Original& original,
                           ucontext_t* context) {
  *context = *sample.context;
  context->uc_mcontext.gregs[REG_RIP] = static_cast<greg_t>(original.address);
  context->uc_mcontext.gregs[REG_RSP] += original.pushed_bytes;
  sample.ip = original.address;
  sample.context = context;
  return sample;
}

void TakeSample(const sampler::Sample& sample, bool is_counting) {
  if (ShouldStop()) {
    sampler::StopSampler();
    return;
  }
  ChangeSourceIfAsked();
  runtime_internal::ChangeCodeIfAsked(*g_control, g_pid);
  shared::ThreadSlot* slot = CurrentSlot();
  if (sample.is_extra) {
    if (slot != nullptr) OnExtraSample(sample, slot->ledger);
    return;
  }
  // A pause's CPU time has no sample. It would be one of where the thread pays, and another one
  // less of where it works.
  if (slot != nullptr && interpose::IsInPause(slot->ledger, StackPointerOf(*sample.context))) {
    interpose::LeaveOutOfPause(sample.weight * g_control->sampling_period_ns);
    return;
  }
  // Of weight 0, it only gives the thread an occasion to pay.
  const uint32_t unit = sample.weight != 0 ? Attribute(sample, is_counting, slot) : shared::kNoUnit;
  if (slot == nullptr) return;
  if (t_until_check % 64 == 0) PublishCounters(*g_control);
  // Who waits has left its CPU to others, with what the CPU owes.
  if (delay::MayBeCrowded(g_control->ledger) && !delay::Waits(slot->ledger)) {
    interpose::LookAtCpu(slot->ledger, MonotonicNowNs());
  }
  SampleSeam seam(sample, unit, slot->ledger);
  const delay::SampleInput input = InputOf(unit, sample);
  const delay::SampleResult result =
      delay::TakeSample(g_control->ledger, slot->ledger, g_shared_delay, input, seam);
  CountForExperiment(input, result, sample.weight);
  if (result.next == delay::AfterSample::kPay) interpose::PayDebt(slot->ledger);
}

}  // namespace

void OnSample(const sampler::Sample& sample) {
  patch::Original original = {};
  if (!patch::OriginalOf(sample.ip, &original)) return TakeSample(sample, false);
  ucontext_t context;
  TakeSample(InOriginal(sample, original, &context), original.is_counting);
}

void ImposeShare(uint64_t threads, delay::ThreadLedger& ledger) {
  const uint64_t delay_ns =
      g_shared_delay.Take(g_control->ledger.selection.load(std::memory_order_acquire), threads);
  if (delay_ns == 0) return;
  if (MonotonicNowNs() > g_control->selection_deadline_ns.load(std::memory_order_relaxed)) return;
  shared::ChargePairs(*g_control, shared::RiseBy(g_control->ledger, ledger, delay_ns),
                      &g_charge_budget);
  delay::ImposeDelay(g_control->ledger, ledger, delay_ns);
}

}  // namespace coz::runtime
