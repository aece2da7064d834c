#include "coz/sync/delay_ledger.h"

#include <algorithm>

namespace coz {

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

void NoteSample(ThreadLedger& thread, bool selected) {
  const uint32_t share = thread.selected_share.load(std::memory_order_relaxed);
  const uint32_t goal = selected ? kWholeShare : 0;
  // Rounded towards the goal, so that it is reached.
  const uint32_t next = selected ? share + (goal - share + 7) / 8 : share - (share + 7) / 8;
  thread.selected_share.store(next, std::memory_order_relaxed);
}

namespace {

// From the errors that the simulator shows (docs/design.md): at once is better where stretches are long, or hold much else.
bool HoldingIsBetter(const ThreadLedger& thread, uint64_t period_ns) {
  const uint64_t stretch_ns = thread.mean_stretch_ns.load(std::memory_order_relaxed);
  if (stretch_ns == 0 || stretch_ns > 2 * period_ns) return false;
  const uint64_t others = kWholeShare - thread.selected_share.load(std::memory_order_relaxed);
  return stretch_ns * others < period_ns * kWholeShare / 5;
}

}  // namespace

void ImposeSample(GlobalLedger& global, ThreadLedger& thread, uint64_t delay_ns, uint64_t period_ns,
                  uint64_t now_ns, uint64_t deadline_ns) {
  ReleaseAllHeldDelay(global, thread, now_ns);
  if (!HoldingIsBetter(thread, period_ns)) return ImposeDelay(global, thread, delay_ns);
  thread.hold_window_ns.store(period_ns, std::memory_order_relaxed);
  thread.running_since_ns.store(now_ns, std::memory_order_relaxed);
  thread.hold_deadline_ns.store(deadline_ns, std::memory_order_relaxed);
  thread.held_ns.fetch_add(delay_ns, std::memory_order_relaxed);
}

void ReleaseHeldDelay(GlobalLedger& global, ThreadLedger& thread, uint64_t now_ns) {
  const uint64_t window_ns = thread.hold_window_ns.load(std::memory_order_relaxed);
  const uint64_t since_ns = thread.running_since_ns.load(std::memory_order_relaxed);
  const uint64_t ran_ns = now_ns > since_ns ? now_ns - since_ns : 0;
  if (ran_ns >= window_ns) return ReleaseAllHeldDelay(global, thread, now_ns);
  const auto share = [=](uint64_t held_ns) { return held_ns * ran_ns / window_ns; };
  if (share(thread.held_ns.load(std::memory_order_relaxed)) < kLeastReleaseNs) return;
  // Taken in one instruction and the rest put back in another: a sample of this thread between the two holds what it stands for
  // beside, and the sum stays right.
  const uint64_t held_ns = thread.held_ns.exchange(0, std::memory_order_relaxed);
  const uint64_t released_ns = share(held_ns);
  thread.hold_window_ns.store(window_ns - ran_ns, std::memory_order_relaxed);
  thread.running_since_ns.store(now_ns, std::memory_order_relaxed);
  thread.held_ns.fetch_add(held_ns - released_ns, std::memory_order_relaxed);
  if (now_ns <= thread.hold_deadline_ns.load(std::memory_order_relaxed)) {
    ImposeDelay(global, thread, released_ns);
  }
}

void ReleaseAllHeldDelay(GlobalLedger& global, ThreadLedger& thread, uint64_t now_ns) {
  const uint64_t held_ns = thread.held_ns.exchange(0, std::memory_order_relaxed);
  if (held_ns != 0 && now_ns <= thread.hold_deadline_ns.load(std::memory_order_relaxed)) {
    ImposeDelay(global, thread, held_ns);
  }
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
  const uint64_t stretch_ns =
      wait.start_ns - thread.wait_ended_ns.exchange(now_ns, std::memory_order_relaxed);
  const uint64_t mean_ns = thread.mean_stretch_ns.load(std::memory_order_relaxed);
  thread.mean_stretch_ns.store(mean_ns == 0 ? stretch_ns : mean_ns - mean_ns / 8 + stretch_ns / 8,
                               std::memory_order_relaxed);
}

}  // namespace coz
