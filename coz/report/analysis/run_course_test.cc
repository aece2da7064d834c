#include "coz/report/analysis/run_course.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <vector>

#include "coz/report/statistics/statistics.h"
#include "coz/report/statistics/time_blocks.h"
#include "gtest/gtest.h"

namespace coz::report {
namespace {

constexpr uint64_t kSecond = 1'000'000'000;

struct Options {
  size_t runs = 10;
  size_t experiments = 12;  // of a run, of which each lasts a second
  double rise = 0;          // from the beginning to the middle of a run, as a factor less 1
  double noise = 0.03;
  double effect = 0.3;  // of a complete speedup
  double share_of_baselines = 0.25;
  bool ends = true;         // the program does
  bool is_repeated = true;  // the line is tried often; else it is another one each time
  bool is_common = true;    // runs have the same course
};

// A profile of one line and one point.
class Profile {
 public:
  Profile(const Options& options, uint64_t seed) : random_(seed) {
    table.points.emplace_back();
    table.points[0].kind = profile::PROGRESS_POINT_KIND_THROUGHPUT;
    for (size_t run = 0; run < options.runs; ++run) AddRun(options, run + 1);
  }

  std::optional<SlopeEstimate> Slope() const {
    std::vector<TimedObservation> observations;
    for (const ExperimentRow& row : table.experiments) {
      const PointSeen& seen = row.points[0];
      observations.push_back(
          {row.session, row.start_ns, {row.virtual_speedup, seen.duration, seen.visits}});
    }
    return EstimateSlope(InBlocks(std::move(observations)));
  }

  std::vector<double> Durations() const {
    std::vector<double> durations;
    for (const ExperimentRow& row : table.experiments) durations.push_back(row.points[0].duration);
    return durations;
  }

  ExperimentTable table;
  std::map<uint64_t, uint64_t> ends_ns;

 private:
  void AddRun(const Options& options, uint64_t session) {
    const double phase = options.is_common ? 0 : 2.4 * static_cast<double>(session);
    const double pace = 1 + 0.1 * Fraction();
    for (size_t i = 0; i < options.experiments; ++i) {
      ExperimentRow& row = table.experiments.emplace_back();
      row.session = session;
      if (!options.is_repeated) row.unit = table.experiments.size();
      row.start_ns = i * kSecond;
      row.elapsed_ns = kSecond;
      const bool is_baseline = Fraction() < options.share_of_baselines;
      row.virtual_speedup = is_baseline ? 0 : 0.05 * std::ceil(20 * Fraction());
      const double place =
          (static_cast<double>(i) + 0.5) / static_cast<double>(options.experiments);
      const double course = 1 + options.rise * (1 - std::cos(6.28 * place + phase)) / 2;
      const double noise = 1 + options.noise * (2 * Fraction() - 1) * std::sqrt(3.0);
      const double time = pace * course * noise * (1 - options.effect * row.virtual_speedup);
      row.points.push_back({0, 1000 / time, static_cast<uint64_t>(1000 / time), 1e9, nullptr});
    }
    if (options.ends) ends_ns[session] = options.experiments * kSecond;
  }

  double Fraction() { return std::uniform_real_distribution<>()(random_); }

  std::mt19937_64 random_;
};

TEST(RunCourseTest, WhatAllRunsHaveInCommonIsNoNoise) {
  Options options;
  options.rise = 0.6;
  int holds = 0;
  double width = 0;
  double width_before = 0;
  constexpr int kProfiles = 200;
  for (int i = 0; i < kProfiles; ++i) {
    Profile profile(options, static_cast<uint64_t>(i));
    const std::optional<SlopeEstimate> before = profile.Slope();
    TakeOutCourse(profile.ends_ns, &profile.table);
    const std::optional<SlopeEstimate> slope = profile.Slope();
    ASSERT_TRUE(before.has_value() && slope.has_value());
    holds += slope->low <= options.effect && options.effect <= slope->high ? 1 : 0;
    width += slope->high - slope->low;
    width_before += before->high - before->low;
  }
  EXPECT_GE(holds, 0.9 * kProfiles);
  EXPECT_LT(width, 0.35 * width_before);
}

// An experiment that had a part in what it is compared with would hide a part of its effect.
TEST(RunCourseTest, EffectsStayAsLargeAsTheyAre) {
  Options options;
  options.rise = 0.6;
  options.is_repeated = false;
  double sum = 0;
  constexpr int kProfiles = 200;
  for (int i = 0; i < kProfiles; ++i) {
    Profile profile(options, static_cast<uint64_t>(i));
    TakeOutCourse(profile.ends_ns, &profile.table);
    sum += profile.Slope().value_or(SlopeEstimate()).value;
  }
  EXPECT_NEAR(sum / kProfiles, options.effect, 0.01);
}

TEST(RunCourseTest, HowMuchItChangesIsNoted) {
  Options options;
  options.rise = 0.6;
  Profile profile(options, 1);
  TakeOutCourse(profile.ends_ns, &profile.table);
  ASSERT_EQ(profile.table.courses.size(), 1u);
  EXPECT_EQ(profile.table.courses[0].point, 0u);
  EXPECT_NEAR(profile.table.courses[0].range, 1.6, 0.15);
}

// The mean stays, so that figures by the second stay what they are.
TEST(RunCourseTest, DurationsKeepTheirSum) {
  Options options;
  options.rise = 0.6;
  Profile profile(options, 1);
  double before = 0;
  double after = 0;
  for (double duration : profile.Durations()) before += duration;
  TakeOutCourse(profile.ends_ns, &profile.table);
  for (double duration : profile.Durations()) after += duration;
  EXPECT_NEAR(after / before, 1, 0.05);
}

void ExpectNoCourse(const Options& options) {
  int found = 0;
  for (uint64_t seed = 0; seed < 50; ++seed) {
    Profile profile(options, seed);
    const std::vector<double> before = profile.Durations();
    TakeOutCourse(profile.ends_ns, &profile.table);
    if (profile.table.courses.empty()) {
      EXPECT_EQ(profile.Durations(), before);
    } else {
      ++found;
    }
  }
  EXPECT_EQ(found, 0);
}

TEST(RunCourseTest, SteadyProgramHasNone) { ExpectNoCourse({}); }

TEST(RunCourseTest, EffectOfALineIsNone) {
  Options options;
  options.effect = 0.95;
  ExpectNoCourse(options);
}

TEST(RunCourseTest, DriftThatEachRunHasByItselfIsNone) {
  Options options;
  options.rise = 0.6;
  options.is_common = false;
  ExpectNoCourse(options);
}

TEST(RunCourseTest, FewRunsOrExperimentsTellNone) {
  Options options;
  options.rise = 0.6;
  options.runs = 3;
  options.experiments = 40;
  ExpectNoCourse(options);
  options.runs = 20;
  options.experiments = 3;
  ExpectNoCourse(options);
}

TEST(RunCourseTest, ProgramThatDoesNotEndHasNone) {
  Options options;
  options.rise = 0.6;
  options.ends = false;
  ExpectNoCourse(options);
}

}  // namespace
}  // namespace coz::report
