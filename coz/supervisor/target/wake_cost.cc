#include "coz/supervisor/target/wake_cost.h"

#include <sched.h>
#include <semaphore.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <system_error>
#include <thread>
#include <vector>

#include "coz/base/clock.h"
#include "coz/base/spared_calls.h"

namespace coz::supervisor {
namespace {

// The second half counts: how long a kernel or hypervisor polls before it halts a CPU grows with
// idle times that turn out short.
constexpr int kShortWakes = 32;
constexpr int kLongWakes = 8;

void UseCpu(int cpu) {
  cpu_set_t only;
  CPU_ZERO(&only);
  CPU_SET(cpu, &only);
  SparedCall<SYS_sched_setaffinity>(0, sizeof(only), &only);
}

std::vector<int> CpusIn(const cpu_set_t& allowed) {
  std::vector<int> cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &allowed)) cpus.push_back(cpu);
  }
  return cpus;
}

uint64_t MedianOfSecondHalf(std::vector<uint64_t>* values) {
  const auto size = static_cast<std::ptrdiff_t>(values->size());
  const auto middle = values->begin() + size * 3 / 4;
  std::nth_element(values->begin() + size / 2, middle, values->end());
  return *middle;
}

uint64_t More(uint64_t value, uint64_t than) { return value - std::min(value, than); }

// The one that is woken.
class Sleeper {
 public:
  explicit Sleeper(int wakes) : took_ns_(static_cast<size_t>(wakes)) { sem_init(&wakes_, 0, 0); }
  ~Sleeper() { sem_destroy(&wakes_); }
  Sleeper(const Sleeper&) = delete;
  Sleeper& operator=(const Sleeper&) = delete;

  void Run() {
    for (uint64_t& took_ns : took_ns_) {
      while (sem_wait(&wakes_) != 0 && errno == EINTR) {
      }
      took_ns = MonotonicNowNs() - woken_ns_.load(std::memory_order_relaxed);
      has_run_.fetch_add(1, std::memory_order_release);
    }
  }

  // Each after the other has slept for so long.
  void WakeAfter(uint64_t idle_ns) {
    const auto wakes = static_cast<int>(took_ns_.size());
    for (int wake = 0; wake < wakes; ++wake) {
      const uint64_t at_ns = MonotonicNowNs() + idle_ns;
      while (MonotonicNowNs() < at_ns) {
      }
      const uint64_t start_ns = MonotonicNowNs();
      woken_ns_.store(start_ns, std::memory_order_relaxed);
      sem_post(&wakes_);
      waking_ns_.push_back(MonotonicNowNs() - start_ns);
      while (has_run_.load(std::memory_order_acquire) <= wake) std::this_thread::yield();
    }
  }

  Wake Median() { return {MedianOfSecondHalf(&took_ns_), MedianOfSecondHalf(&waking_ns_)}; }

 private:
  sem_t wakes_;
  std::atomic<uint64_t> woken_ns_{0};
  std::atomic<int> has_run_{0};
  std::vector<uint64_t> took_ns_;
  std::vector<uint64_t> waking_ns_;
};

// The caller wakes, on whichever CPU it is.
std::optional<Wake> MedianWake(int wakes, uint64_t idle_ns, int sleeper_cpu) {
  Sleeper sleeper(wakes);
  std::thread woken;
  try {
    woken = std::thread([&] {
      UseCpu(sleeper_cpu);
      sleeper.Run();
    });
  } catch (const std::system_error&) {
    return std::nullopt;
  }
  sleeper.WakeAfter(idle_ns);
  woken.join();
  return sleeper.Median();
}

}  // namespace

std::optional<WakeCost> MeasureWakeCost() {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0) return std::nullopt;
  const std::vector<int> cpus = CpusIn(allowed);
  if (cpus.size() < 2) return std::nullopt;
  UseCpu(cpus[0]);
  const auto after_short = MedianWake(kShortWakes, kShortIdleNs, cpus[1]);
  const auto after_long = MedianWake(kLongWakes, kLongIdleNs, cpus[1]);
  SparedCall<SYS_sched_setaffinity>(0, sizeof(allowed), &allowed);
  if (!after_short.has_value() || !after_long.has_value()) return std::nullopt;
  return WakeCost{*after_short, *after_long};
}

std::optional<WakeCost> MachineWakeCost() {
  static const std::optional<WakeCost> measured = MeasureWakeCost();
  return measured;
}

uint64_t HaltedWakeNs() {
  const std::optional<WakeCost> cost = MachineWakeCost();
  if (!cost.has_value()) return 0;
  return More(cost->after_long.woken_ns, cost->after_short.woken_ns) +
         More(cost->after_long.waker_ns, cost->after_short.waker_ns);
}

}  // namespace coz::supervisor
