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

namespace coz::sampler {

// Zeros mean "none", so that it can be zero-initialised thread-local data.
struct ThreadSource {
  int fd_plus_1 = 0;
  int timer_plus_1 = 0;
};

// Opens and starts. Time in the kernel is always excluded: a signal that is raised there would end
// a poll or a nanosleep with EINTR.
int StartThreadEvent(uint64_t sampling_period_ns, int signo, ThreadSource* source);

// An event whose overflows are SIGTRAPs, for a thread that inherits another one as well. It ends
// after one: a first period may be shorter than what the sample itself costs, and the thread would
// do nothing else.
int StartThreadSigtrap(uint64_t first_period_ns, bool exclude_kernel, ThreadSource* source);

// After that one, periods of this length. 0, or -errno.
int ContinueThreadSigtrap(uint64_t sampling_period_ns, const ThreadSource& source);

int StartThreadTimer(uint64_t sampling_period_ns, int signo, ThreadSource* source);

// A timer for another thread of this process, which has it from its first signal on (AdoptTimer).
// One that ends before that leaves it to the end of the process.
int StartTimerOfThread(int32_t tid, uint64_t sampling_period_ns, int signo);

// `info` was sent by a timer, which is the calling thread's own from now on. False where it has
// another: this one is deleted.
bool AdoptTimer(const siginfo_t& info, ThreadSource* source);

// Closes or deletes whatever is there.
void StopThreadSource(ThreadSource* source);

// Closes the event, where there is one; a timer goes on.
void CloseThreadEvent(ThreadSource* source);

// The sampling periods that `info` stands for when a source of this kind has sent it, even one that
// is stopped by now, else 0.
uint32_t PeriodsInSignal(const siginfo_t& info);

// In the child of fork: closes all reserved descriptors, those of the parent's threads. Timers do
// not pass fork.
void CloseInheritedEvents();

}  // namespace coz::sampler

#endif  // COZ_SAMPLER_THREAD_SOURCE_H_
