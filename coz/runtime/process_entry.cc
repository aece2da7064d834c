// Process: target. Context: the library's constructor, and the child of fork.
#include "coz/runtime/process_entry.h"

#include "coz/patch/code_patcher.h"
#include "coz/runtime/breakpoint_guard.h"
#include "coz/runtime/program_kind.h"
#include "coz/runtime/runtime_state.h"
#include "coz/runtime/sample_handler.h"
#include "coz/sync/interpose/goroutines.h"
#include "coz/sync/interpose/own_calls.h"

namespace coz::runtime {

using runtime_internal::g_modules;
using runtime_internal::g_process;

void PublishProcess(shared::ProcessSlot& process, uint32_t image) {
  process.image.store(image, std::memory_order_relaxed);
  process.program = g_modules.program();
  process.load_bias = g_modules.program_load_bias();
  process.state.store(shared::ProcessState::kRunning, std::memory_order_release);
}

bool PublishOwnCalls(shared::ProcessSlot& process) {
  if (KindOfProgram() != ProgramKind::kGo) return false;
  process.own_call = interpose::OwnCallRoutine();
  process.goroutine = interpose::GoroutineRoutine(&process.notes_goroutines);
  return true;
}

namespace {

sampler::SamplerOptions OptionsOf(const shared::ControlBlock& control) {
  sampler::SamplerOptions options;
  options.sampling_period_ns = control.sampling_period_ns;
  options.callback = OnSample;
  options.foreign_signal = OnForeignSignal;
  options.own_trap = patch::TakeTrap;
  options.suspensions = &control.suspensions;
  return options;
}

// Go makes the system call exec itself, which cannot be prepared for: a sample in it would go to
// the new program, and end that.
bool ExcludesKernel(const shared::ControlBlock& control) {
  return control.exclude_kernel != 0 || KindOfProgram() == ProgramKind::kGo;
}

}  // namespace

bool StartSamplingFromOutside(const shared::ControlBlock& control) {
  sampler::SamplerOptions options = OptionsOf(control);
  options.source = sampler::SamplingSource::kPerfSigtrap;
  if (control.use_cpu_clock.load() != 0) options.source = sampler::SamplingSource::kCpuClock;
  if (control.use_cpu_timers.load() != 0) options.source = sampler::SamplingSource::kCpuTimer;
  return sampler::StartSamplerFromOutside(options, !ExcludesKernel(control)) == 0;
}

sampler::SamplerStatus StartSampling(shared::ControlBlock& control) {
  sampler::SamplerOptions options = OptionsOf(control);
  options.source = control.wanted_source;
  options.exclude_kernel = ExcludesKernel(control);
  options.shared_event = &g_process->event;
  if (control.use_cpu_clock.load(std::memory_order_acquire) != 0) {
    options.source = sampler::SamplingSource::kCpuClock;
    options.expiry = control.clock_expiry;
    const sampler::SamplerStatus status = sampler::StartSampler(options);
    if (status.source != sampler::SamplingSource::kNone) return status;
    control.clock_refusals.fetch_add(1);
  } else if (control.use_cpu_timers.load(std::memory_order_relaxed) == 0) {
    return sampler::StartSampler(options);
  }
  options.source = sampler::SamplingSource::kCpuTimer;
  const sampler::SamplerStatus status = sampler::StartSampler(options);
  if (status.source != sampler::SamplingSource::kNone) return status;
  options.source = sampler::SamplingSource::kNone;
  return sampler::StartSampler(options);
}

}  // namespace coz::runtime
