// The sources that need something per thread: a perf event with F_SETSIG, or a POSIX CPU timer.
//
// Shape    at most one descriptor or timer per thread, kept in the caller's ThreadSource
// Units    sampling period in ns of thread CPU time
// Errors   a negative errno
// Threads  each call concerns the calling thread only, but for StartTimerOfThread and
//          CloseInheritedEvents
// Signals  async-signal-safe
// Source   fcntl(2) F_SETSIG; timer_create(2); kernel/time/posix-cpu-timers.c
#ifndef COZ_SAMPLER_THREAD_SOURCE_H_
#define COZ_SAMPLER_THREAD_SOURCE_H_

#include <signal.h>

#include <cstdint>

#include "coz/sampler/timer_table.h"

namespace coz::sampler {

// Zeros mean "none", so that it can be zero-initialised thread-local data.
struct ThreadSource {
  int fd_plus_1 = 0;
  HeldTimer timer;
};

// Opens and starts. It stops after one overflow, like StartThreadSigtrap's. Time in the kernel is
// always excluded: a signal that is raised there would end a poll or a nanosleep with EINTR.
int StartThreadEvent(uint64_t first_period_ns, int signo, ThreadSource* source);

// Opens a sigtrap event for a thread that also inherits one. ContinueThreadEvent starts it.
int OpenThreadSigtrap(uint64_t sampling_period_ns, bool exclude_kernel, ThreadSource* source);

// Opens one and starts it. It stops after one overflow: a first period may be shorter than a sample
// takes, and the thread would do nothing but take samples.
int StartThreadSigtrap(uint64_t first_period_ns, bool exclude_kernel, ThreadSource* source);

// Goes on with periods of this length. 0, or -errno.
int ContinueThreadEvent(uint64_t sampling_period_ns, const ThreadSource& source);

int StartThreadTimer(const TimerPeriods& periods, int signo, ThreadSource* source);

// Starts a timer for another thread of this process, which adopts it at the first signal
// (AdoptTimer).
int StartTimerOfThread(int32_t tid, uint64_t sampling_period_ns, int signo);

// The timer that sent `info` becomes the calling thread's own. If the thread has another, deletes
// this one and returns false. False, too, where the timer has been deleted.
bool AdoptTimer(const siginfo_t& info, ThreadSource* source);

// Closes or deletes whatever is there. A timer that the thread has not adopted goes on
// (DeleteTimersOf).
void StopThreadSource(ThreadSource* source);

// Closes the event, where there is one; a timer goes on.
void CloseThreadEvent(ThreadSource* source);

// The sampling periods that `info` stands for; 0 where no source of this kind has sent it. The
// source may have stopped since.
uint32_t PeriodsInSignal(const siginfo_t& info);

// In the child of fork: closes all reserved descriptors, those of the parent's threads. Timers do
// not pass fork.
void CloseInheritedEvents();

}  // namespace coz::sampler

#endif  // COZ_SAMPLER_THREAD_SOURCE_H_
