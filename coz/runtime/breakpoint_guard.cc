// Process: target. Context: signal handler.
#include "coz/runtime/breakpoint_guard.h"

#include <ucontext.h>

#include <cstdint>

#include "coz/base/lost_breakpoint.h"
#include "coz/base/sampling_signal.h"
#include "coz/patch/code_patcher.h"
#include "coz/runtime/runtime_state.h"
#include "coz/sampler/sampler.h"
#include "coz/shared/process_slots.h"
#include "coz/sync/interpose/signal_shield.h"

namespace coz::runtime {
namespace {

using runtime_internal::g_control;
using runtime_internal::g_process;

// How many lost breakpoints this thread has met.
__thread uint32_t t_lost_breakpoints __attribute__((tls_model("initial-exec"))) = 0;

void OnTrapOfGuarded(int signal, siginfo_t* info, void* context) {
  if (IsLostBreakpoint(*info, *static_cast<const ucontext_t*>(context))) return;
  interpose::DeliverForeignSignal(signal, info, context);
}

}  // namespace

// At a lost breakpoint the thread tries the same instruction again, and that visit is counted.
// After many such signals the thread is let past the breakpoint.
void OnForeignSignal(int signal, siginfo_t* info, void* context) {
  constexpr uint32_t kMostLost = 64;
  constexpr greg_t kResumeFlag = 1 << 16;
  auto& interrupted = *static_cast<ucontext_t*>(context);
  const bool may_be_lost =
      g_process != nullptr && (g_control->guards_breakpoints != 0 ||
                               shared::IsCountedPlace(*g_process, InterruptedIp(interrupted)));
  const bool is_lost = may_be_lost && IsLostBreakpoint(*info, interrupted);
  if (!is_lost) {
    // The program's handler may itself come to an int3 of ours.
    if (patch::HasTraps()) UnblockSignal(sampler::kSamplingSignal);
    return interpose::DeliverForeignSignal(signal, info, context);
  }
  if (++t_lost_breakpoints % kMostLost == 0) {
    interrupted.uc_mcontext.gregs[REG_EFL] |= kResumeFlag;
  }
}

void GuardBreakpoints() {
  interpose::InitSignalShield(sampler::kSamplingSignal);
  InstallSignalHandler(sampler::kSamplingSignal, OnTrapOfGuarded);
  UnblockSignal(sampler::kSamplingSignal);
}

}  // namespace coz::runtime
