#include "coz/sync/interpose/pause.h"

#include <errno.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/time.h>

#include <atomic>

#include "coz/base/clock.h"

namespace coz::interpose {
namespace {

std::atomic<int> g_signals{0};

TEST(PauseTest, LastsAtLeastAsLongAsAskedAndReturnsWhatPassed) {
  const uint64_t start_ns = MonotonicNowNs();
  const uint64_t slept_ns = PauseFor(2 * kNsPerMs);
  const uint64_t passed_ns = MonotonicNowNs() - start_ns;
  EXPECT_GE(slept_ns, 2 * kNsPerMs);
  EXPECT_LE(slept_ns, passed_ns);
}

TEST(PauseTest, TimeThatHasPassedAlreadyCounts) {
  const uint64_t start_ns = MonotonicNowNs() - kNsPerSecond;
  EXPECT_GE(PauseSince(start_ns, kNsPerSecond / 2), kNsPerSecond);
}

TEST(PauseTest, CpuIsHeldForAsLongAsAskedAndNotGivenUp) {
  rusage before = {};
  rusage after = {};
  getrusage(RUSAGE_THREAD, &before);
  const uint64_t start_ns = MonotonicNowNs();
  const uint64_t held_ns = HoldCpuSince(start_ns, 2 * kNsPerMs);
  const uint64_t passed_ns = MonotonicNowNs() - start_ns;
  getrusage(RUSAGE_THREAD, &after);
  EXPECT_GE(held_ns, 2 * kNsPerMs);
  EXPECT_LE(held_ns, passed_ns);
  EXPECT_EQ(after.ru_nvcsw, before.ru_nvcsw);
}

TEST(PauseTest, KeepsErrnoAndTimerSlack) {
  const int slack_before = prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0);
  errno = ERANGE;
  PauseFor(kNsPerMs);
  EXPECT_EQ(errno, ERANGE);
  EXPECT_EQ(prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0), slack_before);
}

TEST(PauseTest, IsNotCutShortBySignals) {
  g_signals = 0;
  struct sigaction action = {};
  action.sa_handler = [](int) { ++g_signals; };
  ASSERT_EQ(sigaction(SIGALRM, &action, nullptr), 0);
  const itimerval every_ms = {{0, 1000}, {0, 1000}};
  ASSERT_EQ(setitimer(ITIMER_REAL, &every_ms, nullptr), 0);
  const uint64_t slept_ns = PauseFor(20 * kNsPerMs);
  const itimerval off = {};
  setitimer(ITIMER_REAL, &off, nullptr);
  EXPECT_GE(slept_ns, 20 * kNsPerMs);
  EXPECT_GT(g_signals, 0);
}

}  // namespace
}  // namespace coz::interpose
