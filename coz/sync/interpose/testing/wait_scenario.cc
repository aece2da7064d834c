#include "coz/sync/interpose/testing/wait_scenario.h"

#include <gtest/gtest.h>

#include "coz/base/clock.h"
#include "coz/sync/interpose/thread_sync.h"

namespace coz::testing {
namespace {

constexpr uint64_t kDelayNs = 5 * kNsPerMs;
constexpr uint64_t kLongWaitNs = kNsPerMs;

struct AfterWait {
  bool woken = false;
  uint64_t credited_ns = 0;
  uint64_t paused_ns = 0;
  uint64_t paused_by_others_ns = 0;
  bool behind = false;
  bool blocked = false;
};

AfterWait Run(FakeProcess& process, const NamedScenario& named) {
  const Scenario scenario = named.make();
  WatchedThread waiter;
  AfterWait after;
  std::thread thread([&] {
    waiter.Announce();
    delay::ThreadLedger& ledger = *interpose::CurrentThreadLedger();
    after.woken = scenario.WaitForWake();
    after.paused_by_others_ns = process.PausedByOthers(ledger);
    after.credited_ns = ledger.credited_ns;
    after.paused_ns = ledger.paused_ns;
    after.behind = delay::IsBehind(process.global(), ledger);
    after.blocked = ledger.blocked != 0;
  });
  WaitUntil("the waiter waits", [&] { return waiter.IsBlocked(scenario.sleeps()); });
  // Output that takes less than a tenth of a millisecond has not waited for room.
  const uint64_t seen_ns = MonotonicNowNs();
  WaitUntil("it has waited for long", [&] { return MonotonicNowNs() > seen_ns + kLongWaitNs; });
  process.Impose(kDelayNs);
  scenario.WakeWaiter(thread);
  thread.join();
  return after;
}

}  // namespace

void ExpectWakerPaysAndWaiterIsCredited(FakeProcess& process, const NamedScenario& scenario) {
  const AfterWait after = Run(process, scenario);
  EXPECT_TRUE(after.woken);
  EXPECT_GE(after.paused_by_others_ns, kDelayNs) << "woken before the waker has paid";
  EXPECT_GE(after.credited_ns, kDelayNs);
  EXPECT_EQ(after.paused_ns, 0u);
  EXPECT_FALSE(after.behind);
  EXPECT_FALSE(after.blocked);
}

void ExpectWaiterPays(FakeProcess& process, const NamedScenario& scenario) {
  const AfterWait after = Run(process, scenario);
  EXPECT_TRUE(after.woken);
  EXPECT_EQ(after.credited_ns, 0u);
  EXPECT_GE(after.paused_ns, kDelayNs);
  EXPECT_FALSE(after.behind);
  EXPECT_FALSE(after.blocked);
}

}  // namespace coz::testing
