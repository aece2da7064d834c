// The hooks of threads, and the way out of the profile. Process: target. Context: the program's
// threads.
#include "coz/runtime/runtime.h"

#include <limits.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>

#include "coz/runtime/fork.h"
#include "coz/runtime/patched_code.h"
#include "coz/runtime/published_counters.h"
#include "coz/runtime/runtime_state.h"
#include "coz/runtime/sample_handler.h"
#include "coz/runtime/thread_hooks.h"
#include "coz/runtime/wait_units.h"
#include "coz/sampler/sampler.h"
#include "coz/sampler/unwind/unwinder.h"
#include "coz/shared/control_block.h"
#include "coz/shared/process_slots.h"
#include "coz/shared/slot_loops.h"
#include "coz/shared/thread_records.h"
#include "coz/shared/thread_slots.h"
#include "coz/sync/interpose/alternate_stacks.h"
#include "coz/sync/interpose/preload_environment.h"
#include "coz/sync/interpose/signal_shield.h"
#include "coz/sync/interpose/thread_sync.h"

namespace coz::runtime {
namespace {

using runtime_internal::CurrentSlot;
using runtime_internal::g_control;
using runtime_internal::g_pid;
using runtime_internal::g_process;
using runtime_internal::OccupySlot;
using runtime_internal::SlotOf;
using runtime_internal::t_left;

delay::ThreadLedger* ReserveSlotForNewThread() {
  const shared::ProcessSlot* const process = g_process;  // null where the supervisor has detached
  if (process == nullptr || HasLeftProfile()) return nullptr;
  sampler::PrepareToCreateThread();
  shared::ThreadSlot* slot =
      shared::ReserveThreadSlot(*g_control, shared::IndexOf(*g_control, *process), g_pid);
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
  const uint64_t sharers = sampler::StartThreadSampling();
  if (sharers != 0 && reserved != nullptr) ImposeShare(sharers, *reserved);
}

void EndThread(delay::ThreadLedger* ledger) {
  sampler::StopThreadSampling();
  interpose::ForgetAlternateStackHere();
  PublishCounters(*g_control);  // its rest, which no sample will publish
  t_left = true;
  runtime_internal::CountVisitsIn(nullptr);
  shared::NoteCpuTime(SlotOf(ledger));
  shared::FreeThreadSlot(*g_control, SlotOf(ledger));
}

// Ends the profiling of this process. Other threads may be at work or about to start. So their
// ledgers stay, and so does the handler, for late samples.
void EndProfiling() {
  interpose::PayIfBehind();
  sampler::StopSamplerForGood();
  interpose::LeaveThreadSyncForGood();
  // Nobody waits for its threads to pay. Marks go on counting in their slots, which are free when
  // the process has ended.
  g_process->state.store(shared::ProcessState::kChanging, std::memory_order_release);
  t_left = true;
}

// Its parent will get all signals of it. What it becomes is asked anew.
void LeaveToTracer() {
  if (IsProfiledProcess()) EndProfiling();
}

// A filter of system calls is about to be installed, or calls are about to be diverted, and then
// any system call of ours may end the process, and those that it becomes.
void LeaveProfile() {
  if (!IsProfiledProcess()) return;
  shared::Add(g_control->counters.processes_restricted);
  EndProfiling();
  static char rest[PATH_MAX];
  const char* preload = interpose::FindPreload(environ);
  if (preload != nullptr && interpose::PreloadBytes(preload) <= sizeof(rest)) {
    interpose::CopyWithoutPreload(environ, preload, environ, rest);
  }
}

delay::ThreadLedger* AdmitLateThread() {
  shared::ThreadSlot* const slot = CurrentSlot();
  return slot == nullptr ? nullptr : &slot->ledger;
}

// Of more threads it costs too much to ask.
constexpr uint32_t kMostThreadsAsked = 64;

uint64_t HighestLocalDelay(uint64_t now_ns) {
  if (shared::UsedThreadSlots(*g_control) > kMostThreadsAsked) return 0;
  uint64_t highest_ns = 0;
  shared::ForEachRunningThread(*g_control, [&highest_ns, now_ns](const shared::ThreadSlot& slot) {
    highest_ns = std::max(highest_ns, delay::LocalDelayAt(g_control->ledger, slot.ledger, now_ns));
  });
  return highest_ns;
}

}  // namespace

interpose::ThreadHooks RuntimeThreadHooks() {
  return {ReserveSlotForNewThread,
          CancelSlot,
          StartThread,
          EndThread,
          LeaveProfile,
          LeaveToTracer,
          OnFork,
          OnForkInChildProcess,
          CountUnfollowed,
          BeforeRawThread,
          sampler::LeaveOutCpuTime,
          sampler::ReadQueueClock,
          HighestLocalDelay,
          AdmitLateThread,
          g_control->waits_are_units != 0 ? OnOutsideWait : nullptr,
          g_control->waits_are_units != 0 ? OnOwnWait : nullptr};
}

// The system call last: it may be forbidden by then.
bool IsProfiledProcess() { return g_process != nullptr && !HasLeftProfile() && getpid() == g_pid; }

bool HasLeftProfile() { return interpose::HasLeftThreadSync(); }

}  // namespace coz::runtime
