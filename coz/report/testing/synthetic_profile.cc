#include "coz/report/testing/synthetic_profile.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include "coz/report/format/profile.pb.h"

namespace coz::report_testing {
namespace {

constexpr uint32_t kPointId = 1;

}  // namespace

SyntheticProfile::SyntheticProfile(SyntheticOptions options, std::vector<SyntheticLine> lines)
    : options_(std::move(options)), lines_(std::move(lines)), random_(options_.seed) {
  profile::Session* session = profile_.add_session();
  session->set_id(options_.session);
  session->add_command("./app");
  session->add_command("--threads=2");
  session->set_working_folder("/src/app");
  session->set_start_unix_ns(1'700'000'000'000'000'000);
  session->mutable_machine()->set_host("host");
  session->mutable_machine()->set_kernel("6.18.0");
  session->mutable_machine()->set_cpu_model("Model");
  session->mutable_machine()->set_cpu_count(2);
  session->set_coz_version("test");
  session->set_sampling_source(profile::SAMPLING_SOURCE_PERF_SIGTRAP);
  session->set_sampling_period_ns(options_.sampling_period_ns);
  session->set_seed(options_.seed);
  for (size_t i = 0; i < lines_.size(); ++i) {
    profile::Unit* unit = profile_.add_unit();
    unit->set_session(options_.session);
    unit->set_id(static_cast<uint32_t>(i + 1));
    unit->set_kind(profile::UNIT_KIND_LINE);
    unit->set_file(lines_[i].file);
    unit->set_line(lines_[i].line);
    unit->set_function(lines_[i].function);
  }
  profile::ProgressPoint* point = profile_.add_progress_point();
  point->set_session(options_.session);
  point->set_id(kPointId);
  point->set_name(options_.point);
  point->set_kind(options_.kind);
}

double SyntheticProfile::ProgramSpeedup(const SyntheticLine& line, double virtual_speedup) const {
  return line.program_speedup ? line.program_speedup(virtual_speedup)
                              : line.slope * virtual_speedup;
}

// Work per visit does not change with a virtual speedup, so samples go with visits.
void SyntheticProfile::AddSamples(profile::Experiment* experiment, double effective_ns,
                                  double work_ratio, size_t selected) {
  const double expected = effective_ns * work_ratio * options_.running_threads /
                          static_cast<double>(options_.sampling_period_ns);
  uint64_t in_units = 0;
  double rest = 1;
  for (size_t i = 0; i < lines_.size(); ++i) {
    const auto n = static_cast<uint64_t>(
        std::poisson_distribution<int64_t>(expected * lines_[i].share)(random_));
    rest -= lines_[i].share;
    if (i == selected) experiment->set_selected_samples(n);
    if (n == 0) continue;
    experiment->add_unit_id(static_cast<uint32_t>(i + 1));
    experiment->add_unit_samples(n);
    in_units += n;
  }
  const double outside = std::max(0.0, expected * rest);
  experiment->set_total_samples(in_units + static_cast<uint64_t>(std::lround(outside)));
  total_samples_ += experiment->total_samples();
}

void SyntheticProfile::AddExperiment(size_t line, double nominal_speedup) {
  const SyntheticLine& selected = lines_[line];
  const double virtual_speedup = nominal_speedup * options_.achieved_share;
  const double normal_ns = options_.ns_per_visit * Drift();
  const double remaining = 1 - ProgramSpeedup(selected, virtual_speedup);
  const double noise = std::exp(std::normal_distribution<double>(0, options_.noise)(random_));
  const double ns_per_visit = normal_ns * remaining * noise;
  // Each visit holds share·ns_per_visit·threads of the line's time, and each sample there inserts
  // delay.
  const double delay_per_visit =
      virtual_speedup * selected.share * normal_ns * options_.running_threads;
  const double visits =
      std::max(0.0, std::floor(static_cast<double>(options_.experiment_ns) /
                                   (ns_per_visit + options_.delay_factor * delay_per_visit) +
                               std::uniform_real_distribution<double>(0, 1)(random_)));
  const auto delay = static_cast<uint64_t>(visits * delay_per_visit * options_.share_left);

  profile::Experiment* experiment = profile_.add_experiment();
  experiment->set_session(options_.session);
  experiment->set_index(static_cast<uint32_t>(profile_.experiment_size() - 1));
  experiment->set_selected_unit(static_cast<uint32_t>(line + 1));
  experiment->set_virtual_speedup(nominal_speedup);
  experiment->set_achieved_virtual_speedup(virtual_speedup);
  experiment->set_start_ns(now_ns_);
  experiment->set_elapsed_ns(options_.experiment_ns);
  experiment->set_inserted_delay_ns(std::min(delay, options_.experiment_ns));
  experiment->set_effective_duration_ns(options_.experiment_ns - experiment->inserted_delay_ns());
  experiment->mutable_validity()->set_cpus(2);
  experiment->mutable_validity()->set_live_threads(2);
  experiment->mutable_validity()->set_excess_ns(
      static_cast<uint64_t>(options_.overslept_share * static_cast<double>(delay)));
  if (options_.share_left < 1) {
    const auto of_time = [this](double share) {
      return static_cast<uint64_t>(share * static_cast<double>(options_.experiment_ns));
    };
    experiment->mutable_validity()->set_busy_beside_ns(of_time(1));
    experiment->mutable_validity()->set_ran_beside_ns(of_time(options_.share_left));
    experiment->mutable_validity()->set_queued_beside_ns(of_time(1 - options_.share_left));
    experiment->mutable_validity()->set_beside_cpu_ns(of_time(1 - options_.share_left));
  }
  AddSamples(experiment, static_cast<double>(experiment->effective_duration_ns()), 1 / remaining,
             line);
  profile::PointCounts* counts = experiment->add_point();
  counts->set_point(kPointId);
  if (options_.kind == profile::PROGRESS_POINT_KIND_LATENCY) {
    // The arrival rate is given; the speedup shortens the time in flight instead.
    const double effective = static_cast<double>(experiment->effective_duration_ns());
    const auto arrivals = static_cast<uint64_t>(effective / options_.ns_per_visit);
    counts->set_arrivals(arrivals);
    counts->set_departures(arrivals);
    counts->set_in_flight_average(options_.latency_ns * remaining * noise *
                                  static_cast<double>(arrivals) / effective);
  } else {
    counts->set_visits(static_cast<uint64_t>(visits));
  }
  inserted_delay_ns_ += experiment->inserted_delay_ns();
  now_ns_ += options_.experiment_ns + options_.cooloff_ns;
}

void SyntheticProfile::AddBareInterval() {
  // Shorter than an experiment, so that its noise is larger.
  const double noise = options_.noise * std::sqrt(static_cast<double>(options_.experiment_ns) /
                                                  static_cast<double>(options_.bare_interval_ns));
  const double factor = Drift() * (1 - options_.bare_share) *
                        std::exp(std::normal_distribution<double>(0, noise)(random_));
  const double ns_per_visit = options_.ns_per_visit * factor;
  profile::BareInterval* bare = profile_.add_bare_interval();
  bare->set_session(options_.session);
  bare->set_start_ns(now_ns_);
  bare->set_elapsed_ns(options_.bare_interval_ns);
  profile::PointCounts* counts = bare->add_point();
  counts->set_point(kPointId);
  const double elapsed = static_cast<double>(options_.bare_interval_ns);
  if (options_.kind == profile::PROGRESS_POINT_KIND_LATENCY) {
    const auto arrivals = static_cast<uint64_t>(elapsed / options_.ns_per_visit);
    counts->set_arrivals(arrivals);
    counts->set_departures(arrivals);
    counts->set_in_flight_average(options_.latency_ns * factor * static_cast<double>(arrivals) /
                                  elapsed);
  } else {
    counts->set_visits(static_cast<uint64_t>(
        elapsed / ns_per_visit + std::uniform_real_distribution<double>(0, 1)(random_)));
  }
  now_ns_ += options_.bare_interval_ns + options_.cooloff_ns;
}

void SyntheticProfile::AddControl() {
  const double noise = std::exp(std::normal_distribution<double>(0, options_.noise)(random_));
  const double elapsed_ns = static_cast<double>(options_.experiment_ns);
  const double delay_ns = options_.control_share * elapsed_ns;
  profile::Experiment* control = profile_.add_control();
  control->set_session(options_.session);
  control->set_start_ns(now_ns_);
  control->set_elapsed_ns(options_.experiment_ns);
  control->set_inserted_delay_ns(static_cast<uint64_t>(delay_ns));
  control->set_effective_duration_ns(options_.experiment_ns - control->inserted_delay_ns());
  AddSamples(control, elapsed_ns - delay_ns, 1, lines_.size());
  profile::PointCounts* counts = control->add_point();
  counts->set_point(kPointId);
  const double work_ns = elapsed_ns - options_.delay_factor * delay_ns;
  counts->set_visits(static_cast<uint64_t>(work_ns / (options_.ns_per_visit * Drift() * noise) +
                                           std::uniform_real_distribution<double>(0, 1)(random_)));
  inserted_delay_ns_ += control->inserted_delay_ns();
  now_ns_ += options_.experiment_ns + options_.cooloff_ns;
}

void SyntheticProfile::AddRandomExperiments(int count) {
  std::vector<double> shares;
  for (const SyntheticLine& line : lines_) shares.push_back(line.share);
  std::discrete_distribution<size_t> choose_line(shares.begin(), shares.end());
  std::uniform_int_distribution<int> choose_speedup(1, 20);
  std::bernoulli_distribution choose_baseline(0.25);
  for (int i = 0; i < count; ++i) {
    const size_t line = choose_line(random_);
    const double speedup = choose_baseline(random_) ? 0.0 : choose_speedup(random_) * 0.05;
    AddExperiment(line, speedup);
  }
}

void SyntheticProfile::End() {
  profile::SessionEnd* end = profile_.add_session_end();
  end->set_session(options_.session);
  end->set_run_time_ns(now_ns_);
  end->set_reason(profile::END_REASON_TARGET_EXITED);
  end->set_total_samples(total_samples_);
  end->set_experiments(static_cast<uint64_t>(profile_.experiment_size()));
  end->set_inserted_delay_ns(inserted_delay_ns_);
}

}  // namespace coz::report_testing
