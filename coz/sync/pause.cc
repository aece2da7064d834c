#include "coz/sync/pause.h"

#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "coz/base/clock.h"
#include "coz/base/errno_saver.h"

namespace coz {

uint64_t PauseFor(uint64_t duration_ns) {
  const ErrnoSaver errno_saver;
  const uint64_t start_ns = MonotonicNowNs();
  // The default slack of 50 us would be slept on top of each pause. It belongs to the program's own
  // sleeps, so it is put back.
  const long slack_ns = syscall(SYS_prctl, PR_GET_TIMERSLACK, 0, 0, 0, 0);
  if (slack_ns > 1) syscall(SYS_prctl, PR_SET_TIMERSLACK, 1, 0, 0, 0);
  uint64_t now_ns = start_ns;
  do {
    const uint64_t left_ns = duration_ns - (now_ns - start_ns);
    const timespec request = {static_cast<time_t>(left_ns / kNsPerSecond),
                              static_cast<long>(left_ns % kNsPerSecond)};
    const long result = syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &request, nullptr);
    now_ns = MonotonicNowNs();
    if (result != 0 && errno != EINTR) break;  // a seccomp filter, say: never spin instead
  } while (now_ns - start_ns < duration_ns);
  if (slack_ns > 1) syscall(SYS_prctl, PR_SET_TIMERSLACK, slack_ns, 0, 0, 0);
  return now_ns - start_ns;
}

}  // namespace coz
