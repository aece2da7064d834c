#include "coz/sync/interpose/pause.h"

#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>

#include <cerrno>

#include "coz/base/clock.h"
#include "coz/base/raw_syscall.h"

namespace coz::interpose {

namespace sync_internal {
std::atomic<bool> g_left_for_good{false};
}  // namespace sync_internal

namespace {
bool MayCall() { return !sync_internal::g_left_for_good.load(std::memory_order_relaxed); }
}  // namespace

WithoutTimerSlack::WithoutTimerSlack()
    : slack_ns_(MayCall() ? RawSyscall(SYS_prctl, PR_GET_TIMERSLACK) : 0) {
  if (slack_ns_ > 1) RawSyscall(SYS_prctl, PR_SET_TIMERSLACK, 1);
}
WithoutTimerSlack::~WithoutTimerSlack() {
  if (slack_ns_ > 1 && MayCall()) RawSyscall(SYS_prctl, PR_SET_TIMERSLACK, slack_ns_);
}

uint64_t PauseFor(uint64_t duration_ns) { return PauseSince(MonotonicNowNs(), duration_ns); }

uint64_t PauseSince(uint64_t start_ns, uint64_t duration_ns) {
  uint64_t now_ns = MonotonicNowNs();
  if (now_ns - start_ns >= duration_ns) return now_ns - start_ns;
  const WithoutTimerSlack without_slack;
  do {
    const uint64_t left_ns = duration_ns - (now_ns - start_ns);
    const timespec request = {static_cast<time_t>(left_ns / kNsPerSecond),
                              static_cast<long>(left_ns % kNsPerSecond)};
    const long result = RawSyscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &request, nullptr);
    now_ns = MonotonicNowNs();
    if (result != 0 && result != -EINTR) break;  // e.g. a seccomp filter; this must not spin
  } while (now_ns - start_ns < duration_ns);
  return now_ns - start_ns;
}

uint64_t HoldCpuSince(uint64_t start_ns, uint64_t duration_ns) {
  // If more time than this lies between two readings of the clock, the thread has lost its CPU in
  // between.
  constexpr uint64_t kLongestStepNs = 20'000;
  constexpr int kHintsPerStep = 16;
  uint64_t last_ns = MonotonicNowNs();
  uint64_t held_ns = last_ns - start_ns;
  while (held_ns < duration_ns) {
    for (int i = 0; i < kHintsPerStep; ++i) __builtin_ia32_pause();
    const uint64_t now_ns = MonotonicNowNs();
    if (now_ns - last_ns < kLongestStepNs) held_ns += now_ns - last_ns;
    last_ns = now_ns;
  }
  return held_ns;
}

}  // namespace coz::interpose
