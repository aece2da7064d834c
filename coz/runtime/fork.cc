// Process: target. Context: the program's threads, and the one thread of a child of fork.
#include "coz/runtime/fork.h"

#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>

#include "coz/patch/code_patcher.h"
#include "coz/runtime/api_calls.h"
#include "coz/runtime/call_routines.h"
#include "coz/runtime/kept_block.h"
#include "coz/runtime/patched_code.h"
#include "coz/runtime/process_entry.h"
#include "coz/runtime/published_counters.h"
#include "coz/runtime/runtime.h"
#include "coz/runtime/runtime_state.h"
#include "coz/sampler/sampler.h"
#include "coz/shared/control_block.h"
#include "coz/shared/control_mapping.h"
#include "coz/shared/lent_counters.h"
#include "coz/shared/process_slots.h"
#include "coz/shared/thread_slots.h"
#include "coz/sync/interpose/alternate_stacks.h"
#include "coz/sync/interpose/call_slots.h"
#include "coz/sync/interpose/signal_shield.h"
#include "coz/sync/interpose/thread_sync.h"

namespace coz::runtime {
namespace {

using runtime_internal::g_control;
using runtime_internal::g_is_late;
using runtime_internal::g_modules;
using runtime_internal::g_pid;
using runtime_internal::g_process;
using runtime_internal::OccupySlot;
using runtime_internal::SlotOf;
using runtime_internal::t_left;

// Local delay at the last fork of this thread.
__thread uint64_t t_fork_local_delay_ns __attribute__((tls_model("initial-exec"))) = 0;

// The child of fork is not profiled. Its copy of the shared block becomes memory of its own, so
// that counters and ledgers of the target, whose addresses its threads hold, stay as they are.
void BecomeUnprofiled() {
  runtime_internal::ReplaceBlock();
  runtime_internal::ShareNoVisits();
  interpose::LeaveThreadSync();
  t_left = true;
  // An int3 that stays needs its handler.
  if (patch::RestoreCode()) interpose::LiftSignalShield();
  g_pid = 0;
  g_process = nullptr;
}

// The same where the parent is attached to, or was, and the child does not join its session. The
// child may be attached to later, so its thread keeps its slot, in memory of its own.
void BecomeAttachable() {
  const bool was_profiled = g_process != nullptr;
  runtime_internal::KeepBlockInChild();
  interpose::AdmitLateThreads(false);
  runtime_internal::ShareNoVisits();
  g_process = nullptr;
  g_pid = 0;
  if (was_profiled) interpose::UnwrapObjects();
  // An int3 that stays needs its handler.
  if (!was_profiled || !patch::RestoreCode()) return;
  interpose::GiveMasksBack();
  interpose::LiftSignalShield();
}

bool MayJoin(shared::ControlBlock& control) {
  return control.follow == shared::Follow::kAll &&
         control.stop.load(std::memory_order_relaxed) == 0 && shared::MayJoinFromHere(control);
}

// Takes a slot for the process, and one for its thread in the place of `inherited`, if that is not
// null. Null: there is no room.
shared::ProcessSlot* TakeSlots(shared::ControlBlock& control, delay::ThreadLedger* inherited,
                               pid_t pid, shared::ThreadSlot** slot) {
  shared::ProcessSlot* const process = shared::TakeProcessSlot(control, pid, g_pid);
  if (process == nullptr || inherited == nullptr) return process;
  const uint32_t index = shared::IndexOf(control, *process);
  *slot = shared::ReplaceInheritedSlot(control, SlotOf(inherited), index, pid);
  if (*slot != nullptr) return process;
  process->state.store(shared::ProcessState::kFree, std::memory_order_release);
  return nullptr;
}

// The process goes on in `process`, and its thread in `slot`; null: it has none yet.
void GoOnIn(shared::ProcessSlot* process, shared::ThreadSlot* slot, pid_t pid) {
  g_pid = pid;
  g_process = process;
  t_left = false;
  g_modules.OnForkInChild();
  ForgetPublishedCounters();
  if (slot != nullptr) {
    interpose::EnterThreadSync(&slot->ledger, t_fork_local_delay_ns);
    OccupySlot(*slot);
  }
  process->counters_fs_offset = runtime_internal::CountersFsOffset();
  runtime_internal::PublishCallRoutines(process);
  runtime_internal::PublishApiRoutines(g_control, process);
  PublishOwnCalls(*process);
}

// The one thread of the child goes on at the virtual time of the thread that forked.
bool ContinueProfiled() {
  shared::ControlBlock& control = *g_control;
  delay::ThreadLedger* const inherited = interpose::LedgerEvenIfUnseen();
  if (!MayJoin(control)) return false;
  const pid_t pid = getpid();
  shared::ThreadSlot* slot = nullptr;
  shared::ProcessSlot* const process = TakeSlots(control, inherited, pid, &slot);
  if (process == nullptr) return false;
  const uint32_t index = shared::IndexOf(control, *process);
  if (slot == nullptr) slot = shared::ReserveThreadSlot(control, index, pid);
  if (slot == nullptr) {
    process->state.store(shared::ProcessState::kFree, std::memory_order_release);
    return false;
  }
  const uint32_t image = g_process->image.load(std::memory_order_relaxed);
  shared::InheritCountedPlaces(*g_process, process);
  runtime_internal::ShareVisitsOfNobody(control, index, pid);
  GoOnIn(process, slot, pid);
  PublishProcess(*process, image);
  // A program that may take the signal without libc has no samples, nor has its child.
  if (interpose::AwaitsReservedAction() ||
      StartSampling(control).source == sampler::SamplingSource::kNone) {
    shared::Add(control.counters.processes_without_sampling);
  }
  shared::TakeLentCounters(control);
  return true;
}

// The same where the parent is attached to. The supervisor opens the events, and lets the process
// leave in the end. It looks for processes after it has set `stop`: it sees this one's slot, or
// this one sees that.
bool ContinueAttached() {
  shared::ControlBlock& control = *g_control;
  if (g_process == nullptr || !MayJoin(control) || !runtime_internal::SupervisorLives()) {
    return false;
  }
  const pid_t pid = getpid();
  shared::ThreadSlot* slot = nullptr;
  shared::ProcessSlot* const process =
      TakeSlots(control, interpose::LedgerEvenIfUnseen(), pid, &slot);
  if (process == nullptr) return false;
  process->armed.store(shared::kWithoutEvents);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (control.stop.load(std::memory_order_seq_cst) != 0 || !StartSamplingFromOutside(control)) {
    process->state.store(shared::ProcessState::kFree, std::memory_order_release);
    return false;
  }
  const uint32_t image = g_process->image.load(std::memory_order_relaxed);
  shared::InheritCountedPlaces(*g_process, process);
  runtime_internal::ForgetSlotOfNobody();
  runtime_internal::ShareVisitsOfNobodyAgain(control, shared::IndexOf(control, *process), pid);
  GoOnIn(process, slot, pid);
  if (sampler::UsesCpuTimers()) {
    process->uses_timers.store(1);
    (void)sampler::StartThreadSampling();
  }
  PublishProcess(*process, image);
  return true;
}

}  // namespace

void OnFork() {
  if (g_control == nullptr || HasLeftProfile()) return;
  const delay::ThreadLedger* forker = interpose::LedgerEvenIfUnseen();
  t_fork_local_delay_ns =
      (forker != nullptr ? forker->local_delay_ns : g_control->ledger.global_delay_ns)
          .load(std::memory_order_relaxed);
}

void OnForkInChildProcess() {
  if (g_control == nullptr || HasLeftProfile()) return;
  if (g_process == nullptr && !g_is_late) return;
  sampler::OnForkInChild();
  shared::ForgetLentCounters();
  patch::OnForkInChild();
  interpose::OnForkInSignalShield();
  interpose::OnForkInAlternateStacks();
  interpose::OnForkInCallSlots();
  if (g_is_late) {
    if (!ContinueAttached()) BecomeAttachable();
  } else if (!ContinueProfiled()) {
    BecomeUnprofiled();
  }
}

void CountUnfollowed() {
  if (g_process == nullptr || g_control->follow != shared::Follow::kAll) return;
  shared::Add(g_control->counters.processes_unfollowed);
}

void BeforeRawThread() {
  if (g_process == nullptr) return;
  sampler::PrepareToCreateRawThread();
  shared::Add(g_control->counters.threads_by_clone);
}

}  // namespace coz::runtime
