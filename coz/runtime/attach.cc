// The library's constructor: attaches the process to the supervisor's control block, or guards
// breakpoints, or does nothing. Process: target. Context: before the program's main.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cstdint>

#include "coz/base/clock.h"
#include "coz/base/errno_saver.h"
#include "coz/base/raw_syscall.h"
#include "coz/base/spared_calls.h"
#include "coz/runtime/api_calls.h"
#include "coz/runtime/breakpoint_guard.h"
#include "coz/runtime/call_routines.h"
#include "coz/runtime/fork.h"
#include "coz/runtime/patched_code.h"
#include "coz/runtime/process_entry.h"
#include "coz/runtime/process_hooks.h"
#include "coz/runtime/program_kind.h"
#include "coz/runtime/progress_points.h"
#include "coz/runtime/runtime.h"
#include "coz/runtime/runtime_state.h"
#include "coz/runtime/second_copy.h"
#include "coz/runtime/thread_hooks.h"
#include "coz/sampler/sampler.h"
#include "coz/sampler/unwind/unwinder.h"
#include "coz/shared/control_block.h"
#include "coz/shared/control_mapping.h"
#include "coz/shared/lent_counters.h"
#include "coz/shared/process_slots.h"
#include "coz/shared/thread_records.h"
#include "coz/shared/thread_slots.h"
#include "coz/sync/interpose/io_object.h"
#include "coz/sync/interpose/memory_limit.h"
#include "coz/sync/interpose/preload_environment.h"
#include "coz/sync/interpose/process_end.h"
#include "coz/sync/interpose/signal_shield.h"
#include "coz/sync/interpose/stdio_tables.h"
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

// A supervisor that is gone sets no breakpoints.
constexpr uint64_t kLongestArmingNs = 2 * kNsPerSecond;

bool IsGuardOnly() {
  const char* control = getenv(shared::kControlVariable);
  return control != nullptr && strcmp(control, shared::kGuardOnly) == 0;
}

void PayAtExit() {
  interpose::PayBeforeProcessEnds();
  delay::ThreadLedger* const ledger = interpose::LedgerEvenIfUnseen();
  if (ledger != nullptr) shared::NoteCpuTime(runtime_internal::SlotOf(ledger));
}

// Waits until the supervisor has set its breakpoints, so that they count the first visit too.
void AwaitBreakpoints(const shared::ProcessSlot& process, uint32_t image) {
  constexpr timespec kLook = {0, 100 * kNsPerUs};
  const uint64_t deadline_ns = MonotonicNowNs() + kLongestArmingNs;
  while (process.armed.load(std::memory_order_acquire) != image + 1 &&
         MonotonicNowNs() < deadline_ns) {
    runtime_internal::ChangeCodeIfAsked(*g_control, g_pid);
    RawSyscall(SYS_nanosleep, &kLook, nullptr);
  }
}

// Whether `control` has the sampler's status of this process.
bool IsFirstProcess(const shared::ControlBlock& control) {
  return g_pid == control.target_pid.load(std::memory_order_relaxed);
}

void BeginSampling() {
  shared::ControlBlock& control = *g_control;
  const sampler::SamplerStatus status = StartSampling(control);
  if (status.handler_errno != 0) interpose::LiftSignalShield();
  if (!IsFirstProcess(control)) {
    if (status.source == sampler::SamplingSource::kNone) {
      shared::Add(control.counters.processes_without_sampling);
    }
    return;
  }
  control.sampler_status = status;
  control.sampler_ready.fetch_add(1, std::memory_order_release);
}

void BeginSamplingLate() {
  if (!IsProfiledProcess()) return;
  if (!IsFirstProcess(*g_control)) {
    g_control->counters.processes_without_sampling.fetch_sub(1, std::memory_order_relaxed);
  }
  BeginSampling();
}

// Go's runtime takes all signals when it starts. Where it does so by libc, the signal shield sees
// to it, and samples may come from then on. Where it makes the system call itself, nobody sees it:
// a sample would go to its handler, which ends the program.
void AwaitGosHandlers() {
  interpose::AwaitReservedAction(BeginSamplingLate);
  if (!IsFirstProcess(*g_control)) {
    return shared::Add(g_control->counters.processes_without_sampling);
  }
  g_control->sampler_status = sampler::SamplerStatus();
  g_control->sampler_status.awaits_handler = true;
}

void Attach(shared::ControlBlock* control) {
  g_deadly_calls.store(control->deadly_calls, std::memory_order_relaxed);
  const pid_t pid = getpid();
  shared::ProcessSlot* process =
      IsSecondCopy(*control, pid) ? nullptr : shared::TakeProcessSlot(*control, pid, getppid());
  if (process == nullptr) {
    munmap(control, shared::kControlMappingBytes);
    return;
  }
  shared::FreeThreadSlotsOf(*control, pid);  // of the program that this process was before an exec
  g_control = control;
  interpose::SetProfilersMemory(shared::kControlMappingBytes);
  g_pid = pid;
  g_process = process;
  const uint32_t image = control->images.fetch_add(1, std::memory_order_release);
  runtime_internal::ShareVisitsOfNobody(*control, shared::IndexOf(*control, *process), pid);
  interpose::SetIoTables(&control->io);
  interpose::InitThreadSync(&control->ledger, RuntimeThreadHooks());
  interpose::g_process_hooks = RuntimeProcessHooks();
  interpose::WrapStdio();
  interpose::InitThreadExit();
  g_modules.AddProgram(control, AddPointsOfMarks);
  process->counters_fs_offset = runtime_internal::CountersFsOffset();
  runtime_internal::PublishCallRoutines(process);
  runtime_internal::PublishApiRoutines(control, process);
  const bool is_go = PublishOwnCalls(*process);
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
  if (is_go || control->awaits_breakpoints.load(std::memory_order_relaxed) != 0)
    AwaitBreakpoints(*process, image);
  if (is_go) {
    AwaitGosHandlers();
  } else {
    BeginSampling();
  }
  shared::TakeLentCounters(*control);
}

__attribute__((constructor)) void InitRuntime() {
  const ErrnoSaver errno_saver;
  interpose::ResolveRealCalls();
  interpose::TakeOutSanitizer(environ);
  interpose::NoteOwnLibrary(environ);
  if (KindOfProgram() == ProgramKind::kWithoutLibc || RunsUnderValgrind()) return;
  if (IsGuardOnly()) return GuardBreakpoints();
  if (shared::ControlBlock* control = shared::MapControlBlock()) Attach(control);
}

}  // namespace
}  // namespace coz::runtime
