// What each instruction does. Waits follow the wrapped calls in coz/sync/interpose step by step. In
// phase 0 of each the thread pays, so every later phase runs without debt.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "coz/testing/sim/simulator.h"
#include "coz/testing/sim/simulator_state.h"

namespace coz::sim {
namespace {

constexpr uint32_t kEntry = 0;
constexpr uint32_t kPaid = 1;
constexpr uint32_t kWaited = 2;
constexpr uint32_t kWaitedForMutex = 3;

// If a thread executes more instructions than this without any time between them, it is in a loop
// that never ends.
constexpr int kMaxInstructionsAtOnce = 1000000;

[[noreturn]] void Fail(const char* what) {
  std::fprintf(stderr, "simulator: %s\n", what);
  std::abort();
}

}  // namespace

void Simulator::Continue(Thread& thread) {
  for (int executed = 0; thread.state == ThreadState::kRunning; ++executed) {
    if (thread.work_left_ns > 0) return ScheduleCpuEvent(thread);
    if (executed > kMaxInstructionsAtOnce) Fail("a program loops without work");
    if (thread.pc >= thread.code->size()) return ExecuteExit(thread);
    switch (Execute(thread, (*thread.code)[thread.pc])) {
      case Outcome::kNext:
        ++thread.pc;
        thread.phase = kEntry;
        break;
      case Outcome::kWork:
        return ScheduleCpuEvent(thread);
      case Outcome::kStop:
        return;
    }
  }
}

Simulator::Outcome Simulator::Execute(Thread& thread, const Op& op) {
  switch (op.kind) {
    case OpKind::kWork:
      return ExecuteWork(thread, op);
    case OpKind::kSpinUntil:
      return Variable(thread, op.b) >= op.value ? Outcome::kNext : Outcome::kWork;
    case OpKind::kSpawn:
      return ExecuteSpawn(thread, op);
    case OpKind::kProgress:
      ++points_.at(op.a).visits;
      return Outcome::kNext;
    case OpKind::kBegin:
      CountTimed(thread, &experiment::PointCounts::arrivals,
                 &experiment::PointCounts::timed_arrivals,
                 &experiment::PointCounts::arrival_time_sum_ns, &points_.at(op.a));
      return Outcome::kNext;
    case OpKind::kEnd:
      CountTimed(thread, &experiment::PointCounts::departures,
                 &experiment::PointCounts::timed_departures,
                 &experiment::PointCounts::departure_time_sum_ns, &points_.at(op.a));
      return Outcome::kNext;
    case OpKind::kAdd:
      AddToVariable(thread, op.a, op.value);
      return Outcome::kNext;
    case OpKind::kJumpIfLess:
      if (Variable(thread, op.a) < op.value) thread.pc = op.b - 1;
      return Outcome::kNext;
    case OpKind::kJump:
      thread.pc = op.b - 1;
      return Outcome::kNext;
    default:
      break;
  }
  // All other instructions are wrapped calls.
  if (thread.phase == kEntry) {
    NoteCall(thread);
    if (op.kind == OpKind::kLock && thread.pauses == 0) {
      GoOnAfterRelease(thread, *mutexes_.at(op.a));
    }
    if (PayInCall(thread)) return Outcome::kStop;
    thread.phase = kPaid;
  }
  switch (op.kind) {
    case OpKind::kLock:
      return ExecuteLock(thread, *mutexes_.at(op.a));
    case OpKind::kUnlock:
      PublishBeforeWake(thread, mutexes_.at(op.a).get());
      if (mutexes_[op.a]->owner != &thread) Fail("a mutex is unlocked by another thread");
      NoteRelease(thread, *mutexes_[op.a]);
      ReleaseMutex(*mutexes_[op.a]);
      return Outcome::kNext;
    case OpKind::kCondWait:
      return ExecuteCondWait(thread, *conditions_.at(op.a), *mutexes_.at(op.b), op.ns);
    case OpKind::kSignal:
    case OpKind::kBroadcast:
      return ExecuteNotify(thread, *conditions_.at(op.a), op.kind == OpKind::kBroadcast);
    case OpKind::kBarrier:
      return ExecuteBarrier(thread, *barriers_.at(op.a));
    case OpKind::kSemWait:
      return ExecuteSemWait(thread, *semaphores_.at(op.a));
    case OpKind::kSemPost:
      return ExecuteSemPost(thread, *semaphores_.at(op.a));
    case OpKind::kReadLock:
    case OpKind::kWriteLock:
      return ExecuteRwLock(thread, *rwlocks_.at(op.a), op.kind == OpKind::kWriteLock);
    case OpKind::kRwUnlock:
      return ExecuteRwUnlock(thread, *rwlocks_.at(op.a));
    case OpKind::kJoin:
      return ExecuteJoin(thread, op.b);
    case OpKind::kSleep:
      return ExecuteSleep(thread, op);
    case OpKind::kReadInput:
      return ExecuteReadInput(thread, op.a);
    default:
      Fail("an unknown instruction");
  }
}

bool Simulator::PayInCall(Thread& thread) {
  if (thread.pauses < options_.pauses_per_call && Pay(thread)) {
    ++thread.pauses;
    return true;
  }
  thread.pauses = 0;
  return false;
}

bool Simulator::PayForStretchesInProgress(Thread& thread) {
  uint64_t lead_ns = 0;
  if (options_.pay_for_stretches_in_progress && selected_ &&
      thread.pauses < options_.pauses_per_call) {
    uint64_t highest_ns = 0;
    for (const auto& other : threads_) {
      highest_ns = std::max(highest_ns, delay::LocalDelayAt(*ledger_, other->ledger, now_ns_));
    }
    lead_ns = delay::LeadOfStretchesInProgress(highest_ns, thread.ledger);
    if (lead_ns != 0) {
      delay::CreditSpinningOfLead(thread.ledger, lead_ns);
      lead_ns = delay::LeadOfStretchesInProgress(highest_ns, thread.ledger);
    }
  }
  if (lead_ns == 0) {
    thread.pauses = 0;
    return false;
  }
  ++thread.pauses;
  Pause(thread, lead_ns);
  return true;
}

Simulator::Outcome Simulator::ExecuteWork(Thread& thread, const Op& op) {
  if (thread.phase != kEntry) return Outcome::kNext;
  thread.phase = kPaid;
  double work_ns = static_cast<double>(op.ns);
  if (op.b > 0) work_ns *= 1 + op.b / 1000.0 * (2 * thread.random.Fraction() - 1);
  if (op.a == options_.faster_line) work_ns *= 1 - options_.faster_by;
  if (op.a == options_.given_line && options_.sampling_period_ns == 0) {
    work_ns *= 1 - options_.given_by;
  }
  thread.work_left_ns = static_cast<uint64_t>(std::llround(work_ns));
  return thread.work_left_ns > 0 ? Outcome::kWork : Outcome::kNext;
}

// Ends a wait that no thread ended. The thread pays what was inserted meanwhile.
Simulator::Outcome Simulator::EndOutsideWait(Thread& thread) {
  EndWait(thread, /*by_thread=*/false, nullptr);
  return PayForWait(thread) || PayForStretchesInProgress(thread) ? Outcome::kStop : Outcome::kNext;
}

// Pays as PayAfterWait does: by sleeping, since the debt grew while the thread had no CPU.
bool Simulator::PayForWait(Thread& thread) {
  thread.pays_for_wait = true;
  const bool pays = PayInCall(thread);
  thread.pays_for_wait = false;
  return pays;
}

// At the end of a wait that is a unit, as coz/runtime/wait_units.cc.
void Simulator::ImposeWait(Thread& thread, uint32_t line) {
  const uint64_t period_ns = options_.sampling_period_ns;
  if (period_ns == 0) return;
  const delay::OutsideWait wait = {delay::WaitKind::kSleep, thread.wait.start_ns, now_ns_,
                                   now_ns_ - thread.wait.start_ns};
  CountSamples(line, delay::SamplesOfWait(wait.blocked_ns, period_ns, random_.Below(period_ns)));
  if (!selected_ || line != selected_line_ || now_ns_ > deadline_ns_) return;
  const uint64_t selection = ledger_->selection.load();
  delay::BeginAhead(thread.ledger,
                    {delay::SampledUnit::kSelected, 0, period_ns, deadline_ns_, selection, 0},
                    now_ns_);
  const uint64_t blocked_ns = delay::BlockedSince(wait, selection_start_ns_);
  selected_wait_ns_ += blocked_ns;
  const uint64_t delay_ns = thread.wait_delay.Add(
      selection, delay::DelayOfWait(blocked_ns, delay_per_sample_ns_, period_ns),
      delay::kLeastImposedNs);
  if (delay_ns == 0) return;
  Imposing([&] { delay::ImposeDelay(*ledger_, thread.ledger, delay_ns); });
}

Simulator::Outcome Simulator::ExecuteSleep(Thread& thread, const Op& op) {
  const bool is_unit = op.value != 0;
  if (thread.phase == kWaited) {
    // Not again after a pause.
    if (is_unit && thread.pauses == 0) ImposeWait(thread, op.a);
    return EndOutsideWait(thread);
  }
  thread.phase = kWaited;
  StartWait(thread);
  thread.ledger.blocked.store(delay::kBlockedByClock);
  LeaveCpu(thread, ThreadState::kSleeping);
  uint64_t length_ns = op.b == 0 ? op.ns : thread.random.ExponentialTime(op.ns);
  if (is_unit && op.a == options_.faster_line) {
    length_ns -= static_cast<uint64_t>(options_.faster_by * static_cast<double>(length_ns));
  }
  Push(now_ns_ + length_ns, thread);
  return Outcome::kStop;
}

Simulator::Outcome Simulator::ExecuteReadInput(Thread& thread, uint32_t input) {
  if (thread.phase == kWaited) return EndOutsideWait(thread);
  if (input_ready_.at(input) > 0) {
    --input_ready_[input];
    return Outcome::kNext;
  }
  thread.phase = kWaited;
  StartWait(thread);
  input_waiters_[input].push_back(&thread);
  LeaveCpu(thread, ThreadState::kSleeping);
  return Outcome::kStop;
}

Simulator::Outcome Simulator::WaitForMutex(Thread& thread, Mutex& mutex, bool front) {
  if (front) {
    mutex.waiters.push_front(&thread);
  } else {
    mutex.waiters.push_back(&thread);
  }
  LeaveCpu(thread, ThreadState::kWaiting);
  return Outcome::kStop;
}

Simulator::Outcome Simulator::ExecuteLock(Thread& thread, Mutex& mutex) {
  if (mutex.owner == nullptr) mutex.owner = &thread;
  const bool acquired = mutex.owner == &thread;
  if (thread.phase == kPaid) {
    if (acquired) return Outcome::kNext;
    StartWait(thread);
    thread.phase = kWaited;
    return WaitForMutex(thread, mutex, /*front=*/false);
  }
  if (!acquired) return WaitForMutex(thread, mutex, /*front=*/true);
  EndWait(thread, /*by_thread=*/true, &mutex);
  return Outcome::kNext;
}

void Simulator::NoteRelease(Thread& thread, Mutex& mutex) {
  if (!thread.ledger.releases.IsDue()) return;
  delay::NoteRelease(*ledger_, *monitors_, thread.ledger, &mutex, [this] { return now_ns_; });
}

void Simulator::GoOnAfterRelease(Thread& thread, Mutex& mutex) {
  if (!options_.go_on_after_release || !delay::Accrues(thread.ledger)) return;
  delay::GoOnAfterRelease(*ledger_, *monitors_, thread.waited_monitors, thread.ledger, &mutex,
                          [this] { return now_ns_; });
}

void Simulator::ReleaseMutex(Mutex& mutex) {
  mutex.owner = nullptr;
  if (mutex.waiters.empty()) return;
  Thread& next = *mutex.waiters.front();
  mutex.waiters.pop_front();
  if (options_.fair_mutexes) mutex.owner = &next;
  Wake(next);
}

Simulator::Outcome Simulator::ExecuteCondWait(Thread& thread, Condition& condition, Mutex& mutex,
                                              uint64_t timeout_ns) {
  if (thread.phase == kPaid) {
    PublishBeforeWake(thread, &mutex);
    monitors_->Add(&mutex);
    thread.waited_monitors.Note(&mutex, ledger_->selection.load(), now_ns_);
    NoteRelease(thread, mutex);
    StartWait(thread);
    ReleaseMutex(mutex);
    thread.signaled = false;
    thread.extended_ns = 0;
    thread.phase = kWaited;
    condition.waiters.push_back(&thread);
    LeaveCpu(thread, ThreadState::kWaiting);
    if (timeout_ns > 0) {
      thread.waits_on = &condition;
      Push(now_ns_ + timeout_ns, thread);
    }
    return Outcome::kStop;
  }
  if (mutex.owner == nullptr) mutex.owner = &thread;
  if (mutex.owner != &thread) {
    const bool again = thread.phase == kWaitedForMutex;
    thread.phase = kWaitedForMutex;
    return WaitForMutex(thread, mutex, again);
  }
  EndWait(thread, thread.signaled, &condition);
  // The thread may get its CPU so late that delay has grown since the time-out.
  return !thread.signaled && PayForWait(thread) ? Outcome::kStop : Outcome::kNext;
}

Simulator::Outcome Simulator::ExecuteNotify(Thread& thread, Condition& condition, bool all) {
  PublishBeforeWake(thread, &condition);
  while (!condition.waiters.empty()) {
    Thread& waiter = *condition.waiters.front();
    condition.waiters.pop_front();
    waiter.signaled = true;
    Wake(waiter);
    if (!all) break;
  }
  return Outcome::kNext;
}

Simulator::Outcome Simulator::ExecuteBarrier(Thread& thread, Barrier& barrier) {
  if (thread.phase == kPaid) {
    PublishBeforeWake(thread, &barrier);
    StartWait(thread);
    thread.arrivals =
        barrier_rounds_->Arrive(&barrier, delay::VirtualTimeAt(thread.ledger, now_ns_));
    if (barrier.waiters.size() + 1 < barrier.wanted) {
      barrier.waiters.push_back(&thread);
      thread.phase = kWaited;
      LeaveCpu(thread, ThreadState::kWaiting);
      return Outcome::kStop;
    }
    for (Thread* waiter : barrier.waiters) Wake(*waiter);
    barrier.waiters.clear();
  }
  EndWait(thread, /*by_thread=*/true, &barrier);
  if (options_.go_on_after_arrivals && thread.arrivals != nullptr &&
      delay::TimePassesAtMeetings(*ledger_)) {
    delay::GoOnAfterLatest(*ledger_, thread.ledger, *thread.arrivals, now_ns_);
  }
  return Outcome::kNext;
}

Simulator::Outcome Simulator::ExecuteSemWait(Thread& thread, Semaphore& semaphore) {
  if (thread.phase == kPaid) {
    if (semaphore.value > 0) {
      --semaphore.value;
      if (options_.go_on_after_release && semaphore.value == 0 && delay::Accrues(thread.ledger)) {
        delay::GoOnAfterPost(*ledger_, *posts_, thread.ledger, &semaphore,
                             [this] { return now_ns_; });
      }
      return Outcome::kNext;
    }
    StartWait(thread);
    semaphore.waiters.push_back(&thread);
    thread.phase = kWaited;
    LeaveCpu(thread, ThreadState::kWaiting);
    return Outcome::kStop;
  }
  EndWait(thread, /*by_thread=*/true, &semaphore);
  return Outcome::kNext;
}

Simulator::Outcome Simulator::ExecuteSemPost(Thread& thread, Semaphore& semaphore) {
  PublishBeforeWake(thread, &semaphore);
  delay::NotePost(*ledger_, *posts_, thread.ledger, &semaphore, [this] { return now_ns_; });
  if (semaphore.waiters.empty()) {
    ++semaphore.value;
    return Outcome::kNext;
  }
  Thread& waiter = *semaphore.waiters.front();
  semaphore.waiters.pop_front();
  Wake(waiter);
  return Outcome::kNext;
}

Simulator::Outcome Simulator::ExecuteRwLock(Thread& thread, RwLock& lock, bool write) {
  if (thread.phase == kPaid) {
    // First come, first served: a reader does not overtake a waiting writer.
    const bool free = lock.writer == nullptr && lock.waiters.empty() && (!write || !lock.readers);
    if (free) {
      if (write) {
        lock.writer = &thread;
      } else {
        ++lock.readers;
      }
      return Outcome::kNext;
    }
    StartWait(thread);
    lock.waiters.push_back({&thread, write});
    thread.phase = kWaited;
    LeaveCpu(thread, ThreadState::kWaiting);
    return Outcome::kStop;
  }
  EndWait(thread, /*by_thread=*/true, &lock);
  return Outcome::kNext;
}

Simulator::Outcome Simulator::ExecuteRwUnlock(Thread& thread, RwLock& lock) {
  PublishBeforeWake(thread, &lock);
  if (lock.writer == &thread) {
    lock.writer = nullptr;
  } else {
    --lock.readers;
  }
  while (!lock.waiters.empty() && lock.writer == nullptr) {
    const RwLock::Waiter next = lock.waiters.front();
    if (next.write && lock.readers > 0) break;
    lock.waiters.pop_front();
    if (next.write) {
      lock.writer = next.thread;
    } else {
      ++lock.readers;
    }
    Wake(*next.thread);
  }
  return Outcome::kNext;
}

Simulator::Outcome Simulator::ExecuteSpawn(Thread& thread, const Op& op) {
  NoteCall(thread);
  Thread& child = NewThread(op.a, thread.ledger.local_delay_ns.load());
  if (thread.children.size() <= op.b) thread.children.resize(op.b + 1);
  thread.children[op.b] = &child;
  return Outcome::kNext;
}

Simulator::Outcome Simulator::ExecuteJoin(Thread& thread, uint32_t child_index) {
  Thread& child = *thread.children.at(child_index);
  if (thread.phase == kPaid) {
    StartWait(thread);
    if (child.state != ThreadState::kDone) {
      child.joiner = &thread;
      thread.phase = kWaited;
      LeaveCpu(thread, ThreadState::kWaiting);
      return Outcome::kStop;
    }
  }
  EndWait(thread, /*by_thread=*/true, &child);
  if (options_.go_on_after_end) {
    delay::GoOnAfter(*ledger_, thread.ledger, child.virtual_end_ns, now_ns_);
  }
  joined_.push_back(&child);
  return Outcome::kNext;
}

void Simulator::ExecuteExit(Thread& thread) {
  if (thread.phase == kEntry) {
    if (delay::Accrues(thread.ledger)) {
      Imposing([&] { delay::ImposeAllAccrued(*ledger_, thread.ledger, now_ns_, options_.spread); });
    }
    if (PayInCall(thread)) return;
    thread.phase = kPaid;
  }
  PublishBeforeWake(thread, &thread);
  thread.virtual_end_ns = now_ns_ - thread.ledger.local_delay_ns.load();
  LeaveCpu(thread, ThreadState::kDone);
  --live_threads_;
  if (thread.joiner != nullptr) Wake(*thread.joiner);
}

int64_t& Simulator::Variable(Thread& thread, uint32_t variable) {
  if (variable < kFirstLocalVariable) return variables_.at(variable);
  const uint32_t local = variable - kFirstLocalVariable;
  if (local >= kLocalVariables) Fail("a local variable out of range");
  return thread.locals[local];
}

void Simulator::AddToVariable(Thread& thread, uint32_t variable, int64_t by) {
  Variable(thread, variable) += by;
  if (variable >= kFirstLocalVariable) return;
  // Threads that spin on the variable see the change at once.
  for (const auto& other : threads_) {
    if (other->state != ThreadState::kRunning || other.get() == &thread) continue;
    const Op& op = (*other->code)[other->pc];
    if (op.kind == OpKind::kSpinUntil && op.b == variable) Push(now_ns_, *other);
  }
}

}  // namespace coz::sim
