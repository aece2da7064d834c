// Ways in which a thread waits for another, and what must hold for each.
//
// Shape    the main thread makes a scenario, a second thread waits in it, and the main thread ends
//          the wait
// Units    ns
// Errors   gtest failures
// Threads  as stated for each member
// Signals  none
// Source   coz/sync/delay/delay_ledger.h
#ifndef COZ_SYNC_INTERPOSE_TESTING_WAIT_SCENARIO_H_
#define COZ_SYNC_INTERPOSE_TESTING_WAIT_SCENARIO_H_

#include <functional>
#include <memory>
#include <ostream>
#include <thread>
#include <utility>

#include "coz/sync/interpose/testing/fake_process.h"

namespace coz::testing {

// The object outlives the wait.
class Scenario {
 public:
  using Wait = std::function<bool()>;                     // in the waiter; true if it was woken
  using Wake = std::function<void(std::thread& waiter)>;  // in the main thread

  Scenario(Wait wait, Wake wake, bool sleeps = true)
      : wait_(std::move(wait)), wake_(std::move(wake)), sleeps_(sleeps) {}

  bool WaitForWake() const { return wait_(); }
  void WakeWaiter(std::thread& waiter) const { wake_(waiter); }
  bool sleeps() const { return sleeps_; }  // false: the waiter spins

 private:
  Wait wait_;
  Wake wake_;
  bool sleeps_;
};

struct NamedScenario {
  const char* name;
  std::function<Scenario()> make;
};
inline void PrintTo(const NamedScenario& scenario, std::ostream* out) { *out << scenario.name; }

// Imposes delay while the waiter waits. Expects that the waker pays before it wakes, and that the
// waiter gets credit.
void ExpectWakerPaysAndWaiterIsCredited(FakeProcess& process, const NamedScenario& scenario);

// The wake comes from outside the program. Expects that the waiter gets no credit and pays after
// its wait.
void ExpectWaiterPays(FakeProcess& process, const NamedScenario& scenario);

}  // namespace coz::testing

#endif  // COZ_SYNC_INTERPOSE_TESTING_WAIT_SCENARIO_H_
