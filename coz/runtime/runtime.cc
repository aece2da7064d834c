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

namespace coz::runtime {
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

delay::ThreadLedger* ReserveSlotForNewThread() {
  if (HasLeftProfile()) return nullptr;
  shared::ThreadSlot* slot =
      shared::ReserveThreadSlot(*g_control, shared::IndexOf(*g_control, *g_process), g_pid);
  if (slot == nullptr) return nullptr;
  slot->blocks_reserved_signal = interpose::BlocksReservedSignal();
  return &slot->ledger;
}

void CancelSlot(delay::ThreadLedger* reserved) {
  shared::FreeThreadSlot(*g_control, SlotOf(reserved));
}

void StartThread(delay::ThreadLedger* reserved, uint64_t stack_bytes) {
  if (HasLeftProfile()) return;
  sampler::PrepareNewThreadForUnwinding(stack_bytes);
  if (reserved != nullptr) {
    shared::ThreadSlot& slot = SlotOf(reserved);
    interpose::SetBlocksReservedSignal(slot.blocks_reserved_signal);
    OccupySlot(slot);
  }
  // Last: the first sample may come at once.
  const uint64_t threads = sampler::StartThreadSampling();
  if (threads > 1 && reserved != nullptr) ImposeShare(threads - 1, *reserved);
}

void EndThread(delay::ThreadLedger* ledger) {
  sampler::StopThreadSampling();
  PublishCounters(*g_control);  // its rest, which no sample will publish
  t_left = true;
  shared::FreeThreadSlot(*g_control, SlotOf(ledger));
}

// The child of fork is not profiled. Its copy of the shared block becomes memory of its own, so that counters and ledgers of
// the target, whose addresses its threads hold, stay as they are.
void BecomeUnprofiled() {
  mmap(g_control, sizeof(shared::ControlBlock), PROT_READ | PROT_WRITE,
       MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  interpose::LeaveThreadSync();
  t_left = true;
  interpose::LiftSignalShield();
  g_pid = 0;
  g_process = nullptr;
}

// A filter of system calls is about to be installed, under which each of ours could be the last. Other threads may be at work, or about
// to start, so their ledgers and the handler of late samples stay.
void LeaveProfile() {
  if (!IsProfiledProcess()) return;
  interpose::PayIfBehind();
  g_control->processes_without_sampling.fetch_add(1, std::memory_order_relaxed);
  sampler::StopSamplerForGood();
  interpose::LeaveThreadSyncForGood();
  // Nobody waits for its threads to pay. Their slots, in which marks go on counting, are free when it has ended.
  g_process->state.store(shared::ProcessState::kChanging, std::memory_order_release);
  t_left = true;
  static char rest[PATH_MAX];
  const char* preload = interpose::FindPreload(environ);
  if (preload != nullptr && interpose::PreloadBytes(preload) <= sizeof(rest)) {
    interpose::CopyWithoutPreload(environ, preload, environ, rest);
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
                       shared::IsLostBreakpoint(*g_process, info->si_code, registers[REG_TRAPNO],
                                                static_cast<uint64_t>(registers[REG_RIP])) &&
                       !IsAtInt1(registers);
  if (!is_lost) return interpose::DeliverForeignSignal(signal, info, context);
  if (++t_lost_breakpoints % kMostLost == 0) registers[REG_EFL] |= kResumeFlag;
}

void OnTrapOfGuarded(int signal, siginfo_t* info, void* context) {
  const greg_t* const registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  if (shared::MayBeLostBreakpoint(info->si_code, registers[REG_TRAPNO]) && !IsAtInt1(registers))
    return;
  interpose::DeliverForeignSignal(signal, info, context);
}

// Nothing is profiled: somebody counts by breakpoints, and the process is to survive them.
void GuardBreakpoints() {
  interpose::InitSignalShield(sampler::kSamplingSignal);
  InstallSignalHandler(sampler::kSamplingSignal, OnTrapOfGuarded);
  UnblockSignal(sampler::kSamplingSignal);
}

bool IsGuardOnly() {
  const char* control = getenv(shared::kControlVariable);
  return control != nullptr && strcmp(control, shared::kGuardOnly) == 0;
}

sampler::SamplerStatus StartSampling(const shared::ControlBlock& control) {
  sampler::SamplerOptions options;
  options.sampling_period_ns = control.sampling_period_ns;
  options.source = control.wanted_source;
  options.exclude_kernel = control.exclude_kernel != 0;
  options.callback = OnSample;
  options.foreign_signal = OnForeignSignal;
  options.shared_event = &g_process->event;
  options.suspensions = &control.suspensions;
  if (control.use_cpu_timers.load(std::memory_order_relaxed) == 0)
    return sampler::StartSampler(options);
  options.source = sampler::SamplingSource::kCpuTimer;
  const sampler::SamplerStatus status = sampler::StartSampler(options);
  if (status.source != sampler::SamplingSource::kNone) return status;
  options.source = control.wanted_source;
  return sampler::StartSampler(options);
}

// The process is the supervisor's from now on.
void PublishProcess(shared::ProcessSlot& process, uint32_t image) {
  process.image.store(image, std::memory_order_relaxed);
  process.program = g_modules.program();
  process.load_bias = g_modules.program_load_bias();
  process.state.store(shared::ProcessState::kRunning, std::memory_order_release);
}

void OnFork() {
  if (g_control == nullptr || HasLeftProfile()) return;
  const delay::ThreadLedger* forker = interpose::CurrentThreadLedger();
  t_fork_local_delay_ns =
      (forker != nullptr ? forker->local_delay_ns : g_control->ledger.global_delay_ns)
          .load(std::memory_order_relaxed);
}

// The one thread of the child goes on at the virtual time of the thread that forked.
bool ContinueProfiled() {
  shared::ControlBlock& control = *g_control;
  delay::ThreadLedger* inherited = interpose::CurrentThreadLedger();
  if (control.follow != shared::Follow::kAll || control.stop.load(std::memory_order_relaxed) != 0 ||
      !shared::IsInNamespaceOf(control)) {
    return false;
  }
  const pid_t pid = getpid();
  shared::ProcessSlot* process = shared::TakeProcessSlot(control, pid, g_pid);
  if (process == nullptr) return false;
  const uint32_t index = shared::IndexOf(control, *process);
  shared::ThreadSlot* slot =
      inherited != nullptr ? shared::ReplaceInheritedSlot(control, SlotOf(inherited), index, pid)
                           : shared::ReserveThreadSlot(control, index, pid);
  if (slot == nullptr) {
    process->state.store(shared::ProcessState::kFree, std::memory_order_release);
    return false;
  }
  const uint32_t image = g_process->image.load(std::memory_order_relaxed);
  shared::InheritCountedPlaces(*g_process, process);
  g_pid = pid;
  g_process = process;
  t_left = false;
  g_modules.OnForkInChild();
  ForgetPublishedCounters();
  interpose::EnterThreadSync(&slot->ledger, t_fork_local_delay_ns);
  OccupySlot(*slot);
  PublishProcess(*process, image);
  if (StartSampling(control).source == sampler::SamplingSource::kNone) {
    control.processes_without_sampling.fetch_add(1, std::memory_order_relaxed);
  }
  shared::TakeLentCounters(control);
  return true;
}

void OnForkInChildProcess() {
  if (g_process == nullptr || HasLeftProfile()) return;
  sampler::OnForkInChild();
  shared::ForgetLentCounters();
  interpose::OnForkInSignalShield();
  if (!ContinueProfiled()) BecomeUnprofiled();
}

void CountUnfollowed() {
  if (g_process == nullptr || g_control->follow != shared::Follow::kAll) return;
  g_control->processes_unfollowed.fetch_add(1, std::memory_order_relaxed);
}

// Of more threads it costs too much to ask.
constexpr uint32_t kMostThreadsAsked = 64;

uint64_t HighestLocalDelay(uint64_t now_ns) {
  const uint32_t threads = g_control->threads_high_water.load(std::memory_order_acquire);
  if (threads > kMostThreadsAsked) return 0;
  uint64_t highest_ns = 0;
  for (uint32_t i = 0; i < threads; ++i) {
    const shared::ThreadSlot& slot = g_control->threads[i];
    if (slot.state.load(std::memory_order_acquire) != shared::ThreadState::kRunning) continue;
    highest_ns = std::max(highest_ns, delay::LocalDelayAt(g_control->ledger, slot.ledger, now_ns));
  }
  return highest_ns;
}

void PayAtExit() { interpose::PayBeforeProcessEnds(); }

// Progress points that the supervisor counts by breakpoints are to see the program's first visit, too.
void AwaitBreakpoints(const shared::ProcessSlot& process, uint32_t image) {
  constexpr timespec kLook = {0, 100 * kNsPerUs};
  const uint64_t deadline_ns = MonotonicNowNs() + kLongestArmingNs;
  while (process.armed.load(std::memory_order_acquire) != image + 1 &&
         MonotonicNowNs() < deadline_ns) {
    RawSyscall(SYS_nanosleep, &kLook, nullptr);
  }
}

void BeforeUnload() { g_modules.BeginUnload(); }

void AfterUnload() {
  sampler::ForgetUnwindCache();
  g_modules.EndUnload();
}

void NoteUnreachableProgram() {
  if (g_process == nullptr || g_control->follow != shared::Follow::kAll) return;
  g_control->programs_unreachable.store(1, std::memory_order_relaxed);
}

void PrepareProcessForExec() {
  g_process->state.store(shared::ProcessState::kChanging, std::memory_order_release);
  sampler::PrepareForExec();
}

void ResumeProcessAfterFailedExec() {
  sampler::ResumeAfterFailedExec();
  g_process->state.store(shared::ProcessState::kRunning, std::memory_order_release);
}

void Attach(shared::ControlBlock* control) {
  const pid_t pid = getpid();
  shared::ProcessSlot* process = shared::TakeProcessSlot(*control, pid, getppid());
  if (process == nullptr) {
    munmap(control, shared::kControlMappingBytes);
    return;
  }
  shared::FreeThreadSlotsOf(*control, pid);  // of the program that this process was before an exec
  g_control = control;
  g_pid = pid;
  g_process = process;
  const uint32_t image = control->images.fetch_add(1, std::memory_order_release);
  interpose::SetIoTables(&control->io);
  interpose::InitThreadSync(
      &control->ledger,
      {ReserveSlotForNewThread, CancelSlot, StartThread, EndThread, LeaveProfile, OnFork,
       OnForkInChildProcess, CountUnfollowed, sampler::LeaveOutCpuTime, HighestLocalDelay});
  interpose::g_process_hooks = {IsProfiledProcess,
                                NoteUnreachableProgram,
                                PrepareProcessForExec,
                                ResumeProcessAfterFailedExec,
                                BeforeUnload,
                                AfterUnload,
                                sampler::MakeWayForDescriptor};
  interpose::InitThreadExit();
  g_modules.AddProgram(control, AddPointsOfMarks);
  PublishProcess(*process, image);
  sampler::InitUnwinder(static_cast<sampler::UnwinderKind>(control->wanted_unwinder));
  sampler::PrepareThreadForUnwinding();
  interpose::InitSignalShield(sampler::kSamplingSignal);
  pthread_atfork(OnFork, nullptr, OnForkInChildProcess);
  if (shared::ThreadSlot* slot =
          shared::ReserveThreadSlot(*control, shared::IndexOf(*control, *process), pid)) {
    OccupySlot(*slot);
    interpose::EnterThreadSync(&slot->ledger,
                               control->ledger.global_delay_ns.load(std::memory_order_relaxed));
    interpose::ArmThreadExit();
  }
  atexit(PayAtExit);
  if (control->awaits_breakpoints != 0) AwaitBreakpoints(*process, image);
  const sampler::SamplerStatus status = StartSampling(*control);
  shared::TakeLentCounters(*control);
  if (pid != control->target_pid.load(std::memory_order_relaxed)) {
    if (status.source == sampler::SamplingSource::kNone) {
      control->processes_without_sampling.fetch_add(1, std::memory_order_relaxed);
    }
    return;
  }
  control->sampler_status = status;
  control->sampler_ready.fetch_add(1, std::memory_order_release);
}

__attribute__((constructor)) void InitRuntime() {
  const ErrnoSaver errno_saver;
  interpose::ResolveRealCalls();
  interpose::TakeOutSanitizer(environ);
  if (IsGuardOnly()) return GuardBreakpoints();
  if (shared::ControlBlock* control = shared::MapControlBlock()) Attach(control);
}

}  // namespace

// The system call last: it may be forbidden by then.
bool IsProfiledProcess() { return g_process != nullptr && !HasLeftProfile() && getpid() == g_pid; }

bool HasLeftProfile() { return interpose::HasLeftThreadSync(); }

}  // namespace coz::runtime
