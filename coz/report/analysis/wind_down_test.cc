#include "coz/report/analysis/wind_down.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "gtest/gtest.h"

namespace coz::report {
namespace {

constexpr uint64_t kSecond = 1'000'000'000;

// Runs of one point with so many visits a second, and an experiment each second.
class Runs {
 public:
  Runs() {
    table.points.emplace_back();
    table.points[0].kind = profile::PROGRESS_POINT_KIND_THROUGHPUT;
  }

  void Add(const std::vector<double>& rates) {
    const uint64_t session = ends_ns.size() + 1;
    uint64_t start_ns = 0;
    for (const double rate : rates) {
      ExperimentRow& row = table.experiments.emplace_back();
      row.session = session;
      row.start_ns = start_ns;
      row.elapsed_ns = kSecond;
      row.points.push_back({0, rate, static_cast<uint64_t>(rate), 1e9, nullptr});
      BareRow& bare = table.bare.emplace_back();
      bare.session = session;
      bare.start_ns = start_ns;
      bare.points.push_back({0, rate, static_cast<uint64_t>(rate), 1e9, nullptr});
      start_ns += kSecond;
    }
    ends_ns[session] = start_ns;
  }

  // How many experiments of each run are used.
  std::vector<size_t> Used() {
    LeaveOutWindDowns(ends_ns, &table);
    std::vector<size_t> used(ends_ns.size());
    for (const ExperimentRow& row : table.experiments) used[row.session - 1] += row.points.size();
    return used;
  }

  ExperimentTable table;
  std::map<uint64_t, uint64_t> ends_ns;
};

std::vector<double> Steady(size_t count) {
  std::vector<double> rates;
  for (size_t i = 0; i < count; ++i) rates.push_back(100 + static_cast<double>(i % 5));
  return rates;
}

std::vector<double> SlowAtTheEnd(size_t count, double last_rate) {
  std::vector<double> rates = Steady(count);
  rates.back() = last_rate;
  return rates;
}

TEST(WindDownTest, SlowEndOfARunIsLeftOut) {
  Runs runs;
  std::vector<double> rates = Steady(30);
  rates[28] = 60;
  rates[29] = 20;
  runs.Add(rates);
  EXPECT_EQ(runs.Used(), std::vector<size_t>({28}));
  ASSERT_EQ(runs.table.wind_downs.size(), 1u);
  EXPECT_EQ(runs.table.wind_downs[0].lasts_ns, 2 * kSecond);
  EXPECT_NEAR(runs.table.wind_downs[0].rate, 0.2, 0.01);
  EXPECT_TRUE(runs.table.bare[28].points.empty());
  EXPECT_FALSE(runs.table.bare[27].points.empty());
}

TEST(WindDownTest, AllRunsLoseTheirEndWhateverTheyHaveSeenInIt) {
  Runs runs;
  for (int i = 0; i < 6; ++i) runs.Add(SlowAtTheEnd(8, i % 2 == 0 ? 30 : 100));
  EXPECT_EQ(runs.Used(), std::vector<size_t>(6, 7));
}

TEST(WindDownTest, FewSlowEndsOfManyRunsAreChance) {
  Runs runs;
  for (int i = 0; i < 8; ++i) runs.Add(SlowAtTheEnd(8, i < 2 ? 30 : 100));
  EXPECT_EQ(runs.Used(), std::vector<size_t>(8, 8));
}

TEST(WindDownTest, SlowExperimentsAllOverARunTellNothingOfItsEnd) {
  Runs runs;
  for (int i = 0; i < 6; ++i) {
    std::vector<double> rates = SlowAtTheEnd(10, i % 2 == 0 ? 30 : 100);
    rates[2] = rates[6] = 30;
    runs.Add(rates);
  }
  EXPECT_EQ(runs.Used(), std::vector<size_t>(6, 10));
}

TEST(WindDownTest, LittleIsNone) {
  Runs runs;
  runs.Add(SlowAtTheEnd(30, 75));
  EXPECT_EQ(runs.Used(), std::vector<size_t>({30}));
}

TEST(WindDownTest, ProgramWhoseRateVariesHasNone) {
  Runs runs;
  std::vector<double> rates(30, 100);
  for (size_t i = 1; i < rates.size(); i += 2) rates[i] = 180;
  rates.back() = 50;
  runs.Add(rates);
  EXPECT_EQ(runs.Used(), std::vector<size_t>({30}));
}

TEST(WindDownTest, LongOneIsAPhaseOfTheProgram) {
  Runs runs;
  std::vector<double> rates = Steady(30);
  for (size_t i = 24; i < 30; ++i) rates[i] = 20;
  runs.Add(rates);
  EXPECT_EQ(runs.Used(), std::vector<size_t>({30}));
}

TEST(WindDownTest, RunWhoseProgramGoesOnHasNone) {
  Runs runs;
  runs.Add(SlowAtTheEnd(30, 20));
  runs.ends_ns.clear();
  LeaveOutWindDowns(runs.ends_ns, &runs.table);
  EXPECT_TRUE(runs.table.wind_downs.empty());
  EXPECT_FALSE(runs.table.experiments.back().points.empty());
}

TEST(WindDownTest, FasterEndIsNone) {
  Runs runs;
  runs.Add(SlowAtTheEnd(30, 500));
  EXPECT_EQ(runs.Used(), std::vector<size_t>({30}));
}

TEST(WindDownTest, FewExperimentsTellNothing) {
  Runs runs;
  runs.Add(SlowAtTheEnd(5, 20));
  EXPECT_EQ(runs.Used(), std::vector<size_t>({5}));
}

}  // namespace
}  // namespace coz::report
