#include "coz/report/analysis/systematic_error.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace coz::report {
namespace {

// A share of nearly everything says no more than that nothing is known.
constexpr double kLargestShare = 0.9;

// If `share` of a whole is missing or too much, the rest is off by at most this.
double OfTheRest(double share) {
  const double most = std::clamp(share, 0.0, kLargestShare);
  return most / (1 - most);
}

// Adds up over experiments what ErrorFacts are shares of.
class Sums {
 public:
  void Add(const ExperimentRow& row, bool kernel_is_sampled) {
    const double experiments = row.pooled;
    rows_ += experiments;
    if (row.IsCrowded()) {
      crowded_ += experiments;
      runnable_ += experiments * row.runnable_threads_average;
      cpus_ += experiments * row.cpus;
    } else if (row.HasBusyCpus()) {
      beside_ += experiments;
    }
    const double sampled = static_cast<double>(row.total_samples);
    const double silent = static_cast<double>(kernel_is_sampled ? row.lost_periods : row.throttled);
    const double unseen = static_cast<double>(row.lost_samples) + silent;
    unseen_ += unseen;
    periods_ += sampled + unseen;
    if (!row.IsBaseline()) AddSpeedup(row);
  }

  ErrorFacts Facts() const {
    ErrorFacts facts;
    if (asked_ > 0) facts.achieved_share = achieved_ / asked_;
    facts.selected_samples = selected_samples_;
    if (periods_ > 0) facts.unseen_share = unseen_ / periods_;
    if (crowded_ > 0) {
      facts.crowded_share = crowded_ / rows_;
      facts.runnable_threads = runnable_ / crowded_;
      facts.cpus = cpus_ / crowded_;
    }
    if (rows_ > 0) facts.beside_share = beside_ / rows_;
    if (line_ns_ > 0) {
      facts.owed = owed_ns_ / line_ns_;
      facts.owed_in_crowds = owed_in_crowds_ns_ / line_ns_;
      facts.overslept = overslept_ns_ / line_ns_;
    }
    return facts;
  }

 private:
  void AddSpeedup(const ExperimentRow& row) {
    // 0 in old profiles, NaN where it could not be measured.
    if (row.achieved_virtual_speedup > 0) {
      asked_ += row.pooled * row.virtual_speedup;
      achieved_ += row.pooled * row.achieved_virtual_speedup;
      selected_samples_ += static_cast<double>(row.selected_samples);
    }
    const double owed_ns = static_cast<double>(row.owed_ns);
    // Of pooled experiments only what is much was kept.
    if (row.pooled > 1 || owed_ns > kMuchOwed * static_cast<double>(row.elapsed_ns)) {
      owed_ns_ += owed_ns;
      if (row.HasBusyCpus()) owed_in_crowds_ns_ += owed_ns;
    }
    // The excess is a sum over threads, and all but the line's own pause.
    const uint32_t pausing = std::max(2u, row.live_threads) - 1;
    overslept_ns_ += static_cast<double>(row.excess_ns) / pausing;
    line_ns_ += row.virtual_speedup * static_cast<double>(row.effective_duration_ns);
  }

  double rows_ = 0;
  double crowded_ = 0;
  double beside_ = 0;
  double runnable_ = 0;
  double cpus_ = 0;
  double unseen_ = 0;
  double periods_ = 0;
  double asked_ = 0;
  double achieved_ = 0;
  double selected_samples_ = 0;
  double owed_ns_ = 0;
  double owed_in_crowds_ns_ = 0;
  double overslept_ns_ = 0;
  double line_ns_ = 0;
};

// How far off a figure by so many samples may be, relatively: two standard errors.
double ChanceOf(double samples) { return samples > 0 ? 2 / std::sqrt(samples) : 0; }

}  // namespace

bool IsMuchMissed(const ErrorFacts& facts) {
  return std::fabs(facts.achieved_share - 1) > kMuchMissed + ChanceOf(facts.selected_samples);
}

double ErrorTerm::HalfWidth(double effect, double virtual_speedup, Side side) const {
  const double studied = std::min(1.0, virtual_speedup / kLeastStudiedSpeedup);
  const bool may_be_none = effect < 0 && side == Side::kAbove;
  const double by_effect = (may_be_none ? std::max(of_loss, of_effect) : of_effect) * effect;
  const double half =
      std::min(most, std::hypot(always * studied, of_speedup * virtual_speedup, by_effect));
  // The study has no losses.
  if (effect < 0) return half;
  return (side == Side::kBelow ? too_large : too_small) * half;
}

double SystematicError::HalfWidth(double effect, double virtual_speedup, Side side) const {
  double squares = 0;
  for (const ErrorTerm& term : terms) {
    squares += std::pow(term.HalfWidth(effect, virtual_speedup, side), 2);
  }
  return std::sqrt(squares);
}

Estimate SystematicError::Widen(const Estimate& estimate, double virtual_speedup) const {
  const double below = HalfWidth(estimate.value, virtual_speedup, Side::kBelow);
  const double above = HalfWidth(estimate.value, virtual_speedup, Side::kAbove);
  return {estimate.value, estimate.value - std::hypot(estimate.value - estimate.low, below),
          estimate.value + std::hypot(estimate.high - estimate.value, above)};
}

SystematicError SystematicErrorOf(const ErrorFacts& facts) {
  SystematicError error;
  error.facts = facts;
  const auto add = [&error](const ErrorTerm& term) {
    if (std::min(term.most, std::max({term.always, term.of_speedup, term.of_effect})) > kLeastTerm)
      error.terms.push_back(term);
  };
  // What is wrong in any run: what is left in the accuracy study.
  add({ErrorCause::kMethod, kMethodError, 0, 0});
  // Rates are known where pauses put them, so figures are at the speedup achieved and not at the
  // one asked for. What made pauses miss it may have made that figure miss as much.
  const double missed = std::fabs(facts.achieved_share - 1);
  add({ErrorCause::kAchieved, 0, 0, missed});
  // The time between visits holds this share that nothing speeds up, and that a bare run lacks.
  const double most_raised = OfTheRest(facts.sampling_share);
  add({ErrorCause::kSampling, 0, 0, (most_raised - facts.raised) / (1 + facts.raised)});
  // All of the CPU time without samples may be the line's, or none: it imposed no delay.
  add({ErrorCause::kClocks, 0, 0, OfTheRest(facts.unseen_share)});
  // A line that is really faster changes who is queued for whom, mostly for the better.
  const auto add_crowd = [&add](ErrorCause cause, double share) {
    add({cause, 0, kCrowdErrorOfSpeedup * share, kCrowdErrorOfEffect * share, kCrowdTooLarge});
  };
  add_crowd(ErrorCause::kCrowd, facts.crowded_share);
  add_crowd(ErrorCause::kBeside, facts.beside_share);
  // It was taken off the experiment's time, and the thread slept it off in the next.
  const bool come_while_it_sleeps = facts.visits >= kVisitsBesideSleeper;
  add({ErrorCause::kOwed, 0, facts.owed - (come_while_it_sleeps ? facts.owed_in_crowds : 0), 0});
  // Threads lose it beside the pause, as a fall in speed that no faster line makes.
  add({ErrorCause::kPauses, 0, kPauseLoss * facts.overslept, 0});
  // A wait that gets so short that its CPU no longer halts ends with a cheaper wake, and one that
  // gets longer with a dearer. The larger the effect, the more waits do. In crowds that is part of
  // their own term.
  ErrorTerm halts = {ErrorCause::kHalts, 0, 0, facts.halted_wake_ns / kShortestHaltNs};
  halts.of_loss = 1;  // pauses alone make waits longer
  halts.most = facts.halts_share * (1 - facts.crowded_share - facts.beside_share);
  add(halts);
  // Delays take another time than their own, and controls tell it no better.
  add({ErrorCause::kDelays, 0, facts.delays, 0});
  // An experiment begins with the queues of the program as it is, not as it would be.
  if (facts.visits > 0) add({ErrorCause::kEnds, kVisitsAtEnds / facts.visits, 0, 0});
  // Whether the line is active in a part of the run only, too few baselines tell.
  ErrorTerm phases = {ErrorCause::kPhases, 0, 0, std::fabs(facts.possible_phase_factor - 1)};
  (facts.possible_phase_factor < 1 ? phases.too_small : phases.too_large) = 0;
  add(phases);
  if (IsMuchMissed(facts)) error.doubts.push_back(ErrorCause::kAchieved);
  if (facts.unseen_share > kMuchUnseen) error.doubts.push_back(ErrorCause::kClocks);
  if (facts.crowded_share >= kMuchCrowded) error.doubts.push_back(ErrorCause::kCrowd);
  return error;
}

ErrorFacts GatherErrorFacts(const ExperimentTable& table, const std::vector<size_t>& rows,
                            const std::optional<SamplingSlowdown>& slowdown,
                            const std::function<bool(uint64_t session)>& kernel_is_sampled) {
  Sums sums;
  for (size_t i : rows) {
    const ExperimentRow& row = table.experiments[i];
    sums.Add(row, kernel_is_sampled(row.session));
  }
  ErrorFacts facts = sums.Facts();
  if (!slowdown.has_value()) return facts;
  facts.sampling_share = std::max(0.0, slowdown->share.value);
  if (slowdown->share.low > kLeastToRaise) facts.raised = OfTheRest(slowdown->share.low) / 2;
  return facts;
}

HaltedWakes HaltedWakesOf(const profile::Profile& profile) {
  HaltedWakes wakes;
  for (const profile::Session& session : profile.session()) {
    const auto ns = static_cast<double>(session.machine().halted_wake_ns());
    if (ns > 0 && !session.options().awake()) wakes[session.id()] = ns;
  }
  return wakes;
}

void AddHalts(const ExperimentTable& table, const std::vector<size_t>& rows,
              const std::vector<const PointSeen*>& seen, const HaltedWakes& halted_wakes,
              ErrorFacts* facts) {
  double wakes = 0;
  double wakes_ns = 0;
  double elapsed_ns = 0;
  for (size_t i : rows) {
    const ExperimentRow& row = table.experiments[i];
    const auto dear = halted_wakes.find(row.session);
    if (!row.IsBaseline()) continue;
    elapsed_ns += static_cast<double>(row.elapsed_ns);
    if (dear == halted_wakes.end()) continue;
    const double halts = std::min(static_cast<double>(seen[i]->least_visits),
                                  static_cast<double>(row.idle_cpu_ns) / kShortestHaltNs);
    wakes += halts;
    wakes_ns += halts * dear->second;
  }
  if (wakes == 0 || elapsed_ns == 0) return;
  facts->halted_wake_ns = wakes_ns / wakes;
  facts->halts_share = wakes_ns / elapsed_ns;
}

}  // namespace coz::report
