#include "coz/sampler/thread_source.h"

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>

#include "coz/base/raw_syscall.h"
#include "coz/base/reserved_descriptors.h"
#include "coz/sampler/perf_event.h"

namespace coz::sampler {
namespace {

std::atomic<bool> has_opened_events;

// The kernel's number of the CPU clock of a thread of this process
// (include/linux/posix-timers_types.h).
clockid_t CpuClockOf(int32_t tid) {
  constexpr int kScheduled = 2;
  constexpr int kOfOneThread = 4;
  return static_cast<clockid_t>(~static_cast<uint32_t>(tid) << 3 | kScheduled | kOfOneThread);
}

int32_t OwnTid() { return static_cast<int32_t>(RawSyscall(SYS_gettid)); }

}  // namespace

int StartThreadEvent(uint64_t first_period_ns, int signo, ThreadSource* source) {
  PerfEventOptions options;
  options.sampling_period_ns = first_period_ns;
  options.exclude_kernel = true;
  const int fd = OpenTaskClock(options);
  if (fd < 0) return fd;
  // One that cannot be reserved, so that a child of fork could not close it, is refused: that
  // leaves such a thread to the timer.
  int result = ReserveDescriptor(fd) ? ArmThreadSignal(fd, signo) : -EMFILE;
  if (result == 0) {
    has_opened_events.store(true, std::memory_order_relaxed);
    source->fd_plus_1 = fd + 1;
    result = EnablePerfEventOnce(fd);
    if (result != 0) StopThreadSource(source);
  } else {
    ReleaseDescriptor(fd);
    RawSyscall(SYS_close, fd);
  }
  return result;
}

int OpenThreadSigtrap(uint64_t sampling_period_ns, bool exclude_kernel, ThreadSource* source) {
  PerfEventOptions options;
  options.sampling_period_ns = sampling_period_ns;
  options.thread_sigtrap = true;
  options.exclude_kernel = exclude_kernel;
  const int fd = OpenTaskClock(options);
  if (fd < 0) return fd;
  if (!ReserveDescriptor(fd)) {
    RawSyscall(SYS_close, fd);
    return -EMFILE;
  }
  source->fd_plus_1 = fd + 1;
  return 0;
}

int StartThreadSigtrap(uint64_t first_period_ns, bool exclude_kernel, ThreadSource* source) {
  int result = OpenThreadSigtrap(first_period_ns, exclude_kernel, source);
  if (result != 0) return result;
  result = EnablePerfEventOnce(source->fd_plus_1 - 1);
  if (result != 0) StopThreadSource(source);
  return result;
}

int ContinueThreadEvent(uint64_t sampling_period_ns, const ThreadSource& source) {
  if (source.fd_plus_1 == 0) return -ENOENT;
  const int fd = source.fd_plus_1 - 1;
  const int result = SetPerfEventPeriod(fd, sampling_period_ns);
  return result != 0 ? result : EnablePerfEvent(fd);
}

int StartThreadTimer(const TimerPeriods& periods, int signo, ThreadSource* source) {
  return StartTimer(CLOCK_THREAD_CPUTIME_ID, OwnTid(), periods, signo, &source->timer);
}

int StartTimerOfThread(int32_t tid, uint64_t sampling_period_ns, int signo) {
  HeldTimer timer;
  return StartTimer(CpuClockOf(tid), tid, {sampling_period_ns, sampling_period_ns}, signo, &timer);
}

bool AdoptTimer(const siginfo_t& info, ThreadSource* source) {
  HeldTimer sender = TimerThatSent(info, OwnTid());
  if (sender.place_plus_1 == 0) return false;
  if (!IsThere(source->timer)) source->timer = sender;
  if (source->timer.place_plus_1 == sender.place_plus_1) return true;
  DeleteTimer(&sender);
  return false;
}

void CloseThreadEvent(ThreadSource* source) {
  if (source->fd_plus_1 == 0) return;
  const int fd = source->fd_plus_1 - 1;
  // Released first: the number may belong to another file as soon as it is closed. And the program
  // may have taken it already.
  if (ReleaseDescriptor(fd)) RawSyscall(SYS_close, fd);
  source->fd_plus_1 = 0;
}

void StopThreadSource(ThreadSource* source) {
  CloseThreadEvent(source);
  DeleteTimer(&source->timer);
}

uint32_t PeriodsInSignal(const siginfo_t& info) {
  if (IsFromTimer(info)) {
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

}  // namespace coz::sampler
