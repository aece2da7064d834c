#include "coz/supervisor/run/profile_recorder.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "coz/base/clock.h"
#include "coz/base/target_counters.h"
#include "coz/supervisor/run/threads_in_profile.h"
#include "coz/supervisor/run/valid_utf8.h"
#include "coz/supervisor/target/sample_rate_limit.h"

namespace coz::supervisor {
namespace {

// In the profile, ids of points count from 1; this one is not among the target's.
constexpr uint32_t kEndToEndPoint = shared::kMaxPoints + 1;

profile::ProgressPointKind KindOf(const LiveTarget::Point& point) {
  if (point.is_latency) return profile::PROGRESS_POINT_KIND_LATENCY;
  switch (point.kind) {
    case OutsideKind::kBreakpoint:
      return profile::PROGRESS_POINT_KIND_BREAKPOINT;
    case OutsideKind::kSampled:
      return profile::PROGRESS_POINT_KIND_SAMPLED;
    case OutsideKind::kNone:
      break;
  }
  return profile::PROGRESS_POINT_KIND_THROUGHPUT;
}

template <typename Written>
void AddTaints(const experiment::ExperimentRecord& record, Written* written) {
  for (const experiment::Taint& taint : record.taints) {
    // What only makes a figure less certain is seen in the figure.
    if (!experiment::Invalidates(taint.kind)) continue;
    profile::Taint* added = written->add_taint();
    added->set_reason(ReasonInProfile(taint.kind));
    added->set_detail(ValidUtf8(taint.reason));
  }
}

void SetValidity(const experiment::ExperimentRecord& record, profile::Validity* validity) {
  validity->set_owed_ns(std::max(record.max_owed_at_end_ns, record.max_owed_asleep_at_end_ns));
  validity->set_paid_ns(record.paid_ns);
  validity->set_excess_ns(record.excess_ns);
#define COZ_SET(name, ...) validity->set_##name(record.name);
  COZ_EXPERIMENT_COUNTERS(COZ_SET)
#undef COZ_SET
  validity->set_runnable_threads_average(record.mean_runnable_threads);
  validity->set_threads_beside_average(record.mean_threads_beside);
  validity->set_cpus(static_cast<uint32_t>(record.cpus));
  validity->set_live_threads(static_cast<uint32_t>(std::lround(record.mean_live_threads)));
  validity->set_drain_ns(record.drain_ns);
  validity->set_quota_throttled_ns(record.quota.throttled_ns + record.quota.throttled_elsewhere_ns);
  validity->set_quota_periods(record.quota.periods);
  validity->set_quota_throttled_periods(record.quota.throttled_periods);
  validity->set_quota_used_ns(record.quota.used_ns);
  validity->set_quota_allowed_ns(record.quota.allowed_ns);
  validity->set_pause_cpu_ns(record.pause_cpu_ns);
  validity->set_imposed_ns(record.imposed_ns);
  validity->set_busy_cpu_ns(record.cpu_use.busy_ns);
  validity->set_idle_cpu_ns(record.cpu_use.idle_ns);
  validity->set_stolen_cpu_ns(record.cpu_use.stolen_ns);
  validity->set_beside_cpu_ns(record.beside.cpu_ns);
  validity->set_busy_beside_ns(record.beside.busy_ns);
  validity->set_ran_beside_ns(record.beside.ran_ns);
  validity->set_queued_beside_ns(record.beside.queued_ns);
  validity->set_queued_for_others_ns(record.beside.queued_for_others_ns);
  validity->set_realtime_threads(static_cast<uint32_t>(record.most_realtime_threads));
  AddTaints(record, validity);
}

}  // namespace

profile::UnitKind KindInProfile(sourcemap::UnitKind kind) {
  switch (kind) {
    case sourcemap::UnitKind::kLine:
      return profile::UNIT_KIND_LINE;
    case sourcemap::UnitKind::kFunction:
      return profile::UNIT_KIND_FUNCTION;
    case sourcemap::UnitKind::kFile:
      return profile::UNIT_KIND_FILE;
    case sourcemap::UnitKind::kLibrary:
      return profile::UNIT_KIND_LIBRARY;
    case sourcemap::UnitKind::kPath:
      return profile::UNIT_KIND_PATH;
    case sourcemap::UnitKind::kWait:
      return profile::UNIT_KIND_WAIT;
    case sourcemap::UnitKind::kGroup:
      return profile::UNIT_KIND_GROUP;
  }
  return profile::UNIT_KIND_UNKNOWN;
}

void ProfileRecorder::Append(const profile::Profile& chunk) {
  written_.MergeFrom(chunk);
  status_ = writer_.Append(chunk);
}

void ProfileRecorder::WriteSession(profile::Session session, uint64_t start_ns) {
  session_ = report::NewSessionId();
  start_ns_ = start_ns;
  between_start_ns_ = start_ns;
  session.set_id(session_);
  profile::Profile chunk;
  *chunk.add_session() = std::move(session);
  AddBinaries(&chunk);
  Append(chunk);
}

void ProfileRecorder::AddBinaries(profile::Profile* chunk) {
  for (; written_binaries_ < units_->objects().size(); ++written_binaries_) {
    const UnitIndex::Object& object = units_->objects()[written_binaries_];
    profile::Binary* binary = chunk->add_binary();
    binary->set_session(session_);
    binary->set_path(object.path);
    binary->set_load_bias(object.load_bias);
    binary->set_loaded_at_ns(MonotonicNowNs() - start_ns_);
    binary->set_debug_info_found(object.has_units());
    if (!object.has_units()) {
      binary->add_debug_info_skipped(ValidUtf8(object.why_no_table));
      continue;
    }
    binary->set_lines_in_scope(object.unit_count());
    if (object.table == nullptr) continue;
    binary->set_build_id(std::string(object.table->table().build_id()));
    const sourcemap::ReadStatistics& statistics = object.table->statistics();
    binary->set_debug_file(statistics.debug_path);
    for (const sourcemap::SkippedPart& part : statistics.skipped) {
      binary->add_debug_info_skipped(
          ValidUtf8(absl::StrFormat("%s (%d, first: %s)", part.reason, part.count, part.example)));
    }
  }
}

uint32_t ProfileRecorder::UnitOf(experiment::UnitId unit, profile::Profile* chunk) {
  const uint32_t id = unit + 1;
  if (!written_units_.insert(unit).second) return id;
  const UnitIndex::Unit described = units_->Describe(unit);
  profile::Unit* written = chunk->add_unit();
  written->set_session(session_);
  written->set_id(id);
  written->set_kind(KindInProfile(described.what.kind));
  written->set_file(described.what.file);
  written->set_line(described.what.line);
  written->set_function(ValidUtf8(described.what.function));
  written->set_thread_group(ValidUtf8(described.what.thread_group));
  written->set_binary_index(described.object);
  if (const std::optional<delay::WaitKind> kind = target_->WaitKindOf(unit)) {
    written->set_wait(delay::kWaitKindNames[static_cast<uint32_t>(*kind)]);
  }
  return id;
}

uint32_t ProfileRecorder::PointOf(uint32_t point, profile::Profile* chunk) {
  const uint32_t id = point + 1;
  if (!written_points_.insert(point).second) return id;
  profile::ProgressPoint* written = chunk->add_progress_point();
  written->set_session(session_);
  written->set_id(id);
  if (point == kEndToEndPoint) {
    written->set_name("end-to-end");
    written->set_kind(profile::PROGRESS_POINT_KIND_END_TO_END);
    return id;
  }
  const LiveTarget::Point& described = target_->points()[point];
  written->set_name(ValidUtf8(described.name));
  written->set_kind(KindOf(described));
  written->set_counted_by(ValidUtf8(described.counted_by));
  written->set_visit_cost_ns(described.visit_cost_ns);
  written->set_breakpoint_slowdown(described.breakpoint_slowdown);
  return id;
}

template <typename Record>
void ProfileRecorder::AddUnitSamples(
    const absl::flat_hash_map<experiment::UnitId, uint64_t>& samples, Record* record,
    profile::Profile* chunk) {
  // Sorted, so that the same run writes the same bytes.
  std::vector<std::pair<experiment::UnitId, uint64_t>> sorted(samples.begin(), samples.end());
  std::sort(sorted.begin(), sorted.end());
  for (const auto& [unit, count] : sorted) {
    record->add_unit_id(UnitOf(unit, chunk));
    record->add_unit_samples(count);
  }
}

void ProfileRecorder::AddSpinningUnits(profile::SampleCounts* counts, profile::Profile* chunk) {
  for (const auto& [unit, samples] : target_->SpinningUnits()) {
    uint64_t& before = spinning_before_[unit];
    if (samples <= before) continue;
    counts->add_spinning_unit_id(UnitOf(unit, chunk));
    counts->add_spinning_unit_samples(samples - before);
    before = samples;
  }
}

void ProfileRecorder::TakeLatencies(uint32_t point, profile::PointCounts* counts) {
  const std::vector<uint64_t>& now = target_->Latencies(point);
  std::vector<uint64_t>& before = latencies_[point];
  before.resize(now.size());
  for (uint32_t bucket = 0; counts != nullptr && bucket < now.size(); ++bucket) {
    if (now[bucket] == before[bucket]) continue;
    counts->add_latency_from_ns(shared::LatencyOfBucket(bucket));
    counts->add_latency_to_ns(shared::LatencyOfBucket(bucket + 1));
    counts->add_latency_requests(now[bucket] - before[bucket]);
  }
  before = now;
}

template <typename Written>
void ProfileRecorder::AddPoints(const experiment::ExperimentRecord& record, Written* written,
                                profile::Profile* chunk) {
  for (uint32_t point = 0; point < record.points.size(); ++point) {
    const experiment::PointDelta& delta = record.points[point];
    const bool in_flight = delta.in_flight_ns > 0;
    if (delta.visits == 0 && delta.arrivals == 0 && delta.departures == 0 && !in_flight) continue;
    profile::PointCounts* counts = written->add_point();
    counts->set_point(PointOf(point, chunk));
    counts->set_visits(delta.visits);
    counts->set_arrivals(delta.arrivals);
    counts->set_departures(delta.departures);
    TakeLatencies(point, counts);
    if (record.effective_duration_ns > 0) {
      counts->set_in_flight_by_times(delta.in_flight_by_times);
      counts->set_in_flight_evened_out(delta.in_flight_evened_out && delta.in_flight_ns > 0);
      counts->set_in_flight_average(delta.in_flight_ns /
                                    static_cast<double>(record.effective_duration_ns));
    }
  }
  if (end_to_end_) {
    profile::PointCounts* counts = written->add_point();
    counts->set_point(PointOf(kEndToEndPoint, chunk));
    counts->set_visits(1);
  }
}

// End to end, a unit may have been chosen when part of its work was done: over the run, it was sped
// up by less.
double ProfileRecorder::AchievedSpeedup(const experiment::ExperimentRecord& record) const {
  const auto all = target_->unit_samples().find(record.unit);
  if (!end_to_end_ || record.selected_after_ns == 0 || all == target_->unit_samples().end()) {
    return record.achieved_virtual_speedup;
  }
  const double share =
      static_cast<double>(record.selected_samples) / static_cast<double>(all->second);
  return record.achieved_virtual_speedup * std::min(1.0, share);
}

void ProfileRecorder::WriteExperiment(const experiment::ExperimentRecord& record) {
  profile::Profile chunk;
  AddBinaries(&chunk);
  profile::Experiment* experiment = chunk.add_experiment();
  experiment->set_index(static_cast<uint32_t>(record.index));
  experiment->set_selected_unit(UnitOf(record.unit, &chunk));
  experiment->set_virtual_speedup(record.virtual_speedup);
  experiment->set_achieved_virtual_speedup(AchievedSpeedup(record));
  WriteMeasured(record, experiment, &chunk);
}

void ProfileRecorder::WriteControl(const experiment::ExperimentRecord& record) {
  profile::Profile chunk;
  AddBinaries(&chunk);
  WriteMeasured(record, chunk.add_control(), &chunk);
}

void ProfileRecorder::WriteMeasured(const experiment::ExperimentRecord& record,
                                    profile::Experiment* experiment, profile::Profile* chunk) {
  experiment->set_session(session_);
  experiment->set_start_ns(record.start_ns - start_ns_);
  experiment->set_elapsed_ns(record.elapsed_ns);
  experiment->set_inserted_delay_ns(record.inserted_delay_ns);
  experiment->set_effective_duration_ns(
      record.effective_duration_ns > 0 ? static_cast<uint64_t>(record.effective_duration_ns) : 0);
  experiment->set_selected_samples(record.selected_samples);
  experiment->set_total_samples(record.total_samples);
  AddPoints(record, experiment, chunk);
  AddUnitSamples(target_->TakeUnitSamples(), experiment, chunk);
  SetValidity(record, experiment->mutable_validity());
  experiment->mutable_validity()->set_throttled(
      MostThrottled(written_.session(0), *experiment, ReadSampleRateLimit()));
  Append(*chunk);
  between_start_ns_ = record.start_ns + record.elapsed_ns;
  between_start_ = target_->last_read();
}

void ProfileRecorder::WriteBareInterval(const experiment::ExperimentRecord& record) {
  profile::Profile chunk;
  AddBinaries(&chunk);
  profile::BareInterval* bare = chunk.add_bare_interval();
  bare->set_session(session_);
  bare->set_start_ns(record.start_ns - start_ns_);
  bare->set_elapsed_ns(record.elapsed_ns);
  bare->set_total_samples(record.total_samples);
  AddPoints(record, bare, &chunk);
  AddTaints(record, bare);
  Append(chunk);
  // Its few samples are written with those between experiments.
  between_start_ns_ = record.start_ns + record.elapsed_ns;
  between_start_ = target_->last_read();
}

void ProfileRecorder::WriteBetweenExperiments() {
  const experiment::TargetSnapshot now = target_->last_read();
  profile::Profile chunk;
  AddBinaries(&chunk);
  profile::SampleCounts* counts = chunk.add_sample_counts();
  counts->set_session(session_);
  counts->set_elapsed_ns(now.now_ns - between_start_ns_);
  AddUnitSamples(target_->TakeUnitSamples(), counts, &chunk);
  AddSpinningUnits(counts, &chunk);
  counts->set_out_of_scope_samples(now.out_of_scope_samples - between_start_.out_of_scope_samples);
  counts->set_other_thread_samples(now.other_thread_samples - between_start_.other_thread_samples);
  counts->set_unmapped_samples(now.unmapped_samples - between_start_.unmapped_samples);
  counts->set_lost_samples(now.lost_samples - between_start_.lost_samples);
  for (uint32_t point = 0; point < now.points.size(); ++point) {
    TakeLatencies(point, nullptr);
    const experiment::PointCounts before = point < between_start_.points.size()
                                               ? between_start_.points[point]
                                               : experiment::PointCounts();
    profile::PointCounts visited;
    visited.set_visits(now.points[point].visits - before.visits);
    visited.set_arrivals(now.points[point].arrivals - before.arrivals);
    visited.set_departures(now.points[point].departures - before.departures);
    if (visited.visits() + visited.arrivals() + visited.departures() == 0) continue;
    visited.set_point(PointOf(point, &chunk));
    *counts->add_point() = visited;
  }
  Append(chunk);
  between_start_ns_ = now.now_ns;
  between_start_ = now;
}

profile::Taint::Reason ReasonInProfile(experiment::TaintKind kind) {
  switch (kind) {
    case experiment::TaintKind::kOversubscribed:
      return profile::Taint::OVERCOMMITTED;
    case experiment::TaintKind::kDelayOwed:
      return profile::Taint::OWED_DELAY;
    case experiment::TaintKind::kSamplesLost:
      return profile::Taint::LOST_SAMPLES;
    case experiment::TaintKind::kTargetEnded:
      return profile::Taint::CUT_SHORT;
    case experiment::TaintKind::kInterrupted:
      return profile::Taint::SUSPENDED;
    case experiment::TaintKind::kCpuQuota:
      return profile::Taint::CPU_QUOTA;
    case experiment::TaintKind::kSupervisorLate:
      return profile::Taint::SUPERVISOR_LATE;
    case experiment::TaintKind::kUnitInactive:
    case experiment::TaintKind::kTooFewVisits:
      return profile::Taint::OTHER;
  }
  return profile::Taint::UNKNOWN;
}

profile::SamplingSource SourceInProfile(sampler::SamplingSource source) {
  switch (source) {
    case sampler::SamplingSource::kPerfSigtrap:
      return profile::SAMPLING_SOURCE_PERF_SIGTRAP;
    case sampler::SamplingSource::kPerfSetsig:
      return profile::SAMPLING_SOURCE_PERF_FSETSIG;
    case sampler::SamplingSource::kCpuTimer:
      return profile::SAMPLING_SOURCE_CPU_TIMER;
    case sampler::SamplingSource::kCpuClock:
      return profile::SAMPLING_SOURCE_CPU_CLOCK;
    case sampler::SamplingSource::kNone:
      break;
  }
  return profile::SAMPLING_SOURCE_UNKNOWN;
}

void ProfileRecorder::WriteSourceChange(const SourceChoice::Finding& finding,
                                        sampler::SamplingSource source, uint64_t now_ns) {
  profile::Profile chunk;
  profile::SourceChange* change = chunk.add_source_change();
  change->set_session(session_);
  change->set_at_ns(now_ns - start_ns_);
  change->set_sampling_source(SourceInProfile(source));
  change->set_switches_per_second(finding.rates.switches_per_second);
  change->set_cpu_ns_per_second(finding.rates.cpu_ns_per_second);
  change->set_switch_cost_ns(finding.switch_cost_ns);
  change->set_slowdown(finding.slowdown);
  if (finding.by_threads) change->set_threads_per_second(finding.rates.threads_per_second);
  Append(chunk);
}

void ProfileRecorder::WriteUnvisited(const std::vector<uint32_t>& points) {
  profile::Profile chunk;
  for (uint32_t point : points) PointOf(point, &chunk);
  Append(chunk);
}

void ProfileRecorder::WritePointChange(const PointCame& came) {
  profile::Profile chunk;
  profile::PointChange* change = chunk.add_point_change();
  change->set_session(session_);
  change->set_point(PointOf(came.point, &chunk));
  change->set_at_ns(came.at_ns - start_ns_);
  change->set_added(came.added);
  Append(chunk);
}

void ProfileRecorder::WriteProcesses(const ProcessWatch& watch, size_t replaced) {
  processes_ = watch.seen();
  processes_replaced_ = replaced;
  profile::Profile chunk;
  for (const ProcessWatch::Process& process : watch.processes()) {
    profile::Process* written = chunk.add_process();
    written->set_session(session_);
    written->set_pid(process.pid);
    written->set_parent_pid(process.parent_pid);
    written->set_program(process.program);
    written->set_load_bias(process.load_bias);
    written->set_start_ns(process.start_ns > start_ns_ ? process.start_ns - start_ns_ : 0);
    if (process.end_ns != 0) written->set_end_ns(process.end_ns - start_ns_);
    written->set_major_faults(process.major_faults);
    written->set_major_faults_ns(process.major_faults_ns);
  }
  Append(chunk);
}

void ProfileRecorder::WriteThreads(const std::vector<ThreadUse>& threads,
                                   const std::vector<ThreadCounter>& counters) {
  profile::Profile chunk;
  AddThreads(threads, counters, session_, start_ns_, &chunk);
  Append(chunk);
}

void ProfileRecorder::AddOwnWaits(profile::SessionEnd* end) const {
  constexpr size_t kMostWritten = 20;
  const uint64_t period_ns = written_.session(written_.session_size() - 1).sampling_period_ns();
  std::vector<std::pair<uint64_t, experiment::UnitId>> waits;
  for (const auto& [unit, samples] : target_->own_waits()) waits.emplace_back(samples, unit);
  std::sort(waits.begin(), waits.end(), std::greater<>());
  if (waits.size() > kMostWritten) waits.resize(kMostWritten);
  for (const auto& [samples, unit] : waits) {
    const sourcemap::UnitDescription what = units_->Describe(unit).what;
    profile::OwnWait* written = end->add_own_wait();
    written->set_file(what.file);
    written->set_line(what.line);
    written->set_function(ValidUtf8(what.function));
    written->set_thread_group(ValidUtf8(what.thread_group));
    written->set_waited_ns(samples * period_ns);
  }
}

void ProfileRecorder::WriteEnd(profile::EndReason reason, const ExitState& exit,
                               const experiment::TargetSnapshot& last, const SwitchLoad& switches,
                               const RunCounters& counters,
                               const std::vector<NeighbourWatch::Neighbour>& neighbours) {
  WriteBetweenExperiments();
  profile::Profile chunk;
  profile::SessionEnd* end = chunk.add_session_end();
  end->set_session(session_);
  end->set_run_time_ns(last.now_ns - start_ns_);
  end->set_reason(reason);
  end->set_exit_status(static_cast<uint32_t>(exit.status));
  end->set_exit_signal(static_cast<uint32_t>(exit.signal));
  end->set_total_samples(last.total_samples);
  end->set_lost_samples(last.lost_samples);
  end->set_peak_threads(static_cast<uint32_t>(target_->threads_started()));
  end->set_experiments(static_cast<uint64_t>(written_.experiment_size() - experiments_before_));
  end->set_inserted_delay_ns(last.global_delay_ns);
  end->set_processes(processes_);
  end->set_processes_replaced(processes_replaced_);
  end->set_thread_switches(switches.switches);
  end->set_switch_cost_ns(switches.cost_ns);
  end->set_broken_unwinds(counters.broken_unwinds);
  end->set_threads_without_slot(counters.threads_without_slot);
  end->set_points_without_slot(counters.points_without_slot);
  end->set_modules_without_slot(counters.modules_without_slot);
  end->set_paths_without_slot(counters.paths_without_slot);
  end->set_libraries_unloaded(counters.libraries_unloaded);
  AddOwnWaits(end);
  for (const NeighbourWatch::Neighbour& neighbour : neighbours) {
    profile::Neighbour* written = end->add_neighbour();
    written->set_name(neighbour.name);
    written->set_cpu_ns(neighbour.cpu_ns);
    written->set_talks_to_target(neighbour.talks_to_target);
  }
  Append(chunk);
}

}  // namespace coz::supervisor
