// Process: target. Context: signal handler.
#include "coz/runtime/breakpoint_guard.h"

#include <ucontext.h>

#include <cstdint>

#include "coz/base/sampling_signal.h"
#include "coz/runtime/runtime_state.h"
#include "coz/sampler/sampler.h"
#include "coz/shared/process_slots.h"
#include "coz/sync/interpose/signal_shield.h"

namespace coz::runtime {
namespace {

using runtime_internal::g_process;

// Breakpoints of which this thread had to be told by their address.
__thread uint32_t t_lost_breakpoints __attribute__((tls_model("initial-exec"))) = 0;

// Some hypervisors report the program's own `int1` at that instruction, so that it comes again for ever if it is tried again.
bool IsAtInt1(const greg_t* registers) {
  constexpr uint8_t kInt1 = 0xf1;
  return *reinterpret_cast<const uint8_t*>(registers[REG_RIP]) == kInt1;
}

void OnTrapOfGuarded(int signal, siginfo_t* info, void* context) {
  const greg_t* const registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  if (shared::MayBeLostBreakpoint(info->si_code, registers[REG_TRAPNO]) && !IsAtInt1(registers))
    return;
  interpose::DeliverForeignSignal(signal, info, context);
}

}  // namespace

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

void GuardBreakpoints() {
  interpose::InitSignalShield(sampler::kSamplingSignal);
  InstallSignalHandler(sampler::kSamplingSignal, OnTrapOfGuarded);
  UnblockSignal(sampler::kSamplingSignal);
}

}  // namespace coz::runtime
