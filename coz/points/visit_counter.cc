#include "coz/points/visit_counter.h"

#include <link.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "coz/base/clock.h"
#include "coz/base/names_in.h"
#include "coz/base/spared_calls.h"
#include "coz/points/lost_breakpoints.h"

namespace coz::points {
namespace {

// Where no program has code: the first page cannot be mapped without privileges.
constexpr uint64_t kNowhere = 0x10;

int OpenEvent(perf_event_attr* attr, pid_t thread, int cpu) {
  const int no_group = -1;
  return SparedCall<SYS_perf_event_open>(attr, thread, cpu, no_group, PERF_FLAG_FD_CLOEXEC);
}

enum class Inheritance { kNone, kThreads, kChildren };

perf_event_attr BreakpointAttributes(uint64_t address, Inheritance inheritance) {
  const bool inherited = inheritance != Inheritance::kNone;
  perf_event_attr attr;
  memset(&attr, 0, sizeof(attr));
  attr.size = sizeof(attr);
  attr.type = PERF_TYPE_BREAKPOINT;
  attr.bp_type = HW_BREAKPOINT_X;
  attr.bp_addr = address;
  attr.bp_len = sizeof(long);
  attr.exclude_kernel = 1;
  attr.exclude_hv = 1;
  attr.inherit = inherited;
  attr.inherit_thread = inheritance == Inheritance::kThreads;
  attr.remove_on_exec = inherited;  // the address means nothing to the next program
  return attr;
}

int ProbeType() {
  int type = -1;
  std::ifstream("/sys/bus/event_source/devices/uprobe/type") >> type;
  return type;
}

// EINVAL where the kernel has no such events: the type is then none.
int OpenProbe(const std::string& file, uint64_t offset, int cpu) {
  perf_event_attr attr;
  memset(&attr, 0, sizeof(attr));
  attr.size = sizeof(attr);
  attr.type = static_cast<uint32_t>(ProbeType());
  attr.uprobe_path = reinterpret_cast<uint64_t>(file.c_str());
  attr.probe_offset = offset;
  return OpenEvent(&attr, -1, cpu);
}

std::string ParanoidLevel() {
  std::string level = "unknown";
  std::ifstream("/proc/sys/kernel/perf_event_paranoid") >> level;
  return level;
}

std::string WhyNotPermitted() {
  constexpr char kWhat[] =
      "breakpoints cannot be counted, as perf_event_open is not permitted here";
  if (IsFiltered(SYS_perf_event_open)) return absl::StrCat(kWhat, "; ", kAllowPerfEvents);
  return absl::StrCat(kWhat, " (kernel.perf_event_paranoid is ", ParanoidLevel(),
                      "; a container may forbid it, too); allow it with: sudo sysctl "
                      "kernel.perf_event_paranoid=2");
}

absl::Status BreakpointError(int error) {
  switch (error) {
    case EACCES:
    case EPERM:
      return absl::PermissionDeniedError(WhyNotPermitted());
    case ENOSPC:
      return absl::ResourceExhaustedError(
          "no debug register is free to count another breakpoint: is a debugger attached, or "
          "another profile running?");
    case ESRCH:
      return absl::NotFoundError("the program ended before its breakpoints were set");
    default:
      return absl::UnavailableError(absl::StrFormat(
          "this machine or kernel cannot count breakpoints (%s); count samples instead with "
          "--progress-sampled FILE:LINE, or put COZ_PROGRESS into the source",
          strerror(error)));
  }
}

absl::Status ProbeError(const std::string& file, int error) {
  if (error == EACCES || error == EPERM) {
    return absl::PermissionDeniedError(
        "probes need root or CAP_PERFMON and CAP_SYS_ADMIN; run coz with sudo, or use at most four "
        "breakpoint places");
  }
  return absl::UnavailableError(
      absl::StrFormat("cannot probe %s: %s; use at most four breakpoint places", file,
                      error == EINVAL ? "this kernel has no uprobe events" : strerror(error)));
}

std::vector<pid_t> ThreadsOf(pid_t process) {
  std::vector<pid_t> threads;
  for (const std::string& name : NamesIn(absl::StrFormat("/proc/%d/task", process))) {
    threads.push_back(atoi(name.c_str()));
  }
  return threads;
}

bool HasMoreThan(const std::vector<pid_t>& before, const std::vector<pid_t>& now) {
  return std::any_of(now.begin(), now.end(), [&before](pid_t thread) {
    return std::find(before.begin(), before.end(), thread) == before.end();
  });
}

// Something to break on, or to probe.
__attribute__((noinline)) void Visited() { asm volatile(""); }

__attribute__((noinline, aligned(kBreakpointVicinity))) void Loop(int rounds) {
  for (; rounds != 0; --rounds) asm volatile("");
}

// The best of some, so that what else runs does not count.
template <typename Work>
uint64_t ShortestNs(Work work) {
  uint64_t shortest_ns = ~uint64_t{0};
  for (int round = 0; round < 5; ++round) {
    const uint64_t start_ns = MonotonicNowNs();
    work();
    shortest_ns = std::min(shortest_ns, MonotonicNowNs() - start_ns);
  }
  return shortest_ns;
}

double CostOfVisitNs() {
  constexpr int kVisits = 100;
  const uint64_t visits_ns = ShortestNs([] {
    for (int i = 0; i < kVisits; ++i) Visited();
  });
  return static_cast<double>(visits_ns) / kVisits;
}

uint64_t LoopNs() {
  constexpr int kRounds = 20'000;
  return ShortestNs([] { Loop(kRounds); });
}

// Where the code at the address lies in this process's executable; 0 where it is in none of its
// segments.
uint64_t FileOffsetInProgram(uint64_t address) {
  struct Search {
    uint64_t address;
    uint64_t offset;
  } search = {address, 0};
  // The program comes first.
  const auto look = [](dl_phdr_info* info, size_t, void* data) {
    auto* wanted = static_cast<Search*>(data);
    for (int i = 0; i < info->dlpi_phnum; ++i) {
      const ElfW(Phdr)& segment = info->dlpi_phdr[i];
      const uint64_t start = info->dlpi_addr + segment.p_vaddr;
      if (segment.p_type != PT_LOAD || wanted->address < start ||
          wanted->address - start >= segment.p_filesz) {
        continue;
      }
      wanted->offset = segment.p_offset + (wanted->address - start);
    }
    return 1;
  };
  dl_iterate_phdr(look, &search);
  return search.offset;
}

}  // namespace

// If threads appear meanwhile, starts over: they may have inherited an event or not.
absl::StatusOr<VisitCounter> VisitCounter::ForBreakpoint(pid_t process, bool with_children) {
  constexpr int kTries = 10;
  VisitCounter counter;
  counter.with_children_ = with_children;
  for (int i = 0; i < kTries; ++i) {
    const std::vector<pid_t> threads = ThreadsOf(process);
    if (absl::Status status = counter.OpenInThreads(threads); !status.ok()) return status;
    if (!HasMoreThan(threads, ThreadsOf(process))) break;
  }
  return counter;
}

absl::Status VisitCounter::OpenInThreads(const std::vector<pid_t>& threads) {
  events_.clear();
  perf_event_attr attr = BreakpointAttributes(
      kNowhere, with_children_ ? Inheritance::kChildren : Inheritance::kThreads);
  attr.disabled = 1;
  int error = ESRCH;
  for (const pid_t thread : threads) {
    UniqueFd fd(OpenEvent(&attr, thread, -1));
    if (!fd.ok() && errno == EINVAL && attr.remove_on_exec != 0) {
      // Before Linux 5.13 inheritance cannot be kept within the process, nor ended by exec.
      attr.inherit_thread = 0;
      attr.remove_on_exec = 0;
      fd.Reset(OpenEvent(&attr, thread, -1));
    }
    if (fd.ok()) {
      events_.push_back(std::move(fd));
    } else if (errno != ESRCH) {
      error = errno;
    }
  }
  return events_.empty() ? BreakpointError(error) : absl::OkStatus();
}

absl::StatusOr<VisitCounter> VisitCounter::ForProbe(const std::string& file, uint64_t offset,
                                                    const std::vector<int>& cpus) {
  VisitCounter counter;
  for (const int cpu : cpus) {
    UniqueFd fd(OpenProbe(file, offset, cpu));
    if (fd.ok()) {
      counter.events_.push_back(std::move(fd));
    } else if (errno != ENODEV) {  // the CPU is off
      return ProbeError(file, errno);
    }
  }
  if (counter.events_.empty()) return ProbeError(file, ENODEV);
  return counter;
}

absl::Status VisitCounter::Arm(uint64_t address) {
  perf_event_attr attr = BreakpointAttributes(
      address, with_children_ ? Inheritance::kChildren : Inheritance::kThreads);
  for (const UniqueFd& event : events_) {
    // Both reach the copies in all threads.
    if (ioctl(event.get(), PERF_EVENT_IOC_MODIFY_ATTRIBUTES, &attr) != 0 ||
        ioctl(event.get(), PERF_EVENT_IOC_ENABLE, 0) != 0) {
      return BreakpointError(errno);
    }
  }
  return absl::OkStatus();
}

void VisitCounter::Disarm() {
  for (const UniqueFd& event : events_) ioctl(event.get(), PERF_EVENT_IOC_DISABLE, 0);
}

uint64_t VisitCounter::Read() const {
  uint64_t sum = 0;
  for (const UniqueFd& event : events_) {
    uint64_t count = 0;
    if (read(event.get(), &count, sizeof(count)) == sizeof(count)) sum += count;
  }
  return sum;
}

std::vector<int> VisitCounter::Descriptors() const {
  std::vector<int> descriptors;
  for (const UniqueFd& event : events_) descriptors.push_back(event.get());
  return descriptors;
}

absl::Status CheckBreakpoints() {
  perf_event_attr attr =
      BreakpointAttributes(reinterpret_cast<uint64_t>(&Visited), Inheritance::kNone);
  const LostBreakpointGuard guard;
  const UniqueFd fd(OpenEvent(&attr, 0, -1));
  if (!fd.ok()) return BreakpointError(errno);
  // Some virtual machines take a breakpoint and never stop at it. Others lose one now and then.
  constexpr int kVisits = 20;
  for (int i = 0; i < kVisits; ++i) Visited();
  uint64_t count = 0;
  if (read(fd.get(), &count, sizeof(count)) != sizeof(count)) return BreakpointError(errno);
  if (count != 0) return absl::OkStatus();
  return absl::UnavailableError(absl::StrFormat(
      "this machine takes breakpoints but does not stop at them: of %d visits none was "
      "counted; count samples instead with --progress-sampled FILE:LINE, or put "
      "COZ_PROGRESS into the source",
      kVisits));
}

absl::Status CheckProbes(const std::string& file, uint64_t offset) {
  return VisitCounter::ForProbe(file, offset).status();
}

double MeasureBreakpointCostNs() {
  perf_event_attr attr =
      BreakpointAttributes(reinterpret_cast<uint64_t>(&Visited), Inheritance::kNone);
  const LostBreakpointGuard guard;
  const UniqueFd fd(OpenEvent(&attr, 0, -1));
  return fd.ok() ? CostOfVisitNs() : 0;
}

double MeasureBreakpointSlowdown() {
  const uint64_t alone_ns = LoopNs();
  // The last byte, which is behind the loop.
  perf_event_attr attr = BreakpointAttributes(
      reinterpret_cast<uint64_t>(&Loop) + kBreakpointVicinity - 1, Inheritance::kNone);
  const UniqueFd fd(OpenEvent(&attr, 0, -1));
  if (!fd.ok() || alone_ns == 0) return 1;
  return std::max(1.0, static_cast<double>(LoopNs()) / static_cast<double>(alone_ns));
}

double MeasureProbeCostNs() {
  const uint64_t offset = FileOffsetInProgram(reinterpret_cast<uint64_t>(&Visited));
  if (offset == 0) return 0;
  const absl::StatusOr<VisitCounter> counter = VisitCounter::ForProbe("/proc/self/exe", offset);
  if (!counter.ok()) return 0;
  const double cost_ns = CostOfVisitNs();
  return counter->Read() != 0 ? cost_ns : 0;
}

}  // namespace coz::points
