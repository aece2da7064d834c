#include "coz/supervisor/target/live_target.h"

#include <time.h>

#include <algorithm>
#include <utility>

#include "coz/base/clock.h"
#include "coz/base/sampling_period.h"
#include "coz/sampler/sampler_status.h"
#include "coz/shared/slot_loops.h"
#include "coz/sync/delay/outside_wait.h"

namespace coz::supervisor {
namespace {

// ns for which the machine was suspended since boot.
uint64_t SuspendedNs() {
  timespec boot;
  clock_gettime(CLOCK_BOOTTIME, &boot);
  const uint64_t boot_ns =
      static_cast<uint64_t>(boot.tv_sec) * kNsPerSecond + static_cast<uint64_t>(boot.tv_nsec);
  const uint64_t now_ns = MonotonicNowNs();
  return boot_ns > now_ns ? boot_ns - now_ns : 0;
}

}  // namespace

LiveTarget::LiveTarget(shared::ControlBlock* control, CpuQuota quota)
    : control_(*control),
      sampling_(control),
      points_(control),
      samples_(&control->ring, control->waits_are_units != 0),
      load_(control),
      quota_(std::move(quota)),
      beside_(control),
      // Processes that are attached to bring debts of earlier sessions, which nobody collects.
      selection_start_delay_ns_(control->ledger.global_delay_ns.load(std::memory_order_relaxed)) {}

void LiveTarget::Poll() {
  const uint64_t now_ns = MonotonicNowNs();
  control_.heartbeat_ns.store(now_ns, std::memory_order_relaxed);
  points_.Discover();
  samples_.Drain(now_ns);
}

void LiveTarget::SpeedUpAlways(experiment::UnitId unit, uint64_t delay_per_sample_ns) {
  samples_.NeverDraw(unit);
  given_delay_ns_ = delay_per_sample_ns;
  const shared::Selection given = {unit, static_cast<uint32_t>(delay_per_sample_ns)};
  control_.given.store(given.Packed(), std::memory_order_relaxed);
}

int LiveTarget::threads_started() const {
  return static_cast<int>(control_.threads_started.load(std::memory_order_relaxed));
}

uint64_t LiveTarget::NowNs() { return MonotonicNowNs(); }

void LiveTarget::Select(experiment::UnitId unit, uint64_t delay_per_sample_ns,
                        uint64_t deadline_ns) {
  // A thread pays at most for this experiment and the one before.
  const uint64_t delay_ns = control_.ledger.global_delay_ns.load(std::memory_order_relaxed);
  control_.ledger.forgiven_below_ns.store(selection_start_delay_ns_, std::memory_order_relaxed);
  selection_start_delay_ns_ = delay_ns;
  control_.ledger.cpus.ForgetPreempted();
  control_.selection_deadline_ns.store(deadline_ns, std::memory_order_relaxed);
  control_.selection_start_ns.store(MonotonicNowNs(), std::memory_order_relaxed);
  control_.ledger.delays_everybody.store(unit == shared::kAllCode ? 1 : 0,
                                         std::memory_order_relaxed);
  control_.ledger.selection.store(
      shared::Selection{unit, static_cast<uint32_t>(delay_per_sample_ns)}.Packed(),
      std::memory_order_release);
}

bool LiveTarget::DelayAll(uint64_t delay_per_sample_ns, uint64_t deadline_ns) {
  Select(shared::kAllCode, delay_per_sample_ns, deadline_ns);
  return true;
}

std::map<experiment::UnitId, uint64_t> LiveTarget::SpinningUnits() const {
  std::map<experiment::UnitId, uint64_t> sampled;
  shared::ForEachSpinningUnit(control_.spinning_units,
                              [&](experiment::UnitId unit, uint64_t samples) {
                                // The target may write any number.
                                if (unit_samples().contains(unit)) sampled[unit] = samples;
                              });
  return sampled;
}

void LiveTarget::Extend(uint64_t deadline_ns) {
  control_.selection_deadline_ns.store(deadline_ns, std::memory_order_relaxed);
}

void LiveTarget::StopDelays() { control_.ledger.selection.store(0, std::memory_order_release); }

bool LiveTarget::SleepsInKernel(const shared::ThreadSlot& slot) const {
  if (slot.ledger.pausing.load(std::memory_order_relaxed) != 0) return false;
  return ThreadStateLetter(slot.pid.load(std::memory_order_relaxed),
                           slot.tid.load(std::memory_order_relaxed)) != 'R';
}

LiveTarget::Debts LiveTarget::ReadDebts() const {
  Debts debts;
  const uint64_t required = control_.ledger.global_delay_ns.load(std::memory_order_acquire);
  const uint64_t floor = control_.ledger.forgiven_below_ns.load(std::memory_order_relaxed);
  shared::ForEachPayingThread(control_, [&](const shared::ThreadSlot& slot) {
    const uint32_t blocked = slot.ledger.blocked.load(std::memory_order_relaxed);
    if (blocked == delay::kBlockedByThread) return;
    const uint64_t local =
        std::max(floor, slot.ledger.local_delay_ns.load(std::memory_order_relaxed));
    if (local >= required) return;
    if (blocked == delay::kBlockedByClock) {
      const bool has_run = local > selection_start_delay_ns_;
      if (has_run) debts.max_asleep_ns = std::max(debts.max_asleep_ns, required - local);
      return;
    }
    if (SleepsInKernel(slot)) return;
    debts.sum_ns += required - local;
    debts.max_ns = std::max(debts.max_ns, required - local);
  });
  return debts;
}

bool LiveTarget::Settled() { return ReadDebts().max_ns == 0; }

void LiveTarget::ReadCounters(experiment::TargetSnapshot* snapshot) const {
  static_cast<ExperimentCounters&>(*snapshot) = shared::ReadExperimentCounters(control_.counters);
  snapshot->lost_samples += samples_.lost();
  const shared::SampleCounters& samples = control_.samples;
  snapshot->selected_wait_ns = samples.selected_wait_ns.load(std::memory_order_relaxed);
  snapshot->selected_samples =
      samples.selected.load(std::memory_order_relaxed) +
      delay::SamplesOfWait(snapshot->selected_wait_ns, control_.sampling_period_ns, 0);
  snapshot->out_of_scope_samples = samples.out_of_scope.load(std::memory_order_relaxed);
  snapshot->total_samples = samples.in_scope.load(std::memory_order_relaxed) +
                            snapshot->out_of_scope_samples + snapshot->other_thread_samples +
                            snapshot->unmapped_samples;
}

double LiveTarget::PeriodsPerSample() const {
  if (control_.sampler_status.source != sampler::SamplingSource::kCpuTimer) return 1;
  return std::max(1.0, static_cast<double>(kCpuTimerSampleNs) /
                           static_cast<double>(control_.sampling_period_ns));
}

void LiveTarget::ReadPayments(experiment::TargetSnapshot* snapshot) const {
  uint64_t asked_ns = 0;
  shared::ForEachThread(control_, [&](const shared::ThreadSlot& slot) {
    snapshot->paid_ns += slot.ledger.paused_ns.load(std::memory_order_relaxed);
    snapshot->credited_ns += slot.ledger.credited_ns.load(std::memory_order_relaxed);
    snapshot->imposed_ns += slot.ledger.imposed_ns.load(std::memory_order_relaxed);
    snapshot->pause_cpu_ns += slot.ledger.pause_cpu_ns.load(std::memory_order_relaxed);
    asked_ns += slot.ledger.asked_ns.load(std::memory_order_relaxed);
  });
  // Only the selected unit's own share tells its speedup.
  const uint64_t given_ns =
      control_.samples.given.load(std::memory_order_relaxed) * given_delay_ns_ +
      delay::DelayOfWait(control_.samples.given_wait_ns.load(std::memory_order_relaxed),
                         given_delay_ns_, control_.sampling_period_ns);
  snapshot->imposed_ns -= std::min(snapshot->imposed_ns, given_ns);
  snapshot->excess_ns = snapshot->paid_ns > asked_ns ? snapshot->paid_ns - asked_ns : 0;
}

experiment::TargetSnapshot LiveTarget::Read() {
  Poll();
  experiment::TargetSnapshot snapshot;
  // Clock and delay are read first and together. The rest is read a little late, in all experiments
  // alike.
  snapshot.now_ns = MonotonicNowNs();
  snapshot.global_delay_ns = control_.ledger.global_delay_ns.load(std::memory_order_acquire);
  points_.Count(&snapshot.points);
  points_.ReadBegunBefore(&snapshot.points);
  points_.ReadLatencies();
  ReadCounters(&snapshot);
  const Debts debts = ReadDebts();
  snapshot.owed_ns = debts.sum_ns;
  snapshot.max_owed_ns = debts.max_ns;
  snapshot.max_owed_asleep_ns = debts.max_asleep_ns;
  snapshot.periods_per_sample = PeriodsPerSample();
  ReadPayments(&snapshot);
  cpu_use_.Poll(snapshot.now_ns);
  snapshot.cpu_use = cpu_use_.use();
  quota_.Poll(snapshot.now_ns);
  // Where waits get shorter, each thread's own count, unless CPUs are what limits the program.
  // CPUs that a quota keeps idle are none to spare.
  if (control_.waits_are_units != 0 && !quota_.is_stopping()) {
    load_.NoteIdle(snapshot.cpu_use.idle_ns, cpu_use_.read_ns(), snapshot.global_delay_ns);
  } else {
    load_.ForgetIdle();
  }
  load_.Poll(snapshot.now_ns);
  snapshot.live_threads = load_.live();
  snapshot.runnable_threads = load_.runnable();
  snapshot.threads_beside = load_.beside();
  snapshot.interruptions = stops_ + SuspendedNs() / kNsPerMs;
  snapshot.cpus = load_.cpus();
  snapshot.realtime_threads = load_.realtime();
  snapshot.quota = quota_.use();
  beside_.Poll(snapshot.now_ns, snapshot.cpu_use.busy_ns, snapshot.cpus);
  snapshot.beside = beside_.use();
  control_.ledger.cpus_are_shared.store(beside_.is_beside() || quota_.is_stopping() ? 1 : 0,
                                        std::memory_order_relaxed);
  control_.ledger.cpus_of_crowd.store(load_.is_crowd() ? static_cast<uint32_t>(snapshot.cpus) : 0,
                                      std::memory_order_relaxed);
  last_read_ = snapshot;
  return snapshot;
}

std::optional<experiment::UnitId> LiveTarget::RandomSampledUnit(Random& random) {
  samples_.Drain(MonotonicNowNs());
  return samples_.Draw(random);
}

}  // namespace coz::supervisor
