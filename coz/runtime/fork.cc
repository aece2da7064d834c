// Process: target. Context: the program's threads, and the one thread of a child of fork.
#include "coz/runtime/fork.h"

#include <sys/mman.h>
#include <unistd.h>

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
  (void)mmap(g_control, sizeof(shared::ControlBlock), PROT_READ | PROT_WRITE,
             MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  runtime_internal::ShareNoVisits();
  interpose::LeaveThreadSync();
  t_left = true;
  // An int3 that stays needs its handler.
  if (patch::RestoreCode()) interpose::LiftSignalShield();
  g_pid = 0;
  g_process = nullptr;
}

// The same where the parent is attached to, or was. The child may be attached to later, so its
// thread keeps its slot, in memory of its own.
void BecomeAttachable() {
  const bool was_profiled = g_process != nullptr;
  runtime_internal::KeepBlockInChild();
  interpose::AdmitLateThreads(false);
  runtime_internal::ShareNoVisits();
  g_process = nullptr;
  g_pid = 0;
  // An int3 that stays needs its handler.
  if (!was_profiled || !patch::RestoreCode()) return;
  interpose::GiveMasksBack();
  interpose::LiftSignalShield();
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
  runtime_internal::ShareVisitsOfNobody(control, index, pid);
  g_pid = pid;
  g_process = process;
  t_left = false;
  g_modules.OnForkInChild();
  ForgetPublishedCounters();
  interpose::EnterThreadSync(&slot->ledger, t_fork_local_delay_ns);
  OccupySlot(*slot);
  process->counters_fs_offset = runtime_internal::CountersFsOffset();
  runtime_internal::PublishCallRoutines(process);
  runtime_internal::PublishApiRoutines(&control, process);
  PublishProcess(*process, image);
  if (StartSampling(control).source == sampler::SamplingSource::kNone) {
    shared::Add(control.counters.processes_without_sampling);
  }
  shared::TakeLentCounters(control);
  return true;
}

}  // namespace

void OnFork() {
  if (g_control == nullptr || HasLeftProfile()) return;
  const delay::ThreadLedger* forker = interpose::CurrentThreadLedger();
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
  if (g_is_late) {
    BecomeAttachable();
  } else if (!ContinueProfiled()) {
    BecomeUnprofiled();
  }
}

void CountUnfollowed() {
  if (g_process == nullptr || g_control->follow != shared::Follow::kAll) return;
  shared::Add(g_control->counters.processes_unfollowed);
}

}  // namespace coz::runtime
