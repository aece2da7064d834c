#include "coz/runtime/wait_units.h"

#include <ucontext.h>

#include <algorithm>

#include "coz/base/random.h"
#include "coz/runtime/runtime_state.h"
#include "coz/runtime/unit_search.h"
#include "coz/shared/charged_pairs.h"
#include "coz/shared/sample_ring.h"
#include "coz/shared/thread_records.h"
#include "coz/shared/wait_samples.h"
#include "coz/sync/delay/accrual.h"

namespace coz::runtime {
namespace {

using runtime_internal::CallerInScope;
using runtime_internal::g_control;
using runtime_internal::g_process;
using runtime_internal::SplitByThreadGroup;
using runtime_internal::UnitSearch;

// The delay of short waits of this thread.
__thread delay::WaitDelay t_delay __attribute__((tls_model("initial-exec"))) = {};

shared::ChargeBudget g_charge_budget;

// The registers here, as a walk along the stack takes them.
[[gnu::always_inline]] inline void ReadRegisters(ucontext_t* context) {
  greg_t* const registers = context->uc_mcontext.gregs;
  asm volatile(
      "leaq 0f(%%rip), %%rax\n"
      "0: movq %%rax, %c[rip](%[to])\n"
      "movq %%rsp, %c[rsp](%[to])\n"
      "movq %%rbp, %c[rbp](%[to])\n"
      "movq %%rbx, %c[rbx](%[to])\n"
      "movq %%r12, %c[r12](%[to])\n"
      "movq %%r13, %c[r13](%[to])\n"
      "movq %%r14, %c[r14](%[to])\n"
      "movq %%r15, %c[r15](%[to])\n"
      :
      : [to] "r"(registers), [rip] "i"(REG_RIP * sizeof(greg_t)),
        [rsp] "i"(REG_RSP * sizeof(greg_t)), [rbp] "i"(REG_RBP * sizeof(greg_t)),
        [rbx] "i"(REG_RBX * sizeof(greg_t)), [r12] "i"(REG_R12 * sizeof(greg_t)),
        [r13] "i"(REG_R13 * sizeof(greg_t)), [r14] "i"(REG_R14 * sizeof(greg_t)),
        [r15] "i"(REG_R15 * sizeof(greg_t))
      : "rax", "memory");
}

// Finds the innermost line in scope that has made the call.
[[gnu::noinline]] bool FindCall(UnitSearch* search) {
  ucontext_t context;
  ReadRegisters(&context);
  return CallerInScope(context, search);
}

// That line, or the kind of the wait.
uint32_t UnitOf(delay::WaitKind kind) {
  UnitSearch search;
  if (FindCall(&search)) return search.unit;
  return g_control->first_wait_kind + static_cast<uint32_t>(kind);
}

// Returns for how many samples the wait counts.
uint64_t DrawSamples(const delay::OutsideWait& wait) {
  Random random(wait.end_ns, reinterpret_cast<uintptr_t>(&t_delay));
  return delay::SamplesOfWait(wait.blocked_ns, g_control->sampling_period_ns,
                              random.Below(g_control->sampling_period_ns));
}

void Push(uint32_t unit, delay::WaitKind kind, uint64_t samples) {
  while (samples != 0) {
    const uint64_t part = std::min(samples, shared::kMostSampleWeight);
    shared::PushSample(g_control->ring, shared::UnitWithWaitKind(unit, kind), part);
    samples -= part;
  }
}

void Count(uint32_t unit, const delay::OutsideWait& wait) {
  const uint64_t samples = DrawSamples(wait);
  g_control->samples.in_scope.fetch_add(samples, std::memory_order_relaxed);
  Push(unit, wait.kind, samples);
}

// The selected unit and the given one are never the same.
void Impose(delay::ThreadLedger& ledger, uint32_t unit, const delay::OutsideWait& wait) {
  const uint64_t word = g_control->ledger.selection.load(std::memory_order_acquire);
  const auto selection = shared::Selection::Unpack(word);
  const auto given = shared::Selection::Unpack(g_control->given.load(std::memory_order_relaxed));
  const bool is_selected = selection.Selects(unit);
  if (word == 0 || (!is_selected && !given.Selects(unit)) ||
      wait.end_ns > g_control->selection_deadline_ns.load(std::memory_order_relaxed)) {
    return;
  }
  delay::BeginAhead(ledger,
                    {delay::SampledUnit::kSelected, 0, g_control->sampling_period_ns,
                     g_control->selection_deadline_ns.load(std::memory_order_relaxed), word, 0},
                    wait.end_ns);
  const uint64_t blocked_ns =
      delay::BlockedSince(wait, g_control->selection_start_ns.load(std::memory_order_relaxed));
  (is_selected ? g_control->samples.selected_wait_ns : g_control->samples.given_wait_ns)
      .fetch_add(blocked_ns, std::memory_order_relaxed);
  const uint64_t delay_ns = t_delay.Add(
      word,
      delay::DelayOfWait(blocked_ns,
                         is_selected ? selection.delay_per_sample_ns : given.delay_per_sample_ns,
                         g_control->sampling_period_ns),
      delay::kLeastImposedNs);
  if (delay_ns == 0) return;
  shared::ChargePairs(*g_control, shared::RiseBy(g_control->ledger, ledger, delay_ns),
                      &g_charge_budget);
  delay::ImposeDelay(g_control->ledger, ledger, delay_ns);
}

}  // namespace

void OnOutsideWait(delay::ThreadLedger& ledger, const delay::OutsideWait& wait) {
  const bool has_detached = g_process == nullptr;
  if (has_detached) return;
  const shared::ThreadRole thread = shared::OwnRole(*g_control);
  if (!thread.is_in_scope) return;
  uint32_t unit = UnitOf(wait.kind);
  if (!SplitByThreadGroup(thread, wait.blocked_ns / g_control->sampling_period_ns, &unit)) return;
  Count(unit, wait);
  Impose(ledger, unit, wait);
}

// The caller may have got a lock. So a wait that counts for no sample looks for no line.
void OnOwnWait(delay::ThreadLedger&, const delay::OutsideWait& wait) {
  const bool has_detached = g_process == nullptr;
  if (has_detached) return;
  const uint64_t samples = DrawSamples(wait);
  if (samples == 0) return;
  const shared::ThreadRole thread = shared::OwnRole(*g_control);
  UnitSearch call;
  if (!thread.is_in_scope || !FindCall(&call)) return;
  if (SplitByThreadGroup(thread, samples, &call.unit)) Push(call.unit, wait.kind, samples);
}

}  // namespace coz::runtime
