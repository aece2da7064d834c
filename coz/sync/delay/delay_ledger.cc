#include "coz/sync/delay/delay_ledger.h"

#include <algorithm>

namespace coz::delay {
namespace {

// For how long a thread that was queued makes all pauses hold their CPUs.
constexpr uint64_t kCrowdLastsNs = 50'000'000;
// A later end than the one that is noted by less than this is not worth a write to a shared line.
constexpr uint64_t kLeastLaterNs = 1'000'000;

void NoteCrowd(GlobalLedger& global, uint64_t now_ns) {
  const uint64_t until_ns = now_ns + kCrowdLastsNs;
  if (until_ns < global.crowded_until_ns.load(std::memory_order_relaxed) + kLeastLaterNs) return;
  global.crowded_until_ns.store(until_ns, std::memory_order_relaxed);
}

// Credits the thread up to a local delay of `to_ns`, at most what it owes.
void RaiseTo(GlobalLedger& global, ThreadLedger& thread, uint64_t to_ns) {
  const uint64_t most_ns = std::min(to_ns, global.global_delay_ns.load(std::memory_order_acquire));
  const uint64_t local_ns = thread.local_delay_ns.load(std::memory_order_relaxed);
  if (local_ns >= most_ns) return;
  thread.local_delay_ns.fetch_add(most_ns - local_ns, std::memory_order_relaxed);
  thread.credited_ns.fetch_add(most_ns - local_ns, std::memory_order_relaxed);
}

uint64_t OwedFrom(uint64_t local_ns, uint64_t global_ns) {
  return local_ns < global_ns ? global_ns - local_ns : 0;
}

// The thread has a CPU that stands at `stands_ns`. It goes on from there if it `owes_nothing`
// itself, else from the smaller local delay of the two.
void GoOnFromStand(const GlobalLedger& global, ThreadLedger& thread, uint64_t stands_ns,
                   bool owes_nothing) {
  thread.cpu_share.SetStand(CpuShare::kNoStand);
  if (stands_ns == CpuShare::kNoStand) return;
  const uint64_t local_ns = thread.local_delay_ns.load(std::memory_order_relaxed);
  const uint64_t global_ns = global.global_delay_ns.load(std::memory_order_acquire);
  const uint64_t most_ns = owes_nothing ? std::max(local_ns, global_ns) : local_ns;
  const uint64_t to_ns = std::min(most_ns, stands_ns);
  // One instruction, so that nothing is lost that a handler of this thread adds at the same moment.
  thread.local_delay_ns.fetch_add(to_ns - local_ns, std::memory_order_relaxed);
  if (to_ns > local_ns) thread.credited_ns.fetch_add(to_ns - local_ns, std::memory_order_relaxed);
}

// The thread runs on `cpu`. It may have been preempted on the one that it has noted itself on.
void NoteThatItRuns(GlobalLedger& global, const ThreadLedger& thread, uint32_t cpu,
                    uint64_t now_ns) {
  if (!thread.cpu_share.can_run()) return;
  global.cpus.IsBack(thread.cpu_share.cpu(), NumberOf(thread), cpu, now_ns);
}

}  // namespace

void ImposeDelay(GlobalLedger& global, ThreadLedger& thread, uint64_t delay_ns) {
  constexpr uint64_t kDayNs = uint64_t{24} * 3600 * 1'000'000'000;
  if (__builtin_expect(delay_ns >= kDayNs, 0)) return;
  if (DelaysEverybody(global)) {
    global.global_delay_ns.fetch_add(delay_ns, std::memory_order_release);
    return;
  }
  uint64_t global_ns = global.global_delay_ns.load(std::memory_order_relaxed);
  // The local delay rises first. In the other order the supervisor could see the thread owe the
  // delay that it imposes itself.
  const uint64_t local_ns = thread.local_delay_ns.fetch_add(delay_ns, std::memory_order_relaxed);
  thread.imposed_ns.fetch_add(delay_ns, std::memory_order_relaxed);
  if (MayBeCrowded(global)) PayForCpu(global, thread, delay_ns);
  // The thread's excess stays its own: no other thread has to make up for it.
  const uint64_t required_ns = std::min(local_ns, global_ns) + delay_ns;
  // Release pairs with the acquire in OwedDelay: a thread that sees the delay also sees the
  // selection that the delay belongs to.
  while (global_ns < required_ns &&
         !global.global_delay_ns.compare_exchange_weak(
             global_ns, required_ns, std::memory_order_release, std::memory_order_relaxed)) {
  }
}

uint64_t LookAtQueue(GlobalLedger& global, ThreadLedger& thread, const CpuLook& look) {
  const uint64_t queued_ns = thread.cpu_share.Take(look);
  if (queued_ns < CpuShare::kLeastQueuedNs) return 0;
  NoteCrowd(global, look.now_ns);
  // A wait may have ended without a look at the queue behind it.
  const uint32_t cpu = thread.cpu_share.cpu();
  if (global.cpus.IsNotedBy(cpu, NumberOf(thread))) {
    GoOnFromStand(global, thread, global.cpus.local_delay_ns(cpu), /*owes_nothing=*/true);
  }
  return queued_ns;
}

void GoOnHere(GlobalLedger& global, ThreadLedger& thread, uint32_t cpu, uint64_t now_ns) {
  const uint32_t number = NumberOf(thread);
  // Its own note is an old one where the thread has run elsewhere since.
  if (global.cpus.IsNotedBy(cpu, number) && thread.cpu_share.cpu() == cpu) {
    const uint64_t stands_ns = global.cpus.IsLeft(cpu) ? global.cpus.StandsAt(cpu, now_ns, 0)
                                                       : thread.cpu_share.stands_ns();
    GoOnFromStand(global, thread, stands_ns, /*owes_nothing=*/false);
    if (!global.cpus.IsLeft(cpu)) return global.cpus.Renew(cpu, now_ns);
  } else {
    // The thread could run all the time, or it would have taken the CPU at the end of a wait. So
    // the CPU was not idle.
    GoOnFromStand(global, thread, global.cpus.StandsAt(cpu, now_ns, 0), /*owes_nothing=*/true);
  }
  NoteThatItRuns(global, thread, cpu, now_ns);
  thread.cpu_share.SetCpu(cpu, /*can_run=*/true);
  global.cpus.Note(cpu, number, thread.local_delay_ns.load(std::memory_order_relaxed), now_ns);
}

bool GoOnIfNotedHere(GlobalLedger& global, ThreadLedger& thread, uint32_t cpu) {
  if (!global.cpus.IsNotedBy(cpu, NumberOf(thread)) || global.cpus.IsLeft(cpu)) return false;
  GoOnFromStand(global, thread, thread.cpu_share.stands_ns(), /*owes_nothing=*/false);
  return true;
}

void TakeCpu(GlobalLedger& global, ThreadLedger& thread, uint32_t cpu, uint64_t now_ns,
             uint64_t queued_ns) {
  const uint64_t stands_ns = global.cpus.StandsAt(cpu, now_ns, now_ns - queued_ns);
  NoteThatItRuns(global, thread, cpu, now_ns);
  thread.cpu_share.SetCpu(cpu, /*can_run=*/true);
  thread.cpu_share.SetStand(stands_ns);
  // What the thread owes for itself is none of the CPU's debt.
  const uint64_t global_ns = global.global_delay_ns.load(std::memory_order_relaxed);
  global.cpus.Note(cpu, NumberOf(thread), std::min(stands_ns, global_ns), now_ns);
}

void GoOnFromCpu(GlobalLedger& global, ThreadLedger& thread) {
  GoOnFromStand(global, thread, thread.cpu_share.stands_ns(), /*owes_nothing=*/true);
}

void LeaveCpu(GlobalLedger& global, ThreadLedger& thread, uint32_t cpu, uint64_t now_ns) {
  GoOnHere(global, thread, cpu, now_ns);
  thread.cpu_share.SetCpu(cpu, /*can_run=*/false);
  const uint64_t local_ns = thread.local_delay_ns.load(std::memory_order_relaxed);
  global.cpus.Leave(cpu, NumberOf(thread), local_ns, now_ns);
  // One instruction, so that nothing is lost that a handler of this thread adds at the same moment.
  const uint64_t global_ns = global.global_delay_ns.load(std::memory_order_relaxed);
  const uint64_t left_ns = OwedFrom(local_ns, global_ns);
  thread.cpu_share.SetLeft(left_ns);
  if (left_ns != 0) thread.local_delay_ns.fetch_add(left_ns, std::memory_order_relaxed);
}

void LeaveCpuWithDebt(GlobalLedger& global, ThreadLedger& thread, uint32_t cpu, uint64_t now_ns) {
  NoteThatItRuns(global, thread, cpu, now_ns);
  thread.cpu_share.SetCpu(cpu, /*can_run=*/false);
  // Behind a wait the thread has not gone on from its CPU yet. It pays what it owes itself.
  const uint64_t stands_ns = thread.cpu_share.stands_ns();
  const uint64_t global_ns = global.global_delay_ns.load(std::memory_order_relaxed);
  global.cpus.Leave(cpu, NumberOf(thread), std::min(stands_ns, global_ns), now_ns);
}

void CreditOwed(GlobalLedger& global, ThreadLedger& thread, uint64_t most_ns) {
  const uint64_t local_ns = thread.local_delay_ns.load(std::memory_order_relaxed);
  RaiseTo(global, thread, local_ns + most_ns);
}

uint64_t OwedDelay(GlobalLedger& global, ThreadLedger& thread) {
  const uint64_t required = global.global_delay_ns.load(std::memory_order_acquire);
  uint64_t local = thread.local_delay_ns.load(std::memory_order_relaxed);
  const uint64_t floor =
      std::min(required, global.forgiven_below_ns.load(std::memory_order_relaxed));
  // A handler of this thread may change the local delay at any instruction. Hence the exchange.
  while (local < floor) {
    if (thread.local_delay_ns.compare_exchange_weak(local, floor, std::memory_order_relaxed)) {
      thread.forgiven_ns.fetch_add(floor - local, std::memory_order_relaxed);
      local = floor;
    }
  }
  return OwedFrom(local, required);
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
  do {  // repeats where a handler of this thread has imposed between the two loads
    imposed = thread.imposed_ns.load(std::memory_order_relaxed);
    local = thread.local_delay_ns.load(std::memory_order_relaxed);
  } while (imposed != thread.imposed_ns.load(std::memory_order_relaxed));
  // The later of the two virtual times belongs to the smaller of the two local delays.
  const uint64_t own = wait.served_ns + imposed + (now_ns - wait.start_ns);
  const uint64_t credited = has_blocked ? std::min(own, waker_local_delay_ns) : local;
  // One instruction, so that nothing is lost that a handler of this thread adds at the same moment.
  // The sum is modulo 2^64, since the local delay may also go down: the wait absorbs excess.
  thread.local_delay_ns.fetch_add(credited - local, std::memory_order_relaxed);
  if (credited > local) {
    thread.credited_ns.fetch_add(credited - local, std::memory_order_relaxed);
  }
  thread.blocked.store(0, std::memory_order_relaxed);
}

void EndUncreditedWaitOfQueued(GlobalLedger& global, ThreadLedger& thread, const Wait& wait,
                               uint64_t now_ns, uint64_t queued_ns) {
  EndWaitUncredited(thread);
  if (wait.left_ns != 0) {
    const uint64_t owed_by_cpu_ns = OwedFrom(
        thread.cpu_share.stands_ns(), global.global_delay_ns.load(std::memory_order_relaxed));
    const uint64_t own_ns = wait.left_ns - std::min(wait.left_ns, owed_by_cpu_ns);
    thread.local_delay_ns.fetch_sub(own_ns, std::memory_order_relaxed);
  }
  if (queued_ns != 0) CreditOwed(global, thread, std::min(queued_ns, now_ns - wait.start_ns));
}

void EndWaitOfQueued(GlobalLedger& global, ThreadLedger& thread, const Wait& wait, uint64_t now_ns,
                     uint64_t waker_local_delay_ns, uint64_t queued_ns) {
  EndWaitCreditedBy(thread, wait, now_ns, waker_local_delay_ns);
  CreditQueueAfter(global, thread, wait, now_ns, queued_ns);
}

void CreditQueueAfter(GlobalLedger& global, ThreadLedger& thread, const Wait& wait, uint64_t now_ns,
                      uint64_t queued_ns) {
  if (queued_ns != 0) CreditOwed(global, thread, std::min(queued_ns, now_ns - wait.start_ns));
  GoOnFromCpu(global, thread);
}

void GoOnAfter(const GlobalLedger& global, ThreadLedger& thread, uint64_t virtual_ns,
               uint64_t now_ns) {
  if (MayBeCrowded(global)) return;
  const uint64_t local_ns = thread.local_delay_ns.load(std::memory_order_relaxed);
  const auto early_ns = static_cast<int64_t>(virtual_ns - (now_ns - local_ns));
  if (early_ns > 0) {
    thread.local_delay_ns.fetch_sub(static_cast<uint64_t>(early_ns), std::memory_order_relaxed);
  }
}

}  // namespace coz::delay
