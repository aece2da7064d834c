// A deterministic discrete-event simulator of a program on K CPUs, with the real delay core
// (coz/sync/delay) in its threads.
//
// Shape    one program, one run; RunUntil moves time. It follows the wrapped calls of
//          coz/sync/interpose step by step: pay, try, begin to wait, end the wait with or without
//          credit
// Units    ns of simulated time from 0
// Errors   a malformed program ends the test with a message. In a deadlock all threads wait, and
//          `deadlocked` says so
// Threads  compatible
// Signals  none: a sample is an event
// Source   docs/testing.md
#ifndef COZ_TESTING_SIM_SIMULATOR_H_
#define COZ_TESTING_SIM_SIMULATOR_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <queue>
#include <vector>

#include "coz/base/clock.h"
#include "coz/base/random.h"
#include "coz/experiment/target.h"
#include "coz/sync/delay/accrual.h"
#include "coz/sync/delay/crowd_watch.h"
#include "coz/sync/delay/delay_ledger.h"
#include "coz/sync/delay/meeting.h"
#include "coz/sync/delay/outside_wait.h"
#include "coz/sync/delay/shared_delay.h"
#include "coz/testing/sim/program.h"
#include "coz/testing/sim/run_queues.h"

namespace coz::sim {

struct MachineOptions {
  uint32_t cpus = 64;
  uint64_t seed = 1;
  uint64_t time_slice_ns = 3 * kNsPerMs;
  Scheduling scheduling = Scheduling::kFifo;
  // Each pause sleeps too long by 0 to this, uniformly distributed. Each wake takes 0 to the other.
  uint64_t pause_overshoot_ns = 0;
  uint64_t wake_latency_ns = 0;
  // How much longer a pause takes than is measured. This part does not count as paid.
  uint64_t pause_cost_ns = 0;
  // True: an unlocked mutex goes to the longest waiter. False: it goes to the first thread that
  // takes it, as with mutexes made of futexes.
  bool fair_mutexes = true;
  // Whether a wait that times out goes on for as long as delay was inserted meanwhile. The time-out
  // is then in virtual time, and a wake that should come before it still does. False: the thread
  // pauses for that delay after the wait.
  bool extend_timeouts = true;
  // Rules of the delay core (coz/sync/delay). Each can be left out, to see what it is worth
  // (ablation_report).
  //
  // How often in a row a wrapped call pauses at most, when delays are inserted during its pauses.
  uint32_t pauses_per_call = delay::kMostPausesPerCall;
  // Delays that threads impose on each other cancel: the global delay is the largest that any
  // thread has. False: it is the sum of all imposed delays, as in the paper. Virtual times are then
  // the same, but threads pause more.
  bool cancel_delays = true;
  // How the delay of samples is spread over stretches.
  delay::SpreadRules spread;
  // A thread that no other has woken pays for other threads' stretches in progress.
  bool pay_for_stretches_in_progress = true;
  // Where threads are queued for CPUs, a pause keeps its CPU.
  bool hold_cpu_in_pauses = true;
  // A thread does not owe the delay that grows while it is queued for a CPU.
  bool credit_queued = true;
  // A wakee takes over its waker's excess.
  bool publish_excess = true;
  // A thread keeps its excess in a call that returns at once.
  bool keep_excess_without_wait = true;
  // A thread that joins another goes on no earlier than that thread's end in virtual time.
  bool go_on_after_end = true;
  // Who leaves a barrier goes on no earlier than the latest arrival in virtual time.
  bool go_on_after_arrivals = true;
  // Who takes a mutex that conditions are used with goes on no earlier than its last release.
  bool go_on_after_release = true;
  // Whether loops that spin have the hint by which a sample recognises them.
  bool spins_are_seen = true;
  // Whether threads that spin get spin probes. False: only regular samples find them, as where
  // there are no perf events.
  bool spin_probes = true;
  // 0: the program is not profiled, and there are no samples.
  uint64_t sampling_period_ns = 0;
  // The work of `faster_line` takes (1 - faster_by) of its time. This is the truth that a virtual
  // speedup has to predict.
  uint32_t faster_line = 0;
  double faster_by = 0;
  // As --given: in every experiment, samples in `given_line` also impose this share of a sampling
  // period. Without a profiler the line really takes less time by this share.
  uint32_t given_line = 0;
  double given_by = 0;
};

enum class ThreadState : uint8_t { kReady, kRunning, kPausing, kWaiting, kSleeping, kDone };

class Simulator {
 public:
  Simulator(const Program& program, const MachineOptions& options);
  ~Simulator();
  Simulator(const Simulator&) = delete;
  Simulator& operator=(const Simulator&) = delete;

  void RunUntil(uint64_t time_ns);

  uint64_t now_ns() const { return now_ns_; }
  const std::vector<experiment::PointCounts>& points() const { return points_; }
  const std::vector<uint64_t>& line_cpu_ns() const { return line_cpu_ns_; }
  // Whether no thread runs and none ever will.
  bool deadlocked() const;

  // The supervisor's interface to its target; see ExperimentTarget.
  void Select(experiment::UnitId line, uint64_t delay_per_sample_ns, uint64_t deadline_ns);
  // Each sample makes all threads owe the delay, its own too. Until Select.
  void DelayAll(uint64_t delay_per_sample_ns, uint64_t deadline_ns);
  void Extend(uint64_t deadline_ns) { deadline_ns_ = deadline_ns; }
  void StopDelays();
  bool Settled() const;
  experiment::TargetSnapshot Snapshot() const;
  // The samples since the last call, by line.
  std::vector<uint64_t> TakeLineSamples();
  // All samples, by line.
  const std::vector<uint64_t>& all_line_samples() const { return all_line_samples_; }

 private:
  struct Thread;
  class SampleSeam;
  struct Mutex;
  struct Condition;
  struct Barrier;
  struct Semaphore;
  struct RwLock;
  // An event of a thread, or of an input where `thread` is null. A thread has one valid event at a
  // time. The generation tells it from older ones that no longer hold.
  struct Event {
    uint64_t time_ns;
    uint64_t order;
    Thread* thread;
    uint64_t generation_or_input;
    bool operator<(
        const Event& other) const {  // the earliest is the greatest, so the heap gives it first
      return time_ns != other.time_ns ? time_ns > other.time_ns : order > other.order;
    }
  };
  enum class Outcome { kNext, kWork, kStop };

  // Threads and CPUs.
  Thread& NewThread(uint32_t code, uint64_t inherited_local_delay_ns);
  void MakeReady(Thread& thread);
  void Preempt(Thread& thread);
  void YieldCpu(Thread& thread);
  void Dispatch();
  void RunOnCpu(Thread& thread);
  // For more threads than CPUs.
  void LookForCrowd(uint64_t until_ns);
  bool KnowsQueue() const;
  uint64_t LookAtQueue(Thread& thread);
  void GoOnHere(Thread& thread);
  uint64_t TakeCpu(Thread& thread);
  void LeaveCpu(Thread& thread, ThreadState state);
  // Books the CPU time since the last call. Returns whether a sample falls on exactly this moment.
  bool Account(Thread& thread);
  // Takes the spin probes during `ran_ns`. The thread has spun all that time or not at all.
  void TakeSpinProbes(Thread& thread, uint64_t ran_ns, bool spins);
  bool Spins(const Thread& thread) const;
  // Does what samples do that neither impose nor pay.
  void CountSamples(Thread& thread, uint32_t line, bool spins, uint64_t samples);
  void ScheduleCpuEvent(Thread& thread);
  // Whether the thread's next sample would impose or pay. Other samples are only counted and need
  // no event. They are most samples of a run.
  bool SampleMatters(const Thread& thread) const;
  uint32_t LineOf(const Thread& thread) const;
  bool IsGiven(uint32_t line) const;
  delay::SampledUnit UnitOf(uint32_t line) const;
  // Schedules events anew, after a change that may make samples matter.
  void ReviewSchedules();
  void OnCpuEvent(Thread& thread);
  void OnTimer(Thread& thread);
  void Push(uint64_t time_ns, Thread& thread);
  void PushInput(uint32_t input);
  void OnInput(uint32_t input);

  // Delays, as in coz/sync and coz/runtime. A function that may pause returns true when the thread
  // has begun a pause.
  void Sample(Thread& thread);
  bool Pay(Thread& thread);
  // Pays also what is inserted during its pauses, with up to `pauses_per_call` pauses.
  bool PayInCall(Thread& thread);
  bool PayForWait(Thread& thread);
  // Begins a pause: a sleep, or one that holds the CPU.
  void Pause(Thread& thread, uint64_t owed_ns);
  void HoldCpu(Thread& thread, uint64_t owed_ns);
  void EndPause(Thread& thread, uint64_t paused_ns);
  // Pays for other threads' stretches in progress, too.
  bool PayForStretchesInProgress(Thread& thread);
  void PublishBeforeWake(Thread& waker, const void* object);
  void StartWait(Thread& thread);
  void EndWait(Thread& thread, bool by_thread, const void* object);
  // Describes a sample in `line` to the delay core.
  delay::SampleInput InputOf(uint32_t line) const;
  // Imposes as in the paper: the sum of all delays is required of all threads.
  void ImposeSum(Thread& thread, uint64_t delay_ns);
  // Makes `change`, which may impose delay.
  template <typename Change>
  void Imposing(Change change);
  void NoteCall(Thread& thread);
  bool ExtendTimeout(Thread& thread);
  void Wake(Thread& thread);

  // Instructions; see simulator_calls.cc. An instruction that waits is executed once for each of
  // its phases.
  void Continue(Thread& thread);
  Outcome Execute(Thread& thread, const Op& op);
  Outcome ExecuteWork(Thread& thread, const Op& op);
  Outcome ExecuteLock(Thread& thread, Mutex& mutex);
  void NoteRelease(Thread& thread, Mutex& mutex);
  void GoOnAfterRelease(Thread& thread, Mutex& mutex);
  Outcome ExecuteCondWait(Thread& thread, Condition& condition, Mutex& mutex, uint64_t timeout_ns);
  Outcome ExecuteNotify(Thread& thread, Condition& condition, bool all);
  Outcome ExecuteBarrier(Thread& thread, Barrier& barrier);
  Outcome ExecuteSemWait(Thread& thread, Semaphore& semaphore);
  Outcome ExecuteSemPost(Thread& thread, Semaphore& semaphore);
  Outcome ExecuteRwLock(Thread& thread, RwLock& lock, bool write);
  Outcome ExecuteRwUnlock(Thread& thread, RwLock& lock);
  Outcome ExecuteReadInput(Thread& thread, uint32_t input);
  Outcome EndOutsideWait(Thread& thread);
  Outcome ExecuteSleep(Thread& thread, const Op& op);
  void ImposeWait(Thread& thread, uint32_t line);
  void CountSamples(uint32_t line, uint64_t samples);
  void CountTimed(Thread& thread, uint64_t experiment::PointCounts::*visits,
                  uint64_t experiment::PointCounts::*timed,
                  uint64_t experiment::PointCounts::*time_sum_ns, experiment::PointCounts* counts);
  Outcome ExecuteSpawn(Thread& thread, const Op& op);
  Outcome ExecuteJoin(Thread& thread, uint32_t child);
  void ExecuteExit(Thread& thread);
  Outcome WaitForMutex(Thread& thread, Mutex& mutex, bool front);
  void ReleaseMutex(Mutex& mutex);
  void AddToVariable(Thread& thread, uint32_t variable, int64_t by);
  int64_t& Variable(Thread& thread, uint32_t variable);

  const Program program_;
  const MachineOptions options_;
  Random random_;
  RunQueues cpus_;
  delay::CrowdWatch crowd_;
  uint64_t next_crowd_look_ns_ = 0;
  std::unique_ptr<delay::GlobalLedger> ledger_;
  std::unique_ptr<delay::ReleaseTable> monitors_;
  std::unique_ptr<delay::ReleaseTable> posts_;
  std::unique_ptr<delay::BarrierTable> barrier_rounds_;
  delay::SharedDelay shared_delay_;
  uint64_t now_ns_ = 0;
  uint64_t next_event_ = 0;
  std::priority_queue<Event> events_;
  std::vector<std::unique_ptr<Thread>> threads_;
  std::vector<Thread*> joined_;     // threads that are done; a new thread may reuse them
  std::vector<Thread*> preempted_;  // by a wake in the step in progress
  std::vector<Thread*> without_sample_event_;
  uint32_t live_threads_ = 0;

  std::vector<std::unique_ptr<Mutex>> mutexes_;
  std::vector<std::unique_ptr<Condition>> conditions_;
  std::vector<std::unique_ptr<Barrier>> barriers_;
  std::vector<std::unique_ptr<Semaphore>> semaphores_;
  std::vector<std::unique_ptr<RwLock>> rwlocks_;
  std::vector<uint64_t> input_ready_;
  std::vector<std::deque<Thread*>> input_waiters_;
  std::vector<int64_t> variables_;

  std::vector<experiment::PointCounts> points_;
  std::vector<uint64_t> line_cpu_ns_;
  std::vector<uint64_t> line_samples_;  // since the last TakeLineSamples
  std::vector<uint64_t> all_line_samples_;
  uint64_t total_samples_ = 0;
  uint64_t spinning_samples_ = 0;
  uint64_t selected_samples_ = 0;
  uint64_t selected_wait_ns_ = 0;
  uint64_t given_imposed_ns_ = 0;

  bool selected_ = false;
  experiment::UnitId selected_line_ = 0;
  uint64_t selection_start_ns_ = 0;
  uint64_t selection_start_delay_ns_ = 0;
  uint64_t delay_per_sample_ns_ = 0;
  uint64_t deadline_ns_ = 0;
};

}  // namespace coz::sim

#endif  // COZ_TESTING_SIM_SIMULATOR_H_
