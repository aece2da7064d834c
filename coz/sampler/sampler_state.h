// What a process and each of its threads know of their sampling; private to the sampler.
//
// Shape    one SampledProcess, one SampledThread for each thread
// Threads  SampledProcess is written by StartSampler while the process has one thread; its atomics
//          later too. SampledThread is its own thread's alone
// Signals  all async-signal-safe
#ifndef COZ_SAMPLER_SAMPLER_STATE_H_
#define COZ_SAMPLER_SAMPLER_STATE_H_

#include <atomic>
#include <cstdint>

#include "coz/sampler/clock_expiry.h"
#include "coz/sampler/period_tracker.h"
#include "coz/sampler/phase_keeper.h"
#include "coz/sampler/queue_clock.h"
#include "coz/sampler/sampler.h"
#include "coz/sampler/sampler_status.h"
#include "coz/sampler/shared_event.h"
#include "coz/sampler/short_threads.h"
#include "coz/sampler/thread_source.h"
#include "coz/sampler/thread_state.h"

namespace coz::sampler {

struct AtomicCounters {
  std::atomic<uint64_t> samples{0};
  std::atomic<uint64_t> weight{0};
  std::atomic<uint64_t> dropped{0};
  std::atomic<uint64_t> lost_periods{0};
  std::atomic<uint64_t> unsampled_ns{0};
  std::atomic<uint64_t> foreign_signals{0};
  std::atomic<uint64_t> unsampled_threads{0};
  std::atomic<uint64_t> unkept_phases{0};
};

struct SampledProcess {
  std::atomic<bool> enabled{false};
  std::atomic<bool> stopped_for_good{false};
  std::atomic<uint32_t> active_callbacks{0};
  std::atomic<int> inherited_fd{-1};
  // Grows when threads' descriptors are closed, and when they may be opened again: odd in between.
  std::atomic<uint32_t> closings{0};
  long pid = 0;
  std::atomic<SamplingSource> source{SamplingSource::kNone};
  bool kernel_included = false;
  bool excludes_kernel = false;  // as is asked for
  // Threads block the signal where the program has them do so.
  bool masks_are_programs = false;
  // A thread may have a timer of which it does not know.
  std::atomic<bool> made_timers_for_others{false};
  uint64_t sampling_period_ns = 0;
  uint64_t tick_ns = 0;  // at which the kernel looks at timers
  ClockExpiry expiry;
  SampleCallback callback = nullptr;
  ForeignSignalCallback foreign_signal = nullptr;
  OwnTrapCallback own_trap = nullptr;
  // Threads may run with the thread-local data of another one.
  std::atomic<bool> has_raw_threads{false};
  SharedEvent* shared_event = nullptr;
  const SuspensionCount* suspensions = nullptr;
  AtomicCounters counters;
  EndedThreads ended;
};

struct SampledThread {
  ThreadSource source;
  PhaseKeeper phase_keeper;
  QueueClock queue_clock;
  PeriodTracker tracker;
  uintptr_t active_frame = 0;  // the handler's, while the callback runs
  uint32_t drops_in_a_row = 0;
  uint64_t stands_for = 1;  // threads that each sample of its own event stands for
  ThreadState state;
  // Of the source that StartThreadSampling has given it. The first sample stands for so many
  // threads.
  bool awaits_first_sample = false;
  uint64_t first_stands_for = 1;
  bool stopped = false;
  uint64_t last_sample_ns = 0;   // by the clock; of kCpuClock
  uint64_t callback_end_ns = 0;  // of its CPU time; kept while it takes extra samples
  // Another process has opened an event for this very thread. Signals of one that it has inherited
  // besides do not count.
  bool has_event_from_outside = false;
  int32_t tid = 0;           // 0: not asked for yet
  uint32_t suspensions = 0;  // the count when the tracker last knew the thread's time
  uint32_t closings = 0;     // the count when it opened its descriptors
};

extern SampledProcess sampled_process __attribute__((visibility("hidden")));

// Initial-exec: the first touch of dynamic thread-local data allocates, here within a handler.
// __thread: `thread_local` is reached through a function that looks for a constructor.
extern __thread SampledThread t_thread
    __attribute__((tls_model("initial-exec"), visibility("hidden")));

// Whether the calling thread may open descriptors to keep. Forgets those that CloseEventsOfThreads
// has closed meanwhile: their numbers may be another's.
bool MayKeepDescriptors();
// To be asked when one has been opened: whether CloseEventsOfThreads may have missed it.
bool MustCloseAgain();

inline void Add(std::atomic<uint64_t>* counter, uint64_t amount) {
  counter->fetch_add(amount, std::memory_order_relaxed);
}

// Ends whatever samples the calling thread.
void StopOwnSource();

// False in a child of vfork, and in one of fork until it calls StartSampler: the descriptors are
// its parent's.
bool InSampledProcess();

inline uint32_t Suspensions() {
  return sampled_process.suspensions == nullptr ? 0 : sampled_process.suspensions->load();
}

// Tells other processes the inherited event's descriptor; -1: none.
void ShareEvent(int fd);

int ShareAndEnableEvent(int fd);

// Gives up the inherited event and returns its descriptor; -1: none.
int TakeInheritedEvent();

// The inherited event samples a long thread, so its own event is free for extra samples.
bool MayTakeExtraSamples();
bool HasExtraEvent();

}  // namespace coz::sampler

#endif  // COZ_SAMPLER_SAMPLER_STATE_H_
