#include "coz/supervisor/run/run_source.h"

#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_format.h"
#include "coz/shared/control_block.h"
#include "coz/supervisor/target/switch_cost.h"

namespace coz::supervisor {

using sampler::SamplingSource;

RunSource::RunSource(const RunOptions* options, SharedControl* control)
    : options_(options),
      control_(control),
      choice_(&control->block(), options->switch_cost_ns, [options] {
        return MeasureSwitchCostNs(options->sampling_period_ns, Switched::kProcesses);
      }) {}

absl::Status RunSource::OpenClock() {
  if (options_->exclude_kernel) {
    return absl::InvalidArgumentError(
        "a clock of each CPU also samples time in the kernel; leave out --exclude-kernel, or run "
        "with: --sampler=perf-sigtrap");
  }
  absl::StatusOr<std::unique_ptr<CpuClock>> clock = CpuClock::Open(options_->sampling_period_ns);
  if (!clock.ok()) return clock.status();
  clock_ = *std::move(clock);
  return absl::OkStatus();
}

// Processes sample by it from now on.
void RunSource::TellClock() {
  shared::ControlBlock& block = control_->block();
  block.clock_expiry = clock_->expiry();
  block.use_cpu_clock.store(1, std::memory_order_release);
}

absl::Status RunSource::PrepareClock() {
  if (absl::Status opened = OpenClock(); !opened.ok()) return opened;
  TellClock();
  return absl::OkStatus();
}

void RunSource::StartClock(LiveTarget* target) {
  target->SetClocks([this](bool on) { clock_->Run(on); });
  clock_->Run(true);
}

absl::Status RunSource::Join(AttachedTree* attached, LiveTarget* target) {
  attached_ = attached;
  if (!IsClock()) return absl::OkStatus();
  if (absl::Status opened = OpenClock(); !opened.ok()) return opened;
  if (!attached_->ChangeToCpuClock(clock_->expiry())) {
    return absl::UnavailableError(absl::StrFormat(
        "process %d cannot be sampled by clocks of the CPUs; attach without --sampler",
        options_->attach_pid));
  }
  control_->block().sampler_status.source = SamplingSource::kCpuClock;
  TellClock();
  StartClock(target);
  return absl::OkStatus();
}

bool RunSource::UsesPerfEvents() const {
  const shared::ControlBlock& block = control_->block();
  const SamplingSource source = block.sampler_status.source;
  return clock_ == nullptr && block.use_cpu_timers.load(std::memory_order_relaxed) == 0 &&
         (source == SamplingSource::kPerfSigtrap || source == SamplingSource::kPerfSetsig);
}

bool RunSource::MayChange() const {
  return options_->sampling_source == SamplingSource::kNone && !options_->exclude_kernel &&
         UsesPerfEvents();
}

// Threads of one process pass an inherited event on at switches, which costs little. Where coz has
// attached each thread has an event of its own.
SourceChoice::By RunSource::WhatTells(int live_processes) const {
  const bool one_event = attached_ == nullptr &&
                         control_->block().sampler_status.source == SamplingSource::kPerfSigtrap &&
                         live_processes <= 1;
  return one_event ? SourceChoice::By::kThreads : SourceChoice::By::kAnything;
}

void RunSource::NoteSlowdown(double at_least, int live_processes) {
  if (WhatTells(live_processes) == SourceChoice::By::kAnything) choice_.NoteSlowdown(at_least);
}

// False where it is not permitted, or costs too much: CPU timers are then the second best.
bool RunSource::ChangeToClock(const SourceChoice::Finding& finding, LiveTarget* target) {
  if (!OpenClock().ok()) return false;
  const ClockCost cost = options_->clock_cost.has_value()
                             ? *options_->clock_cost
                             : ClockCost{MeasureSwitchCostOfClocksNs(clock_->expiry().tracepoint),
                                         MeasureExpiryCostNs()};
  const bool changed = ClocksAreCheap(finding, cost, options_->sampling_period_ns) &&
                       (attached_ == nullptr || attached_->ChangeToCpuClock(clock_->expiry()));
  if (!changed) {
    clock_.reset();
    return false;
  }
  TellClock();
  StartClock(target);
  return true;
}

bool RunSource::ChangeToTimers() {
  if (attached_ != nullptr && !attached_->ChangeToCpuTimers()) return false;
  control_->block().use_cpu_timers.store(1, std::memory_order_relaxed);
  return true;
}

// Timers find a short thread only now and then, so threads alone are no reason to change to these.
std::optional<RunSource::Change> RunSource::Poll(uint64_t now_ns, int live_processes,
                                                 LiveTarget* target) {
  const std::optional<SourceChoice::Finding> finding =
      choice_.Poll(now_ns, WhatTells(live_processes));
  if (!finding.has_value()) return std::nullopt;
  if (ChangeToClock(*finding, target)) return Change{*finding, SamplingSource::kCpuClock};
  if (finding->by_threads) {
    choice_.IgnoreThreads();
    return std::nullopt;
  }
  if (ChangeToTimers()) return Change{*finding, SamplingSource::kCpuTimer};
  return std::nullopt;
}

}  // namespace coz::supervisor
