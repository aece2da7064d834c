#include "coz/supervisor/doctor/machine_facts.h"

#include <linux/capability.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <set>

#include "coz/base/clock.h"
#include "coz/base/file_text.h"
#include "coz/base/sampling_period.h"
#include "coz/base/spared_calls.h"
#include "coz/supervisor/target/awake_cpus.h"
#include "coz/supervisor/target/cpu_clock.h"
#include "coz/supervisor/target/cpu_quota.h"
#include "coz/supervisor/target/cpu_use.h"
#include "coz/supervisor/target/sample_rate_limit.h"
#include "coz/supervisor/target/switch_cost.h"

#ifndef CAP_PERFMON
#define CAP_PERFMON 38
#endif

namespace coz::supervisor {
namespace {

constexpr uint64_t kWatchNs = 1'000'000'000;
constexpr size_t kNeighboursShown = 3;

std::optional<int> ReadNumber(const std::string& path) {
  std::ifstream file(path);
  int number = 0;
  if (!(file >> number)) return std::nullopt;
  return number;
}

bool IsContainer() {
  return access("/.dockerenv", F_OK) == 0 || access("/run/.containerenv", F_OK) == 0 ||
         getenv("KUBERNETES_SERVICE_HOST") != nullptr;
}

uint64_t CpuSum(const experiment::CpuUse& use) { return use.busy_ns + use.idle_ns + use.stolen_ns; }

// This process only sleeps meanwhile.
void WatchOthers(MachineFacts* facts) {
  const std::vector<bool> cpus = UsableCpus();
  facts->cpus = static_cast<int>(std::count(cpus.begin(), cpus.end(), true));
  const auto ticks = static_cast<uint64_t>(sysconf(_SC_CLK_TCK));
  NeighbourWatch watch(cpus);
  const uint64_t start_ns = MonotonicNowNs();
  watch.Look(start_ns, {getpid()});
  const experiment::CpuUse before = CpuUseOf(FileText("/proc/stat"), cpus, ticks);
  timespec rest = {static_cast<time_t>(kWatchNs / kNsPerSecond), 0};
  while (nanosleep(&rest, &rest) != 0) {
  }
  const experiment::CpuUse after = CpuUseOf(FileText("/proc/stat"), cpus, ticks);
  const uint64_t end_ns = MonotonicNowNs();
  watch.Look(end_ns, {getpid()});
  facts->watched_s = static_cast<double>(end_ns - start_ns) / 1e9;
  facts->neighbours = watch.Busiest(kNeighboursShown);
  const uint64_t all = CpuSum(after) - CpuSum(before);
  if (all == 0) return;
  const double busy = static_cast<double>(after.busy_ns - before.busy_ns);
  facts->others_cpus = busy / static_cast<double>(all) * facts->cpus;
  facts->stolen_share =
      static_cast<double>(after.stolen_ns - before.stolen_ns) / static_cast<double>(all);
}

}  // namespace

KernelVersion ParseKernelVersion(const std::string& release) {
  KernelVersion version;
  if (sscanf(release.c_str(), "%d.%d", &version.major, &version.minor) != 2) return {};
  return version;
}

bool HasCapability(const std::string& status, int capability) {
  const size_t at = status.find("CapEff:");
  if (at == std::string::npos) return false;
  const uint64_t effective = strtoull(status.c_str() + at + sizeof("CapEff:") - 1, nullptr, 16);
  return (effective >> capability & 1) != 0;
}

MachineFacts LookAtMachine() {
  MachineFacts facts;
  utsname names = {};
  if (uname(&names) == 0) facts.kernel = names.release;
  facts.perf_event_paranoid = ReadNumber("/proc/sys/kernel/perf_event_paranoid");
  const std::string status = FileText("/proc/self/status");
  facts.has_perfmon = HasCapability(status, CAP_PERFMON) || HasCapability(status, CAP_SYS_ADMIN);
  facts.is_container = IsContainer();
  facts.is_filtered = IsFiltered(SYS_perf_event_open);
  facts.idle = LookAtIdleMachine();
  facts.wake_cost = MachineWakeCost();
  facts.may_keep_awake = KeepCpusAwake().ok();
  facts.cpu_quota = CpuQuota().cpus();
  facts.sample_rate_limit = ReadSampleRateLimit();
  WatchOthers(&facts);
  const uint64_t period_ns = DefaultSamplingPeriodNs(1);
  facts.sampling = TrySampling(period_ns);
  facts.thread_switch_cost_ns = MeasureSwitchCostNs(period_ns, Switched::kThreads);
  facts.process_switch_cost_ns = MeasureSwitchCostNs(period_ns, Switched::kProcesses);
  if (const auto clock = CpuClock::Open(period_ns); clock.ok()) {
    facts.clock_switch_cost_ns = MeasureSwitchCostOfClocksNs((*clock)->expiry().tracepoint);
  }
  return facts;
}

}  // namespace coz::supervisor
