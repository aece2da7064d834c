#include "coz/supervisor/target/cpu_clock.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "coz/base/clock.h"
#include "coz/base/file_text.h"
#include "coz/sampler/perf_event.h"

namespace coz::supervisor {
namespace {

constexpr char kRunAsRoot[] = "run coz as root";
constexpr char kOr[] = ", or sample by the threads' own clocks with: --sampler=cpu-timer";

// `remedy` is the start of a clause.
absl::Status Unknown(const std::string& what, const std::string& remedy) {
  return absl::PermissionDeniedError(
      absl::StrFormat("cannot sample by clocks of the CPUs: %s; %s%s", what, remedy, kOr));
}

absl::Status Refused(const char* what, int error) {
  return absl::PermissionDeniedError(
      absl::StrFormat("cannot sample by clocks of the CPUs: perf_event_open of %s: %s; %s%s", what,
                      strerror(error), kRunAsRoot, kOr));
}

uint64_t TracepointBelow(const std::string& tracing) {
  const std::string text = FileText(tracing + "/events/timer/hrtimer_expire_entry/id");
  uint64_t number = 0;
  return absl::SimpleAtoi(absl::StripAsciiWhitespace(text), &number) ? number : 0;
}

// Its folder is there, and empty, where tracefs is not mounted. Only root may look into it where it
// is.
std::string RemedyForTracepoint(const std::string& root) {
  const bool may_look = access((root + "/sys/kernel/tracing/events").c_str(), F_OK) == 0;
  if (may_look || errno != ENOENT) return kRunAsRoot;
  return "mount it with: sudo mount -t tracefs tracefs /sys/kernel/tracing";
}

// To root, too, the kernel hides addresses where kptr_restrict is 2.
std::string RemedyForAddress(const std::string& root) {
  const std::string restricted = FileText(root + "/proc/sys/kernel/kptr_restrict");
  if (absl::StripAsciiWhitespace(restricted) != "2") return kRunAsRoot;
  return "show them to root with: sudo sysctl kernel.kptr_restrict=1";
}

// The compiler may have added to the name.
bool IsClocksFunction(absl::string_view name) {
  return absl::ConsumePrefix(&name, "perf_swevent_hrtimer") && (name.empty() || name[0] == '.');
}

// 0 where the kernel hides addresses.
uint64_t ClocksFunctionIn(const std::string& symbols) {
  std::ifstream lines(symbols);
  std::string line;
  while (std::getline(lines, line)) {
    // "ffffffff81234560 t name", or with a module behind it.
    constexpr size_t kNameAt = 19;
    if (line.size() <= kNameAt || !IsClocksFunction(absl::string_view(line).substr(kNameAt)))
      continue;
    uint64_t address = 0;
    if (absl::SimpleHexAtoi(line.substr(0, kNameAt - 3), &address)) return address;
  }
  return 0;
}

}  // namespace

absl::StatusOr<sampler::ClockExpiry> FindClockExpiry(const std::string& root) {
  sampler::ClockExpiry expiry;
  for (const char* tracing : {"/sys/kernel/tracing", "/sys/kernel/debug/tracing"}) {
    if (expiry.tracepoint == 0) expiry.tracepoint = TracepointBelow(root + tracing);
  }
  if (expiry.tracepoint == 0) {
    return Unknown("/sys/kernel/tracing does not tell the number of timer:hrtimer_expire_entry",
                   RemedyForTracepoint(root));
  }
  expiry.function = ClocksFunctionIn(root + "/proc/kallsyms");
  if (expiry.function == 0) {
    return Unknown("/proc/kallsyms does not tell the address of perf_swevent_hrtimer",
                   RemedyForAddress(root));
  }
  return expiry;
}

uint64_t ClockPeriodNear(uint64_t sampling_period_ns, double fraction) {
  constexpr double kSpread = 0.25;
  const double rate = 1 + kSpread * (fraction - 0.5);
  return static_cast<uint64_t>(static_cast<double>(sampling_period_ns) / rate);
}

absl::StatusOr<std::unique_ptr<CpuClock>> CpuClock::Open(uint64_t sampling_period_ns) {
  const absl::StatusOr<sampler::ClockExpiry> expiry = FindClockExpiry();
  if (!expiry.ok()) return expiry.status();
  auto clock = std::make_unique<CpuClock>();
  clock->sampling_period_ns_ = sampling_period_ns;
  clock->expiry_ = *expiry;
  // One that the program may open, too: it is not enabled.
  const UniqueFd trial(sampler::OpenClockExpiriesOf(gettid(), *expiry));
  if (!trial.ok()) return Refused("their expiries", -trial.get());
  const long cpus = sysconf(_SC_NPROCESSORS_CONF);
  for (int cpu = 0; cpu < cpus; ++cpu) {
    UniqueFd opened(sampler::OpenCpuClock(cpu, sampling_period_ns));
    if (opened.get() == -ENODEV) continue;  // not online
    if (!opened.ok()) return Refused("a CPU's clock", -opened.get());
    clock->clocks_.push_back(std::move(opened));
  }
  return clock;
}

// A change begins a period anew, and half of one is lost. So they are far apart.
void CpuClock::Vary(uint64_t now_ns) {
  constexpr uint64_t kBetweenChangesNs = 100 * kNsPerMs;
  if (now_ns < next_change_ns_) return;
  next_change_ns_ = now_ns + kBetweenChangesNs;
  for (const UniqueFd& clock : clocks_) {
    sampler::SetPerfEventPeriod(clock.get(),
                                ClockPeriodNear(sampling_period_ns_, random_.Fraction()));
  }
}

void CpuClock::Run(bool on) {
  for (const UniqueFd& clock : clocks_) {
    if (on) {
      sampler::EnablePerfEvent(clock.get());
    } else {
      sampler::DisablePerfEvent(clock.get());
    }
  }
}

}  // namespace coz::supervisor
