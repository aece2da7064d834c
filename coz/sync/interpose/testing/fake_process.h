// A profiled process without a supervisor: a global ledger, and a ledger for each thread.
//
// Shape    one per test. The thread that makes it is profiled as long as the object lives. It
//          starts level with the global delay, which goes on from test to test
// Units    ns
// Errors   the test process ends where ledgers run out or a state is not reached in time
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

  // Makes every thread owe `delay_ns` more, as if a sample of another thread had imposed it.
  void Impose(uint64_t delay_ns);

  // The same, in addition to the excess of any thread.
  void ImposeBeyondExcess(uint64_t delay_ns);

  // Makes it look as if another thread has run in a line that is sped up by half. It has run for
  // Stretches::kMostInProgressNs, which is as much as counts.
  void RunInSelectedLine();

  // How long threads other than the one of `ledger` have paused.
  uint64_t PausedByOthers(const delay::ThreadLedger& ledger);

  // Whether new threads get no ledgers.
  void RefuseLedgers(bool refuse);

  // The stack size that the start hook of the newest thread got.
  uint64_t newest_stack_bytes() const;

  int reserved() const;   // ledgers handed out to threads that were to be created
  int cancelled() const;  // ledgers given back because their threads were not created
  int exited() const;     // ledgers given back at the end of their threads
  // How many threads started or ended while their ledger was not the current one.
  int without_ledger() const;
};

// Polls `condition`. Aborts the test where it does not come true within a minute.
void WaitUntil(const char* what, const std::function<bool()>& condition);

// Whether a thread of this process, profiled or not, sleeps in the kernel. `tid` 0: no thread yet.
bool SleepsInKernel(pid_t tid);

// A thread of a test that other threads watch.
struct WatchedThread {
  std::atomic<delay::ThreadLedger*> ledger{nullptr};
  std::atomic<pid_t> tid{0};

  // The thread itself calls this.
  void Announce();

  // Whether the thread waits in a wrapped call, and if `asleep` also sleeps in the kernel.
  bool IsBlocked(bool asleep) const;
};

}  // namespace coz::testing

#endif  // COZ_SYNC_INTERPOSE_TESTING_FAKE_PROCESS_H_
