#include "coz/runtime/lent_counters.h"

#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

#include <algorithm>
#include <atomic>

#include "coz/base/raw_syscall.h"
#include "coz/base/reserved_descriptors.h"
#include "coz/sampler/perf_event.h"

#ifndef SYS_pidfd_getfd
#define SYS_pidfd_getfd 438
#endif

namespace coz {
namespace {

struct Copy {
  int fd;
  uint64_t event;  // the kernel's number of it: the program may have put another file in its place
};

// By place in the block's table. As many as there are, or none.
Copy g_copies[kMaxLentCounters];
std::atomic<uint32_t> g_copied{0};
uint32_t g_lent_to = 0;

uint64_t EventAt(int fd) {
  uint64_t event = 0;
  return RawSyscall(SYS_ioctl, fd, PERF_EVENT_IOC_ID, &event) == 0 ? event : 0;
}

// Out of the program's way, or not at all.
int CopyOf(int supervisor, int fd) {
  const int copy = static_cast<int>(RawSyscall(SYS_pidfd_getfd, supervisor, fd, 0));
  if (copy < 0) return copy;
  const int moved = MoveBeyondLimit(copy);
  if (moved != copy && ReserveDescriptor(moved)) return moved;
  RawSyscall(SYS_close, moved);
  return -1;
}

void GiveBack(uint32_t copied) {
  for (uint32_t i = 0; i < copied; ++i) {
    ReleaseDescriptor(g_copies[i].fd);
    RawSyscall(SYS_close, g_copies[i].fd);
  }
}

}  // namespace

void TakeLentCounters(const ControlBlock& control, uint32_t image) {
  const LentCounters& lent = control.lent_counters;
  const uint32_t lent_to = lent.image_plus_1.load(std::memory_order_acquire);
  if (lent_to != image + 1 && lent_to != kLentToAll) return;
  const auto supervisor = static_cast<int>(RawSyscall(SYS_pidfd_open, control.supervisor_pid, 0));
  if (supervisor < 0) return;
  const uint32_t used = std::min(lent.used, kMaxLentCounters);
  uint32_t copied = 0;
  for (; copied < used; ++copied) {
    Copy& copy = g_copies[copied];
    copy.fd = CopyOf(supervisor, lent.counters[copied].fd);
    if (copy.fd < 0) break;
    copy.event = EventAt(copy.fd);
  }
  RawSyscall(SYS_close, supervisor);
  if (copied < used) return GiveBack(copied);
  g_lent_to = lent_to;
  g_copied.store(copied, std::memory_order_release);  // samples may come already
}

void ForgetLentCounters() { g_copied.store(0, std::memory_order_relaxed); }

bool ReadLentVisits(const ControlBlock& control, uint32_t point, PairEnd end, uint64_t* visits) {
  const LentCounters& lent = control.lent_counters;
  const uint32_t copied = g_copied.load(std::memory_order_acquire);
  if (lent.image_plus_1.load(std::memory_order_acquire) != g_lent_to) return false;
  bool any = false;
  *visits = 0;
  for (uint32_t i = 0; i < copied; ++i) {
    if (lent.counters[i].point != point || lent.counters[i].end != end) continue;
    const Copy& copy = g_copies[i];
    uint64_t count = 0;
    if (copy.event == 0 || EventAt(copy.fd) != copy.event ||
        RawSyscall(SYS_read, copy.fd, &count, sizeof(count)) != sizeof(count)) {
      return false;
    }
    *visits += count;
    any = true;
  }
  return any;
}

}  // namespace coz
