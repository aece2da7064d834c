#include "bench/accuracy/scheduling.h"

#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>

namespace coz::accuracy {
namespace {

// The struct of sched_setattr(2), which libc does not declare.
struct SchedulingAttributes {
  uint32_t size;
  uint32_t policy;
  uint64_t flags;
  int32_t nice;
  uint32_t priority;
  uint64_t runtime_ns;
  uint64_t deadline_ns;
  uint64_t period_ns;
};

}  // namespace

void UseShortSlices() {
  SchedulingAttributes attributes = {};
  if (syscall(SYS_sched_getattr, 0, &attributes, sizeof(attributes), 0) != 0) return;
  attributes.size = sizeof(attributes);
  attributes.flags = 0;
  attributes.runtime_ns = 100000;
  syscall(SYS_sched_setattr, 0, &attributes, 0);
}

bool UseRealtime() {
  const sched_param above_the_programs = {2};
  return sched_setscheduler(0, SCHED_RR, &above_the_programs) == 0;
}

BusyNeighbours::BusyNeighbours(int count) {
  const pid_t parent = getpid();
  for (int i = 0; i < count; ++i) {
    const pid_t pid = fork();
    if (pid > 0) pids_.push_back(pid);
    if (pid != 0) continue;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(0);
    for (volatile uint64_t turns = 0;; turns = turns + 1) {
    }
  }
}

BusyNeighbours::~BusyNeighbours() {
  for (const pid_t pid : pids_) {
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
  }
}

}  // namespace coz::accuracy
