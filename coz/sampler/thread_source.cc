#include "coz/sampler/thread_source.h"

#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>

#include "coz/base/clock.h"
#include "coz/base/raw_syscall.h"
#include "coz/base/reserved_descriptors.h"
#include "coz/sampler/perf_event.h"

namespace coz {
namespace {

std::atomic<bool> has_opened_events;

// Comes back in siginfo, to tell our timers from the program's.
void* TimerSignature() { return &has_opened_events; }

}  // namespace

int StartThreadEvent(uint64_t sampling_period_ns, int signo, ThreadSource* source) {
  PerfEventOptions options;
  options.sampling_period_ns = sampling_period_ns;
  options.exclude_kernel = true;
  const int fd = OpenTaskClock(options);
  if (fd < 0) return fd;
  // One that cannot be reserved, so that a child of fork could not close it, is refused: that leaves such a thread to the timer.
  int result = ReserveDescriptor(fd) ? ArmThreadSignal(fd, signo) : -EMFILE;
  if (result == 0) {
    has_opened_events.store(true, std::memory_order_relaxed);
    source->fd_plus_1 = fd + 1;
    result = EnablePerfEvent(fd);
    if (result != 0) StopThreadSource(source);
  } else {
    ReleaseDescriptor(fd);
    RawSyscall(SYS_close, fd);
  }
  return result;
}

int StartThreadSigtrap(uint64_t first_period_ns, bool exclude_kernel, ThreadSource* source) {
  PerfEventOptions options;
  options.sampling_period_ns = first_period_ns;
  options.thread_sigtrap = true;
  options.exclude_kernel = exclude_kernel;
  const int fd = OpenTaskClock(options);
  if (fd < 0) return fd;
  if (!ReserveDescriptor(fd)) {
    RawSyscall(SYS_close, fd);
    return -EMFILE;
  }
  source->fd_plus_1 = fd + 1;
  const int result = EnablePerfEventOnce(fd);
  if (result != 0) StopThreadSource(source);
  return result;
}

int ContinueThreadSigtrap(uint64_t sampling_period_ns, const ThreadSource& source) {
  if (source.fd_plus_1 == 0) return -ENOENT;
  const int fd = source.fd_plus_1 - 1;
  const int result = SetPerfEventPeriod(fd, sampling_period_ns);
  return result != 0 ? result : EnablePerfEvent(fd);
}

int StartThreadTimer(uint64_t sampling_period_ns, int signo, ThreadSource* source) {
  sigevent event;
  memset(&event, 0, sizeof(event));
  event.sigev_notify = SIGEV_THREAD_ID;
  event.sigev_signo = signo;
  event.sigev_value.sival_ptr = TimerSignature();
  event._sigev_un._tid = static_cast<pid_t>(RawSyscall(SYS_gettid));
  int timer;
  long result = RawSyscall(SYS_timer_create, CLOCK_THREAD_CPUTIME_ID, &event, &timer);
  if (result != 0) return static_cast<int>(result);
  source->timer_plus_1 = timer + 1;
  result = SetThreadSourcePeriod(sampling_period_ns, *source);
  if (result != 0) StopThreadSource(source);
  return static_cast<int>(result);
}

int SetThreadSourcePeriod(uint64_t sampling_period_ns, const ThreadSource& source) {
  if (source.fd_plus_1 != 0) return SetPerfEventPeriod(source.fd_plus_1 - 1, sampling_period_ns);
  if (source.timer_plus_1 == 0) return -ENOENT;
  itimerspec when;
  when.it_interval.tv_sec = static_cast<time_t>(sampling_period_ns / kNsPerSecond);
  when.it_interval.tv_nsec = static_cast<long>(sampling_period_ns % kNsPerSecond);
  when.it_value = when.it_interval;
  return static_cast<int>(
      RawSyscall(SYS_timer_settime, source.timer_plus_1 - 1, 0, &when, nullptr));
}

void StopThreadSource(ThreadSource* source) {
  if (source->fd_plus_1 != 0) {
    const int fd = source->fd_plus_1 - 1;
    // Released first: the number may belong to another file as soon as it is closed. And the program may have taken it already.
    if (ReleaseDescriptor(fd)) RawSyscall(SYS_close, fd);
    source->fd_plus_1 = 0;
  }
  if (source->timer_plus_1 != 0) {
    RawSyscall(SYS_timer_delete, source->timer_plus_1 - 1);
    source->timer_plus_1 = 0;
  }
}

uint32_t PeriodsInSignal(const siginfo_t& info) {
  if (info.si_code == SI_TIMER && info.si_value.sival_ptr == TimerSignature()) {
    return 1 + static_cast<uint32_t>(info.si_overrun < 0 ? 0 : info.si_overrun);
  }
  if (!has_opened_events.load(std::memory_order_relaxed)) return 0;
  if (info.si_code == SI_SIGIO) return 1;
  // The kernel had no room for the siginfo (RLIMIT_SIGPENDING) and sent the bare signal.
  return info.si_code == SI_USER && info.si_pid == 0 ? 1 : 0;
}

void CloseInheritedEvents() {
  for (int fd = NextReservedDescriptor(0); fd >= 0; fd = NextReservedDescriptor(fd + 1)) {
    ReleaseDescriptor(fd);
    RawSyscall(SYS_close, fd);
  }
}

}  // namespace coz
