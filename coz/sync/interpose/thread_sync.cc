#include "coz/sync/interpose/thread_sync.h"

#include <sys/resource.h>
#include <sys/syscall.h>

#include <algorithm>

#include "coz/base/current_cpu.h"
#include "coz/base/raw_syscall.h"
#include "coz/base/thread_cpu_clock.h"
#include "coz/sync/interpose/call_stacks.h"
#include "coz/sync/interpose/free_mutex.h"
#include "coz/sync/interpose/pause.h"

namespace coz::interpose {

namespace sync_internal {
__thread delay::ThreadLedger* t_ledger = nullptr;
__thread delay::ThreadLedger* t_unseen_ledger = nullptr;
delay::GlobalLedger* g_ledger = nullptr;
ThreadHooks g_hooks = {};
std::atomic<bool> g_admits_late_threads{false};
SleepCost g_sleep_cost;
__thread uintptr_t t_pause_frame = 0;

delay::ThreadLedger* LateLedger() {
  if (t_unseen_ledger != nullptr) return nullptr;
  if (!g_admits_late_threads.load(std::memory_order_relaxed) || g_hooks.admit == nullptr) {
    return nullptr;
  }
  return g_hooks.admit();
}

uint64_t SwitchesPlus1() {
  if (HasLeftThreadSync()) return 0;
  rusage usage = {};
  RawSyscall(SYS_getrusage, RUSAGE_THREAD, &usage);
  return static_cast<uint64_t>(usage.ru_nvcsw) + 1;
}
}  // namespace sync_internal

void InitThreadSync(delay::GlobalLedger* global, const ThreadHooks& hooks) {
  sync_internal::g_ledger = global;
  sync_internal::g_hooks = hooks;
}

void AdmitLateThreads(bool admits) {
  sync_internal::g_admits_late_threads.store(admits, std::memory_order_relaxed);
}

void EnterThreadSync(delay::ThreadLedger* ledger, uint64_t inherited_local_delay_ns) {
  ledger->blocked.store(0, std::memory_order_relaxed);
  ledger->pausing.store(0, std::memory_order_relaxed);
  ledger->spinning.Reset();
  ledger->cpu_share.Reset();
  ledger->stretches.Reset();
  ledger->local_delay_ns.store(inherited_local_delay_ns, std::memory_order_relaxed);
  sync_internal::t_ledger = ledger;
  TakeFreeMutexesHere();
  TakeCallStacksIfGiven();
}

delay::ThreadLedger* LeaveThreadSync() {
  delay::ThreadLedger* ledger = sync_internal::t_ledger;
  if (ledger != nullptr && sync_internal::g_ledger != nullptr) LeaveCpu(*ledger);
  sync_internal::t_ledger = nullptr;
  return ledger;
}

void LeaveThreadSyncForGood() {
  sync_internal::g_left_for_good.store(true, std::memory_order_relaxed);
  LeaveThreadSync();
}

namespace {

using delay::PauseBy;

// The CPU time of the pause in progress for which samples stand.
__thread uint64_t t_sampled_in_pause_ns __attribute__((tls_model("initial-exec"))) = 0;

// Notes that a pause has taken `cpu_ns` of CPU time.
void NotePauseCpu(delay::ThreadLedger& thread, uint64_t cpu_ns) {
  thread.pause_cpu_ns.fetch_add(cpu_ns, std::memory_order_relaxed);
  if (sync_internal::g_hooks.paused == nullptr) return;
  const uint64_t sampled_ns = std::min(t_sampled_in_pause_ns, cpu_ns);
  t_sampled_in_pause_ns -= sampled_ns;
  sync_internal::g_hooks.paused(cpu_ns - sampled_ns);
}

struct QueuedAtLook {
  bool is_known;
  uint64_t queued_ns;  // since the last look
};
QueuedAtLook LookAtQueue(delay::ThreadLedger& thread, uint64_t now_ns, uint64_t least_between_ns) {
  if (thread.cpu_share.HasJustLooked(now_ns, least_between_ns)) return {true, 0};
  uint64_t queued_ns = 0;
  if (sync_internal::g_hooks.queued == nullptr || !sync_internal::g_hooks.queued(&queued_ns)) {
    return {false, 0};
  }
  return {true, delay::LookAtQueueInStretch(*sync_internal::g_ledger, thread, {now_ns, queued_ns})};
}

struct Pause {
  uint64_t passed_ns;
  uint64_t cpu_ns;  // without that of a handler's own pauses
};

// To fall asleep and to wake up may take more CPU time than to hold the CPU for the whole pause: 6
// us on some machines, 40 us on others. Beyond kMostSleepCostNs the thread sleeps in any case.
constexpr uint32_t kMostSleepCostNs = 50'000;
bool IsCheaperToHold(uint64_t owed_ns) {
  return owed_ns < sync_internal::g_sleep_cost.ns.load(std::memory_order_relaxed);
}
void NoteSleepCost(uint64_t cpu_ns) {
  const int64_t mean_ns = sync_internal::g_sleep_cost.ns.load(std::memory_order_relaxed);
  const auto last_ns = static_cast<int64_t>(std::min(cpu_ns, uint64_t{kMostSleepCostNs}));
  sync_internal::g_sleep_cost.ns.store(static_cast<uint32_t>(mean_ns + (last_ns - mean_ns) / 8),
                                       std::memory_order_relaxed);
}

// In a crowd the CPU stands further on with each step. Where another thread has got the CPU
// meanwhile, the rest is none of this thread's business.
Pause HoldCpu(const delay::ThreadLedger& thread, uint64_t start_ns, uint64_t owed_ns) {
  constexpr uint64_t kStepNs = 20'000;
  delay::GlobalLedger& global = *sync_internal::g_ledger;
  if (!delay::MayBeCrowded(global)) {
    const uint64_t held_ns = HoldCpuSince(start_ns, owed_ns);
    return {held_ns, held_ns};
  }
  uint64_t held_ns = 0;
  do {
    const uint64_t step_ns = HoldCpuSince(held_ns == 0 ? start_ns : MonotonicNowNs(),
                                          std::min(owed_ns - held_ns, kStepNs));
    delay::PayForCpu(global, thread, step_ns);
    held_ns += step_ns;
  } while (held_ns < owed_ns && delay::HasKeptCpu(global, thread));
  return {held_ns, held_ns};
}

// To read the CPU clock is a system call, which costs little beside a sleep and much beside a hold.
Pause SleepInPause(delay::ThreadLedger& thread, uint64_t start_ns, uint64_t owed_ns) {
  const bool may_be_crowded = delay::MayBeCrowded(*sync_internal::g_ledger);
  if (may_be_crowded) {
    delay::LeaveCpuWithDebt(*sync_internal::g_ledger, thread, CurrentCpu(), start_ns);
  }
  uint64_t noted_ns;
  uint64_t start_cpu_ns;
  do {  // repeats where a handler of this thread has paused between the two loads
    noted_ns = thread.pause_cpu_ns.load(std::memory_order_relaxed);
    start_cpu_ns = ThreadCpuNowNs();
  } while (noted_ns != thread.pause_cpu_ns.load(std::memory_order_relaxed));
  PauseSince(start_ns, owed_ns);
  if (HasLeftThreadSync()) return {MonotonicNowNs() - start_ns, 0};
  const uint64_t nested_ns = thread.pause_cpu_ns.load(std::memory_order_relaxed) - noted_ns;
  uint64_t cpu_ns = ThreadCpuNowNs() - start_cpu_ns;
  cpu_ns -= std::min(cpu_ns, nested_ns);
  NoteSleepCost(cpu_ns);
  // With the system calls behind the sleep.
  const uint64_t end_ns = MonotonicNowNs();
  if (may_be_crowded) TakeCpu(thread, end_ns);
  return {end_ns - start_ns, cpu_ns};
}

// Pauses once for `owed(now)`. Returns false where the thread does not pause: it owes nothing, or
// so little that it carries it on.
template <typename Owed>
bool PayOnce(delay::ThreadLedger& thread, Owed owed, PauseBy by) {
  // A handler of this thread may pay from here on. It records its own pause, which is also part of
  // the time that passes here. So that part is subtracted below.
  uint64_t paid_ns;
  uint64_t start_ns;
  do {
    paid_ns = thread.paused_ns.load(std::memory_order_relaxed);
    start_ns = MonotonicNowNs();
  } while (paid_ns != thread.paused_ns.load(std::memory_order_relaxed));
  delay::GlobalLedger& global = *sync_internal::g_ledger;
  const bool may_be_crowded = delay::MayBeCrowded(global);
  const bool has_looked =
      __builtin_expect(may_be_crowded, 0) &&
      LookAtQueue(thread, start_ns, delay::CpuShare::kLeastBeforePauseNs).is_known;
  // Behind a wait a thread sleeps for what it owes itself, and for no debt of its CPU.
  if (may_be_crowded && by == PauseBy::kWhatIsBest) {
    delay::GoOnHere(global, thread, CurrentCpu(), start_ns);
  }
  const uint64_t owed_ns = owed(start_ns);
  if (owed_ns == 0 || delay::IsCarriedOn(global, thread, owed_ns, by)) return false;
  if (delay::Accrues(thread)) thread.stretches.Stop(start_ns);
  // In a crowd the thread may hold its CPU only if it has got its credit for the time in the queue.
  const bool in_crowd = has_looked && delay::IsCrowded(global, start_ns);
  const bool keeps_cpu = in_crowd || global.cpus_are_shared.load(std::memory_order_relaxed) != 0;
  const bool holds = IsCheaperToHold(owed_ns) || (by == PauseBy::kWhatIsBest && keeps_cpu);
  const Pause pause =
      holds ? HoldCpu(thread, start_ns, owed_ns) : SleepInPause(thread, start_ns, owed_ns);
  const uint64_t nested_ns = thread.paused_ns.load(std::memory_order_relaxed) - paid_ns;
  delay::RecordPause(thread, owed_ns - std::min(owed_ns, nested_ns), pause.passed_ns - nested_ns);
  NotePauseCpu(thread, pause.cpu_ns);
  return true;
}

// Returns whether the thread has paused.
template <typename Owed>
bool PayAll(delay::ThreadLedger& thread, Owed owed, PauseBy by, uint32_t as = delay::kPausing) {
  const uintptr_t outer_frame = sync_internal::t_pause_frame;
  sync_internal::t_pause_frame = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
  thread.pausing.store(as, std::memory_order_relaxed);
  int pauses = 0;
  while (pauses < delay::kMostPausesPerCall && !HasLeftThreadSync() && PayOnce(thread, owed, by)) {
    ++pauses;
  }
  thread.pausing.store(delay::kNotPausing, std::memory_order_relaxed);
  sync_internal::t_pause_frame = outer_frame;
  if (delay::Accrues(thread)) delay::ResumeStretch(thread, MonotonicNowNs());
  return pauses != 0;
}

bool PayWhatIsOwed(delay::ThreadLedger& thread, PauseBy by, uint32_t as = delay::kPausing) {
  // A thread that pays does not wait. This also resets the flag after a wait that was left by
  // cancellation or longjmp.
  thread.blocked.store(0, std::memory_order_relaxed);
  if (!delay::OwesPause(*sync_internal::g_ledger, thread, by)) return false;
  delay::CreditSpinning(*sync_internal::g_ledger, thread);
  return PayAll(
      thread, [&thread](uint64_t) { return delay::OwedDelay(*sync_internal::g_ledger, thread); },
      by, as);
}

void ImposeAccruedAndPay(delay::ThreadLedger& thread, PauseBy by, uint32_t as = delay::kPausing) {
  if (HasLeftThreadSync()) return;
  if (delay::Accrues(thread)) {
    delay::ImposeAccrued(*sync_internal::g_ledger, thread, MonotonicNowNs());
  }
  PayWhatIsOwed(thread, by, as);
}

}  // namespace

bool IsInPause(delay::ThreadLedger& thread, uintptr_t stack_pointer) {
  if (thread.pausing.load(std::memory_order_relaxed) == delay::kNotPausing) return false;
  if (stack_pointer < sync_internal::t_pause_frame) return true;
  thread.pausing.store(delay::kNotPausing, std::memory_order_relaxed);
  return false;
}

void LeaveOutOfPause(uint64_t cpu_ns) { t_sampled_in_pause_ns += cpu_ns; }

uint64_t LookAtCpu(delay::ThreadLedger& thread, uint64_t now_ns) {
  if (HasLeftThreadSync()) return 0;
  const uint64_t queued_ns =
      LookAtQueue(thread, now_ns, delay::CpuShare::kLeastBetweenLooksNs).queued_ns;
  delay::GoOnHere(*sync_internal::g_ledger, thread, CurrentCpu(), now_ns);
  return queued_ns;
}

void GoOnHere(delay::ThreadLedger& caller) {
  delay::GlobalLedger& global = *sync_internal::g_ledger;
  const uint32_t cpu = CurrentCpu();
  if (delay::GoOnIfNotedHere(global, caller, cpu)) return;
  delay::GoOnHere(global, caller, cpu, MonotonicNowNs());
}

uint64_t TakeCpu(delay::ThreadLedger& caller, uint64_t now_ns) {
  if (HasLeftThreadSync()) return 0;
  const uint64_t queued_ns =
      LookAtQueue(caller, now_ns, delay::CpuShare::kLeastBetweenLooksNs).queued_ns;
  delay::TakeCpu(*sync_internal::g_ledger, caller, CurrentCpu(), now_ns, queued_ns);
  return queued_ns;
}

void StartOnCpu(delay::ThreadLedger& caller, uint64_t created_ns) {
  const uint64_t now_ns = MonotonicNowNs();
  const uint64_t queued_ns = now_ns - created_ns;
  delay::CreditOwed(*sync_internal::g_ledger, caller, queued_ns);
  if (!delay::MayBeCrowded(*sync_internal::g_ledger) || HasLeftThreadSync()) return;
  LookAtQueue(caller, now_ns, delay::CpuShare::kLeastBetweenLooksNs);
  delay::TakeCpu(*sync_internal::g_ledger, caller, CurrentCpu(), now_ns, queued_ns);
  delay::GoOnFromCpu(*sync_internal::g_ledger, caller);
}

void PayDebt(delay::ThreadLedger& thread) { ImposeAccruedAndPay(thread, PauseBy::kWhatIsBest); }

void PayDebtOfWait(delay::ThreadLedger& thread, uint32_t as) {
  ImposeAccruedAndPay(thread, PauseBy::kSleep, as);
}

void PayForStretchesInProgress(delay::ThreadLedger& thread) {
  const auto highest_local_delay = sync_internal::g_hooks.highest_local_delay;
  if (HasLeftThreadSync() || highest_local_delay == nullptr) return;
  const auto lead_ns = [&thread, highest_local_delay](uint64_t now_ns) {
    return delay::LeadOfStretchesInProgress(highest_local_delay(now_ns), thread);
  };
  const uint64_t first_lead_ns = lead_ns(MonotonicNowNs());
  if (first_lead_ns == 0) return;
  delay::CreditSpinningOfLead(thread, first_lead_ns);
  PayAll(thread, lead_ns, PauseBy::kSleep, delay::kWaitingOn);
}

void NoteCallHere(delay::ThreadLedger& thread, const void* site, CallsThatEnd ends) {
  if (HasLeftThreadSync()) return;
  delay::NoteCallAt(*sync_internal::g_ledger, thread, site, MonotonicNowNs, ends);
}

uint64_t ImposeAtCall(delay::ThreadLedger& thread, const void* site, CallsThatEnd ends) {
  if (HasLeftThreadSync()) return kNotRead;
  uint64_t now_ns = kNotRead;
  const auto now = [&now_ns] { return now_ns != kNotRead ? now_ns : now_ns = MonotonicNowNs(); };
  if (__builtin_expect(delay::MayBeCrowded(*sync_internal::g_ledger), 0)) LookAtCpu(thread, now());
  delay::NoteCallAt(*sync_internal::g_ledger, thread, site, now, ends);
  return now_ns;
}

bool PayAfterImposing(delay::ThreadLedger& thread) {
  return !HasLeftThreadSync() && PayWhatIsOwed(thread, PauseBy::kWhatIsBest);
}

uint64_t PayAtCall(delay::ThreadLedger& thread, const void* site, CallsThatEnd ends) {
  const uint64_t now_ns = ImposeAtCall(thread, site, ends);
  return PayAfterImposing(thread) ? kNotRead : now_ns;
}

void PayBeforeWakeAt(const void* object, const void* site, CallsThatEnd ends) {
  delay::ThreadLedger* thread = CurrentThreadLedger();
  if (thread == nullptr) return;
  if (!CallerIsBehind(*thread)) {
    NoteCall(*thread, site);
  } else if (!MaySkipCall(*thread, site, ends)) {
    PayAtCall(*thread, site, ends);
  }
  delay::PublishExcess(*sync_internal::g_ledger, *thread, object);
}

}  // namespace coz::interpose
