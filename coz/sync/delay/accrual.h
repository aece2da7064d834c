// Delay that follows running time: what samples, stretches and wrapped calls do to the ledger.
//
// The runtime and the simulator both call these functions, so neither has rules of its own. The
// caller passes the clock, the period and the unit. The functions say what to impose, credit or
// pay. Some things only the caller can do: read the clock, look at the sampled code, start an extra
// sample. It passes these as a *seam*.
//
// Shape    functions of the shared ledger and of the calling thread's ledger
// Units    ns of CLOCK_MONOTONIC
// Errors   none
// Threads  `thread` is the caller's own, except in LocalDelayAt
// Signals  async-signal-safe, if the seam is
// Source   docs/design/delays.md
#ifndef COZ_SYNC_DELAY_ACCRUAL_H_
#define COZ_SYNC_DELAY_ACCRUAL_H_

#include <algorithm>
#include <cstdint>

#include "coz/sync/delay/delay_ledger.h"
#include "coz/sync/delay/shared_delay.h"

namespace coz::delay {

// A thread imposes no less than this at a time. It keeps smaller amounts for later, because each
// time it imposes, the other threads pause.
inline constexpr uint64_t kLeastImposedNs = 10'000;

// Other threads may impose delay during a pause. The thread owes it when the pause ends, and pauses
// again. This bound stops that where the selected unit spins and so imposes delay without end.
inline constexpr int kMostPausesPerCall = 16;

inline bool Accrues(const ThreadLedger& thread) { return thread.stretches.accrues(); }

// Imposes the delay for the thread's running time until now. The caller does this at each sample,
// and before the thread pays, wakes or waits.
void ImposeAccrued(GlobalLedger& global, ThreadLedger& thread, uint64_t now_ns,
                   const SpreadRules& rules = SpreadRules());

// Imposes all delay for the running time until now, and all that samples stand for beyond it. The
// caller does this at the thread's end.
void ImposeAllAccrued(GlobalLedger& global, ThreadLedger& thread, uint64_t now_ns,
                      const SpreadRules& rules = SpreadRules());

// Ends the stretch in progress, at a call of the program. The thread's delay must accrue. The next
// stretch is of the kind `site`.
void EndStretch(GlobalLedger& global, ThreadLedger& thread, const void* site, uint64_t now_ns,
                const SpreadRules& rules = SpreadRules());

// Notes a wrapped call that returns to `site`. The caller does this before it pays. `now` reads the
// clock.
template <typename Clock>
void NoteCallAt(GlobalLedger& global, ThreadLedger& thread, const void* site, Clock now,
                CallsThatEnd ends, const SpreadRules& rules = SpreadRules()) {
  if (!Accrues(thread)) {
    thread.stretches.NoteSite(site);
  } else if (thread.stretches.CallEnds(ends) || OwesPause(global, thread)) {
    EndStretch(global, thread, site, now(), rules);
  }
}

// As LookAtQueue. It also leaves the time in the queue out of the stretch.
inline uint64_t LookAtQueueInStretch(GlobalLedger& global, ThreadLedger& thread,
                                     const CpuLook& look) {
  const uint64_t queued_ns = LookAtQueue(global, thread, look);
  if (queued_ns != 0 && Accrues(thread)) thread.stretches.LeaveOut(queued_ns, look.now_ns);
  return queued_ns;
}

// The thread has waited or paused until now, and runs again.
inline void ResumeStretch(ThreadLedger& thread, uint64_t now_ns) {
  thread.stretches.Resume(now_ns);
}

// The thread's local delay, plus the delay that accrues for its stretch in progress. The thread
// imposes the latter when the stretch ends. 0 where nothing accrues that gets the thread ahead: in
// a baseline and in a control. Any thread may call this.
uint64_t LocalDelayAt(const GlobalLedger& global, const ThreadLedger& thread, uint64_t now_ns);

// How long a thread pauses after a wait that no profiled thread ended. `highest_ns` is the largest
// LocalDelayAt of all threads. The pause keeps input from outside from overtaking the sped-up code.
// Without it, a request that arrives during another one finds the server busy, although that
// service is over in virtual time.
inline uint64_t LeadOfStretchesInProgress(uint64_t highest_ns, const ThreadLedger& thread) {
  const uint64_t local_ns = thread.local_delay_ns.load(std::memory_order_relaxed);
  return highest_ns < local_ns + kLeastImposedNs ? 0 : highest_ns - local_ns;
}

// Notes a sample that fell in another unit (Stretches::BeginIfKnown).
void NoteOtherSample(const GlobalLedger& global, ThreadLedger& thread, const SampleDelay& selected,
                     uint64_t now_ns);

// Adds a sample that Stretches::Count has counted: imposes its delay at once, or lets it accrue.
void ImposeSample(GlobalLedger& global, ThreadLedger& thread, const SampleDelay& sample,
                  uint64_t now_ns, const SpreadRules& rules = SpreadRules());

// The thread gets ahead of the others by waits in the selected unit or the given one, and not by
// its running time. From now on it does what a thread does that runs the unit: it goes on no
// earlier than the others at meetings. `unit` has no delay.
void BeginAhead(ThreadLedger& thread, const SampleDelay& unit, uint64_t now_ns);

// One sample, and what is sped up at that moment. Where `periods` and `periods_of_others` are both
// 0, the sample only gives the thread a chance to pay.
struct SampleInput {
  uint64_t selection;          // the ledger's; 0: nothing is sped up
  uint32_t selected_unit;      // of the selection
  SampledUnit unit;            // what the sample fell in
  uint64_t delay_ns;           // per sampling period in `unit`; 0 in a baseline, and elsewhere
  uint64_t selected_delay_ns;  // the same in the selected unit; 0 in a baseline
  uint64_t period_ns;          // the sampling period
  uint64_t deadline_ns;        // no delay is imposed after this
  uint64_t periods;            // how many periods of this thread the sample stands for
  uint64_t periods_past;       // those of them that a timer was late for
  uint64_t periods_of_others;  // the same for short threads that are not sampled (shared_delay.h)
};

// What the caller does for TakeSample:
//     uint64_t NowNs();
//     void BeforeImposing(uint64_t delay_ns);  // the global delay may rise by up to this
//     bool Spins();                            // whether the sampled code spins; called once
//     bool TakesSpinProbes();
//     bool BeginSpinProbes();                  // false where the thread cannot have spin probes

// Notes whether a sample has found the thread spinning. The sample is no spin probe.
template <typename Seam>
void NoteSpinAtSample(ThreadLedger& thread, bool spins, Seam& seam) {
  if (seam.TakesSpinProbes()) return;
  if (spins && seam.BeginSpinProbes()) {
    thread.spinning.BeginProbes();
  } else {
    thread.spinning.Note(spins);  // the only evidence where there are no probes
  }
}

// Credits the thread for time that it has spun, up to what it owes. The caller does this before the
// thread pays.
void CreditSpinning(GlobalLedger& global, ThreadLedger& thread);

enum class AfterSample { kGoOn, kPay };
struct SampleResult {
  bool imposes;  // the unit is sped up, and the experiment is on
  AfterSample next;
};

// As CreditSpinning, before the thread pays for stretches in progress of others. One of these may
// be of a thread that has ended the spin and makes no call before it goes on.
void CreditSpinningOfLead(ThreadLedger& thread, uint64_t lead_ns);

// All that a sample does to delay. In a baseline a sample in the selected unit imposes nothing, but
// its thread accrues: the thread's calls then cost what they cost in an experiment, and the cost is
// no part of a slope.
//
// A thread may burn CPU time while it waits for another thread. It
// gets its credit when the wait ends. So it does not pay here, and does not count as spinning.
template <typename Seam>
SampleResult TakeSample(GlobalLedger& global, ThreadLedger& thread, SharedDelay& shared,
                        const SampleInput& sample, Seam& seam,
                        const SpreadRules& rules = SpreadRules()) {
  if (Accrues(thread)) ImposeAccrued(global, thread, seam.NowNs(), rules);
  SampleResult result = {false, AfterSample::kGoOn};
  if (sample.periods + sample.periods_of_others != 0 && sample.selection != 0) {
    if (!IsOutsideStretches(thread)) {
      thread.stretches.Count(sample.unit, sample.selected_unit, sample.periods);
    }
    const bool counts = sample.unit != SampledUnit::kOther;
    const bool is_first = sample.selection != thread.stretches.selection();
    const uint64_t now_ns = counts || is_first ? seam.NowNs() : 0;
    const bool is_on = counts && now_ns <= sample.deadline_ns;
    if (!counts && is_first && !IsOutsideStretches(thread) && now_ns <= sample.deadline_ns) {
      NoteOtherSample(global, thread,
                      {SampledUnit::kSelected, sample.selected_delay_ns, sample.period_ns,
                       sample.deadline_ns, sample.selection},
                      now_ns);
    }
    result.imposes = is_on && sample.delay_ns != 0;
    if (is_on) {
      if (sample.periods_of_others != 0) {
        shared.Add(sample.selection, sample.delay_ns * sample.periods_of_others);
      }
      seam.BeforeImposing(sample.delay_ns * sample.periods);
      if (sample.periods != 0) {
        ImposeSample(global, thread,
                     {sample.unit, sample.delay_ns, sample.period_ns, sample.deadline_ns,
                      sample.selection, sample.periods, sample.periods_past},
                     now_ns, rules);
      }
    }
  }
  if (sample.periods != 0) thread.releases.NoteSample(sample.periods);
  if (Waits(thread)) return result;
  if (sample.periods + sample.periods_of_others != 0) {
    NoteSpinAtSample(thread, seam.Spins(), seam);
    thread.spinning.Earn(sample.period_ns * sample.periods);
    if (IsBehind(global, thread)) CreditSpinning(global, thread);
  }
  if (IsBehind(global, thread)) result.next = AfterSample::kPay;
  return result;
}

}  // namespace coz::delay

#endif  // COZ_SYNC_DELAY_ACCRUAL_H_
