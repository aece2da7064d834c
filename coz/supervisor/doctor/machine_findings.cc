#include "coz/supervisor/doctor/machine_findings.h"

#include <cmath>
#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "coz/report/wording/text_layout.h"
#include "coz/supervisor/target/idle_halts.h"
#include "coz/supervisor/target/wake_cost.h"

namespace coz::supervisor {
namespace {

using report::Finding;
using report::Grade;
using sampler::SamplingSource;

std::string Plural(int count, const char* noun) {
  return absl::StrCat(count, " ", noun, count == 1 ? "" : "s");
}

Finding Kernel(const MachineFacts& facts) {
  const KernelVersion version = ParseKernelVersion(facts.kernel);
  const bool is_new = version.major > 5 || (version.major == 5 && version.minor >= 19);
  if (is_new) {
    return {Grade::kGood, "kernel", absl::StrCat(facts.kernel, " has the best source of samples"),
            ""};
  }
  return {Grade::kWarning, "kernel",
          absl::StrCat(facts.kernel, " lacks perf events that raise SIGTRAP in the sampled thread"),
          "boot a kernel of version 5.19 or later"};
}

// The explanation says why, and the command behind its last colon or "to lift that" is the fix.
Finding Permission(const MachineFacts& facts) {
  const sampler::SamplerStatus& status = facts.sampling.status;
  const std::string paranoid =
      facts.perf_event_paranoid.has_value()
          ? absl::StrCat("kernel.perf_event_paranoid is ", *facts.perf_event_paranoid)
          : "kernel.perf_event_paranoid cannot be read";
  const std::string explained = sampler::ExplainSamplerStatus(status);
  if (explained.empty()) {
    return {Grade::kGood, "permission",
            absl::StrCat(paranoid, facts.has_perfmon ? ", with the capability CAP_PERFMON" : "",
                         ": programs are sampled, in the kernel too"),
            ""};
  }
  const bool only_kernel = status.source == SamplingSource::kPerfSigtrap;
  const std::string setting = only_kernel ? "1" : "2";
  const Grade grade = status.source == SamplingSource::kNone ? Grade::kProblem
                      : only_kernel                          ? Grade::kNote
                                                             : Grade::kWarning;
  std::string remedy = absl::StrCat("sudo sysctl kernel.perf_event_paranoid=", setting);
  const bool is_forbidden_by_filter =
      facts.is_container && facts.perf_event_paranoid.value_or(4) <= 2;
  // The filters of podman and of Docker before 23 do not look at the capability.
  const bool is_capability_ignored = facts.has_perfmon && !only_kernel;
  if (is_forbidden_by_filter) {
    remedy = is_capability_ignored ? "docker run --security-opt seccomp=unconfined …"
                                   : "docker run --cap-add=PERFMON …";
  } else if (facts.is_filtered) {
    remedy = "SystemCallFilter=perf_event_open in the unit of systemd";
  }
  return {grade, "permission",
          absl::StrCat(paranoid, ": ", explained.substr(0, explained.find("; "))), remedy};
}

Finding Sampling(const MachineFacts& facts) {
  const SamplingTrial& trial = facts.sampling;
  if (trial.status.source == SamplingSource::kNone) {
    return {Grade::kProblem, "sampling", "nothing can be sampled; see `permission`", ""};
  }
  const double asked_ms = static_cast<double>(trial.asked_period_ns) / 1e6;
  const double real_ms = static_cast<double>(trial.real_period_ns) / 1e6;
  const std::string what =
      absl::StrFormat("%s, a sample each %.2f ms of a thread's CPU time (asked for: %.2f)",
                      sampler::SamplingSourceName(trial.status.source), real_ms, asked_ms);
  if (trial.real_period_ns == 0) {
    return {Grade::kProblem, "sampling",
            absl::StrCat(sampler::SamplingSourceName(trial.status.source),
                         " was set up, and no sample came"),
            "sudo dmesg | tail"};
  }
  if (real_ms <= 1.5 * asked_ms) return {Grade::kGood, "sampling", what, ""};
  if (trial.status.source == SamplingSource::kCpuTimer) {
    return {Grade::kWarning, "sampling",
            absl::StrCat(what, ": runs take some four times as long to tell as much"),
            "see `permission`"};
  }
  return {Grade::kWarning, "sampling", absl::StrCat(what, ": samples are held back"),
          "sudo sysctl kernel.perf_event_max_sample_rate=100000"};
}

Finding RateLimit(const MachineFacts& facts) {
  const double needed = facts.sampling.asked_period_ns == 0
                            ? 0
                            : 1e9 / static_cast<double>(facts.sampling.asked_period_ns);
  if (facts.sample_rate_limit == 0 || static_cast<double>(facts.sample_rate_limit) >= 2 * needed) {
    return {};
  }
  return {Grade::kWarning, "sample rate",
          absl::StrFormat("the kernel allows %d samples a second on a CPU, and coz takes %.0f",
                          facts.sample_rate_limit, needed),
          "sudo sysctl kernel.perf_event_max_sample_rate=100000"};
}

Finding SampleCost(const MachineFacts& facts) {
  const SamplingTrial& trial = facts.sampling;
  if (trial.sample_cost_ns == 0 || trial.real_period_ns == 0) {
    return {Grade::kNote, "cost of a sample", "too little to be measured here", ""};
  }
  constexpr double kDear = 0.02;
  const double share =
      static_cast<double>(trial.sample_cost_ns) / static_cast<double>(trial.real_period_ns);
  const std::string what =
      absl::StrFormat("%.1f us before the stack is looked at, %.1f %% of a busy thread's time",
                      static_cast<double>(trial.sample_cost_ns) / 1000, 100 * share);
  if (share < kDear) return {Grade::kGood, "cost of a sample", what, ""};
  return {Grade::kWarning, "cost of a sample",
          absl::StrCat(what, ": interrupts are dear, as in many virtual machines"),
          "`coz run --sampling-period=2 …` where the program has no more threads than CPUs, or "
          "profile on bare metal"};
}

Finding SwitchCost(const MachineFacts& facts) {
  constexpr uint64_t kDearNs = 10'000;
  if (facts.thread_switch_cost_ns == 0 && facts.process_switch_cost_ns == 0) {
    return {Grade::kGood, "cost of a switch", "sampling adds nothing that can be measured", ""};
  }
  std::string what = absl::StrFormat(
      "sampling adds %.1f us to a switch between threads, %.1f us between processes",
      static_cast<double>(facts.thread_switch_cost_ns) / 1000,
      static_cast<double>(facts.process_switch_cost_ns) / 1000);
  if (facts.clock_switch_cost_ns.has_value()) {
    absl::StrAppendFormat(&what, " (%.1f us with --sampler=cpu-clock)",
                          static_cast<double>(*facts.clock_switch_cost_ns) / 1000);
  }
  if (facts.process_switch_cost_ns < kDearNs && facts.thread_switch_cost_ns < kDearNs) {
    return {Grade::kGood, "cost of a switch", what, ""};
  }
  const char* const instead =
      facts.clock_switch_cost_ns.has_value() ? "that, or to CPU timers," : "CPU timers";
  return {Grade::kNote, "cost of a switch",
          absl::StrCat(what,
                       "; where processes take turns more than a few thousand times a second, coz "
                       "changes to ",
                       instead, " by itself"),
          ""};
}

Finding Halts(const MachineFacts& facts) {
  if (!facts.idle.is_virtual) return {Grade::kGood, "idle CPUs", "a machine of its own", ""};
  const std::string& driver = facts.idle.idle_driver;
  const bool may_stay_awake = driver != kNoIdleDriver;
  std::string what =
      absl::StrCat("a virtual machine, whose CPUs halt when idle",
                   may_stay_awake && !driver.empty() ? absl::StrCat(" (", driver, ")") : "");
  if (facts.wake_cost.has_value()) {
    absl::StrAppendFormat(&what,
                          "; who is woken there goes on after %.0f us, and after %.0f us where the "
                          "CPU was idle for %.2f ms only",
                          static_cast<double>(facts.wake_cost->after_long.woken_ns) / 1000,
                          static_cast<double>(facts.wake_cost->after_short.woken_ns) / 1000,
                          static_cast<double>(kShortIdleNs) / 1e6);
  }
  absl::StrAppend(&what,
                  ": intervals get wider for programs whose threads wait for each other, and "
                  "gains may be larger than predicted where these waits get short");
  if (!may_stay_awake) {
    return {Grade::kNote, "idle CPUs", what,
            "more load, so that no CPU is idle, or the kernel parameter idle=poll (no idle driver: "
            "--awake has no effect)"};
  }
  return {Grade::kNote, "idle CPUs", what,
          absl::StrCat(facts.may_keep_awake ? "" : "sudo ", "coz run --awake …")};
}

Finding Cpus(const MachineFacts& facts) {
  if (facts.cpus <= 1) {
    return {Grade::kWarning, "CPUs",
            "one: a thread that pauses makes room for another, so effects between threads look "
            "smaller than they are",
            "run coz where the program has a CPU for each busy thread"};
  }
  return {Grade::kGood, "CPUs",
          absl::StrCat(facts.cpus, "; give the program no more busy threads than that"), ""};
}

Finding Quota(const MachineFacts& facts) {
  if (facts.cpu_quota <= 0) return {Grade::kGood, "quota", "no limit on CPU time", ""};
  const std::string what =
      absl::StrFormat("a cgroup allows %.4g CPUs of %d", facts.cpu_quota, facts.cpus);
  if (facts.cpu_quota >= facts.cpus) return {Grade::kGood, "quota", what, ""};
  const int whole_cpus = static_cast<int>(std::floor(facts.cpu_quota));
  return {
      Grade::kWarning, "quota",
      absl::StrCat(what, "; where it is used up, effects are those below the quota"),
      absl::StrCat("to profile without it: raise it (docker: --cpus, systemd: CPUQuota=)",
                   whole_cpus == 0 ? ""
                                   : absl::StrFormat(", or stay below it: taskset -c 0-%d COMMAND",
                                                     whole_cpus - 1))};
}

Finding Neighbours(const MachineFacts& facts) {
  constexpr double kMuch = 0.1;
  const double share = facts.cpus == 0 ? 0 : facts.others_cpus / facts.cpus;
  const std::string what = absl::StrFormat("other programs use %.1f of %s", facts.others_cpus,
                                           Plural(facts.cpus, "CPU"));
  if (share < kMuch) return {Grade::kGood, "neighbours", what, ""};
  std::string busiest;
  if (!facts.neighbours.empty() && facts.watched_s > 0) {
    const NeighbourWatch::Neighbour& first = facts.neighbours.front();
    busiest = absl::StrFormat(", the busiest of them %s (%.1f)", report::Printable(first.name),
                              static_cast<double>(first.cpu_ns) / 1e9 / facts.watched_s);
  }
  return {Grade::kWarning, "neighbours",
          absl::StrCat(what, busiest, ": they take what a paused thread leaves"),
          "stop them, or give both CPUs of their own: taskset -c LIST COMMAND"};
}

Finding Steal(const MachineFacts& facts) {
  constexpr double kMuch = 0.05;
  if (facts.stolen_share < kMuch) return {};
  return {Grade::kWarning, "steal",
          absl::StrFormat("the host keeps %.0f %% of the CPU time for itself or others",
                          100 * facts.stolen_share),
          "profile for longer, or where the CPUs are yours alone"};
}

}  // namespace

std::vector<Finding> FindingsOfMachine(const MachineFacts& facts) {
  std::vector<Finding> findings;
  for (const auto check : {Kernel, Permission, Sampling, RateLimit, SampleCost, SwitchCost, Halts,
                           Cpus, Quota, Neighbours, Steal}) {
    Finding finding = check(facts);
    if (!finding.subject.empty()) findings.push_back(std::move(finding));
  }
  return findings;
}

}  // namespace coz::supervisor
