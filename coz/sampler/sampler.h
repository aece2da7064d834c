// Interrupts every thread of this process after each sampling period of its CPU time and calls back
// with its registers.
//
// Shape    one sampler per process; StartSampler, hooks at start and end of threads, StopSampler
// Units    ns of thread CPU time; weights and counters are whole sampling periods
// Errors   the status says what the system refused, and what StartSampler itself refuses; whatever
//          goes wrong later bumps a counter
// Threads  Start/StopSampler: any one thread. Start/StopThreadSampling: the thread concerned
// Signals  all async-signal-safe but StartSampler
// Source   perf_event_open(2), fcntl(2) F_SETSIG, timer_create(2), kernel/events/core.c; README.md
//
// The callback runs in the sampled thread with kSamplingSignal blocked and every other signal as
// the program left it, on the alternate stack where the program has set one; it may sleep. errno is
// kept. A sample that comes while the callback of the same thread is active is counted and dropped.
//
// example/example.cc is this as a whole program; there is a `void Count(const Sample& sample)`:
//
//   coz::sampler::SamplerOptions options;
//   options.callback = Count;
//   const coz::sampler::SamplerStatus status = coz::sampler::StartSampler(options);
#ifndef COZ_SAMPLER_SAMPLER_H_
#define COZ_SAMPLER_SAMPLER_H_

#include <signal.h>
#include <ucontext.h>

#include <cstdint>

#include "coz/sampler/clock_expiry.h"
#include "coz/sampler/sampler_status.h"
#include "coz/sampler/shared_event.h"

namespace coz::sampler {

// Every source uses this signal, and the runtime keeps the program from masking or taking it. The
// kernel sends SIGTRAP for sigtrap events. The fallbacks use it too: a real-time signal beyond the
// limit of pending signals turns into SIGIO (fs/fcntl.c), which kills a program without a handler.
inline constexpr int kSamplingSignal = SIGTRAP;

struct Sample {
  uint64_t ip;                // exact runtime address of the interrupted instruction
  const ucontext_t* context;  // registers of the interrupted code, for the unwinder
  uint64_t weight;   // sampling periods this sample stands for; 0: it is early, or was left out
  uint64_t threads;  // that it stands for, its own included; `weight` covers all
  bool is_extra = false;  // see TakeExtraSampleAfter
  // Of an extra one: it fell due during another sample or its callback, so it finds the thread
  // where that sample did.
  bool is_late = false;
  // A CPU timer took it, at a tick of the kernel: the thread ran in code of any kind for `weight`.
  // Else it was in the kernel for all but one of these periods.
  bool by_timer = false;
};

// In signal context of the sampled thread.
using SampleCallback = void (*)(const Sample& sample);

// In signal context: something else raised kSamplingSignal (a breakpoint, raise(), a debugger). The
// callback has to do what the program has set for it. Without a callback the signal's default
// action is taken.
using ForeignSignalCallback = void (*)(int signo, siginfo_t* info, void* context);

// In signal context, first of all: looks at each kSamplingSignal. True: it was an instruction of
// the profiler's own, and the handler is done. It may change the context, for a sample that has
// come together with such an instruction, too. Changes no errno.
using OwnTrapCallback = bool (*)(const siginfo_t& info, ucontext_t* context);

// A sample takes about 16 us. With much shorter periods a thread does nothing but take samples.
inline constexpr uint64_t kLeastSamplingPeriodNs = 20'000;

struct SamplerOptions {
  uint64_t sampling_period_ns = 1'000'000;  // kLeastSamplingPeriodNs or more
  // kNone: the best that works; any other: that one or nothing.
  SamplingSource source = SamplingSource::kNone;
  // For kCpuClock. Another process keeps a clock for each CPU (OpenCpuClock), which expire so.
  ClockExpiry expiry;
  // True: do not even try to sample time in the kernel. Not by kCpuClock.
  bool exclude_kernel = false;
  SampleCallback callback = nullptr;  // required
  ForeignSignalCallback foreign_signal = nullptr;
  OwnTrapCallback own_trap = nullptr;
  // For another process that suspends the sampling of this one. Set both or neither. Only
  // kPerfSigtrap and kCpuClock can be suspended.
  SharedEvent* shared_event = nullptr;
  const SuspensionCount* suspensions = nullptr;
};

// Sums over all threads and all starts of the sampler, since the program began. A child of fork
// goes on from its parent's. What one start has counted is the difference between two readings.
struct SamplerCounters {
  uint64_t samples = 0;       // callbacks made
  uint64_t weight = 0;        // sampling periods handed to callbacks
  uint64_t dropped = 0;       // periods that ended while the thread's callback was active
  uint64_t lost_periods = 0;  // no signal: kernel time that is excluded, throttling
  uint64_t unsampled_ns = 0;  // rests shorter than a period at the end of threads, not made up for
  uint64_t foreign_signals = 0;    // kSamplingSignal raised by something else
  uint64_t unsampled_threads = 0;  // no source had room for the thread
  uint64_t unkept_phases = 0;      // threads created without a PhaseKeeper for want of a descriptor
};

// Opens the best source, takes kSamplingSignal, unblocks it in the calling thread and starts to
// sample that thread and all threads that it creates. Call before the program has threads.
//
// Does nothing, and says so in `options_errno`, with options that cannot work (EINVAL), and while
// the process is sampled (EBUSY). After StopSampler it may be called again: threads that were
// there before are not sampled, but for the calling one.
SamplerStatus StartSampler(const SamplerOptions& options);

// The same for a process that has threads already, and whose masks are what the program sets. With
// kPerfSigtrap another process opens the events (OpenTaskClockOf), enables them when this has
// returned 0, and closes them. With kCpuTimer nobody is sampled until SampleThreadByTimer or
// StartThreadSampling. Else returns -errno: there is no handler, and a sample would end the
// process.
int StartSamplerFromOutside(const SamplerOptions& options, bool kernel_included);

// After StopSampler: closes all that the sampler has opened for single threads of this process.
// They open nothing more until StartSamplerFromOutside.
void CloseEventsOfThreads();

// From now on CPU timers are the source of a process that was sampled from outside. The events that
// the other process has opened must be disabled.
void ChangeToCpuTimersFromOutside();

// Of the calling thread, which was there before the process was sampled, or has begun unseen: where
// CPU timers are the source and it has none, it gets one. Not where it blocks the signal.
void SampleLateThread();

// After StopSampler: no timer of any thread goes on. A signal that one has sent before may still
// come.
void DeleteTimersOfThreads();

// Every thread but the first calls these, first and last. With kPerfSigtrap it need not, but then
// threads shorter than a sampling period are never sampled. With the other sources a thread that
// does not start is not sampled, and one that does not stop leaks a timer or a descriptor. Returns
// among how many threads the part of samples is divided that stands for other short threads, where
// the calling one is among them, else 0.
uint64_t StartThreadSampling();
void StopThreadSampling();

// Before the calling thread creates another: keeps its sampling phase (phase_keeper.h). Does
// nothing where threads live long.
void PrepareToCreateThread();

// Before the calling thread creates another by a system call of its own, which may run with the
// calling one's thread-local data: samples of such a thread count for nothing.
void PrepareToCreateRawThread();

// From now on CPU timers sample this process's threads. For programs in which perf events cost too
// much, as the kernel sets them anew at each switch between processes. True for the one caller that
// begins the change. It then calls SampleThreadByTimer for each other thread, but for those that
// will still call StartThreadSampling or have called StopThreadSampling. From a callback.
bool ChangeToCpuTimers();
// 0, or -errno: -EINVAL where the thread has ended. Does nothing where it has a timer.
int SampleThreadByTimer(int32_t tid);
bool UsesCpuTimers();

// The same with clocks of the CPUs, which cost little where the kernel switches between threads.
// The one caller for which it returns kBegun calls SampleThreadByCpuClock for each other thread.
// kRefused: the system does not open such an event, or time in the kernel is excluded, which clocks
// do not tell apart; the source is as before.
enum class ClockChange { kNone, kBegun, kRefused };
ClockChange ChangeToCpuClock(const ClockExpiry& expiry);
void SampleThreadByCpuClock(int32_t tid);

// For how long the calling thread has waited for a CPU since it began. False where nobody tells.
// Keeps a descriptor of the thread's until its sampling stops.
bool ReadQueueClock(uint64_t* queued_ns);

// The profiler used `cpu_ns` of what the calling thread has just run (in a pause, say): no sample
// stands for it. The kernel counts it all the same, so some samples weigh less. From the thread or
// a callback in it.
void LeaveOutCpuTime(uint64_t cpu_ns);

// From a callback: calls back in this thread with an extra sample each time it has run for about
// `cpu_ns` more, until the next call. An extra sample has weight 0, changes no other sample and is
// in no counter. It looks at times that keep no step with the others. False where kPerfSigtrap is
// not the source, threads live for a few periods only, or no descriptor is left.
bool TakeExtraSampleAfter(uint64_t cpu_ns);
bool TakesExtraSamples();
void StopExtraSamples();

// No callback begins after this returns, in any thread; those under way finish. The handler stays
// installed, so that a signal under way does no harm.
void StopSampler();

// The same for a process that is about to forbid itself system calls: the sampler makes none from
// now on. Timers and events of other threads go on until the threads end, and do nothing.
void StopSamplerForGood();

// Threads inside a callback at this moment.
uint32_t ActiveSampleCallbacks();

// Call first in the child of fork. It is not sampled; closes its copies of the descriptors.
void OnForkInChild();

// The program wants the number of a reserved descriptor (coz/base/reserved_descriptors.h) for
// itself: the sampler takes another. Nothing happens in a child of vfork, whose descriptors are not
// this process's.
void MakeWayForDescriptor(int fd);

// Around execve: a sample that the kernel takes while it replaces the program would be delivered to
// the new one, which has no handler. PrepareForExec stops all sampling; ResumeAfterFailedExec
// starts it again when execve has returned.
void PrepareForExec();
void ResumeAfterFailedExec();

SamplerCounters ReadSamplerCounters();

}  // namespace coz::sampler

#endif  // COZ_SAMPLER_SAMPLER_H_
