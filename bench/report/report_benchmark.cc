// Measures what the parts of a report cost, by number of experiments and lines: reading, the table,
// the analysis, the text. 60,000 experiments are nine hours of profiling.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <string>
#include <vector>

#include "coz/report/analysis/analysis.h"
#include "coz/report/analysis/experiment_table.h"
#include "coz/report/format/profile.pb.h"
#include "coz/report/format/profile_reader.h"
#include "coz/report/testing/synthetic_profile.h"
#include "coz/report/text/report_text.h"

namespace coz {
namespace {

using report_testing::SyntheticLine;
using report_testing::SyntheticProfile;

// Each line is rarer than the one before, as in real profiles.
profile::Profile MakeProfile(const benchmark::State& state) {
  const auto count = static_cast<uint32_t>(state.range(1));
  std::vector<SyntheticLine> lines;
  double total = 0;
  for (uint32_t i = 0; i < count; ++i) total += 1.0 / (i + 3);
  for (uint32_t i = 0; i < count; ++i) {
    lines.push_back({"/src/app/work.cc", i + 1, "Work()", 1.0 / (i + 3) / total, 0.001, {}});
  }
  SyntheticProfile made({}, lines);
  made.AddRandomExperiments(static_cast<int>(state.range(0)));
  made.End();
  return made.profile();
}

void BM_Read(benchmark::State& state) {
  const std::string bytes = MakeProfile(state).SerializeAsString();
  for ([[maybe_unused]] auto _ : state)
    benchmark::DoNotOptimize(report::ParseProfile(bytes, "benchmark"));
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(bytes.size()));
}

void BM_Table(benchmark::State& state) {
  const profile::Profile profile = MakeProfile(state);
  for ([[maybe_unused]] auto _ : state)
    benchmark::DoNotOptimize(report::BuildExperimentTable(profile));
}

void BM_Analyze(benchmark::State& state) {
  const profile::Profile profile = MakeProfile(state);
  const report::ExperimentTable table = report::BuildExperimentTable(profile);
  for ([[maybe_unused]] auto _ : state) benchmark::DoNotOptimize(report::Analyze(profile, table));
}

void BM_Text(benchmark::State& state) {
  const profile::Profile profile = MakeProfile(state);
  const report::ExperimentTable table = report::BuildExperimentTable(profile);
  const report::Analysis analysis = report::Analyze(profile, table);
  for ([[maybe_unused]] auto _ : state) {
    benchmark::DoNotOptimize(report::RenderHeader(profile, table, analysis, {}));
    benchmark::DoNotOptimize(report::RenderPoints(profile, table, analysis, {}));
  }
}

void Sizes(benchmark::internal::Benchmark* benchmark) {
  benchmark->Unit(benchmark::kMillisecond)
      ->ArgNames({"experiments", "lines"})
      ->Args({1000, 50})
      ->Args({60000, 50})
      ->Args({60000, 1000});
}

BENCHMARK(BM_Read)->Apply(Sizes);
BENCHMARK(BM_Table)->Apply(Sizes);
BENCHMARK(BM_Analyze)->Apply(Sizes);
BENCHMARK(BM_Text)->Apply(Sizes);

}  // namespace
}  // namespace coz
