// What to do about threads that are too short for the event that they inherit.
//
// An inherited event's first period begins with the thread. So a thread shorter than a period is
// never sampled, nor is the rest of any other. Where that is much of the threads' time:
// * Threads of two periods or more: their samples weigh more, which makes up for the rests.
// * Shorter ones: one thread of a group has an event of its own at first, whose first period is any
//   part of a whole one. Its samples stand for the group; the others have none, because an event
//   costs as much as a short thread. All of the group impose what such samples impose
//   (coz/sync/delay/shared_delay.h).
//
// Where each thread has an event or a timer of its own, its first sample comes after any part of a
// period, and may stand for many threads, too.
//
// Shape    sums over ended threads, and a plan for the next thread made from them
// Units    ns of thread CPU time; whole sampling periods
// Errors   none
// Threads  safe
// Signals  async-signal-safe
// Source   docs/design/sampling.md; bench/overhead, thread create + join
#ifndef COZ_SAMPLER_SHORT_THREADS_H_
#define COZ_SAMPLER_SHORT_THREADS_H_

#include <atomic>
#include <cstdint>

namespace coz::sampler {

struct EndedThreads {
  std::atomic<uint64_t> threads{0};
  std::atomic<uint64_t> cpu_ns{0};
  std::atomic<uint64_t> rest_ns{0};         // of it, after the last sample
  std::atomic<uint64_t> carried_weight{0};  // in 1/kWholeWeight
  std::atomic<uint64_t> short_threads{0};   // planned for
  std::atomic<uint64_t> first_periods{0};   // planned
  std::atomic<uint64_t> first_samples{0};   // of timers
};

void NoteThreadEnd(EndedThreads& ended, uint64_t cpu_ns, uint64_t rest_ns);

bool ThreadsAreShort(const EndedThreads& ended);

struct ShortThreadPlan {
  bool weighs_rest = false;      // its samples of the inherited event, see WeightOfRests
  uint64_t first_period_ns = 0;  // of an event of its own; 0: none
  uint64_t stands_for = 1;       // threads that each sample of that event stands for
};

// For a thread that begins where ThreadsAreShort.
ShortThreadPlan PlanShortThread(EndedThreads& ended, uint64_t sampling_period_ns);

// The first sample of a thread that has an event or a timer of its own, or that clocks of the CPUs
// sample.
struct FirstSamplePlan {
  uint64_t first_period_ns = 0;
  // Threads that it stands for. By their mean length, as the thread's own is unknown.
  uint64_t stands_for = 1;
};
// It comes after any part of a period, but for the shortest ones.
FirstSamplePlan PlanThreadEvent(EndedThreads& ended, uint64_t sampling_period_ns);
// It comes at the first tick of the kernel after the first period, and stands for a tick where that
// is longer than a period.
FirstSamplePlan PlanThreadTimer(EndedThreads& ended, uint64_t sampling_period_ns, uint64_t tick_ns);
// It comes when the CPU's clock expires, to whoever runs then. So there is no first period.
FirstSamplePlan PlanThreadClock(const EndedThreads& ended, uint64_t sampling_period_ns);

// The whole periods that the first sample of a timer stands for. Parts of one are carried on.
uint64_t WeightOfFirstTimerSample(EndedThreads& ended, uint64_t sampling_period_ns,
                                  uint64_t tick_ns);

// What the rests of threads, which are not sampled, add to a sample of so many periods. Whole
// periods; parts of one are carried on.
uint64_t WeightOfRests(EndedThreads& ended, uint64_t periods);

}  // namespace coz::sampler

#endif  // COZ_SAMPLER_SHORT_THREADS_H_
