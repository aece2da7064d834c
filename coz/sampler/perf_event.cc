#include "coz/sampler/perf_event.h"

#include <fcntl.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>

#include "coz/base/raw_syscall.h"
#include "coz/base/spared_calls.h"

namespace coz::sampler {
namespace {

// Comes back in siginfo, so that a program's own sigtrap events are told apart.
constexpr uint64_t kInheritedSignature = 0x636f7a2073616d70;  // "coz samp"
constexpr uint64_t kThreadSignature = 0x636f7a2074687264;     // "coz thrd"
// Of events that another process has opened. The lower half is the thread that they are for.
constexpr uint64_t kOutsideSignature = uint64_t{0x636f7a6f} << 32;  // "cozo"
// The same of events that count clocks of CPUs, whoever has opened them.
constexpr uint64_t kExpirySignature = uint64_t{0x636f7a65} << 32;  // "coze"

constexpr int kTrapPerf = 6;  // TRAP_PERF, which libc's headers lack

// The kernel's siginfo of a sigtrap event (include/uapi/asm-generic/siginfo.h), which glibc 2.36
// does not declare.
struct PerfSiginfo {
  int signo;
  int error;
  int code;
  uint64_t address;
  uint64_t data;
  uint32_t type;
  uint32_t flags;
};
static_assert(offsetof(PerfSiginfo, address) == offsetof(siginfo_t, si_addr));
static_assert(sizeof(PerfSiginfo) <= sizeof(siginfo_t));

// From 5.19 on, a sigtrap event of a thread that has blocked SIGTRAP is delivered later; earlier
// kernels force the signal, which ends the process. glibc itself blocks all signals at times.
bool KernelHasHarmlessSigtrap() {
  utsname name;
  if (RawSyscall(SYS_uname, &name) != 0) return false;
  int parts[2] = {0, 0};
  const char* at = name.release;
  for (int& part : parts) {
    while (*at >= '0' && *at <= '9') part = part * 10 + (*at++ - '0');
    if (*at == '.') ++at;
  }
  return parts[0] > 5 || (parts[0] == 5 && parts[1] >= 19);
}

// A duplicate of `fd`, which is closed, with a number from `lowest` on; -errno where there is none,
// and `fd` stays.
long MoveUp(int fd, uint64_t lowest) {
  const long moved = RawSyscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, lowest);
  if (moved >= 0) RawSyscall(SYS_close, fd);
  return moved;
}

// Programs count on low descriptor numbers (close(0); open(...)), and some dup2 onto fixed low
// ones. The top of a usual limit of 1024 disturbs neither them nor select().
int MoveBelowLimit(int fd, uint64_t limit, uint64_t room) {
  const uint64_t ceiling = limit < 1024 ? limit : 1024;
  const long moved = ceiling > room ? MoveUp(fd, ceiling - room) : -EMFILE;
  return moved < 0 ? fd : static_cast<int>(moved);
}

// The descriptor, or -errno.
int OpenForThread(int32_t tid, const perf_event_attr& attr) {
  const int any_cpu = -1, no_group = -1;
  return static_cast<int>(
      SparedRawCall<SYS_perf_event_open>(&attr, tid, any_cpu, no_group, PERF_FLAG_FD_CLOEXEC));
}

int OpenForThisThread(const perf_event_attr& attr) { return OpenForThread(0, attr); }

perf_event_attr TaskClock(const PerfEventOptions& options) {
  const bool sigtrap = options.inherited_sigtrap || options.thread_sigtrap;
  perf_event_attr attr;
  memset(&attr, 0, sizeof(attr));
  attr.size = sigtrap ? sizeof(attr) : PERF_ATTR_SIZE_VER0;
  attr.type = PERF_TYPE_SOFTWARE;
  attr.config = PERF_COUNT_SW_TASK_CLOCK;
  attr.sample_period = options.sampling_period_ns;
  attr.disabled = 1;
  attr.exclude_kernel = options.exclude_kernel;
  attr.exclude_hv = 1;
  attr.wakeup_events = 1;
  if (sigtrap) {
    attr.inherit = options.inherited_sigtrap;
    attr.inherit_thread = options.inherited_sigtrap;
    attr.remove_on_exec = 1;
    attr.sigtrap = 1;
    attr.sig_data = options.inherited_sigtrap ? kInheritedSignature : kThreadSignature;
  }
  return attr;
}

perf_event_attr ClockExpiries(const ClockExpiry& expiry, int32_t tid) {
  perf_event_attr attr;
  memset(&attr, 0, sizeof(attr));
  attr.size = sizeof(attr);
  attr.type = PERF_TYPE_TRACEPOINT;
  attr.config = expiry.tracepoint;
  attr.sample_period = 1;
  attr.disabled = 1;
  attr.wakeup_events = 1;
  attr.inherit = 1;
  attr.inherit_thread = 1;
  attr.remove_on_exec = 1;
  attr.sigtrap = 1;
  attr.sig_data = kExpirySignature | static_cast<uint32_t>(tid);
  return attr;
}

// Of all timers only those whose function it is. 0, or -errno.
int CountOnly(int fd, uint64_t function) {
  char filter[] = "function == 0x0000000000000000";
  for (char* digit = filter + sizeof(filter) - 2; function != 0; --digit, function >>= 4) {
    *digit = "0123456789abcdef"[function & 15];
  }
  return static_cast<int>(RawSyscall(SYS_ioctl, fd, PERF_EVENT_IOC_SET_FILTER, filter));
}

int OpenExpiries(int32_t tid, const ClockExpiry& expiry) {
  if (!KernelHasHarmlessSigtrap()) return -EOPNOTSUPP;
  const int fd = OpenForThread(tid, ClockExpiries(expiry, tid));
  if (fd < 0) return fd;
  const int limited = CountOnly(fd, expiry.function);
  if (limited == 0) return fd;
  RawSyscall(SYS_close, fd);
  return limited;
}

}  // namespace

int MoveOutOfTheWay(int fd) {
  constexpr uint64_t kEventsOfThreads = 24;
  rlimit limit;
  if (RawSyscall(SYS_prlimit64, 0, RLIMIT_NOFILE, nullptr, &limit) != 0) return fd;
  return MoveBelowLimit(fd, limit.rlim_cur, kEventsOfThreads);
}

int MoveBeyondLimit(int fd) {
  // The kernel copies the table up to the highest descriptor at each fork; beyond this many it is
  // not worth that.
  constexpr uint64_t kHighest = 1 << 14;
  constexpr uint64_t kRoom = 64;
  rlimit limit;
  if (RawSyscall(SYS_prlimit64, 0, RLIMIT_NOFILE, nullptr, &limit) != 0) return fd;
  rlimit raised = {limit.rlim_cur + kRoom, limit.rlim_max};
  if (raised.rlim_max < raised.rlim_cur) raised.rlim_max = raised.rlim_cur;  // root may
  if (limit.rlim_cur > kHighest) return MoveBelowLimit(fd, limit.rlim_cur, 1);
  const bool is_raised = RawSyscall(SYS_prlimit64, 0, RLIMIT_NOFILE, &raised, nullptr) == 0;
  const long moved = MoveUp(fd, is_raised ? limit.rlim_cur : limit.rlim_cur - 1);
  if (is_raised) RawSyscall(SYS_prlimit64, 0, RLIMIT_NOFILE, &limit, nullptr);
  return moved < 0 ? fd : static_cast<int>(moved);
}

int OpenIdleEvent() {
  perf_event_attr attr;
  memset(&attr, 0, sizeof(attr));
  attr.size = PERF_ATTR_SIZE_VER0;
  attr.type = PERF_TYPE_SOFTWARE;
  attr.config = PERF_COUNT_SW_DUMMY;
  attr.exclude_kernel = 1;  // which every user may open
  attr.exclude_hv = 1;
  const int fd = OpenForThisThread(attr);
  return fd < 0 ? fd : MoveOutOfTheWay(fd);
}

int OpenTaskClock(const PerfEventOptions& options) {
  const bool sigtrap = options.inherited_sigtrap || options.thread_sigtrap;
  if (sigtrap && !KernelHasHarmlessSigtrap()) return -EOPNOTSUPP;
  const int fd = OpenForThisThread(TaskClock(options));
  if (fd < 0) return fd;
  return options.inherited_sigtrap ? MoveBeyondLimit(fd) : MoveOutOfTheWay(fd);
}

int OpenTaskClockOf(int32_t tid, uint64_t sampling_period_ns, bool exclude_kernel) {
  if (!KernelHasHarmlessSigtrap()) return -EOPNOTSUPP;
  PerfEventOptions options;
  options.sampling_period_ns = sampling_period_ns;
  options.exclude_kernel = exclude_kernel;
  options.inherited_sigtrap = true;
  perf_event_attr attr = TaskClock(options);
  attr.sig_data = kOutsideSignature | static_cast<uint32_t>(tid);
  return OpenForThread(tid, attr);
}

int OpenClockExpiries(int32_t tid, const ClockExpiry& expiry) {
  const int fd = OpenExpiries(tid, expiry);
  return fd < 0 ? fd : MoveOutOfTheWay(fd);
}

int OpenClockExpiriesOf(int32_t tid, const ClockExpiry& expiry) {
  return OpenExpiries(tid, expiry);
}

int OpenCpuClock(int cpu, uint64_t sampling_period_ns) {
  perf_event_attr attr;
  memset(&attr, 0, sizeof(attr));
  attr.size = sizeof(attr);
  attr.type = PERF_TYPE_SOFTWARE;
  attr.config = PERF_COUNT_SW_CPU_CLOCK;
  attr.sample_period = sampling_period_ns;
  attr.disabled = 1;
  const int any_thread = -1, no_group = -1;
  return static_cast<int>(
      SparedRawCall<SYS_perf_event_open>(&attr, any_thread, cpu, no_group, PERF_FLAG_FD_CLOEXEC));
}

int ArmThreadSignal(int fd, int signo) {
  f_owner_ex owner;
  owner.type = F_OWNER_TID;
  owner.pid = static_cast<pid_t>(RawSyscall(SYS_gettid));
  long result = RawSyscall(SYS_fcntl, fd, F_SETSIG, signo);
  if (result == 0) result = RawSyscall(SYS_fcntl, fd, F_SETOWN_EX, &owner);
  if (result == 0) result = RawSyscall(SYS_fcntl, fd, F_SETFL, O_ASYNC);
  return static_cast<int>(result);
}

int EnablePerfEvent(int fd) {
  return static_cast<int>(RawSyscall(SYS_ioctl, fd, PERF_EVENT_IOC_ENABLE, 0));
}

int EnablePerfEventOnce(int fd) {
  return static_cast<int>(RawSyscall(SYS_ioctl, fd, PERF_EVENT_IOC_REFRESH, 1));
}

int DisablePerfEvent(int fd) {
  return static_cast<int>(RawSyscall(SYS_ioctl, fd, PERF_EVENT_IOC_DISABLE, 0));
}

uint64_t PerfEventId(int fd) {
  uint64_t id = 0;
  return RawSyscall(SYS_ioctl, fd, PERF_EVENT_IOC_ID, &id) == 0 ? id : 0;
}

int SetPerfEventPeriod(int fd, uint64_t sampling_period_ns) {
  return static_cast<int>(RawSyscall(SYS_ioctl, fd, PERF_EVENT_IOC_PERIOD, &sampling_period_ns));
}

namespace {

// Of an event's signal; 0 where it is none. Not the type: in inherited events it is the number that
// the kernel has given the task clock.
uint64_t SignatureOf(const siginfo_t& info) {
  PerfSiginfo perf;
  memcpy(&perf, &info, sizeof(perf));
  return perf.code == kTrapPerf ? perf.data : 0;
}

bool HasSignature(const siginfo_t& info, uint64_t signature) {
  return SignatureOf(info) == signature;
}

constexpr uint64_t kUpperHalf = ~uint64_t{0} << 32;

}  // namespace

bool IsInheritedSigtrap(const siginfo_t& info) {
  return HasSignature(info, kInheritedSignature) || IsClockExpiry(info) ||
         ThreadOfSigtrap(info) != 0;
}

bool IsClockExpiry(const siginfo_t& info) {
  return (SignatureOf(info) & kUpperHalf) == kExpirySignature;
}

int32_t ThreadOfSigtrap(const siginfo_t& info) {
  const uint64_t signature = SignatureOf(info);
  const uint64_t kind = signature & kUpperHalf;
  return kind == kOutsideSignature || kind == kExpirySignature ? static_cast<int32_t>(signature)
                                                               : 0;
}

bool IsThreadSigtrap(const siginfo_t& info) { return HasSignature(info, kThreadSignature); }

}  // namespace coz::sampler
