#include "bench/accuracy/workload.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <utility>

namespace workload {
namespace {

constexpr uint64_t kNsPerSecond = 1000000000;
// After this time caches, threads and queues are in their steady state.
constexpr uint64_t kWarmUpNs = 50000000;

std::atomic<uint64_t> g_visits{0};
std::atomic<uint64_t> g_warm_ns{~uint64_t{0}};
std::atomic<uint64_t> g_first_visit_ns{0};
std::atomic<uint64_t> g_last_visit_ns{0};
std::atomic<uint64_t> g_latency_sum_ns{0};
std::atomic<uint64_t> g_latencies{0};
std::atomic<uint64_t> g_wait_for_cpu_ns{0};
bool g_shares_cpus = false;

[[noreturn]] void Fail(const char* what, const char* detail) {
  fprintf(stderr, "%s: %s\n", what, detail);
  exit(2);
}

const char* ValueOf(const char* argument, const char* option) {
  const size_t length = strlen(option);
  return strncmp(argument, option, length) == 0 ? argument + length : nullptr;
}

uint64_t CpuTimeNs(int who) {
  rusage usage = {};
  getrusage(who, &usage);
  const auto ns = [](const timeval& t) {
    return static_cast<uint64_t>(t.tv_sec) * kNsPerSecond + static_cast<uint64_t>(t.tv_usec) * 1000;
  };
  return ns(usage.ru_utime) + ns(usage.ru_stime);
}

cpu_set_t AllowedCpus() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  sched_getaffinity(0, sizeof(allowed), &allowed);
  return allowed;
}

// Those at the start of the process. In a container they need not begin with 0.
const cpu_set_t g_allowed_cpus = AllowedCpus();

// Adds the `index`-th of the allowed CPUs to the set. Returns false where there are fewer.
bool AddCpu(int index, cpu_set_t* set) {
  for (int cpu = 0, allowed = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &g_allowed_cpus) || allowed++ != index) continue;
    CPU_SET(cpu, set);
    return true;
  }
  return false;
}

void* RunFunction(void* opaque) {
  const std::unique_ptr<std::function<void()>> function(
      static_cast<std::function<void()>*>(opaque));
  (*function)();
  AddWaitForCpu();
  return nullptr;
}

// Where the study runs at a real-time priority, this puts the program below the profiler's own
// process.
void YieldToSupervisor() {
  if (sched_getscheduler(0) != SCHED_RR) return;
  const sched_param lowest = {1};
  sched_setscheduler(0, SCHED_RR, &lowest);
}

}  // namespace

uint64_t* PeerCounter(int type, const char* name) {
  using GetCounter = uint64_t* (*)(int, const char*);
  if (dlsym(nullptr, "_coz_thread_counter") != nullptr) return nullptr;  // counted by coz.h
  void* symbol = dlsym(nullptr, "_coz_get_counter");
  return symbol == nullptr ? nullptr : reinterpret_cast<GetCounter>(symbol)(type, name);
}

void CountVisit() {
  const uint64_t now_ns = NowNs();
  if (now_ns < g_warm_ns.load(std::memory_order_relaxed)) return;
  if (g_visits.fetch_add(1, std::memory_order_relaxed) == 0) g_first_visit_ns = now_ns;
  g_last_visit_ns.store(now_ns, std::memory_order_relaxed);
}

bool HasEnoughVisits() { return g_visits.load(std::memory_order_relaxed) > 2; }

void AddLatencyNs(uint64_t latency_ns) {
  if (NowNs() < g_warm_ns.load(std::memory_order_relaxed)) return;
  g_latency_sum_ns.fetch_add(latency_ns, std::memory_order_relaxed);
  g_latencies.fetch_add(1, std::memory_order_relaxed);
}

uint64_t NowNs() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * kNsPerSecond + static_cast<uint64_t>(now.tv_nsec);
}

void SleepUs(uint64_t us) {
  const timespec length = {static_cast<time_t>(us / 1000000),
                           static_cast<long>(us % 1000000 * 1000)};
  nanosleep(&length, nullptr);
}

void UseCpu(int cpu) {
  cpu_set_t only;
  CPU_ZERO(&only);
  if (!AddCpu(cpu, &only)) return;
  pthread_setaffinity_np(pthread_self(), sizeof(only), &only);
}

void ShareCpus(int cpus) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (int cpu = 0; cpu < cpus; ++cpu) AddCpu(cpu, &set);
  sched_setaffinity(0, sizeof(set), &set);
  g_shares_cpus = true;
}

Thread::Thread(int cpu, std::function<void()> function) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  cpu_set_t only;
  CPU_ZERO(&only);
  if (AddCpu(cpu, &only)) {
    pthread_attr_setaffinity_np(&attributes, sizeof(only), &only);
  }
  auto* const owned = new std::function<void()>(std::move(function));
  if (pthread_create(&thread_, &attributes, RunFunction, owned) != 0)
    Fail("pthread_create", "failed");
  pthread_attr_destroy(&attributes);
}

void AddWaitForCpu() {
  if (g_shares_cpus) return;
  const int fd = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  char text[128];
  const ssize_t length = read(fd, text, sizeof(text) - 1);
  close(fd);
  if (length <= 0) return;
  text[length] = '\0';
  unsigned long long ran_ns = 0;
  unsigned long long waited_ns = 0;
  if (sscanf(text, "%llu %llu", &ran_ns, &waited_ns) == 2) g_wait_for_cpu_ns += waited_ns;
}

double CalibrateStepsPerUs() {
  constexpr uint64_t kSteps = 1 << 18;
  uint64_t shortest_ns = ~uint64_t{0};
  uint64_t x = 1;
  for (int i = 0; i < 100; ++i) {
    const uint64_t start_ns = NowNs();
    WORK(x, kSteps);
    Keep(x);
    shortest_ns = std::min(shortest_ns, NowNs() - start_ns);
  }
  return 1000.0 * static_cast<double>(kSteps) / static_cast<double>(shortest_ns);
}

int ThreadsWithOwnCpu() { return std::max(2, CPU_COUNT(&g_allowed_cpus) - 1); }

Program::Program(int argc, char** argv) : threads_(ThreadsWithOwnCpu()) {
  for (int i = 1; i < argc; ++i) {
    if (const char* seconds = ValueOf(argv[i], "--seconds=")) {
      seconds_ = atof(seconds);
    } else if (const char* steps = ValueOf(argv[i], "--steps-per-us=")) {
      steps_per_us_ = atof(steps);
    } else if (const char* scale = ValueOf(argv[i], "--scale=")) {
      const char* colon = strrchr(scale, ':');
      if (colon == nullptr) Fail("write --scale=LABEL:FRACTION", scale);
      scaled_label_.assign(scale, colon);
      scale_ = atof(colon + 1);
    } else if (const char* threads = ValueOf(argv[i], "--threads=")) {
      threads_ = atoi(threads);
      if (threads_ < 2) Fail("--threads= takes a number from 2 on", threads);
    } else if (const char* plan = ValueOf(argv[i], "--plan=")) {
      plan_ = plan;
    } else {
      Fail(
          "unknown argument; known: --seconds= --steps-per-us= --scale=LABEL:FRACTION --threads= "
          "--plan=",
          argv[i]);
    }
  }
  YieldToSupervisor();
  if (steps_per_us_ <= 0) steps_per_us_ = CalibrateStepsPerUs();
}

double Program::ScaleOf(const char* label) {
  if (scaled_label_ != label) return 1;
  scaled_ = true;
  return scale_;
}

uint64_t Program::Steps(const char* label, double us) {
  return static_cast<uint64_t>(std::llround(us * steps_per_us_ * ScaleOf(label)));
}

uint64_t Program::Times(const char* label, uint64_t count) {
  return static_cast<uint64_t>(std::llround(static_cast<double>(count) * ScaleOf(label)));
}

uint64_t Program::OtherSteps(double us) const {
  return static_cast<uint64_t>(std::llround(us * steps_per_us_));
}

void Program::Start() {
  if (!scaled_label_.empty() && !scaled_) Fail("no line has the label", scaled_label_.c_str());
  const uint64_t now_ns = NowNs();
  g_warm_ns = now_ns + kWarmUpNs;
  end_ns_ = now_ns + kWarmUpNs + static_cast<uint64_t>(seconds_ * 1e9);
}

int Program::Finish() {
  AddWaitForCpu();
  const uint64_t visits = g_visits;
  const uint64_t latencies = g_latencies;
  printf("workload: visits=%llu elapsed_ns=%llu cpu_ns=%llu wait_for_cpu_ns=%llu latency_ns=%llu\n",
         static_cast<unsigned long long>(visits == 0 ? 0 : visits - 1),
         static_cast<unsigned long long>(g_last_visit_ns - g_first_visit_ns),
         static_cast<unsigned long long>(CpuTimeNs(RUSAGE_SELF) + CpuTimeNs(RUSAGE_CHILDREN)),
         static_cast<unsigned long long>(g_wait_for_cpu_ns),
         static_cast<unsigned long long>(latencies == 0 ? 0 : g_latency_sum_ns / latencies));
  return visits > 1 ? 0 : 1;
}

}  // namespace workload
