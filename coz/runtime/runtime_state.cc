#include "coz/runtime/runtime_state.h"

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>

#include "coz/base/raw_syscall.h"
#include "coz/base/spared_calls.h"
#include "coz/runtime/patched_code.h"
#include "coz/sampler/sampler.h"
#include "coz/shared/process_slots.h"
#include "coz/shared/thread_records.h"
#include "coz/shared/thread_slots.h"
#include "coz/sync/interpose/alternate_stacks.h"
#include "coz/sync/interpose/thread_exit.h"
#include "coz/sync/interpose/thread_sync.h"

namespace coz::runtime::runtime_internal {

shared::ControlBlock* g_control = nullptr;
shared::ProcessSlot* g_process = nullptr;
pid_t g_pid = 0;
bool g_is_late = false;
ModuleMap g_modules;
__thread bool t_left = false;

shared::ThreadSlot& SlotOf(delay::ThreadLedger* ledger) {
  return *reinterpret_cast<shared::ThreadSlot*>(ledger);
}

void OccupySlot(shared::ThreadSlot& slot) {
  CountVisitsIn(&slot);
  // Who sees it sees that the slot's former thread has left it.
  slot.tid.store(static_cast<int32_t>(syscall(SYS_gettid)), std::memory_order_release);
  shared::BeginFigures(*g_control, slot);
  g_control->threads_started.fetch_add(1, std::memory_order_relaxed);
  slot.state.store(shared::ThreadState::kRunning, std::memory_order_release);
}

namespace {

// Since a thread has begun to take a slot, until it has it.
__thread bool t_is_taking_slot __attribute__((tls_model("initial-exec"))) = false;

delay::ThreadLedger* TakeSlot(const shared::ProcessSlot& process) {
  shared::ThreadSlot* const slot =
      shared::ReserveThreadSlot(*g_control, shared::IndexOf(*g_control, process), g_pid);
  if (slot == nullptr) {
    t_left = true;  // counted once
    return nullptr;
  }
  OccupySlot(*slot);
  interpose::EnterThreadSync(&slot->ledger,
                             g_control->ledger.global_delay_ns.load(std::memory_order_relaxed));
  if (g_is_late) {
    interpose::NoteAlternateStackHere();
    interpose::ArmThreadExitAnywhere();
    sampler::SampleLateThread();
  }
  return &slot->ledger;
}

}  // namespace

shared::ThreadSlot* CurrentSlot() {
  delay::ThreadLedger* ledger = interpose::LedgerEvenIfUnseen();
  const shared::ProcessSlot* const process = g_process;
  if (ledger == nullptr && process != nullptr && !t_left && !interpose::HasLeftThreadSync()) {
    // A sample that comes meanwhile would take a second slot for the thread.
    if (t_is_taking_slot) return nullptr;
    t_is_taking_slot = true;
    std::atomic_signal_fence(std::memory_order_seq_cst);
    ledger = interpose::LedgerEvenIfUnseen();  // one that came before has taken a slot
    if (ledger == nullptr) ledger = TakeSlot(*process);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    t_is_taking_slot = false;
  }
  return ledger == nullptr ? nullptr : &SlotOf(ledger);
}

bool SupervisorLives() { return RawSyscall(SYS_kill, g_control->supervisor_pid, 0) != -ESRCH; }

bool SupervisorHasEnded() {
  if (!SupervisorLives()) return true;
  const long fd = SparedRawCall<SYS_pidfd_open>(g_control->supervisor_pid, 0);
  if (fd < 0) return false;
  pollfd end = {static_cast<int>(fd), POLLIN, 0};
  const bool has_ended = RawSyscall(SYS_poll, &end, 1, 0) == 1;
  RawSyscall(SYS_close, fd);
  return has_ended;
}

}  // namespace coz::runtime::runtime_internal
