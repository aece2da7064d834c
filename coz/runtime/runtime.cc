#include "coz/runtime/runtime.h"

#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "coz/base/clock.h"
#include "coz/base/errno_saver.h"
#include "coz/base/raw_syscall.h"
#include "coz/base/sampling_signal.h"
#include "coz/runtime/progress_points.h"
#include "coz/runtime/published_counters.h"
#include "coz/runtime/runtime_state.h"
#include "coz/runtime/sample_handler.h"
#include "coz/sampler/sampler.h"
#include "coz/sampler/unwinder.h"
#include "coz/shared/control_block.h"
#include "coz/shared/control_mapping.h"
#include "coz/shared/lent_counters.h"
#include "coz/shared/process_slots.h"
#include "coz/shared/thread_slots.h"
#include "coz/sync/delay/io_tables.h"
#include "coz/sync/interpose/preload_environment.h"
#include "coz/sync/interpose/process_end.h"
#include "coz/sync/interpose/process_hooks.h"
#include "coz/sync/interpose/signal_shield.h"
#include "coz/sync/interpose/thread_exit.h"
#include "coz/sync/interpose/thread_sync.h"
#include "coz/sync/interpose/wrapped_calls.h"

namespace coz {
namespace {

using runtime_internal::g_control;
using runtime_internal::g_modules;
using runtime_internal::g_pid;
using runtime_internal::g_process;
using runtime_internal::OccupySlot;
using runtime_internal::SlotOf;
using runtime_internal::t_left;

// Local delay at the last fork of this thread.
__thread uint64_t t_fork_local_delay_ns __attribute__((tls_model("initial-exec"))) = 0;
// Breakpoints of which this thread had to be told by their address.
__thread uint32_t t_lost_breakpoints __attribute__((tls_model("initial-exec"))) = 0;
// For a supervisor that is gone.
constexpr uint64_t kLongestArmingNs = 2 * kNsPerSecond;

ThreadLedger* ReserveSlotForNewThread() {
  if (HasLeftProfile()) return nullptr;
  ThreadSlot* slot = ReserveThreadSlot(*g_control, IndexOf(*g_control, *g_process), g_pid);
  if (slot == nullptr) return nullptr;
  slot->blocks_reserved_signal = BlocksReservedSignal();
  return &slot->ledger;
}

void CancelSlot(ThreadLedger* reserved) { FreeThreadSlot(*g_control, SlotOf(reserved)); }

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

// Some hypervisors report the program's own `int1` at that instruction, so that it comes again for ever if it is tried again.
bool IsAtInt1(const greg_t* registers) {
  constexpr uint8_t kInt1 = 0xf1;
  return *reinterpret_cast<const uint8_t*>(registers[REG_RIP]) == kInt1;
}

// Of a lost breakpoint the same instruction is tried again, and counted then. Should it be lost again and again, the thread is let past it.
void OnForeignSignal(int signal, siginfo_t* info, void* context) {
  constexpr uint32_t kMostLost = 64;
  constexpr greg_t kResumeFlag = 1 << 16;
  greg_t* const registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  const bool is_lost = g_process != nullptr &&
                       IsLostBreakpoint(*g_process, info->si_code, registers[REG_TRAPNO],
                                        static_cast<uint64_t>(registers[REG_RIP])) &&
                       !IsAtInt1(registers);
  if (!is_lost) return DeliverForeignSignal(signal, info, context);
  if (++t_lost_breakpoints % kMostLost == 0) registers[REG_EFL] |= kResumeFlag;
}

void OnTrapOfGuarded(int signal, siginfo_t* info, void* context) {
  const greg_t* const registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  if (MayBeLostBreakpoint(info->si_code, registers[REG_TRAPNO]) && !IsAtInt1(registers)) return;
  DeliverForeignSignal(signal, info, context);
}

// Nothing is profiled: somebody counts by breakpoints, and the process is to survive them.
void GuardBreakpoints() {
  InitSignalShield(kSamplingSignal);
  InstallSignalHandler(kSamplingSignal, OnTrapOfGuarded);
  UnblockSignal(kSamplingSignal);
}

bool IsGuardOnly() {
  const char* control = getenv(kControlVariable);
  return control != nullptr && strcmp(control, kGuardOnly) == 0;
}

SamplerStatus StartSampling(const ControlBlock& control) {
  SamplerOptions options;
  options.sampling_period_ns = control.sampling_period_ns;
  options.source = control.wanted_source;
  options.exclude_kernel = control.exclude_kernel != 0;
  options.callback = OnSample;
  options.foreign_signal = OnForeignSignal;
  options.shared_event = &g_process->event;
  options.suspensions = &control.suspensions;
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

void CountUnfollowed() {
  if (g_process == nullptr || g_control->follow != Follow::kAll) return;
  g_control->processes_unfollowed.fetch_add(1, std::memory_order_relaxed);
}

// Of more threads it costs too much to ask.
constexpr uint32_t kMostThreadsAsked = 64;

uint64_t HighestLocalDelay(uint64_t now_ns) {
  const uint32_t threads = g_control->threads_high_water.load(std::memory_order_acquire);
  if (threads > kMostThreadsAsked) return 0;
  uint64_t highest_ns = 0;
  for (uint32_t i = 0; i < threads; ++i) {
    const ThreadSlot& slot = g_control->threads[i];
    if (slot.state.load(std::memory_order_acquire) != ThreadState::kRunning) continue;
    highest_ns = std::max(highest_ns, LocalDelayAt(g_control->ledger, slot.ledger, now_ns));
  }
  return highest_ns;
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

void BeforeUnload() { g_modules.BeginUnload(); }

void AfterUnload() {
  ForgetUnwindCache();
  g_modules.EndUnload();
}

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
                  OnForkInChildProcess, CountUnfollowed, LeaveOutCpuTime, HighestLocalDelay});
  g_process_hooks = {IsProfiledProcess,     NoteUnreachableProgram,
                     PrepareProcessForExec, ResumeProcessAfterFailedExec,
                     BeforeUnload,          AfterUnload,
                     MakeWayForDescriptor};
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
  if (IsGuardOnly()) return GuardBreakpoints();
  if (ControlBlock* control = MapControlBlock()) Attach(control);
}

}  // namespace

// The system call last: it may be forbidden by then.
bool IsProfiledProcess() { return g_process != nullptr && !HasLeftProfile() && getpid() == g_pid; }

bool HasLeftProfile() { return HasLeftThreadSync(); }

}  // namespace coz
