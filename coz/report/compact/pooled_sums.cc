#include "coz/report/compact/pooled_sums.h"

#include <algorithm>
#include <cstdint>
#include <map>

#include "coz/report/analysis/systematic_error.h"

namespace coz::report {
namespace {

uint32_t Experiments(const profile::Experiment& record) { return std::max(1u, record.pooled()); }

double Mean(double a, double weight_a, double b, double weight_b) {
  return weight_a == 0 ? b : (a * weight_a + b * weight_b) / (weight_a + weight_b);
}

void AddValidity(const profile::Validity& one, profile::Validity* sum) {
  sum->set_paid_ns(sum->paid_ns() + one.paid_ns());
  sum->set_excess_ns(sum->excess_ns() + one.excess_ns());
  sum->set_lost_samples(sum->lost_samples() + one.lost_samples());
  sum->set_throttled(sum->throttled() + one.throttled());
  sum->set_unmapped_samples(sum->unmapped_samples() + one.unmapped_samples());
  sum->set_cpus(sum->cpus() + one.cpus());
  sum->set_live_threads(sum->live_threads() + one.live_threads());
  sum->set_drain_ns(sum->drain_ns() + one.drain_ns());
  sum->set_lost_periods(sum->lost_periods() + one.lost_periods());
  sum->set_unsampled_ns(sum->unsampled_ns() + one.unsampled_ns());
  sum->set_spinning_samples(sum->spinning_samples() + one.spinning_samples());
  sum->set_quota_throttled_ns(sum->quota_throttled_ns() + one.quota_throttled_ns());
  sum->set_busy_cpu_ns(sum->busy_cpu_ns() + one.busy_cpu_ns());
  sum->set_idle_cpu_ns(sum->idle_cpu_ns() + one.idle_cpu_ns());
  sum->set_stolen_cpu_ns(sum->stolen_cpu_ns() + one.stolen_cpu_ns());
  sum->set_beside_cpu_ns(sum->beside_cpu_ns() + one.beside_cpu_ns());
  sum->set_busy_beside_ns(sum->busy_beside_ns() + one.busy_beside_ns());
  sum->set_ran_beside_ns(sum->ran_beside_ns() + one.ran_beside_ns());
  sum->set_queued_beside_ns(sum->queued_beside_ns() + one.queued_beside_ns());
  sum->set_queued_for_others_ns(sum->queued_for_others_ns() + one.queued_for_others_ns());
  sum->set_quota_periods(sum->quota_periods() + one.quota_periods());
  sum->set_quota_throttled_periods(sum->quota_throttled_periods() + one.quota_throttled_periods());
  sum->set_quota_used_ns(sum->quota_used_ns() + one.quota_used_ns());
  sum->set_quota_allowed_ns(sum->quota_allowed_ns() + one.quota_allowed_ns());
  sum->set_pause_cpu_ns(sum->pause_cpu_ns() + one.pause_cpu_ns());
  sum->set_imposed_ns(sum->imposed_ns() + one.imposed_ns());
  sum->set_realtime_threads(std::max(sum->realtime_threads(), one.realtime_threads()));
  sum->set_spinning_outside_samples(sum->spinning_outside_samples() +
                                    one.spinning_outside_samples());
  sum->set_other_thread_samples(sum->other_thread_samples() + one.other_thread_samples());
  sum->set_threads_beside_average(sum->threads_beside_average() + one.threads_beside_average());
  // NaN: unknown, which is never crowded.
  if (one.runnable_threads_average() >= 0) {
    sum->set_runnable_threads_average(sum->runnable_threads_average() +
                                      one.runnable_threads_average());
  }
  if (sum->taint_size() == 0) {
    for (const profile::Taint& taint : one.taint()) sum->add_taint()->set_reason(taint.reason());
  }
}

}  // namespace

void AddFigures(const profile::Experiment& one, profile::Experiment* sum) {
  // 0 and NaN: it could not be measured.
  const double achieved =
      one.achieved_virtual_speedup() > 0 ? one.achieved_virtual_speedup() : one.virtual_speedup();
  sum->set_achieved_virtual_speedup(
      Mean(sum->achieved_virtual_speedup(), sum->pooled(), achieved, Experiments(one)));
  sum->set_pooled(sum->pooled() + Experiments(one));
  sum->set_elapsed_ns(sum->elapsed_ns() + one.elapsed_ns());
  sum->set_inserted_delay_ns(sum->inserted_delay_ns() + one.inserted_delay_ns());
  sum->set_effective_duration_ns(sum->effective_duration_ns() + one.effective_duration_ns());
  sum->set_selected_samples(sum->selected_samples() + one.selected_samples());
  sum->set_total_samples(sum->total_samples() + one.total_samples());
  AddValidity(one.validity(), sum->mutable_validity());
  const auto owed_ns = static_cast<double>(one.validity().owed_ns());
  if (one.pooled() != 0 || owed_ns > kMuchOwed * static_cast<double>(one.elapsed_ns())) {
    sum->mutable_validity()->set_owed_ns(sum->validity().owed_ns() + one.validity().owed_ns());
  }
}

void AddCounts(const profile::PointCounts& one, double time_ns, profile::PointCounts* sum) {
  sum->set_visits(sum->visits() + one.visits());
  sum->set_arrivals(sum->arrivals() + one.arrivals());
  sum->set_departures(sum->departures() + one.departures());
  // By time; 0 where `one` is of a part of the run whose time does not matter.
  sum->set_pooled_duration_ns(sum->pooled_duration_ns() + one.pooled_duration_ns());
  sum->set_pooled_time_ns(sum->pooled_time_ns() + time_ns);
  sum->set_in_flight_by_times(one.in_flight_by_times());
  sum->set_in_flight_evened_out(sum->in_flight_evened_out() || one.in_flight_evened_out());
  std::map<std::pair<uint64_t, uint64_t>, uint64_t> requests;
  const auto gather = [&requests](const profile::PointCounts& counts) {
    const int listed = std::min({counts.latency_requests_size(), counts.latency_from_ns_size(),
                                 counts.latency_to_ns_size()});
    for (int i = 0; i < listed; ++i) {
      requests[{counts.latency_from_ns(i), counts.latency_to_ns(i)}] += counts.latency_requests(i);
    }
  };
  if (one.latency_requests_size() == 0) return;
  gather(*sum);
  gather(one);
  sum->clear_latency_from_ns();
  sum->clear_latency_to_ns();
  sum->clear_latency_requests();
  for (const auto& [bounds, count] : requests) {
    sum->add_latency_from_ns(bounds.first);
    sum->add_latency_to_ns(bounds.second);
    sum->add_latency_requests(count);
  }
}

void AddFigures(const profile::BareInterval& one, profile::BareInterval* sum) {
  sum->set_pooled(sum->pooled() + std::max(1u, one.pooled()));
  sum->set_elapsed_ns(sum->elapsed_ns() + one.elapsed_ns());
  sum->set_total_samples(sum->total_samples() + one.total_samples());
  if (sum->taint_size() == 0) *sum->mutable_taint() = one.taint();
}

void AddTotals(const profile::SampleCounts& one, profile::SampleCounts* sum) {
  sum->set_elapsed_ns(sum->elapsed_ns() + one.elapsed_ns());
  sum->set_out_of_scope_samples(sum->out_of_scope_samples() + one.out_of_scope_samples());
  sum->set_unmapped_samples(sum->unmapped_samples() + one.unmapped_samples());
  sum->set_lost_samples(sum->lost_samples() + one.lost_samples());
  sum->set_other_thread_samples(sum->other_thread_samples() + one.other_thread_samples());
}

void AddEnd(const profile::SessionEnd& one, profile::SessionEnd* sum) {
  sum->set_run_time_ns(sum->run_time_ns() + one.run_time_ns());
  sum->set_reason(std::max(sum->reason(), one.reason()));
  sum->set_total_samples(sum->total_samples() + one.total_samples());
  sum->set_lost_samples(sum->lost_samples() + one.lost_samples());
  sum->set_peak_threads(std::max(sum->peak_threads(), one.peak_threads()));
  sum->set_experiments(sum->experiments() + one.experiments());
  sum->set_inserted_delay_ns(sum->inserted_delay_ns() + one.inserted_delay_ns());
  sum->set_processes(sum->processes() + one.processes());
  sum->set_thread_switches(sum->thread_switches() + one.thread_switches());
  sum->set_switch_cost_ns(std::max(sum->switch_cost_ns(), one.switch_cost_ns()));
  sum->set_broken_unwinds(sum->broken_unwinds() + one.broken_unwinds());
  sum->set_threads_without_slot(sum->threads_without_slot() + one.threads_without_slot());
  sum->set_points_without_slot(sum->points_without_slot() + one.points_without_slot());
  sum->set_modules_without_slot(sum->modules_without_slot() + one.modules_without_slot());
  sum->set_paths_without_slot(sum->paths_without_slot() + one.paths_without_slot());
  sum->set_libraries_unloaded(sum->libraries_unloaded() + one.libraries_unloaded());
  sum->set_processes_replaced(sum->processes_replaced() + one.processes_replaced());
}

}  // namespace coz::report
