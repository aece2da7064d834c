#include "coz/sync/delay/accrual.h"

namespace coz::delay {
namespace {

// Returns false where the experiment is over, so that no more delay accrues.
bool Accrue(const GlobalLedger& global, Stretches& stretches, uint64_t now_ns,
            const SpreadRules& rules) {
  const bool is_over = now_ns > stretches.deadline_ns() ||
                       global.selection.load(std::memory_order_relaxed) != stretches.selection();
  if (is_over) {
    stretches.EndAccrual();
    return false;
  }
  stretches.Accrue(now_ns, rules);
  return true;
}

void ImposeIfAny(GlobalLedger& global, ThreadLedger& thread, uint64_t delay_ns) {
  if (delay_ns != 0) ImposeDelay(global, thread, delay_ns);
}

}  // namespace

void ImposeAccrued(GlobalLedger& global, ThreadLedger& thread, uint64_t now_ns,
                   const SpreadRules& rules) {
  const Stretches::BusyScope busy(thread.stretches);
  if (busy.is_first() && Accrue(global, thread.stretches, now_ns, rules)) {
    ImposeIfAny(global, thread, thread.stretches.TakeAccrued(kLeastImposedNs));
  }
}

void ImposeAllAccrued(GlobalLedger& global, ThreadLedger& thread, uint64_t now_ns,
                      const SpreadRules& rules) {
  const Stretches::BusyScope busy(thread.stretches);
  if (!busy.is_first() || !Accrue(global, thread.stretches, now_ns, rules)) return;
  thread.stretches.AccrueBalance();
  ImposeIfAny(global, thread, thread.stretches.TakeAllAccrued());
}

void EndStretch(GlobalLedger& global, ThreadLedger& thread, const void* site, uint64_t now_ns,
                const SpreadRules& rules) {
  const Stretches::BusyScope busy(thread.stretches);
  if (!busy.is_first()) return;
  const bool goes_on = Accrue(global, thread.stretches, now_ns, rules);
  const uint64_t delay_ns = goes_on ? thread.stretches.TakeAccrued(kLeastImposedNs) : 0;
  thread.stretches.End(site, now_ns);
  ImposeIfAny(global, thread, delay_ns);
}

void NoteOtherSample(const GlobalLedger& global, ThreadLedger& thread, const SampleDelay& selected,
                     uint64_t now_ns) {
  const Stretches::BusyScope busy(thread.stretches);
  if (!busy.is_first() || global.selection.load(std::memory_order_relaxed) != selected.selection) {
    return;
  }
  thread.stretches.BeginIfKnown(selected, now_ns);
}

void ImposeSample(GlobalLedger& global, ThreadLedger& thread, const SampleDelay& sample,
                  uint64_t now_ns, const SpreadRules& rules) {
  const Stretches::BusyScope busy(thread.stretches);
  const bool at_once = !busy.is_first() || IsOutsideStretches(thread);
  const uint64_t delay_ns =
      at_once ? sample.delay_ns * sample.periods : thread.stretches.Add(sample, now_ns, rules);
  if (delay_ns != 0) ImposeDelay(global, thread, delay_ns);
}

void BeginAhead(ThreadLedger& thread, const SampleDelay& unit, uint64_t now_ns) {
  const Stretches::BusyScope busy(thread.stretches);
  if (busy.is_first() && thread.stretches.selection() != unit.selection) {
    thread.stretches.Add(unit, now_ns);
  }
}

uint64_t LocalDelayAt(const GlobalLedger& global, const ThreadLedger& thread, uint64_t now_ns) {
  if (DelaysEverybody(global)) return 0;
  const Stretches& stretches = thread.stretches;
  const uint64_t selection = stretches.selection();
  if (selection == 0 || selection != global.selection.load(std::memory_order_relaxed)) return 0;
  if (!stretches.imposes() || !stretches.is_running_at(now_ns)) return 0;
  return thread.local_delay_ns.load(std::memory_order_relaxed) +
         stretches.AccruingForOthers(now_ns);
}

void CreditSpinning(GlobalLedger& global, ThreadLedger& thread) {
  const uint64_t spun_ns = thread.spinning.Spend(OwedDelay(global, thread));
  CreditOwed(global, thread, spun_ns);
  if (MayBeCrowded(global)) PayForCpu(global, thread, spun_ns);
}

void CreditSpinningOfLead(ThreadLedger& thread, uint64_t lead_ns) {
  const uint64_t spun_ns = thread.spinning.Spend(lead_ns);
  if (spun_ns == 0) return;
  thread.local_delay_ns.fetch_add(spun_ns, std::memory_order_relaxed);
  thread.credited_ns.fetch_add(spun_ns, std::memory_order_relaxed);
}

}  // namespace coz::delay
