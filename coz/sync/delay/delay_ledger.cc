#include "coz/sync/delay/delay_ledger.h"

#include <algorithm>

namespace coz::delay {

void ImposeDelay(GlobalLedger& global, ThreadLedger& thread, uint64_t delay_ns) {
  uint64_t global_ns = global.global_delay_ns.load(std::memory_order_relaxed);
  // Local first: were it the other way round, the supervisor could see the thread owe its own delay.
  const uint64_t local_ns = thread.local_delay_ns.fetch_add(delay_ns, std::memory_order_relaxed);
  thread.imposed_ns.fetch_add(delay_ns, std::memory_order_relaxed);
  // What the thread has slept too long stays its own: no other thread has to make up for it.
  const uint64_t required_ns = std::min(local_ns, global_ns) + delay_ns;
  // Release pairs with the acquire in OwedDelay: who sees the delay also sees the selection it
  // belongs to.
  while (global_ns < required_ns &&
         !global.global_delay_ns.compare_exchange_weak(
             global_ns, required_ns, std::memory_order_release, std::memory_order_relaxed)) {
  }
}

namespace {

// Keeps a handler of this thread from what it is in the middle of.
class BusyScope {
 public:
  explicit BusyScope(Stretches& stretches)
      : stretches_(stretches),
        is_first_(stretches.busy.exchange(1, std::memory_order_relaxed) == 0) {
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }
  ~BusyScope() {
    std::atomic_signal_fence(std::memory_order_seq_cst);
    if (is_first_) stretches_.busy.store(0, std::memory_order_relaxed);
  }
  BusyScope(const BusyScope&) = delete;
  BusyScope& operator=(const BusyScope&) = delete;

  bool is_first() const { return is_first_; }

 private:
  Stretches& stretches_;
  const bool is_first_;
};

// What stretches have imposed and what samples stand for may differ by so much. Samples that come about as often as a kind of stretch keep step
// with it: they find it each time for many rounds, and then not once for as many, for 32 samples where the one takes a hundredth longer than the
// other. What is spread evenly gets ahead of them and behind them by as much. Ahead is better: what is left at the end of an experiment is
// lost, in what it took from the others' time as well.
constexpr uint64_t kMostSamplesAhead = 32;
constexpr uint64_t kMostSamplesBehind = 2;

// What a sampling period of a stretch of this kind stands for.
uint64_t DelayPerPeriod(const Stretches& stretches, const StretchKind& kind) {
  const uint64_t sampled_ns =
      kind.selected * stretches.selected_delay_ns + kind.given * stretches.given_delay_ns;
  return sampled_ns / kind.samples;
}

// In longer ones there are samples.
uint64_t MostRunningTime(const Stretches& stretches) { return 4 * stretches.period_ns; }

// What `ran_ns` of a stretch of this kind stand for.
uint64_t DelayFor(const Stretches& stretches, const StretchKind& kind, uint64_t ran_ns) {
  const uint64_t ahead_ns =
      kMostSamplesAhead * std::max(stretches.selected_delay_ns, stretches.given_delay_ns);
  const int64_t most_ns = stretches.balance_ns + static_cast<int64_t>(ahead_ns);
  if (most_ns <= 0) return 0;
  ran_ns = std::min(ran_ns, MostRunningTime(stretches));
  // The samples' mean first: with periods of a second the product would not fit.
  const uint64_t delay_ns = DelayPerPeriod(stretches, kind) * ran_ns / stretches.period_ns;
  return std::min(delay_ns, static_cast<uint64_t>(most_ns));
}

// For others to see.
void TellRate(Stretches& stretches, const StretchKind* kind) {
  uint64_t rate = 0;
  if (kind != nullptr && stretches.period_ns != 0 && stretches.IsSpread(*kind)) {
    rate = Stretches::kWholeRate * DelayPerPeriod(stretches, *kind) / stretches.period_ns;
  }
  stretches.rate.store(static_cast<uint32_t>(rate), std::memory_order_relaxed);
}

void ImposePending(GlobalLedger& global, ThreadLedger& thread, uint64_t least_ns) {
  if (thread.stretches.pending_ns < least_ns) return;
  ImposeDelay(global, thread, thread.stretches.pending_ns);
  thread.stretches.pending_ns = 0;
}

bool IsOver(const GlobalLedger& global, const Stretches& stretches, uint64_t now_ns) {
  return now_ns > stretches.deadline_ns || global.selection.load(std::memory_order_relaxed) !=
                                               stretches.selection.load(std::memory_order_relaxed);
}

// False where the experiment is over.
bool AccountForStretch(const GlobalLedger& global, Stretches& stretches, uint64_t now_ns) {
  if (IsOver(global, stretches, now_ns)) {
    stretches.selection.store(0, std::memory_order_relaxed);
    return false;
  }
  const uint64_t ran_ns = stretches.TakeRunningTime(now_ns);
  stretches.length_ns += ran_ns;
  StretchKind* kind = stretches.Find(stretches.site.load(std::memory_order_relaxed));
  if (kind == nullptr || !stretches.IsSpread(*kind)) return true;
  uint64_t delay_ns = DelayFor(stretches, *kind, ran_ns);
  const uint64_t prepaid_ns = std::min(kind->prepaid_ns, delay_ns);
  kind->prepaid_ns -= prepaid_ns;
  delay_ns -= prepaid_ns;
  stretches.balance_ns -= static_cast<int64_t>(delay_ns);
  stretches.pending_ns += delay_ns;
  return true;
}

}  // namespace

void CountSample(ThreadLedger& thread, SampledUnit sampled, uint32_t selected_unit) {
  if (!Waits(thread)) thread.stretches.Count(sampled, selected_unit);
}

void ImposeSample(GlobalLedger& global, ThreadLedger& thread, const SampleDelay& sample,
                  uint64_t now_ns) {
  Stretches& stretches = thread.stretches;
  const BusyScope busy(stretches);
  if (!busy.is_first() || Waits(thread)) return ImposeDelay(global, thread, sample.delay_ns);
  if (stretches.selection.load(std::memory_order_relaxed) != sample.selection) {
    stretches.balance_ns = 0;
    stretches.pending_ns = 0;
    stretches.ran_ns = 0;
    stretches.length_ns = 0;
    stretches.selected_delay_ns = 0;
    stretches.given_delay_ns = 0;
    stretches.Resume(now_ns);
    stretches.selection.store(sample.selection, std::memory_order_relaxed);
  }
  stretches.deadline_ns = sample.deadline_ns;
  stretches.period_ns = sample.period_ns;
  (sample.unit == SampledUnit::kGiven ? stretches.given_delay_ns : stretches.selected_delay_ns) =
      sample.delay_ns;
  StretchKind* kind = stretches.Find(stretches.site.load(std::memory_order_relaxed));
  TellRate(stretches, kind);
  if (kind == nullptr || !stretches.IsSpread(*kind)) {
    if (kind != nullptr) kind->prepaid_ns = sample.delay_ns / 2;
    return ImposeDelay(global, thread, sample.delay_ns);
  }
  stretches.balance_ns += static_cast<int64_t>(sample.delay_ns);
  // Where stretches have not been seen to run for as long as samples say.
  const auto most_ns = static_cast<int64_t>(kMostSamplesBehind * sample.delay_ns);
  if (stretches.balance_ns > most_ns) {
    stretches.pending_ns += static_cast<uint64_t>(stretches.balance_ns - most_ns);
    stretches.balance_ns = most_ns;
  }
}

void ReleaseHeldDelay(GlobalLedger& global, ThreadLedger& thread, uint64_t now_ns) {
  const BusyScope busy(thread.stretches);
  if (busy.is_first() && AccountForStretch(global, thread.stretches, now_ns)) {
    ImposePending(global, thread, kLeastReleaseNs);
  }
}

void ReleaseAllHeldDelay(GlobalLedger& global, ThreadLedger& thread, uint64_t now_ns) {
  Stretches& stretches = thread.stretches;
  const BusyScope busy(stretches);
  if (!busy.is_first() || !AccountForStretch(global, stretches, now_ns)) return;
  if (stretches.balance_ns > 0) {
    stretches.pending_ns += static_cast<uint64_t>(stretches.balance_ns);
    stretches.balance_ns = 0;
  }
  ImposePending(global, thread, 1);
}

void EndStretch(GlobalLedger& global, ThreadLedger& thread, const void* site, uint64_t now_ns) {
  Stretches& stretches = thread.stretches;
  const BusyScope busy(stretches);
  if (!busy.is_first()) return;
  const bool goes_on = AccountForStretch(global, stretches, now_ns);
  if (StretchKind* kind = stretches.Find(stretches.site.load(std::memory_order_relaxed))) {
    const auto length_ns = static_cast<uint32_t>(std::min(stretches.length_ns, uint64_t{1} << 31));
    kind->mean_ns =
        kind->mean_ns == 0 ? length_ns : kind->mean_ns - kind->mean_ns / 8 + length_ns / 8;
  }
  stretches.length_ns = 0;
  stretches.site.store(site, std::memory_order_relaxed);
  TellRate(stretches, goes_on ? stretches.Find(site) : nullptr);
  stretches.Resume(now_ns);  // also after a wait whose end nobody has told
  if (goes_on) ImposePending(global, thread, kLeastReleaseNs);
}

uint64_t LocalDelayAt(const GlobalLedger& global, const ThreadLedger& thread, uint64_t now_ns) {
  const Stretches& stretches = thread.stretches;
  const uint64_t selection = stretches.selection.load(std::memory_order_relaxed);
  if (selection == 0 || selection != global.selection.load(std::memory_order_relaxed)) return 0;
  const uint64_t since_ns = stretches.running_since_ns.load(std::memory_order_relaxed);
  if (since_ns == 0 || since_ns > now_ns) return 0;
  const uint64_t ran_ns = std::min(now_ns - since_ns, kMostAccruedNs);
  return thread.local_delay_ns.load(std::memory_order_relaxed) +
         ran_ns * stretches.rate.load(std::memory_order_relaxed) / Stretches::kWholeRate;
}

uint64_t OwedDelay(GlobalLedger& global, ThreadLedger& thread) {
  const uint64_t required = global.global_delay_ns.load(std::memory_order_acquire);
  uint64_t local = thread.local_delay_ns.load(std::memory_order_relaxed);
  const uint64_t floor =
      std::min(required, global.forgiven_below_ns.load(std::memory_order_relaxed));
  // A handler of this thread may move the local delay at any instruction, hence the exchange.
  while (local < floor) {
    if (thread.local_delay_ns.compare_exchange_weak(local, floor, std::memory_order_relaxed)) {
      thread.forgiven_ns.fetch_add(floor - local, std::memory_order_relaxed);
      local = floor;
    }
  }
  return local < required ? required - local : 0;
}

void NoteSpinning(ThreadLedger& thread, bool spins) {
  constexpr uint32_t kSamples = 16;
  thread.spin_share -= thread.spin_share / kSamples;
  if (spins) thread.spin_share += kWholeSpinShare / kSamples;
}

bool NoteLook(ThreadLedger& thread, bool spins) {
  NoteSpinning(thread, spins);
  thread.looks_left = spins ? kLooksInVain : thread.looks_left - 1;
  return thread.looks_left != 0;
}

void CreditSpinning(GlobalLedger& global, ThreadLedger& thread, uint64_t ran_ns) {
  const uint64_t spun_ns = ran_ns * thread.spin_share / kWholeSpinShare;
  if (spun_ns == 0) return;
  const uint64_t credited_ns = std::min(OwedDelay(global, thread), spun_ns);
  thread.local_delay_ns.fetch_add(credited_ns, std::memory_order_relaxed);
  thread.credited_ns.fetch_add(credited_ns, std::memory_order_relaxed);
}

void RecordPause(ThreadLedger& thread, uint64_t asked_ns, uint64_t slept_ns) {
  thread.local_delay_ns.fetch_add(slept_ns, std::memory_order_relaxed);
  thread.asked_ns.fetch_add(asked_ns, std::memory_order_relaxed);
  thread.paused_ns.fetch_add(slept_ns, std::memory_order_relaxed);
  thread.pauses.fetch_add(1, std::memory_order_relaxed);
}

void EndWaitCredited(GlobalLedger& global, ThreadLedger& thread, const Wait& wait, uint64_t now_ns,
                     uint64_t waker_local_delay_ns, bool has_blocked) {
  const uint64_t global_ns = global.global_delay_ns.load(std::memory_order_acquire);
  EndWaitCreditedBy(thread, wait, now_ns, std::max(waker_local_delay_ns, global_ns), has_blocked);
}

void EndWaitCreditedBy(ThreadLedger& thread, const Wait& wait, uint64_t now_ns,
                       uint64_t waker_local_delay_ns, bool has_blocked) {
  uint64_t imposed;
  uint64_t local;
  do {  // again where a handler of this thread has imposed between the two loads
    imposed = thread.imposed_ns.load(std::memory_order_relaxed);
    local = thread.local_delay_ns.load(std::memory_order_relaxed);
  } while (imposed != thread.imposed_ns.load(std::memory_order_relaxed));
  // max(own virtual time, waker's) in terms of local delays.
  const uint64_t own = wait.served_ns + imposed + (now_ns - wait.start_ns);
  const uint64_t credited = has_blocked ? std::min(own, waker_local_delay_ns) : local;
  // One instruction, so that what a handler of this thread adds at the same moment is kept. Modulo
  // 2^64, as the delay also goes down: excess is absorbed by the wait.
  thread.local_delay_ns.fetch_add(credited - local, std::memory_order_relaxed);
  if (credited > local) {
    thread.credited_ns.fetch_add(credited - local, std::memory_order_relaxed);
  }
  thread.blocked.store(0, std::memory_order_relaxed);
}

void GoOnAfter(ThreadLedger& thread, uint64_t virtual_ns, uint64_t now_ns) {
  const uint64_t local_ns = thread.local_delay_ns.load(std::memory_order_relaxed);
  const auto early_ns = static_cast<int64_t>(virtual_ns - (now_ns - local_ns));
  if (early_ns > 0) {
    thread.local_delay_ns.fetch_sub(static_cast<uint64_t>(early_ns), std::memory_order_relaxed);
  }
}

}  // namespace coz::delay
