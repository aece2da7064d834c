#include "coz/sampler/phase_keeper.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>

#include "coz/base/raw_syscall.h"
#include "coz/base/reserved_descriptors.h"
#include "coz/sampler/perf_event.h"

namespace coz::sampler {

int PhaseKeeper::Hold() {
  // The program may have taken the number for itself.
  if (fd_plus_1_ != 0 && IsReservedDescriptor(fd_plus_1_ - 1)) return 0;
  fd_plus_1_ = 0;
  const int fd = OpenIdleEvent();
  if (fd < 0) return fd;
  if (!ReserveDescriptor(fd)) {
    RawSyscall(SYS_close, fd);
    return -EMFILE;
  }
  fd_plus_1_ = fd + 1;
  return 0;
}

void PhaseKeeper::Release() {
  if (fd_plus_1_ == 0) return;
  const int fd = fd_plus_1_ - 1;
  fd_plus_1_ = 0;
  // Released first: the number may belong to another file as soon as it is closed.
  if (ReleaseDescriptor(fd)) RawSyscall(SYS_close, fd);
}

bool CreatorsNeedPhaseKeepers(const EndedThreads& ended, uint64_t sampling_period_ns) {
  constexpr uint64_t kThreadsToJudge = 16;
  // The lengths of longer threads differ by a period or so, and so do the phases that they leave.
  constexpr uint64_t kLongPeriods = 50;
  const uint64_t threads = ended.threads.load(std::memory_order_relaxed);
  return threads >= kThreadsToJudge &&
         ended.cpu_ns.load(std::memory_order_relaxed) < threads * kLongPeriods * sampling_period_ns;
}

}  // namespace coz::sampler
