// The CPU timers by which threads of this process are sampled, so that one thread can delete those
// of all.
//
// Shape    a table of the process's timers; a signal names the place of its timer
// Units    sampling period in ns of thread CPU time
// Errors   a negative errno; -EAGAIN also where the table is full
// Threads  safe
// Signals  async-signal-safe
// Source   timer_create(2); kernel/time/posix-timers.c: a number is not given twice before 2^31 are
#ifndef COZ_SAMPLER_TIMER_TABLE_H_
#define COZ_SAMPLER_TIMER_TABLE_H_

#include <signal.h>
#include <time.h>

#include <cstdint>

namespace coz::sampler {

inline constexpr uint32_t kMostTimers = 1 << 16;

// One that a thread has. Zeros mean "none". It may have been deleted since, by whoever deletes all:
// then nothing is done with it.
struct HeldTimer {
  uint32_t place_plus_1 = 0;
  uint64_t entry = 0;  // what stands at that place: the thread, and the kernel's number
};

// When a timer expires: after the first period, and then again after each of the others.
struct TimerPeriods {
  uint64_t first_ns;
  uint64_t others_ns;
};

// Starts one for thread `tid` of this process, whose CPU clock is `clock`.
int StartTimer(clockid_t clock, int32_t tid, const TimerPeriods& periods, int signo,
               HeldTimer* timer);
// Does nothing where somebody else has deleted it.
void DeleteTimer(HeldTimer* timer);

// The timer of thread `tid` that sent `info`; none where that was deleted since.
HeldTimer TimerThatSent(const siginfo_t& info, int32_t tid);
bool IsThere(const HeldTimer& timer);
// Whether one of these timers sent it, be it deleted since.
bool IsFromTimer(const siginfo_t& info);

bool HasTimer(int32_t tid);
void DeleteTimersOf(int32_t tid);
void DeleteAllTimers();

// In the child of fork, which inherits no timer.
void ForgetTimers();

}  // namespace coz::sampler

#endif  // COZ_SAMPLER_TIMER_TABLE_H_
