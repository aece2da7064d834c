// Prints what a profile predicts for each line at each progress point.
// Usage: example <profile>
#include <cstdio>
#include <string>

#include "coz/report/analysis/analysis.h"
#include "coz/report/analysis/experiment_table.h"
#include "coz/report/format/profile_reader.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s <profile>\n", argv[0]);
    return 2;
  }
  const auto read = coz::report::ReadProfile(argv[1]);
  if (!read.ok()) {
    std::fprintf(stderr, "%s\n", std::string(read.status().message()).c_str());
    return 1;
  }
  for (const std::string& note : read->stats.Notes()) std::fprintf(stderr, "%s\n", note.c_str());
  const coz::report::ExperimentTable table = coz::report::BuildExperimentTable(read->profile);
  const coz::report::Analysis analysis = coz::report::Analyze(read->profile, table);
  for (const coz::report::PointAnalysis& point : analysis.points) {
    std::printf("%s\n", table.points[point.point].name.c_str());
    for (const coz::report::LineAnalysis& line : point.lines) {
      std::printf("  %s\n", table.units[line.unit].Name().c_str());
      for (const auto& speedup : line.speedups) {
        std::printf("    line %3.0f %% faster: program %+3.0f %%\n", speedup.virtual_speedup * 100,
                    speedup.program_speedup.value * 100);
      }
    }
    for (const coz::report::LineSetAside& line : point.set_aside) {
      std::printf("  %s: no prediction\n", table.units[line.unit].Name().c_str());
    }
  }
  return 0;
}
