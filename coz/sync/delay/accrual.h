// Delay that follows running time: what samples, stretches and wrapped calls do to the ledger.
//
// The runtime and the simulator both call what is here, so that neither has rules of its own.
// Clock, period and unit come in; what to impose, credit or pay comes out. What only the caller can
// do it gives as a *seam*: read the clock, look at the sampled code, start an extra sample.
//
// Shape    functions of the shared ledger and of the calling thread's
// Units    ns of CLOCK_MONOTONIC
// Errors   none
// Threads  `thread` is the caller's own, but for LocalDelayAt
// Signals  async-signal-safe, if the seam is
// Source   docs/design/delays.md
#ifndef COZ_SYNC_DELAY_ACCRUAL_H_
#define COZ_SYNC_DELAY_ACCRUAL_H_

#include <algorithm>
#include <cstdint>

#include "coz/sync/delay/delay_ledger.h"
#include "coz/sync/delay/shared_delay.h"

namespace coz::delay {

// Less than this is kept and not imposed yet: each time that a thread imposes costs the others a
// pause.
inline constexpr uint64_t kLeastImposedNs = 10'000;

// Delay that is inserted during a pause is owed when the pause ends, and is paid too. The bound is
// for a selected unit that spins, which inserts without end.
inline constexpr int kMostPausesPerCall = 16;

inline bool Accrues(const ThreadLedger& thread) { return thread.stretches.accrues(); }

// Imposes what the thread's running time until now stands for: at each sample, and before it pays,
// wakes or waits.
void ImposeAccrued(GlobalLedger& global, ThreadLedger& thread, uint64_t now_ns,
                   const SpreadRules& rules = SpreadRules());

// Imposes all of it, and what samples stand for beyond it: at the thread's end.
void ImposeAllAccrued(GlobalLedger& global, ThreadLedger& thread, uint64_t now_ns,
                      const SpreadRules& rules = SpreadRules());

// A call of the program ends a stretch of a thread whose delay accrues. The next stretch is of the
// kind `site`.
void EndStretch(GlobalLedger& global, ThreadLedger& thread, const void* site, uint64_t now_ns,
                const SpreadRules& rules = SpreadRules());

// A wrapped call that goes on at `site`, before it pays. `now` reads the clock.
template <typename Clock>
void NoteCallAt(GlobalLedger& global, ThreadLedger& thread, const void* site, Clock now,
                const SpreadRules& rules = SpreadRules()) {
  if (!Accrues(thread)) {
    thread.stretches.NoteSite(site);
  } else if (thread.stretches.CallEnds() || IsBehind(global, thread)) {
    EndStretch(global, thread, site, now(), rules);
  }
}

// LookAtCpu, and the time in the queue is no part of the stretch.
inline void LookAtCpuInStretch(GlobalLedger& global, ThreadLedger& thread, const CpuLook& look) {
  const uint64_t queued_ns = LookAtCpu(global, thread, look);
  if (queued_ns != 0 && Accrues(thread)) thread.stretches.LeaveOut(queued_ns, look.now_ns);
}

// The thread has not run until now: it has waited or paused.
inline void ResumeStretch(ThreadLedger& thread, uint64_t now_ns) {
  thread.stretches.Resume(now_ns);
}

// The local delay of a thread with what accrues for the stretch in progress, which it imposes when
// that ends. 0 where nothing accrues. For any thread to ask.
uint64_t LocalDelayAt(const GlobalLedger& global, const ThreadLedger& thread, uint64_t now_ns);

// What a thread pauses for that comes out of a wait which no profiled thread ended. `highest_ns` is
// the largest LocalDelayAt of all threads. What comes from outside must not overtake what is sped
// up: a request that arrives while another is served would else find a server busy whose service is
// over in virtual time.
inline uint64_t LeadOfStretchesInProgress(uint64_t highest_ns, const ThreadLedger& thread) {
  const uint64_t local_ns = thread.local_delay_ns.load(std::memory_order_relaxed);
  return highest_ns < local_ns + kLeastImposedNs ? 0 : highest_ns - local_ns;
}

// Adds a counted sample (Stretches::Count): imposes it at once, or lets its delay accrue.
void ImposeSample(GlobalLedger& global, ThreadLedger& thread, const SampleDelay& sample,
                  uint64_t now_ns, const SpreadRules& rules = SpreadRules());

// One sample, and what is sped up at this moment.
struct SampleInput {
  uint64_t selection;          // the ledger's; 0: nothing is sped up
  uint32_t selected_unit;      // of the selection
  SampledUnit unit;            // what the sample fell in
  uint64_t delay_ns;           // for each sampling period in `unit`; 0: none
  uint64_t period_ns;          // the sampling period
  uint64_t deadline_ns;        // no delay is imposed after this
  uint64_t periods;            // of this thread, that the sample stands for
  uint64_t periods_of_others;  // of short threads that are not sampled (shared_delay.h)
  // Where both are 0, the sample only gives the thread a chance to pay.
};

// What the caller does for TakeSample:
//     uint64_t NowNs();
//     void BeforeImposing(uint64_t delay_ns);  // the global delay may rise by up to this
//     bool Spins();                            // whether the sampled code spins; asked once
//     bool TakesSpinProbes();
//     bool BeginSpinProbes();                  // false where none can be had

// How often a thread is found spinning, by a sample that is no probe.
template <typename Seam>
void NoteSpinAtSample(ThreadLedger& thread, bool spins, Seam& seam) {
  if (seam.TakesSpinProbes()) return;
  if (spins && seam.BeginSpinProbes()) {
    thread.spinning.BeginProbes();
  } else {
    thread.spinning.Note(spins);  // where there are no probes, this has to do
  }
}

// Credits what the thread owes for the share that it has spun of `ran_ns`.
void CreditSpinning(GlobalLedger& global, ThreadLedger& thread, uint64_t ran_ns);

enum class AfterSample { kGoOn, kPay };
struct SampleResult {
  bool imposes;  // the unit is sped up, and the experiment is on
  AfterSample next;
};

// All that a sample does to delay. What a thread waits for is credited when the wait ends, so one
// that waits for another, and burns CPU time at it, neither pays nor counts as spinning.
template <typename Seam>
SampleResult TakeSample(GlobalLedger& global, ThreadLedger& thread, SharedDelay& shared,
                        const SampleInput& sample, Seam& seam,
                        const SpreadRules& rules = SpreadRules()) {
  if (Accrues(thread)) ImposeAccrued(global, thread, seam.NowNs(), rules);
  SampleResult result = {false, AfterSample::kGoOn};
  if (sample.periods + sample.periods_of_others != 0 && sample.selection != 0) {
    if (!Waits(thread)) thread.stretches.Count(sample.unit, sample.selected_unit);
    const uint64_t now_ns = sample.delay_ns != 0 ? seam.NowNs() : 0;
    result.imposes = sample.delay_ns != 0 && now_ns <= sample.deadline_ns;
    if (result.imposes) {
      if (sample.periods_of_others != 0) {
        shared.Add(sample.selection, sample.delay_ns * sample.periods_of_others);
      }
      seam.BeforeImposing(sample.delay_ns * sample.periods);
      // Of a sample that stands for more than one period, the rest has passed: it was spent in the
      // kernel.
      if (sample.periods > 1) ImposeDelay(global, thread, sample.delay_ns * (sample.periods - 1));
      if (sample.periods > 0) {
        ImposeSample(
            global, thread,
            {sample.unit, sample.delay_ns, sample.period_ns, sample.deadline_ns, sample.selection},
            now_ns, rules);
      }
    }
  }
  if (Waits(thread)) return result;
  if (sample.periods + sample.periods_of_others != 0) {
    NoteSpinAtSample(thread, seam.Spins(), seam);
    if (IsBehind(global, thread)) {
      CreditSpinning(global, thread, sample.period_ns * sample.periods);
    }
  }
  if (IsBehind(global, thread)) result.next = AfterSample::kPay;
  return result;
}

}  // namespace coz::delay

#endif  // COZ_SYNC_DELAY_ACCRUAL_H_
