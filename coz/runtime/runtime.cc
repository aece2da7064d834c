#include "coz/runtime/runtime.h"

#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>

#include "coz/base/clock.h"
#include "coz/base/errno_saver.h"
#include "coz/base/raw_syscall.h"
#include "coz/runtime/charged_pairs.h"
#include "coz/runtime/control_block.h"
#include "coz/runtime/control_mapping.h"
#include "coz/runtime/lent_counters.h"
#include "coz/runtime/module_map.h"
#include "coz/runtime/preload_environment.h"
#include "coz/runtime/process_slots.h"
#include "coz/runtime/progress_points.h"
#include "coz/runtime/published_counters.h"
#include "coz/runtime/shared_delay.h"
#include "coz/runtime/signal_shield.h"
#include "coz/runtime/spin_hint.h"
#include "coz/runtime/thread_slots.h"
#include "coz/runtime/timed_visits.h"
#include "coz/sampler/sampler.h"
#include "coz/sampler/unwinder.h"
#include "coz/sync/io_tables.h"
#include "coz/sync/process_end.h"
#include "coz/sync/thread_exit.h"
#include "coz/sync/thread_sync.h"
#include "coz/sync/wrapped_calls.h"

namespace coz {
namespace {

// Null in processes that are not profiled.
ControlBlock* g_control = nullptr;
pid_t g_pid = 0;
ProcessSlot* g_process = nullptr;
ModuleMap g_modules;
RequestTable g_requests;

// Set when the thread has given up its slot: late samples do not take another.
__thread bool t_left __attribute__((tls_model("initial-exec"))) = false;
// Samples until this thread next looks at whether the supervisor is alive.
__thread uint32_t t_until_check __attribute__((tls_model("initial-exec"))) = 0;
// Local delay at the last fork of this thread.
__thread uint64_t t_fork_local_delay_ns __attribute__((tls_model("initial-exec"))) = 0;
// Between _coz_pre_block and _coz_post_block.
__thread Wait t_custom_wait __attribute__((tls_model("initial-exec"))) = {};

constexpr uint32_t kSamplesBetweenChecks = 256;
constexpr uint64_t kSupervisorSilenceNs = 5 * kNsPerSecond;
// For a supervisor that is gone.
constexpr uint64_t kLongestArmingNs = 2 * kNsPerSecond;

ThreadSlot& SlotOf(ThreadLedger* ledger) { return *reinterpret_cast<ThreadSlot*>(ledger); }

ThreadLedger* ReserveSlotForNewThread() {
  if (HasLeftProfile()) return nullptr;
  UseEverySamplingPeriod();
  ThreadSlot* slot = ReserveThreadSlot(*g_control, IndexOf(*g_control, *g_process), g_pid);
  if (slot == nullptr) return nullptr;
  slot->blocks_reserved_signal = BlocksReservedSignal();
  return &slot->ledger;
}

void CancelSlot(ThreadLedger* reserved) { FreeThreadSlot(*g_control, SlotOf(reserved)); }

void OccupySlot(ThreadSlot& slot) {
  slot.tid = static_cast<int32_t>(syscall(SYS_gettid));
  g_control->threads_started.fetch_add(1, std::memory_order_relaxed);
  slot.state.store(ThreadState::kRunning, std::memory_order_release);
}

SharedDelay g_shared_delay;
ChargeBudget g_charge_budget;

// The calling thread is not sampled itself: its part of what others' samples impose for it.
void ImposeShare(uint64_t threads, ThreadLedger& ledger) {
  const uint64_t delay_ns =
      g_shared_delay.Take(g_control->selection.load(std::memory_order_acquire), threads);
  if (delay_ns == 0) return;
  if (MonotonicNowNs() > g_control->selection_deadline_ns.load(std::memory_order_relaxed)) return;
  ChargePairs(*g_control, RiseBy(g_control->ledger, ledger, delay_ns), &g_charge_budget);
  ImposeDelay(g_control->ledger, ledger, delay_ns);
}

void StartThread(ThreadLedger* reserved, uint64_t stack_bytes) {
  if (HasLeftProfile()) return;
  PrepareNewThreadForUnwinding(stack_bytes);
  if (reserved != nullptr) {
    ThreadSlot& slot = SlotOf(reserved);
    SetBlocksReservedSignal(slot.blocks_reserved_signal);
    OccupySlot(slot);
  }
  // Last: the first sample may come at once.
  const uint64_t threads = StartThreadSampling();
  if (threads > 1 && reserved != nullptr) ImposeShare(threads - 1, *reserved);
}

void EndThread(ThreadLedger* ledger) {
  StopThreadSampling();
  PublishCounters(*g_control);  // its rest, which no sample will publish
  t_left = true;
  FreeThreadSlot(*g_control, SlotOf(ledger));
}

// The calling thread's slot. A thread that was made without pthread_create gets one with its first sample, and starts level.
ThreadSlot* CurrentSlot() {
  ThreadLedger* ledger = CurrentThreadLedger();
  if (ledger == nullptr && !t_left && !HasLeftProfile()) {
    ThreadSlot* slot = ReserveThreadSlot(*g_control, IndexOf(*g_control, *g_process), g_pid);
    if (slot == nullptr) {
      t_left = true;  // counted once
      return nullptr;
    }
    OccupySlot(*slot);
    EnterThreadSync(&slot->ledger,
                    g_control->ledger.global_delay_ns.load(std::memory_order_relaxed));
    ledger = &slot->ledger;
  }
  return ledger == nullptr ? nullptr : &SlotOf(ledger);
}

struct UnitSearch {
  uint32_t unit = kNoUnit;
  bool unmapped = false;
};

bool IsInScope(uint64_t lookup_address, void* opaque) {
  UnitSearch& search = *static_cast<UnitSearch*>(opaque);
  switch (g_modules.UnitAt(lookup_address, &search.unit)) {
    case UnitLookup::kFound:
      return true;
    case UnitLookup::kUnmapped:
      search.unmapped = true;
      return false;
    case UnitLookup::kOutOfScope:
      return false;
  }
  return false;
}

void PushSample(SampleRing& ring, uint32_t unit, uint64_t weight) {
  const uint64_t index = ring.next.fetch_add(1, std::memory_order_relaxed);
  const uint64_t lap = (index / kSampleRingEntries + 1) & 0xffffff;
  const uint64_t clamped_weight = weight < 255 ? weight : 255;
  ring.entries[index % kSampleRingEntries].store(lap << 40 | clamped_weight << 32 | unit,
                                                 std::memory_order_release);
}

bool FindUnit(const Sample& sample, UnitSearch* search) {
  if (g_control->innermost_only != 0) return IsInScope(sample.ip, search);
  uint64_t lookup_address = 0;
  return FindFirstInScope(sample.context, IsInScope, search, &lookup_address);
}

// The unit of a sample, counted by what became of it.
uint32_t Attribute(const Sample& sample) {
  // Coz's own time, which is to be no reason to look at the function that is counted.
  if (g_process != nullptr && IsCountedPlace(*g_process, sample.ip)) {
    g_control->samples.out_of_scope.fetch_add(sample.weight, std::memory_order_relaxed);
    return kNoUnit;
  }
  UnitSearch search;
  if (FindUnit(sample, &search)) {
    g_control->samples.in_scope.fetch_add(sample.weight, std::memory_order_relaxed);
    PushSample(g_control->ring, search.unit, sample.weight);
    return search.unit;
  }
  std::atomic<uint64_t>& counter =
      search.unmapped ? g_control->samples.unmapped : g_control->samples.out_of_scope;
  counter.fetch_add(sample.weight, std::memory_order_relaxed);
  return kNoUnit;
}

// The selected unit and the given one are never the same.
void ImposeIfSelected(uint32_t unit, const Sample& sample, ThreadSlot& slot) {
  const uint64_t selection = g_control->selection.load(std::memory_order_acquire);
  const uint64_t given = g_control->given.load(std::memory_order_relaxed);
  const bool selected = unit != kNoUnit && SelectedUnit(selection) == unit;
  const bool is_given = unit != kNoUnit && SelectedUnit(given) == unit;
  const SampledUnit sampled = selected   ? SampledUnit::kSelected
                              : is_given ? SampledUnit::kGiven
                                         : SampledUnit::kOther;
  if (selection == 0) return;
  CountSample(slot.ledger, sampled, SelectedUnit(selection));
  uint64_t delay_ns = 0;
  if (selected) {
    g_control->samples.selected.fetch_add(sample.weight, std::memory_order_relaxed);
    delay_ns = SelectedDelayNs(selection);
  } else if (is_given) {
    delay_ns = SelectedDelayNs(given);
  }
  if (delay_ns == 0) return;
  const uint64_t deadline_ns = g_control->selection_deadline_ns.load(std::memory_order_relaxed);
  const uint64_t now_ns = MonotonicNowNs();
  if (now_ns > deadline_ns) return;
  // Of all threads that the sample stands for, this one imposes its own part.
  const uint64_t weight = sample.weight / sample.threads;
  if (sample.threads > 1) g_shared_delay.Add(selection, delay_ns * (sample.weight - weight));
  ChargePairs(*g_control, RiseBy(g_control->ledger, slot.ledger, delay_ns * weight),
              &g_charge_budget);
  if (!selected) g_control->samples.given.fetch_add(sample.weight, std::memory_order_relaxed);
  // Of a sample that stands for more than one span, the rest has passed: it was spent in the kernel.
  const uint64_t ahead = weight < sample.span ? weight : sample.span;
  ImposeDelay(g_control->ledger, slot.ledger, delay_ns * (weight - ahead));
  ImposeSample(g_control->ledger, slot.ledger,
               {sampled, delay_ns * ahead, g_control->sampling_period_ns * ahead, deadline_ns},
               now_ns);
}

// Where a wrapped call spins, the ledger knows that the thread waits.
void CountIfSpinning(const Sample& sample, bool waits) {
  if (waits) return;
  uint32_t unit = kNoUnit;
  const bool is_in_file = g_modules.UnitAt(sample.ip, &unit) != UnitLookup::kUnmapped;
  if (!is_in_file || !IsAtSpinHint(sample.ip)) return;
  g_control->samples.spinning.fetch_add(sample.weight, std::memory_order_relaxed);
}

// Stops for good when the supervisor said so, or is gone.
bool ShouldStop() {
  if (g_control->stop.load(std::memory_order_relaxed) != 0) return true;
  if (t_until_check-- != 0) return false;
  t_until_check = kSamplesBetweenChecks;
  const uint64_t heartbeat_ns = g_control->heartbeat_ns.load(std::memory_order_relaxed);
  if (MonotonicNowNs() < heartbeat_ns + kSupervisorSilenceNs) return false;
  return syscall(SYS_kill, g_control->supervisor_pid, 0) != 0 && errno == ESRCH;
}

// The supervisor has found that perf events cost this program too much.
void ChangeSourceIfAsked() {
  if (g_control->use_cpu_timers.load(std::memory_order_relaxed) == 0 || !ChangeToCpuTimers()) {
    return;
  }
  const auto self = static_cast<int32_t>(RawSyscall(SYS_gettid));
  const uint32_t used = g_control->threads_high_water.load(std::memory_order_acquire);
  for (uint32_t i = 0; i < used && i < kMaxThreads; ++i) {
    const ThreadSlot& slot = g_control->threads[i];
    const bool is_other = slot.state.load(std::memory_order_acquire) == ThreadState::kRunning &&
                          slot.pid == g_pid && slot.tid != self;
    if (is_other) SampleThreadByTimer(slot.tid);
  }
}

void OnSample(const Sample& sample) {
  if (ShouldStop()) {
    StopSampler();
    return;
  }
  ChangeSourceIfAsked();
  ThreadSlot* slot = CurrentSlot();
  // Of weight 0, it only gives the thread an occasion to pay.
  const uint32_t unit = sample.weight != 0 ? Attribute(sample) : kNoUnit;
  if (slot == nullptr) return;
  if (t_until_check % 64 == 0) PublishCounters(*g_control);
  if (HoldsDelay(slot->ledger)) {
    ReleaseHeldDelay(g_control->ledger, slot->ledger, MonotonicNowNs());
  }
  if (sample.weight != 0) ImposeIfSelected(unit, sample, *slot);
  // A thread that waits for another, and burns time at it, gets what it owes as credit when it is woken.
  const bool waits = Waits(slot->ledger);
  CountIfSpinning(sample, waits);
  if (!waits && IsBehind(g_control->ledger, slot->ledger)) PayDebt(slot->ledger);
}

// The child of fork is not profiled. Its copy of the shared block becomes memory of its own, so that counters and ledgers of
// the target, whose addresses its threads hold, stay as they are.
void BecomeUnprofiled() {
  mmap(g_control, sizeof(ControlBlock), PROT_READ | PROT_WRITE,
       MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  LeaveThreadSync();
  t_left = true;
  LiftSignalShield();
  g_pid = 0;
  g_process = nullptr;
}

// A filter of system calls is about to be installed, under which each of ours could be the last. Other threads may be at work, or about
// to start, so their ledgers and the handler of late samples stay.
void LeaveProfile() {
  if (!IsProfiledProcess()) return;
  PayIfBehind();
  g_control->processes_without_sampling.fetch_add(1, std::memory_order_relaxed);
  StopSamplerForGood();
  LeaveThreadSyncForGood();
  // Nobody waits for its threads to pay. Their slots, in which marks go on counting, are free when it has ended.
  g_process->state.store(ProcessState::kChanging, std::memory_order_release);
  t_left = true;
  static char rest[PATH_MAX];
  const char* preload = FindPreload(environ);
  if (preload != nullptr && PreloadBytes(preload) <= sizeof(rest)) {
    CopyWithoutPreload(environ, preload, environ, rest);
  }
}

SamplerStatus StartSampling(const ControlBlock& control) {
  SamplerOptions options;
  options.sampling_period_ns = control.sampling_period_ns;
  // Another process than the first is one that others meet.
  const bool alone = g_pid == control.target_pid.load(std::memory_order_relaxed);
  options.span_of_first_thread = alone ? control.span_of_first_thread : 1;
  options.source = control.wanted_source;
  options.exclude_kernel = control.exclude_kernel != 0;
  options.callback = OnSample;
  options.foreign_signal = DeliverForeignSignal;
  if (control.use_cpu_timers.load(std::memory_order_relaxed) == 0) return StartSampler(options);
  options.source = SamplingSource::kCpuTimer;
  const SamplerStatus status = StartSampler(options);
  if (status.source != SamplingSource::kNone) return status;
  options.source = control.wanted_source;
  return StartSampler(options);
}

// The process is the supervisor's from now on.
void PublishProcess(ProcessSlot& process, uint32_t image) {
  process.image.store(image, std::memory_order_relaxed);
  process.program = g_modules.program();
  process.load_bias = g_modules.program_load_bias();
  process.state.store(ProcessState::kRunning, std::memory_order_release);
}

void OnFork() {
  if (g_control == nullptr || HasLeftProfile()) return;
  if (g_control->follow == Follow::kAll) UseEverySamplingPeriod();
  const ThreadLedger* forker = CurrentThreadLedger();
  t_fork_local_delay_ns =
      (forker != nullptr ? forker->local_delay_ns : g_control->ledger.global_delay_ns)
          .load(std::memory_order_relaxed);
}

// The one thread of the child goes on at the virtual time of the thread that forked.
bool ContinueProfiled() {
  ControlBlock& control = *g_control;
  ThreadLedger* inherited = CurrentThreadLedger();
  if (control.follow != Follow::kAll || control.stop.load(std::memory_order_relaxed) != 0 ||
      !IsInNamespaceOf(control)) {
    return false;
  }
  const pid_t pid = getpid();
  ProcessSlot* process = TakeProcessSlot(control, pid, g_pid);
  if (process == nullptr) return false;
  const uint32_t index = IndexOf(control, *process);
  ThreadSlot* slot = inherited != nullptr
                         ? ReplaceInheritedSlot(control, SlotOf(inherited), index, pid)
                         : ReserveThreadSlot(control, index, pid);
  if (slot == nullptr) {
    process->state.store(ProcessState::kFree, std::memory_order_release);
    return false;
  }
  const uint32_t image = g_process->image.load(std::memory_order_relaxed);
  InheritCountedPlaces(*g_process, process);
  g_pid = pid;
  g_process = process;
  t_left = false;
  g_modules.OnForkInChild();
  ForgetPublishedCounters();
  EnterThreadSync(&slot->ledger, t_fork_local_delay_ns);
  OccupySlot(*slot);
  PublishProcess(*process, image);
  if (StartSampling(control).source == SamplingSource::kNone) {
    control.processes_without_sampling.fetch_add(1, std::memory_order_relaxed);
  }
  TakeLentCounters(control);
  return true;
}

void OnForkInChildProcess() {
  if (g_process == nullptr || HasLeftProfile()) return;
  OnForkInChild();
  ForgetLentCounters();
  OnForkInSignalShield();
  if (!ContinueProfiled()) BecomeUnprofiled();
}

// One end of a request that the program has numbered. A pair is known by its END.
void CountRequest(PointSlot& point, uint64_t id, uint64_t virtual_ns) {
  if (point.kind == PointKind::kBegin) {
    PointSlot* end = FindOrAddPoint(*g_control, PointKind::kEnd, point.name);
    if (end != nullptr) g_requests.Begin(*end, id, virtual_ns);
    return;
  }
  uint64_t latency_ns = 0;
  if (!g_requests.End(point, id, virtual_ns, &latency_ns)) return;
  const uint32_t cell = point.timed_cell.load(std::memory_order_relaxed);
  if (cell == 0 || cell > kMaxTimedPoints) return;
  g_control->latencies[cell - 1].requests[LatencyBucket(latency_ns)].fetch_add(
      1, std::memory_order_relaxed);
}

void CountUnfollowed() {
  if (g_process == nullptr || g_control->follow != Follow::kAll) return;
  g_control->processes_unfollowed.fetch_add(1, std::memory_order_relaxed);
}

void PayAtExit() { PayBeforeProcessEnds(); }

// Progress points that the supervisor counts by breakpoints are to see the program's first visit, too.
void AwaitBreakpoints(const ProcessSlot& process, uint32_t image) {
  constexpr timespec kLook = {0, 100 * kNsPerUs};
  const uint64_t deadline_ns = MonotonicNowNs() + kLongestArmingNs;
  while (process.armed.load(std::memory_order_acquire) != image + 1 &&
         MonotonicNowNs() < deadline_ns) {
    RawSyscall(SYS_nanosleep, &kLook, nullptr);
  }
}

void Attach(ControlBlock* control) {
  const pid_t pid = getpid();
  ProcessSlot* process = TakeProcessSlot(*control, pid, getppid());
  if (process == nullptr) {
    munmap(control, kControlMappingBytes);
    return;
  }
  FreeThreadSlotsOf(*control, pid);  // of the program that this process was before an exec
  g_control = control;
  g_pid = pid;
  g_process = process;
  const uint32_t image = control->images.fetch_add(1, std::memory_order_release);
  SetIoTables(&control->io);
  InitThreadSync(&control->ledger,
                 {ReserveSlotForNewThread, CancelSlot, StartThread, EndThread, LeaveProfile, OnFork,
                  OnForkInChildProcess, CountUnfollowed, LeaveOutCpuTime});
  InitThreadExit();
  g_modules.AddProgram(control, AddPointsOfMarks);
  PublishProcess(*process, image);
  InitUnwinder(static_cast<UnwinderKind>(control->wanted_unwinder));
  PrepareThreadForUnwinding();
  InitSignalShield(kSamplingSignal);
  pthread_atfork(OnFork, nullptr, OnForkInChildProcess);
  if (ThreadSlot* slot = ReserveThreadSlot(*control, IndexOf(*control, *process), pid)) {
    OccupySlot(*slot);
    EnterThreadSync(&slot->ledger, control->ledger.global_delay_ns.load(std::memory_order_relaxed));
    ArmThreadExit();
  }
  atexit(PayAtExit);
  if (control->awaits_breakpoints != 0) AwaitBreakpoints(*process, image);
  const SamplerStatus status = StartSampling(*control);
  TakeLentCounters(*control);
  if (pid != control->target_pid.load(std::memory_order_relaxed)) {
    if (status.source == SamplingSource::kNone) {
      control->processes_without_sampling.fetch_add(1, std::memory_order_relaxed);
    }
    return;
  }
  control->sampler_status = status;
  control->sampler_ready.fetch_add(1, std::memory_order_release);
}

__attribute__((constructor)) void InitRuntime() {
  const ErrnoSaver errno_saver;
  ResolveRealCalls();
  TakeOutSanitizer(environ);
  if (ControlBlock* control = MapControlBlock()) Attach(control);
}

}  // namespace

void BeforeUnload() { g_modules.BeginUnload(); }

void AfterUnload() {
  ForgetUnwindCache();
  g_modules.EndUnload();
}

// The system call last: it may be forbidden by then.
bool IsProfiledProcess() { return g_process != nullptr && !HasLeftProfile() && getpid() == g_pid; }

bool HasLeftProfile() { return HasLeftThreadSync(); }

void NoteUnreachableProgram() {
  if (g_process == nullptr || g_control->follow != Follow::kAll) return;
  g_control->programs_unreachable.store(1, std::memory_order_relaxed);
}

void PrepareProcessForExec() {
  g_process->state.store(ProcessState::kChanging, std::memory_order_release);
  PrepareForExec();
}

void ResumeProcessAfterFailedExec() {
  ResumeAfterFailedExec();
  g_process->state.store(ProcessState::kRunning, std::memory_order_release);
}

}  // namespace coz

// The interface that marks and the original's programs look up with dlsym.
extern "C" {

#define COZ_EXPORT __attribute__((visibility("default")))

COZ_EXPORT coz::CompatibleCounter* _coz_get_counter(int kind, const char* name) {
  if (!coz::IsProfiledProcess() || kind < 1 || kind > 3 || name == nullptr) return nullptr;
  coz::PointSlot* point =
      coz::FindOrAddPoint(*coz::g_control, static_cast<coz::PointKind>(kind), name);
  return point == nullptr ? nullptr : &point->shared;
}

COZ_EXPORT uint64_t* _coz_thread_counter(int kind, const char* name) {
  if (!coz::IsProfiledProcess() || kind < 1 || kind > 3 || name == nullptr) return nullptr;
  coz::PointSlot* point =
      coz::FindOrAddPoint(*coz::g_control, static_cast<coz::PointKind>(kind), name);
  if (point == nullptr) return nullptr;
  coz::ThreadSlot* slot = coz::CurrentSlot();
  // std::atomic<uint64_t> is lock-free and laid out as uint64_t; marks access it with atomic loads and stores. A thread without
  // a slot shares a counter and may lose visits; it was counted.
  static_assert(sizeof(std::atomic<uint64_t>) == sizeof(uint64_t));
  return slot == nullptr
             ? reinterpret_cast<uint64_t*>(&point->shared.count)
             : reinterpret_cast<uint64_t*>(&slot->visits[point - coz::g_control->points]);
}

COZ_EXPORT void _coz_timed_visit(int kind, const char* name, uint32_t* handle, const uint64_t* id) {
  using namespace coz;
  if (g_process == nullptr || HasLeftProfile() || kind < 2 || kind > 3 || name == nullptr) return;
  // The handle is the number of the point, for which the mark keeps room.
  uint32_t number = __atomic_load_n(handle, __ATOMIC_RELAXED);
  if (number == 0) {
    PointSlot* found = FindOrAddPoint(*g_control, static_cast<PointKind>(kind), name);
    if (found == nullptr) return;
    number = static_cast<uint32_t>(found - g_control->points) + 1;
    __atomic_store_n(handle, number, __ATOMIC_RELAXED);
  }
  PointSlot& point = g_control->points[number - 1];
  ThreadSlot* slot = CurrentSlot();
  if (slot == nullptr) {
    point.shared.count.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  const uint64_t virtual_ns = VirtualTimeOfVisitNs(g_control->ledger, slot->ledger);
  CountTimedVisit(*g_control, *slot, point, virtual_ns);
  if (id != nullptr) CountRequest(point, *id, virtual_ns);
}

COZ_EXPORT void _coz_add_delays() { coz::PayIfBehind(); }

COZ_EXPORT void _coz_pre_block() {
  coz::PayIfBehind();
  if (coz::ThreadLedger* ledger = coz::CurrentThreadLedger()) {
    coz::t_custom_wait = coz::BeginThreadWait(*ledger, coz::MonotonicNowNs());
  }
}

COZ_EXPORT void _coz_post_block(int ended_by_thread) {
  coz::ThreadLedger* ledger = coz::CurrentThreadLedger();
  if (ledger == nullptr) return;
  const uint64_t now_ns = coz::MonotonicNowNs();
  if (coz::HoldsDelay(*ledger)) coz::ResumeHold(*ledger, now_ns);
  if (ended_by_thread != 0 && coz::t_custom_wait.start_ns != 0) {
    coz::EndToldWait(*ledger, coz::t_custom_wait, now_ns);
  } else {
    coz::EndWaitUncredited(*ledger);
  }
  coz::t_custom_wait = {};
}

}  // extern "C"
