#include "coz/sampler/sampler_status.h"

#include <sys/syscall.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "coz/base/spared_calls.h"

namespace coz::sampler {
namespace {

struct Name {
  SamplingSource source;
  const char* text;
};
constexpr Name kNames[] = {{SamplingSource::kPerfSigtrap, "perf-sigtrap"},
                           {SamplingSource::kPerfSetsig, "perf-setsig"},
                           {SamplingSource::kCpuTimer, "cpu-timer"},
                           {SamplingSource::kCpuClock, "cpu-clock"},
                           {SamplingSource::kNone, "none"}};

std::string WithReason(const char* what, int error) {
  return std::string(what) + " (" + strerror(error) + ")";
}

// The command that makes the kernel answer perf_event_open otherwise than with `error`.
std::string RemedyFor(int error) {
  switch (error) {
    case EACCES:
      return "run: sudo sysctl kernel.perf_event_paranoid=2";
    case EPERM:
    case ENOSYS:
      if (IsFiltered(SYS_perf_event_open)) return kAllowPerfEvents;
      return "run: sudo sysctl kernel.perf_event_paranoid=2, or in a container start it with: "
             "docker run --cap-add=PERFMON (podman, and Docker before 23: --security-opt "
             "seccomp=unconfined)";
    case EOPNOTSUPP:
      return "boot a kernel of version 5.19 or later";
    case EMFILE:
    case ENFILE:
      return "run: ulimit -n 4096";
    default:
      return "look for the reason with: sudo dmesg";
  }
}

std::string ExplainNoSource(const SamplerStatus& status) {
  if (status.options_errno == EBUSY) {
    return "the sampler was not started, as it samples the process already; call StopSampler first";
  }
  if (status.options_errno != 0) {
    return "the sampler was not started, as its options have no callback, a sampling period below "
           "kLeastSamplingPeriodNs or an unknown source; set these in SamplerOptions";
  }
  if (status.awaits_handler) {
    return "the program is not profiled, as Go's runtime has not taken its signals by libc and "
           "would "
           "take a sample for a fault; build it with: CGO_ENABLED=1 go build, and import _ "
           "\"runtime/cgo\" in package main";
  }
  if (status.handler_errno != 0) {
    return WithReason("the program is not profiled, as the system refused the handler of SIGTRAP",
                      status.handler_errno) +
           "; look for a filter of system calls with: grep Seccomp /proc/self/status";
  }
  std::string text = "the program is not profiled, as the system refused every way to sample it: ";
  int perf_error = 0;
  if (status.perf_sigtrap_errno != 0) {
    perf_error = status.perf_sigtrap_errno;
    text += WithReason("perf events with SIGTRAP", perf_error) + ", ";
  }
  if (status.perf_setsig_errno != 0) {
    perf_error = status.perf_setsig_errno;
    text += WithReason("perf events with F_SETSIG", perf_error) + ", ";
  }
  if (status.cpu_timer_errno != 0) {
    text += WithReason("CPU timers", status.cpu_timer_errno) + ", ";
    if (status.cpu_timer_errno == EAGAIN && perf_error == 0) return text + "run: ulimit -i 10000";
  }
  return text + RemedyFor(perf_error);
}

}  // namespace

const char* SamplingSourceName(SamplingSource source) {
  for (const Name& name : kNames) {
    if (name.source == source) return name.text;
  }
  return "unknown";
}

bool ParseSamplingSource(const char* name, SamplingSource* source) {
  if (strcmp(name, "auto") == 0) {
    *source = SamplingSource::kNone;
    return true;
  }
  for (const Name& known : kNames) {
    if (known.source == SamplingSource::kNone || strcmp(known.text, name) != 0) continue;
    *source = known.source;
    return true;
  }
  return false;
}

std::string ExplainSamplerStatus(const SamplerStatus& status) {
  if (status.source == SamplingSource::kNone) return ExplainNoSource(status);
  if (status.source == SamplingSource::kPerfSigtrap) {
    if (status.kernel_included || status.kernel_errno == 0) return "";
    return WithReason("time in the kernel is not sampled, as perf_event_open refused it",
                      status.kernel_errno) +
           "; to include it run: sudo sysctl kernel.perf_event_paranoid=1";
  }
  if (status.perf_sigtrap_errno == 0) return "";  // it was asked for, nothing was refused
  const std::string refused =
      WithReason("as perf_event_open refused SIGTRAP events", status.perf_sigtrap_errno);
  const std::string remedy = "; to lift that " + RemedyFor(status.perf_sigtrap_errno);
  if (status.source == SamplingSource::kPerfSetsig) {
    return "threads are sampled by F_SETSIG, without their time in the kernel, " + refused + remedy;
  }
  return "threads are sampled by CPU timers, at kernel ticks only, " + refused + remedy;
}

}  // namespace coz::sampler
