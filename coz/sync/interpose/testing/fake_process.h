// A profiled process without a supervisor: a global ledger, and a ledger for each thread.
//
// Shape    one per test; the thread that makes it is profiled as long as it lives. It is level with
//          the global delay, which goes on from test to test
// Units    ns
// Errors   running out of ledgers, or a state that is not reached in time, ends the test process
// Threads  safe
// Signals  none
// Source   coz/sync/interpose/thread_sync.h
#ifndef COZ_SYNC_INTERPOSE_TESTING_FAKE_PROCESS_H_
#define COZ_SYNC_INTERPOSE_TESTING_FAKE_PROCESS_H_

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <functional>

#include "coz/base/clock.h"
#include "coz/sync/delay/delay_ledger.h"

namespace coz::testing {

class FakeProcess {
 public:
  FakeProcess();
  ~FakeProcess();
  FakeProcess(const FakeProcess&) = delete;
  FakeProcess& operator=(const FakeProcess&) = delete;

  delay::GlobalLedger& global();
  delay::ThreadLedger& main_ledger();

  // Every thread owes `delay_ns` more, as if a sample of some further thread had imposed it.
  void Impose(uint64_t delay_ns);

  // The same, over and above what any thread has paused too long.
  void ImposeBeyondExcess(uint64_t delay_ns);

  // Another thread has run in a line that is made half as long, for so long that no more counts of
  // it: kMostAccruedNs.
  void RunInSelectedLine();

  // What threads other than the one of `ledger` have slept to pay.
  uint64_t PausedByOthers(const delay::ThreadLedger& ledger);

  // Or have one for each thread again.
  void RefuseLedgers(bool refuse);

  // What the newest thread was told of its stack.
  uint64_t newest_stack_bytes() const;

  int reserved() const;   // ledgers handed out to threads that were to be created
  int cancelled() const;  // given back because they were not
  int exited() const;     // given back at the end of their threads
  // Threads that started or ended while their ledger was not the current one.
  int without_ledger() const;
};

// Polls `condition`; aborts the test where it does not come true within a minute.
void WaitUntil(const char* what, const std::function<bool()>& condition);

// A thread of this process, profiled or not. 0: none yet.
bool SleepsInKernel(pid_t tid);

// A thread of a test that other threads watch.
struct WatchedThread {
  std::atomic<delay::ThreadLedger*> ledger{nullptr};
  std::atomic<pid_t> tid{0};

  // To be called by the thread itself.
  void Announce();

  // It waits in a wrapped call, asleep in the kernel unless it spins.
  bool IsBlocked(bool asleep) const;
};

}  // namespace coz::testing

#endif  // COZ_SYNC_INTERPOSE_TESTING_FAKE_PROCESS_H_
