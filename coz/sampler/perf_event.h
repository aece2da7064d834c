// The sole owner of perf_event_open in the target: opens events of the calling thread, most of them
// its software task clock. The supervisor opens such events for threads of others by it, too.
//
// Shape    one descriptor per event, close-on-exec, the event still disabled
// Units    sampling period in ns of thread CPU time
// Errors   a negative errno instead of the descriptor
// Threads  safe
// Signals  async-signal-safe
// Source   perf_event_open(2); kernel/events/core.c; measurements in README.md
#ifndef COZ_SAMPLER_PERF_EVENT_H_
#define COZ_SAMPLER_PERF_EVENT_H_

#include <signal.h>

#include <cstdint>

#include "coz/sampler/clock_expiry.h"

namespace coz::sampler {

struct PerfEventOptions {
  uint64_t sampling_period_ns = 0;
  // True: one event for the thread and all threads that it creates, each overflow a SIGTRAP.
  // False: an event for this thread, to be armed with ArmThreadSignal.
  bool inherited_sigtrap = false;
  // An event for this thread alone, each overflow a SIGTRAP.
  bool thread_sigtrap = false;
  bool exclude_kernel = false;
};

// The descriptor, or -errno. -EOPNOTSUPP on kernels before 5.19, whose sigtrap kills a thread that
// has blocked SIGTRAP.
int OpenTaskClock(const PerfEventOptions& options);

// As OpenTaskClock with inherited_sigtrap, from another process that may trace `tid`. The
// descriptor is not moved.
int OpenTaskClockOf(int32_t tid, uint64_t sampling_period_ns, bool exclude_kernel);

// An event of thread `tid` of this process and all threads that it creates. A
// clock that expires on the CPU where one of them runs is a SIGTRAP in it. The clocks are another
// process's, one for each CPU. The kernel then sets no timer where it switches between threads.
int OpenClockExpiries(int32_t tid, const ClockExpiry& expiry);
// The same from another process that may trace `tid`. The descriptor is not moved.
int OpenClockExpiriesOf(int32_t tid, const ClockExpiry& expiry);

// Opens the clock of a CPU: it expires after each period of real time, whoever runs there.
int OpenCpuClock(int cpu, uint64_t sampling_period_ns);

// Opens an event of the calling thread that counts nothing, sends nothing, and is not inherited
// (for phase_keeper.h). The descriptor, or -errno.
int OpenIdleEvent();

// Moves `fd` to a number that the program is not likely to want, and returns it; `fd` itself if
// there is no room.
int MoveOutOfTheWay(int fd);

// As above, but to a number from RLIMIT_NOFILE on, so that the program has each number below it.
// Raises the limit for a moment, where it may. For a process with one thread: another might look at
// the limit, or set it, meanwhile.
int MoveBeyondLimit(int fd);

// Sends `signo` to the calling thread at each overflow of `fd`. 0, or -errno.
int ArmThreadSignal(int fd, int signo);

// For an inherited event: in all threads. Returns 0, or -errno.
int EnablePerfEvent(int fd);
int DisablePerfEvent(int fd);

// Enables it for one overflow. Not for an inherited event. Returns 0, or -errno.
int EnablePerfEventOnce(int fd);

// Starts a new period of this length. Not for an inherited event. Returns 0, or -errno.
int SetPerfEventPeriod(int fd, uint64_t sampling_period_ns);

// The kernel's number of the event, whatever descriptor leads to it; 0 where `fd` is no event.
uint64_t PerfEventId(int fd);

// Whether `info` was sent by a sigtrap event of this process's sampler: an inherited one, or one
// for the thread alone.
bool IsInheritedSigtrap(const siginfo_t& info);
bool IsThreadSigtrap(const siginfo_t& info);
// An inherited one of OpenClockExpiries or OpenClockExpiriesOf.
bool IsClockExpiry(const siginfo_t& info);

// The thread for which OpenTaskClockOf or OpenClockExpiries has opened the event: the thread that
// gets the signal, or one that has created it, directly or not. 0 where it is no such event.
int32_t ThreadOfSigtrap(const siginfo_t& info);

}  // namespace coz::sampler

#endif  // COZ_SAMPLER_PERF_EVENT_H_
