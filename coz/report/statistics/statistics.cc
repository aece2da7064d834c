#include "coz/report/statistics/statistics.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "coz/report/statistics/block_fit.h"
#include "coz/report/statistics/student.h"

namespace coz::report {
namespace {

// The baselines of one block, pooled.
struct BaselinePool {
  double duration = 0;
  double visits = 0;
  double squares = 0;

  double Level() const { return duration / visits; }
  // How many equal experiments the pool is worth.
  double EffectiveSize() const { return visits * visits / squares; }
};

// Experiments of one speedup, pooled over blocks.
struct SpeedupPool {
  double duration = 0;
  double expected = 0;  // what its visits take at the pace of the baselines of their blocks
  double squares = 0;   // of expected
  double visits = 0;
  double achieved = 0;  // sum
  int experiments = 0;
  std::map<int, double> expected_in_block;

  double Ratio() const { return duration / expected; }
  double EffectiveSize() const { return expected * expected / squares; }
};

struct Pools {
  std::vector<BaselinePool> baselines;  // by block
  std::map<int, SpeedupPool> speedups;  // by key

  // Null where the block has none.
  const BaselinePool* BaselinesOf(const RateObservation& o) const {
    const BaselinePool& pool = baselines[static_cast<size_t>(o.block)];
    return pool.duration > 0 ? &pool : nullptr;
  }
};

Pools PoolAll(const std::vector<RateObservation>& observations) {
  Pools pools;
  pools.baselines.resize(BlockCount(observations));
  for (const RateObservation& o : observations) {
    if (!IsBaseline(o)) continue;
    BaselinePool& pool = pools.baselines[static_cast<size_t>(o.block)];
    pool.duration += o.duration * o.weight;
    pool.visits += o.visits * o.weight;
    pool.squares += std::pow(o.visits * o.weight, 2);
  }
  for (const RateObservation& o : observations) {
    const BaselinePool* baselines = pools.BaselinesOf(o);
    if (IsBaseline(o) || baselines == nullptr) continue;
    SpeedupPool& pool = pools.speedups[SpeedupKey(o.virtual_speedup)];
    const double expected = o.visits * o.weight * baselines->Level();
    pool.duration += o.duration * o.weight;
    pool.expected += expected;
    pool.squares += expected * expected;
    pool.expected_in_block[o.block] += expected;
    pool.visits += o.visits;
    pool.achieved += AchievedSpeedup(o) * o.experiments;
    pool.experiments += o.experiments;
  }
  return pools;
}

// Relative variance of one experiment's p.
struct Noise {
  double sum = 0;
  double expected = 0;

  double Variance() const { return expected > 0 ? sum / expected : 0; }
  void Add(double weight, double relative, double freedom) {
    sum += weight * relative * relative;
    expected += weight * freedom;
  }
};

struct NoiseModel {
  double baseline = 0;
  double baseline_df = 0;
  double other = 0;
  double other_df = 0;
};

Noise AmongBaselines(const std::vector<RateObservation>& observations, const Pools& pools) {
  Noise noise;
  for (const RateObservation& o : observations) {
    const BaselinePool* pool = pools.BaselinesOf(o);
    if (!IsBaseline(o) || pool == nullptr) continue;
    noise.Add(o.weight, o.duration / o.visits / pool->Level() - 1,
              1 - o.visits * o.weight / pool->visits);
  }
  return noise;
}

Noise AmongRepeats(const std::vector<RateObservation>& observations, const Pools& pools) {
  Noise noise;
  for (const RateObservation& o : observations) {
    const BaselinePool* baselines = pools.BaselinesOf(o);
    if (IsBaseline(o) || baselines == nullptr) continue;
    const SpeedupPool& pool = pools.speedups.at(SpeedupKey(o.virtual_speedup));
    if (pool.Ratio() <= 0) continue;
    const double expected = o.visits * baselines->Level();
    noise.Add(o.weight, o.duration / expected / pool.Ratio() - 1,
              1 - expected * o.weight / pool.expected);
  }
  return noise;
}

Noise AroundLine(const std::vector<RateObservation>& observations, const BlockFit& fit,
                 bool others_only) {
  Noise noise;
  for (size_t i = 0; i < fit.size(); ++i) {
    const RateObservation& o = observations[fit.observation(i)];
    if (others_only && IsBaseline(o)) continue;
    noise.sum += o.weight * fit.RelativeSquare(i);
    noise.expected += o.weight * fit.ExpectedRelativeSquare(i);
  }
  return noise;
}

// Repeats of a speedup tell its noise; most speedups have one experiment, so without enough repeats
// the distance from the line stands in. It overstates the noise where the truth is bent, which
// widens the interval.
NoiseModel EstimateNoise(const std::vector<RateObservation>& observations, const Pools& pools) {
  constexpr double kEnough = 4;
  NoiseModel model;
  Noise others = AmongRepeats(observations, pools);
  Noise baselines = AmongBaselines(observations, pools);
  if (others.expected < kEnough || baselines.expected < kEnough - 1) {
    const BlockFit fit(observations);
    if (others.expected < kEnough && fit.ok()) others = AroundLine(observations, fit, true);
    if (baselines.expected < kEnough - 1) {
      baselines = fit.ok() ? AroundLine(observations, fit, false) : others;
      if (others.expected < kEnough) others = baselines;
    }
  }
  model.baseline = baselines.Variance();
  model.baseline_df = baselines.expected;
  model.other = others.Variance();
  model.other_df = others.expected;
  return model;
}

// The error comes from the pool's own experiments, and from the baselines of their blocks.
Estimate ProgramSpeedup(const Pools& pools, const SpeedupPool& pool, const NoiseModel& noise) {
  const double ratio = pool.Ratio();
  const double from_pool = noise.other / pool.EffectiveSize();
  double from_baselines = 0;
  for (const auto& [block, expected] : pool.expected_in_block) {
    const double share = expected / pool.expected;
    from_baselines += share * share * noise.baseline /
                      pools.baselines[static_cast<size_t>(block)].EffectiveSize();
  }
  Estimate estimate;
  estimate.value = 1 - ratio;
  const double variance = from_pool + from_baselines;
  if (noise.other_df < 1 || noise.baseline_df < 1) return estimate;
  double df = noise.other_df;
  if (variance > 0) {
    df = variance * variance /
         (from_pool * from_pool / noise.other_df +
          from_baselines * from_baselines / noise.baseline_df);
  }
  const double half = StudentQuantile(df) * std::fabs(ratio) * std::sqrt(variance);
  estimate.low = estimate.value - half;
  estimate.high = estimate.value + half;
  return estimate;
}

}  // namespace

int SpeedupKey(double virtual_speedup) {
  if (!(virtual_speedup >= 0)) return 0;
  return static_cast<int>(std::lround(std::min(virtual_speedup, 100.0) * 10000));
}

bool IsBaseline(const RateObservation& observation) {
  return !(observation.virtual_speedup * 10000 >= 0.5);  // as SpeedupKey, and faster
}

size_t BlockCount(const std::vector<RateObservation>& observations) {
  int last = -1;
  for (const RateObservation& o : observations) last = std::max(last, o.block);
  return static_cast<size_t>(last) + 1;
}

size_t ComparedSpeedups(const std::vector<RateObservation>& observations) {
  std::vector<bool> has_baseline(BlockCount(observations));
  for (const RateObservation& o : observations) {
    if (IsBaseline(o)) has_baseline[static_cast<size_t>(o.block)] = true;
  }
  std::set<int> speedups;
  for (const RateObservation& o : observations) {
    if (IsBaseline(o) || !has_baseline[static_cast<size_t>(o.block)]) continue;
    speedups.insert(SpeedupKey(o.virtual_speedup));
  }
  return speedups.size();
}

double AchievedSpeedup(const RateObservation& observation) {
  if (IsBaseline(observation)) return 0;
  const double achieved = observation.achieved_virtual_speedup;
  return achieved >= 0 ? achieved : observation.virtual_speedup;
}

std::optional<SlopeEstimate> EstimateSlope(const std::vector<RateObservation>& observations) {
  const BlockFit fit(observations);
  if (!fit.ok() || fit.size() < 4) return std::nullopt;
  double df = 0;
  const double error = fit.SlopeError(&df);
  // Each experiment that tells the slope fits exactly: nothing tells how wrong it is.
  if (!(df > 0)) return std::nullopt;
  const double half = StudentQuantile(df) * error;
  SlopeEstimate slope;
  slope.value = fit.slope();
  slope.low = slope.value - half;
  slope.high = slope.value + half;
  slope.df = df;
  slope.p_value = TwoSidedPValue(error > 0 ? slope.value / error : slope.value * 1e300, df);
  return slope;
}

std::vector<SpeedupEstimate> EstimateSpeedups(const std::vector<RateObservation>& observations) {
  const Pools pools = PoolAll(observations);
  const NoiseModel noise = EstimateNoise(observations, pools);
  std::vector<SpeedupEstimate> result;
  for (const auto& [key, pool] : pools.speedups) {
    result.push_back({key / 10000.0, pool.experiments, pool.visits,
                      ProgramSpeedup(pools, pool, noise), pool.achieved / pool.experiments});
  }
  return result;
}

std::vector<RateObservation> WithoutDrift(const std::vector<RateObservation>& observations,
                                          int most) {
  struct Group {
    std::vector<RateObservation> members;
    double achieved = 0;
    int count = 0;
  };
  const BlockFit fit(observations);
  if (!fit.ok()) return {};
  std::map<int, Group> groups;
  for (size_t i = 0; i < fit.size(); ++i) {
    const RateObservation& o = observations[fit.observation(i)];
    Group& group = groups[SpeedupKey(o.virtual_speedup)];
    const size_t place = static_cast<size_t>(group.count++ % most);
    if (place == group.members.size()) group.members.push_back({o.virtual_speedup, 0, 0, 1});
    group.members[place].duration += o.duration * o.weight;
    group.members[place].visits += o.visits * o.weight * fit.level(i);
    group.achieved += AchievedSpeedup(o);
  }
  std::vector<RateObservation> result;
  for (auto& [key, group] : groups) {
    for (RateObservation& member : group.members) {
      member.virtual_speedup = group.achieved / group.count;
      result.push_back(member);
    }
  }
  return result;
}

}  // namespace coz::report
