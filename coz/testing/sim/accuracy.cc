#include "coz/testing/sim/accuracy.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "coz/experiment/scheduler.h"
#include "coz/testing/sim/simulated_target.h"

namespace coz::sim {
namespace {

class RecordKeeper : public experiment::ExperimentSink {
 public:
  explicit RecordKeeper(const Simulator* simulator) : simulator_(simulator) {}

  void OnExperimentStarted(experiment::UnitId, double, uint64_t) override {
    at_start_ = simulator_->all_line_samples();
  }
  void OnExperiment(const experiment::ExperimentRecord& record) override {
    std::vector<uint64_t> samples = simulator_->all_line_samples();
    for (size_t line = 0; line < samples.size(); ++line) samples[line] -= at_start_[line];
    experiments.push_back({record, std::move(samples)});
  }
  void OnExperimentDropped() override {}
  void OnNoProgress(uint64_t) override {}

  std::vector<SimulatedExperiment> experiments;

 private:
  const Simulator* const simulator_;
  std::vector<uint64_t> at_start_;
};

}  // namespace

RandomQuestion DrawQuestion(Kind kind, uint64_t seed, uint32_t threads) {
  Random random(seed, static_cast<uint64_t>(kind));
  RandomQuestion drawn;
  drawn.program = threads == 0 ? RandomProgram(kind, random) : RandomCrowd(kind, random, threads);
  std::vector<experiment::UnitId> used;
  for (const Code& code : drawn.program.codes) {
    for (const Op& op : code) {
      if (op.kind == OpKind::kWork) used.push_back(op.a);
    }
  }
  drawn.question.line = used[random.Below(used.size())];
  drawn.question.speedup = static_cast<double>(1 + random.Below(3)) / 4;
  return drawn;
}

namespace {

// The sum of the times in flight of all requests. For a request that is in flight at `now_ns`, the
// time up to then counts.
double TimeInFlight(const experiment::PointCounts& counts, uint64_t now_ns) {
  return static_cast<double>((counts.arrivals - counts.departures) * now_ns +
                             counts.departure_time_sum_ns - counts.arrival_time_sum_ns);
}

double Cost(const experiment::PointCounts& before, uint64_t before_ns,
            const experiment::PointCounts& after, uint64_t after_ns) {
  const uint64_t departures = after.departures - before.departures;
  if (departures > 0) {
    return (TimeInFlight(after, after_ns) - TimeInFlight(before, before_ns)) /
           static_cast<double>(departures);
  }
  return static_cast<double>(after_ns - before_ns) /
         static_cast<double>(after.visits - before.visits);
}

double CostOf(const experiment::ExperimentRecord& record) {
  const experiment::PointDelta& point = record.points[0];
  if (point.departures > 0) return point.in_flight_ns / static_cast<double>(point.departures);
  return static_cast<double>(record.effective_duration_ns) / static_cast<double>(point.visits);
}

}  // namespace

double RealCost(const Program& program, const MachineOptions& machine, const Question& question,
                double faster_by) {
  MachineOptions options = machine;
  options.sampling_period_ns = 0;
  options.faster_line = question.line;
  options.faster_by = faster_by;
  Simulator simulator(program, options);
  simulator.RunUntil(question.warmup_ns);
  const experiment::PointCounts before = simulator.points()[0];
  const uint64_t end_ns = question.warmup_ns + question.duration_ns;
  simulator.RunUntil(end_ns);
  return Cost(before, question.warmup_ns, simulator.points()[0], end_ns);
}

std::vector<SimulatedExperiment> RunSimulatedExperiments(
    const Program& program, const MachineOptions& machine,
    const experiment::SchedulerOptions& options, uint64_t warmup_ns, uint64_t end_ns) {
  MachineOptions profiled = machine;
  profiled.sampling_period_ns = options.sampling_period_ns;
  Simulator simulator(program, profiled);
  SimulatedTarget target(&simulator);
  RecordKeeper keeper(&simulator);
  experiment::Scheduler scheduler(options, &target, &keeper);
  simulator.RunUntil(warmup_ns);
  while (!scheduler.done() && simulator.now_ns() < end_ns) {
    simulator.RunUntil(std::min(scheduler.Step(), end_ns));
  }
  return std::move(keeper.experiments);
}

std::vector<experiment::ExperimentRecord> RunExperiments(
    const Program& program, const MachineOptions& machine,
    const experiment::SchedulerOptions& options, uint64_t warmup_ns, uint64_t end_ns) {
  std::vector<experiment::ExperimentRecord> records;
  for (SimulatedExperiment& experiment :
       RunSimulatedExperiments(program, machine, options, warmup_ns, end_ns)) {
    records.push_back(std::move(experiment.record));
  }
  return records;
}

double ControlFactor(const Program& program, const MachineOptions& machine,
                     const Question& question, double share) {
  MachineOptions profiled = machine;
  profiled.sampling_period_ns = question.sampling_period_ns;
  Simulator simulator(program, profiled);
  simulator.RunUntil(question.warmup_ns);
  const experiment::TargetSnapshot before = simulator.Snapshot();
  const uint64_t end_ns = question.warmup_ns + question.duration_ns;
  simulator.DelayAll(
      static_cast<uint64_t>(share * static_cast<double>(question.sampling_period_ns)), end_ns);
  simulator.RunUntil(end_ns);
  const experiment::TargetSnapshot after = simulator.Snapshot();
  const double visits = static_cast<double>(after.points[0].visits - before.points[0].visits);
  const double work_ns = visits * RealCost(program, machine, question, 0);
  return (static_cast<double>(question.duration_ns) - work_ns) /
         static_cast<double>(after.global_delay_ns - before.global_delay_ns);
}

Answer Ask(const Program& program, const MachineOptions& machine, const Question& question,
           KnownCosts* known) {
  KnownCosts of_this_question;
  if (known == nullptr) known = &of_this_question;
  const auto cost = [&](experiment::UnitId line, double faster_by) {
    const auto [entry, is_new] = known->try_emplace({line, faster_by});
    if (is_new) entry->second = RealCost(program, machine, question, faster_by);
    return entry->second;
  };
  // At a speedup of 0 all lines cost the same, so the line here does not matter.
  Answer answer;
  const double before = cost(0, 0);
  const double after = cost(question.line, question.speedup);
  answer.real = 1 - after / before;

  experiment::SchedulerOptions options;
  options.seed = machine.seed;
  options.sampling_period_ns = question.sampling_period_ns;
  options.fixed_units = {question.line};
  options.fixed_speedups = {question.speedup};
  options.baseline_probability = 0;
  // One experiment, however many visits it has: the claim is about the limit, and what is under way
  // at an experiment's ends is no part of it. Short ones are the subject of coverage_test.cc.
  options.min_experiment_ns = options.max_experiment_ns = question.duration_ns;
  options.shortest_experiment_ns = question.duration_ns;
  // The time between looks changes only the run time of the simulator itself.
  options.look_ns = kNsPerSecond / 4;
  const std::vector<experiment::ExperimentRecord> records = RunExperiments(
      program, machine, options, question.warmup_ns, question.warmup_ns + 3 * question.duration_ns);
  if (records.empty()) return answer;
  answer.experiment = records[0];
  answer.predicted = 1 - CostOf(records[0]) / before;
  return answer;
}

}  // namespace coz::sim
