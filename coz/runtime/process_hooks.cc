// exec, dlclose, and descriptors that the profiler holds. Process: target. Context: the program's
// threads, and children of vfork that have borrowed one.
#include "coz/runtime/process_hooks.h"

#include <signal.h>
#include <sys/syscall.h>
#include <time.h>

#include "coz/base/clock.h"
#include "coz/base/raw_syscall.h"
#include "coz/patch/code_patcher.h"
#include "coz/runtime/api_calls.h"
#include "coz/runtime/runtime.h"
#include "coz/runtime/runtime_state.h"
#include "coz/sampler/sampler.h"
#include "coz/sampler/unwind/unwinder.h"
#include "coz/shared/control_block.h"
#include "coz/sync/interpose/call_slots.h"

namespace coz::runtime {
namespace {

using runtime_internal::g_control;
using runtime_internal::g_is_late;
using runtime_internal::g_modules;
using runtime_internal::g_process;

bool FollowsPrograms() { return g_process != nullptr && g_control->follow == shared::Follow::kAll; }

void NoteUnreachableProgram() {
  if (!FollowsPrograms()) return;
  g_control->counters.programs_unreachable.store(1, std::memory_order_relaxed);
}

void NoteForeignProgram() {
  if (!FollowsPrograms()) return;
  g_control->counters.programs_foreign.store(1, std::memory_order_relaxed);
}

// Of the thread that execs, and of the program that it becomes.
bool g_blocks_samples = false;

void BlockSamples(bool blocks) {
  const uint64_t samples = uint64_t{1} << (sampler::kSamplingSignal - 1);
  RawSyscall(SYS_rt_sigprocmask, blocks ? SIG_BLOCK : SIG_UNBLOCK, &samples, nullptr,
             sizeof(samples));
  g_blocks_samples = blocks;
}

// The supervisor has opened the events of a process that it has attached to, and switches them off
// when it sees the process change. If it is gone, its events are too. In a child of fork it may not
// have opened any. It may be busy for seconds, with other processes or for want of a CPU. A sample
// would end the new program; where the supervisor never comes, as when it is stopped, the program
// rather has its signal blocked.
void AwaitEventsOff() {
  constexpr timespec kLook = {0, kNsPerMs};
  constexpr int kMostLooks = 30'000;
  for (int i = 0; i < kMostLooks; ++i) {
    if (g_process->armed.load(std::memory_order_acquire) == shared::kArmedForExec) return;
    if (runtime_internal::SupervisorHasEnded()) return;
    RawSyscall(SYS_nanosleep, &kLook, nullptr);
  }
  BlockSamples(true);
}

void PrepareProcessForExec() {
  g_process->state.store(shared::ProcessState::kChanging, std::memory_order_seq_cst);
  const bool may_have_events =
      g_is_late && !sampler::UsesCpuTimers() &&
      g_process->armed.load(std::memory_order_seq_cst) != shared::kWithoutEvents;
  if (may_have_events) AwaitEventsOff();
  sampler::PrepareForExec();
}

void ResumeProcessAfterFailedExec() {
  if (g_blocks_samples) BlockSamples(false);
  sampler::ResumeAfterFailedExec();
  g_process->state.store(shared::ProcessState::kRunning, std::memory_order_release);
}

void BeforeUnload() {
  patch::BeginUnmap();
  g_modules.BeginUnload();
}

void AfterUnload() {
  sampler::ForgetUnwindCache();
  g_modules.EndUnload();
  patch::EndUnmap();
  if (g_is_late) interpose::ForgetUnloadedObjects();
  runtime_internal::FlushApiCallSites();
  g_process->unloads.fetch_add(1, std::memory_order_release);
}

}  // namespace

interpose::ProcessHooks RuntimeProcessHooks() {
  return {IsProfiledProcess,     NoteUnreachableProgram,       NoteForeignProgram,
          PrepareProcessForExec, ResumeProcessAfterFailedExec, BeforeUnload,
          AfterUnload,           sampler::MakeWayForDescriptor};
}

}  // namespace coz::runtime
