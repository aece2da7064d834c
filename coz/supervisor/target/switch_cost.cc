#include "coz/supervisor/target/switch_cost.h"

#include <fcntl.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "coz/base/clock.h"
#include "coz/base/spared_calls.h"
#include "coz/base/unique_fd.h"

namespace coz::supervisor {
namespace {

// Each round lasts some of the kernel's ticks: near a tick that comes anyway a timer costs less.
constexpr int kTurns = 250;
constexpr int kRounds = 3;
// Fewer do not matter: at 50 us, which is much, 5 % of a CPU.
constexpr double kManySwitchesPerSecond = 1000;

enum class Event { kNone, kInherited, kOwn };

perf_event_attr TaskClock(uint64_t sampling_period_ns) {
  perf_event_attr attr;
  memset(&attr, 0, sizeof(attr));
  attr.size = sizeof(attr);
  attr.type = PERF_TYPE_SOFTWARE;
  attr.config = PERF_COUNT_SW_TASK_CLOCK;
  attr.sample_period = sampling_period_ns;
  attr.exclude_kernel = 1;
  attr.exclude_hv = 1;
  return attr;
}

perf_event_attr Tracepoint(uint64_t number) {
  constexpr uint64_t kNever = uint64_t{1} << 40;
  perf_event_attr attr;
  memset(&attr, 0, sizeof(attr));
  attr.size = sizeof(attr);
  attr.type = PERF_TYPE_TRACEPOINT;
  attr.config = number;
  attr.sample_period = kNever;
  return attr;
}

// Samples the calling thread, and tells nobody.
UniqueFd OpenEvent(perf_event_attr attr, bool inherited) {
  attr.inherit = inherited;
  const pid_t this_thread = 0;
  return UniqueFd(
      SparedCall<SYS_perf_event_open>(&attr, this_thread, -1, -1, PERF_FLAG_FD_CLOEXEC));
}

void StayOnOneCpu() {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0) return;
  int cpu = 0;
  while (cpu < CPU_SETSIZE - 1 && !CPU_ISSET(cpu, &allowed)) ++cpu;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(cpu, &one);
  SparedCall<SYS_sched_setaffinity>(0, sizeof(one), &one);
}

class Pipe {
 public:
  Pipe() {
    int fds[2] = {-1, -1};
    if (pipe2(fds, O_CLOEXEC) != 0) return;
    read_.Reset(fds[0]);
    write_.Reset(fds[1]);
  }
  bool ok() const { return read_.ok(); }
  void Put() const {
    const char byte = 0;
    if (write(write_.get(), &byte, 1) != 1) return;
  }
  void Get() const {
    char byte;
    if (read(read_.get(), &byte, 1) != 1) return;
  }

 private:
  UniqueFd read_;
  UniqueFd write_;
};

uint64_t CpuNs(clockid_t clock) {
  timespec now = {};
  clock_gettime(clock, &now);
  return static_cast<uint64_t>(now.tv_sec) * kNsPerSecond + static_cast<uint64_t>(now.tv_nsec);
}

// CPU time of this process, whose other threads sleep. Clock time would include the program that is
// being profiled.
uint64_t ProcessCpuNs() { return CpuNs(CLOCK_PROCESS_CPUTIME_ID); }

uint64_t CpuNsOfWork(uint64_t steps) {
  const uint64_t start_ns = CpuNs(CLOCK_THREAD_CPUTIME_ID);
  for (volatile uint64_t i = 0; i < steps; i = i + 1) {
  }
  return CpuNs(CLOCK_THREAD_CPUTIME_ID) - start_ns;
}

// Nothing where the system has no room for one.
template <typename Function>
std::optional<std::thread> StartThread(Function function) {
  try {
    return std::thread(std::move(function));
  } catch (const std::system_error&) {
    return std::nullopt;
  }
}

// ns for one switch; infinite where it cannot be measured.
double TimeSwitches(const perf_event_attr& event, Event kind) {
  const Pipe there;
  const Pipe back;
  if (!there.ok() || !back.ok()) return std::numeric_limits<double>::infinity();
  uint64_t cpu_ns = 0;
  bool ok = true;
  // In a thread of its own, so that no event and no CPU stays with the caller.
  std::optional<std::thread> measured = StartThread([&] {
    StayOnOneCpu();
    const UniqueFd inherited = kind == Event::kInherited ? OpenEvent(event, true) : UniqueFd();
    std::optional<std::thread> other = StartThread([&] {
      const UniqueFd own = kind == Event::kOwn ? OpenEvent(event, false) : UniqueFd();
      for (int i = 0; i < 1 + kTurns; ++i) {
        there.Get();
        back.Put();
      }
    });
    const UniqueFd own = kind == Event::kOwn ? OpenEvent(event, false) : UniqueFd();
    ok = other.has_value() && (kind == Event::kNone || inherited.ok() || own.ok());
    if (!other.has_value()) return;
    uint64_t start_ns = 0;
    for (int i = 0; i < 1 + kTurns; ++i) {
      if (i == 1) start_ns = ProcessCpuNs();  // both run
      there.Put();
      back.Get();
    }
    cpu_ns = ProcessCpuNs() - start_ns;
    other->join();
  });
  if (measured.has_value()) measured->join();
  if (!measured.has_value() || !ok) return std::numeric_limits<double>::infinity();
  return static_cast<double>(cpu_ns) / (2 * kTurns);
}

uint64_t CostOf(const perf_event_attr& event, Event kind) {
  // The best of some, in turn, as caches are shared with what else runs.
  double bare_ns = std::numeric_limits<double>::infinity();
  double sampled_ns = bare_ns;
  for (int i = 0; i < kRounds; ++i) {
    bare_ns = std::min(bare_ns, TimeSwitches(event, Event::kNone));
    sampled_ns = std::min(sampled_ns, TimeSwitches(event, kind));
  }
  const bool measured = sampled_ns < std::numeric_limits<double>::infinity();
  return measured && sampled_ns > bare_ns ? static_cast<uint64_t>(sampled_ns - bare_ns) : 0;
}

}  // namespace

uint64_t MeasureSwitchCostNs(uint64_t sampling_period_ns, Switched between) {
  return CostOf(TaskClock(sampling_period_ns),
                between == Switched::kThreads ? Event::kInherited : Event::kOwn);
}

uint64_t MeasureSwitchCostOfClocksNs(uint64_t tracepoint) {
  return CostOf(Tracepoint(tracepoint), Event::kOwn);
}

uint64_t MeasureExpiryCostNs() {
  constexpr uint64_t kPeriodNs = 100 * kNsPerUs;
  constexpr uint64_t kRoundNs = 2 * kNsPerMs;
  constexpr uint64_t kSteps = 100'000;
  constexpr int kRoundsOfWork = 10;
  const uint64_t steps = kSteps * kRoundNs / std::max<uint64_t>(1, CpuNsOfWork(kSteps));
  uint64_t bare_ns = std::numeric_limits<uint64_t>::max();
  uint64_t interrupted_ns = bare_ns;
  for (int i = 0; i < kRoundsOfWork; ++i) {
    bare_ns = std::min(bare_ns, CpuNsOfWork(steps));
    const UniqueFd event = OpenEvent(TaskClock(kPeriodNs), /*inherited=*/false);
    if (!event.ok()) return 0;
    interrupted_ns = std::min(interrupted_ns, CpuNsOfWork(steps));
  }
  const uint64_t expiries = std::max<uint64_t>(1, interrupted_ns / kPeriodNs);
  return interrupted_ns > bare_ns ? (interrupted_ns - bare_ns) / expiries : 0;
}

uint64_t SwitchesOfChildren() {
  rusage usage = {};
  getrusage(RUSAGE_CHILDREN, &usage);
  return static_cast<uint64_t>(usage.ru_nvcsw) + static_cast<uint64_t>(usage.ru_nivcsw);
}

SwitchLoad MeasureSwitchLoad(uint64_t switches, uint64_t run_time_ns, uint64_t sampling_period_ns,
                             Switched between) {
  // In less than a second all of them cost less than the measurement.
  const double seconds = static_cast<double>(run_time_ns) / static_cast<double>(kNsPerSecond);
  const double many = kManySwitchesPerSecond * std::max(seconds, 1.0);
  if (static_cast<double>(switches) < many) return {switches, 0};
  return {switches, MeasureSwitchCostNs(sampling_period_ns, between)};
}

}  // namespace coz::supervisor
