#include "coz/experiment/scheduler.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "coz/experiment/seed.h"

namespace coz::experiment {
namespace {

constexpr uint64_t kNever = std::numeric_limits<uint64_t>::max();
constexpr int kSpeedupSteps = 20;  // 5 %, 10 % ... 100 %
// Between looks while there is nothing to measure: short, so that a short program loses little.
constexpr uint64_t kWaitLookNs = 5 * kNsPerMs;

bool AnyProgress(const TargetSnapshot& now) {
  return std::any_of(now.points.begin(), now.points.end(), [](const PointCounts& counts) {
    return counts.visits + counts.arrivals + counts.departures > 0;
  });
}

}  // namespace

Scheduler::Scheduler(const SchedulerOptions& options, ExperimentTarget* target,
                     ExperimentSink* sink)
    : options_(options),
      target_(target),
      sink_(sink),
      seed_(options.seed.has_value() ? *options.seed : DrawSeed()),
      unit_random_(seed_, 0),
      speedup_random_(seed_, 1),
      look_random_(seed_, 2),
      focus_random_(seed_, 3),
      bare_random_(seed_, 4),
      control_random_(seed_, 5),
      next_bare_(DrawBareInterval()),
      next_control_(DrawControl()),
      length_(options) {}

uint64_t Scheduler::Step() {
  if (state_ == State::kDone) return kNever;
  if (state_ != State::kIdle && target_->NowNs() < next_step_ns_) return next_step_ns_;
  switch (state_) {
    case State::kIdle:
      next_step_ns_ = Start();
      break;
    case State::kWaitingForProgress:
      next_step_ns_ = WaitForProgress();
      break;
    case State::kWaitingForSample:
    case State::kCooloff:
      next_step_ns_ = WaitForSample();
      break;
    case State::kLeadIn:
      next_step_ns_ = StartMeasuring(target_->Read());
      break;
    case State::kRunning:
      next_step_ns_ = Run();
      break;
    case State::kDraining:
      next_step_ns_ = Drain();
      break;
    case State::kBareLeadIn:
      next_step_ns_ = StartMeasuringBare();
      break;
    case State::kBare:
      next_step_ns_ = RunBare();
      break;
    case State::kDone:
      break;
  }
  return state_ == State::kDone ? kNever : next_step_ns_;
}

uint64_t Scheduler::Start() {
  run_start_ns_ = target_->NowNs();
  if (!options_.end_to_end) return WaitForProgress();
  run_start_ = target_->Read();
  if (!options_.fixed_units.empty()) return Begin(*ChooseUnit(), *run_start_);
  state_ = State::kWaitingForSample;
  return run_start_ns_ + options_.end_to_end_choice_ns;
}

uint64_t Scheduler::WaitForProgress() {
  const TargetSnapshot now = target_->Read();
  if (AnyProgress(now)) {
    // What was sampled before the first visit belongs to the program's start, which no point
    // measures.
    target_->RandomSampledUnit(unit_random_);
    return WaitForSample();
  }
  state_ = State::kWaitingForProgress;
  const uint64_t waited_ns = now.now_ns - run_start_ns_;
  if (!warned_ && waited_ns >= options_.progress_warning_ns) {
    warned_ = true;
    sink_->OnNoProgress(waited_ns);
  }
  return now.now_ns + kWaitLookNs;
}

// One in each block of experiments, anywhere in it.
uint64_t Scheduler::DrawBareInterval() {
  const uint64_t block = options_.experiments_per_bare_interval;
  if (block == 0 || options_.end_to_end) return kNever;
  return bare_blocks_++ * block + bare_random_.Below(block);
}

// Where there are baselines alone, no delay has to be told from another.
bool Scheduler::MakesControls() const {
  const std::vector<double>& speedups = options_.fixed_speedups;
  const bool speeds_up = speedups.empty() || std::any_of(speedups.begin(), speedups.end(),
                                                         [](double one) { return one > 0; });
  return options_.experiments_per_control != 0 && !options_.end_to_end && speeds_up;
}

uint64_t Scheduler::DrawControl() {
  if (!MakesControls()) return kNever;
  const bool is_early = early_controls_ < options_.early_controls;
  const uint64_t whole = options_.experiments_per_control;
  const uint64_t block = is_early ? (whole + 1) / 2 : whole;
  early_controls_ += is_early ? 1 : 0;
  const uint64_t next = control_block_start_ + control_random_.Below(block);
  control_block_start_ += block;
  return next;
}

uint64_t Scheduler::WaitForSample() {
  in_control_ = false;
  if (next_index_ >= next_bare_) {
    next_bare_ = DrawBareInterval();
    if (target_->SuspendSampling()) return StartBareInterval();
    next_bare_ = kNever;
  }
  if (next_index_ >= next_control_ && samples_per_ns_ > 0) {
    next_control_ = DrawControl();
    if (StartControl()) return StartLeadIn(target_->Read());
    next_control_ = kNever;
  }
  const std::optional<UnitId> unit = ChooseUnit();
  if (unit.has_value()) return Begin(*unit, options_.end_to_end ? *run_start_ : target_->Read());
  state_ = State::kWaitingForSample;
  return target_->NowNs() + kWaitLookNs;
}

std::optional<UnitId> Scheduler::ChooseUnit() {
  const std::vector<UnitId>& fixed = options_.fixed_units;
  if (!fixed.empty()) {
    return OrFocused(fixed[fixed.size() == 1 ? 0 : unit_random_.Below(fixed.size())]);
  }
  const std::optional<UnitId> sampled = target_->RandomSampledUnit(unit_random_);
  // Without a sample there is nothing to speed up, in focus or not.
  return sampled.has_value() ? OrFocused(*sampled) : sampled;
}

// Gives the focus a share of experiments, by its weights. The share is random and never all, so
// that other units are tried too.
UnitId Scheduler::OrFocused(UnitId sampled) {
  double sum = 0;
  for (const auto& [unit, weight] : focus_) sum += weight;
  if (!(sum > 0) || focus_random_.Fraction() < options_.uniform_share) return sampled;
  double draw = focus_random_.Fraction() * sum;
  for (const auto& [unit, weight] : focus_) {
    draw -= weight;
    if (draw < 0) return unit;
  }
  return sampled;
}

SpeedupDeck Scheduler::MakeDeck() const {
  std::vector<double> speedups = options_.fixed_speedups;
  if (speedups.empty()) {
    for (int i = 1; i <= kSpeedupSteps; ++i) {
      speedups.push_back(static_cast<double>(i) / kSpeedupSteps);
    }
  }
  uint64_t block = options_.baseline_probability > 0
                       ? static_cast<uint64_t>(std::llround(1 / options_.baseline_probability))
                       : 0;
  const auto zero = std::find(speedups.begin(), speedups.end(), 0.0);
  if (zero != speedups.end() && speedups.size() > 1) {
    block = block == 0 ? speedups.size() : std::min<uint64_t>(block, speedups.size());
    speedups.erase(zero);
  } else if (zero != speedups.end()) {
    block = 0;  // there is nothing else
  }
  return SpeedupDeck(std::move(speedups), block);
}

double Scheduler::ChooseSpeedup(UnitId unit) {
  const auto [deck, is_new] = decks_.try_emplace(unit, MakeDeck());
  if (is_new && options_.dealt_before) {
    deck->second.GoOn(options_.dealt_before(unit), speedup_random_);
  }
  return deck->second.Next(speedup_random_);
}

bool Scheduler::StartControl() {
  const double share = options_.delay_share_of_control;
  const double wanted_ns = share / (1 - share) / samples_per_ns_;
  plan_ = ExperimentPlan();
  // As much as the largest speedup takes of one thread, at most.
  plan_.delay_per_sample_ns =
      static_cast<uint64_t>(std::min(wanted_ns, static_cast<double>(options_.sampling_period_ns)));
  deadline_ns_ = target_->NowNs() + options_.lease_ns;
  return in_control_ = target_->DelayAll(plan_.delay_per_sample_ns, deadline_ns_);
}

uint64_t Scheduler::Begin(UnitId unit, const TargetSnapshot& start) {
  const uint64_t now_ns = target_->NowNs();
  plan_ = ExperimentPlan();
  plan_.index = next_index_;
  plan_.unit = unit;
  plan_.virtual_speedup = ChooseSpeedup(unit);
  plan_.delay_per_sample_ns = static_cast<uint64_t>(
      std::llround(plan_.virtual_speedup * static_cast<double>(options_.sampling_period_ns)));
  plan_.selected_after_ns = options_.end_to_end ? now_ns - start.now_ns : 0;
  deadline_ns_ = now_ns + options_.lease_ns;
  target_->Select(unit, plan_.delay_per_sample_ns, deadline_ns_);
  return StartLeadIn(start);
}

uint64_t Scheduler::StartLeadIn(const TargetSnapshot& start) {
  if (options_.end_to_end || options_.lead_in_ns == 0) return StartMeasuring(start);
  state_ = State::kLeadIn;
  return target_->NowNs() + length_.lead_in_ns();
}

uint64_t Scheduler::StartMeasuring(const TargetSnapshot& start) {
  recorder_.emplace(plan_, start);
  planned_ns_ = length_.ns();
  state_ = State::kRunning;
  if (in_control_) {
    sink_->OnControlStarted(start.now_ns);
  } else {
    sink_->OnExperimentStarted(plan_.unit, plan_.virtual_speedup, start.now_ns);
  }
  return target_->NowNs();
}

bool Scheduler::LongEnough(const TargetSnapshot& now) {
  if (options_.end_to_end) return false;
  const uint64_t elapsed_ns = now.now_ns - recorder_->start_ns();
  while (elapsed_ns >= planned_ns_) {
    const bool mostly_delay = recorder_->EffectiveNs(now) < static_cast<int64_t>(planned_ns_ / 2);
    // Delays then make visits few, which is no reason to extend.
    if (mostly_delay) return elapsed_ns >= planned_ns_ * 2;
    const uint64_t visits = recorder_->BusiestVisits(now);
    if (visits >= options_.min_visits || planned_ns_ >= options_.max_experiment_ns) return true;
    planned_ns_ = std::min(planned_ns_ * 2, options_.max_experiment_ns);
    if (visits > 0 && !in_control_) length_.Grow(planned_ns_);
  }
  return false;
}

uint64_t Scheduler::Run() {
  const TargetSnapshot now = target_->Read();
  recorder_->Look(now);
  if (now.now_ns > deadline_ns_) recorder_->NoteLate(now.now_ns - deadline_ns_);
  if (LongEnough(now)) return StartDrain(now.max_owed_ns);
  deadline_ns_ = now.now_ns + options_.lease_ns;
  target_->Extend(deadline_ns_);

  return NextLook(now);
}

uint64_t Scheduler::NextLook(const TargetSnapshot& now) {
  const uint64_t look_ns =
      recorder_->HasLatencyPairs(now) ? options_.latency_look_ns : length_.look_ns();
  // Random by half to either side, so that looks do not fall in step with the program.
  const uint64_t next_ns = now.now_ns + look_ns / 2 + look_random_.Below(look_ns + 1);
  const uint64_t end_ns = recorder_->start_ns() + planned_ns_;
  return !options_.end_to_end && end_ns > now.now_ns ? std::min(next_ns, end_ns) : next_ns;
}

// The experiment before has stopped its delays.
uint64_t Scheduler::StartBareInterval() {
  state_ = State::kBareLeadIn;
  return target_->NowNs() + length_.lead_in_ns();
}

uint64_t Scheduler::StartMeasuringBare() {
  const TargetSnapshot start = target_->Read();
  plan_ = ExperimentPlan();
  recorder_.emplace(plan_, start);
  planned_ns_ = std::max<uint64_t>(length_.ns() / options_.bare_intervals_per_experiment_length, 1);
  state_ = State::kBare;
  sink_->OnBareIntervalStarted(start.now_ns);
  return NextLook(start);
}

bool Scheduler::BareLongEnough(const TargetSnapshot& now) const {
  const uint64_t elapsed_ns = now.now_ns - recorder_->start_ns();
  if (elapsed_ns < planned_ns_) return false;
  return elapsed_ns >= length_.ns() ||
         recorder_->BusiestVisits(now) >= options_.bare_interval_visits;
}

uint64_t Scheduler::RunBare() {
  const TargetSnapshot now = target_->Read();
  if (!BareLongEnough(now)) {
    recorder_->Look(now);
    return NextLook(now);
  }
  target_->ResumeSampling();
  const ExperimentRecord record = recorder_->Finish(options_, now, now.now_ns, true);
  recorder_.reset();
  state_ = State::kCooloff;
  sink_->OnBareInterval(record);
  return now.now_ns + length_.cooloff_ns();
}

uint64_t Scheduler::StartDrain(uint64_t max_owed_ns) {
  target_->StopDelays();
  drain_start_ns_ = target_->NowNs();
  const uint64_t wanted_ns =
      2 * options_.sampling_period_ns + max_owed_ns + options_.drain_slack_ns;
  drain_end_ns_ = drain_start_ns_ + std::min(wanted_ns, options_.drain_limit_ns);
  state_ = State::kDraining;
  return Drain();
}

uint64_t Scheduler::Drain() {
  const bool settled = target_->Settled();
  const uint64_t now_ns = target_->NowNs();
  if (!settled && now_ns < drain_end_ns_) {
    return std::min(now_ns + options_.drain_look_ns, drain_end_ns_);
  }
  return End(target_->Read(), settled);
}

uint64_t Scheduler::End(const TargetSnapshot& end, bool settled) {
  const ExperimentRecord record = recorder_->Finish(options_, end, drain_start_ns_, settled);
  recorder_.reset();
  const uint64_t cooloff_ns = length_.cooloff_ns();
  state_ = stopping_ || options_.end_to_end ? State::kDone : State::kCooloff;
  if (in_control_) {
    sink_->OnControl(record);
    return end.now_ns + cooloff_ns;
  }
  if (!options_.end_to_end) length_.Learn(record);
  if (record.inserted_delay_ns == 0 && record.elapsed_ns > 0) {
    samples_per_ns_ =
        static_cast<double>(record.total_samples) / static_cast<double>(record.elapsed_ns);
  }
  ++next_index_;
  sink_->OnExperiment(record);
  return end.now_ns + cooloff_ns;
}

void Scheduler::Drop() {
  if (InBareInterval()) target_->ResumeSampling();
  if (state_ == State::kLeadIn) target_->StopDelays();
  if (recorder_.has_value()) {
    target_->StopDelays();
    recorder_.reset();
    sink_->OnExperimentDropped();
  }
  state_ = State::kDone;
}

void Scheduler::StartAfresh() {
  const bool in_progress = state_ == State::kLeadIn || state_ == State::kRunning ||
                           state_ == State::kDraining || InBareInterval();
  if (options_.end_to_end || stopping_ || !in_progress) return;
  Drop();
  state_ = State::kCooloff;
  next_step_ns_ = target_->NowNs() + length_.cooloff_ns();
}

uint64_t Scheduler::LeastKeptNs() const {
  return std::min(length_.ns(), options_.min_experiment_ns);
}

void Scheduler::Stop() {
  stopping_ = true;
  if (state_ == State::kDraining) return;
  if (state_ != State::kRunning) return Drop();
  const TargetSnapshot now = target_->Read();
  const bool keep = options_.end_to_end || now.now_ns - recorder_->start_ns() >= LeastKeptNs();
  if (!keep) return Drop();
  recorder_->Look(now);
  next_step_ns_ = StartDrain(now.max_owed_ns);
}

void Scheduler::Finish() {
  stopping_ = true;
  if (state_ == State::kDone || InBareInterval() || !recorder_.has_value()) return Drop();
  const TargetSnapshot end = target_->Read();
  const bool keep = options_.end_to_end || state_ == State::kDraining ||
                    end.now_ns - recorder_->start_ns() >= LeastKeptNs();
  if (!keep) return Drop();
  if (state_ == State::kRunning) {
    target_->StopDelays();
    drain_start_ns_ = end.now_ns;
  }
  recorder_->NoteTargetEnded();
  End(end, target_->Settled());
}

}  // namespace coz::experiment
