#include "bench/accuracy/scheduling.h"

#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
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

constexpr double kForEver = 1e18;

void EndWith(pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(0);
}

[[noreturn]] void Compute(double cpu_s) {
  for (timespec used = {}; used.tv_sec + 1e-9 * used.tv_nsec < cpu_s;) {
    for (volatile uint64_t turns = 0; turns < 1'000'000; turns = turns + 1) {
    }
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  }
  _exit(0);
}

void StartOne(double cpu_s) {
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid == 0) {
    EndWith(parent);
    Compute(cpu_s);
  }
  waitpid(pid, nullptr, 0);
}

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

BusyNeighbours::BusyNeighbours(int count, double lifetime_s) {
  const pid_t parent = getpid();
  for (int i = 0; i < count; ++i) {
    const pid_t pid = fork();
    if (pid > 0) pids_.push_back(pid);
    if (pid != 0) continue;
    EndWith(parent);
    if (lifetime_s == 0) Compute(kForEver);
    for (;;) StartOne(lifetime_s);
  }
}

BusyNeighbours::~BusyNeighbours() {
  for (const pid_t pid : pids_) {
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
  }
}

}  // namespace coz::accuracy
