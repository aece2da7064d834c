// The simulator's state of threads and of the objects that they wait for. Only its own source files
// use it.
//
// Shape    plain data
// Units    ns of simulated time
// Errors   none
// Threads  compatible
// Signals  none
// Source   none
#ifndef COZ_TESTING_SIM_SIMULATOR_STATE_H_
#define COZ_TESTING_SIM_SIMULATOR_STATE_H_

#include <cstdint>
#include <deque>
#include <vector>

#include "coz/testing/sim/simulator.h"

namespace coz::sim {

struct Simulator::Thread : Runnable {
  Thread(uint64_t seed, uint64_t index) : random(seed, index) {}

  delay::ThreadLedger ledger = {};
  delay::WaitedMonitors waited_monitors = {};
  delay::WaitDelay wait_delay = {};
  ThreadState state = ThreadState::kReady;
  uint64_t generation = 0;  // of its valid event
  uint64_t event_ns = 0;
  bool without_sample_event = false;  // it is in the list of such threads
  Random random;  // for its own work, so that every run of a program draws the same numbers

  const Code* code = nullptr;
  uint32_t pc = 0;
  uint32_t phase = 0;
  int64_t locals[kLocalVariables] = {};
  std::vector<Thread*> children;
  Thread* joiner = nullptr;
  uint64_t virtual_end_ns = 0;

  uint64_t work_left_ns = 0;
  uint64_t until_sample_ns = 0;
  bool takes_spin_probes = false;
  uint64_t until_spin_probe_ns = 0;
  uint64_t slice_left_ns = 0;
  uint64_t running_since_ns = 0;
  uint64_t ready_since_ns = 0;
  uint64_t queued_ns = 0;  // in all
  bool is_new = false;     // it has had no CPU yet
  uint64_t created_ns = 0;

  bool pause_is_wait = false;  // the pause makes a wait longer
  bool pausing = false;        // from the start of the pause until the thread has a CPU again
  uint64_t hold_left_ns = 0;   // of a pause that holds its CPU
  bool pays_for_wait = false;  // what it owes grew while it had no CPU
  uint64_t pause_start_ns = 0;
  uint64_t owed_ns = 0;
  uint32_t pauses = 0;  // of the call in progress
  delay::Wait wait = {};
  uint64_t extended_ns = 0;                     // by how much its time-out was put off
  bool signaled = false;                        // a thread ended its wait on a condition
  Condition* waits_on = nullptr;                // with a time-out
  const delay::LatestTime* arrivals = nullptr;  // at the barrier that it is at
};

struct Simulator::Mutex {
  Thread* owner = nullptr;
  std::deque<Thread*> waiters;
};

struct Simulator::Condition {
  std::deque<Thread*> waiters;
};

struct Simulator::Barrier {
  uint32_t wanted = 0;
  std::vector<Thread*> waiters;
};

struct Simulator::Semaphore {
  uint32_t value = 0;
  std::deque<Thread*> waiters;
};

struct Simulator::RwLock {
  struct Waiter {
    Thread* thread;
    bool write;
  };
  uint32_t readers = 0;
  Thread* writer = nullptr;
  std::deque<Waiter> waiters;
};

template <typename Change>
void Simulator::Imposing(Change change) {
  const uint64_t before_ns = ledger_->global_delay_ns.load();
  change();
  if (ledger_->global_delay_ns.load() != before_ns) ReviewSchedules();
}

}  // namespace coz::sim

#endif  // COZ_TESTING_SIM_SIMULATOR_STATE_H_
