// Prints the gain of each line of a profile: a tool outside coz, made of coz/report.
//
//   gains PROFILE         the figure that `coz report` prints, for each progress point and line
//   gains PROFILE --json  all that `coz report --json` prints, without its notes
#include <cstdio>
#include <cstring>
#include <string>

#include "absl/status/statusor.h"
#include "coz/report/analysis/analysis.h"
#include "coz/report/analysis/experiment_table.h"
#include "coz/report/format/profile_reader.h"
#include "coz/report/json/report_json.h"
#include "coz/report/wording/headline.h"
#include "nlohmann/json.hpp"

int main(int argc, char** argv) {
  const bool as_json = argc == 3 && strcmp(argv[2], "--json") == 0;
  if (argc != 2 && !as_json) {
    fprintf(stderr, "gains: no profile was given; write: gains PROFILE [--json]\n");
    return 1;
  }
  const auto read = coz::report::ReadProfile(argv[1]);
  if (!read.ok()) {
    fprintf(stderr, "gains: %s\n", std::string(read.status().message()).c_str());
    return 1;
  }
  const coz::report::ExperimentTable table = coz::report::BuildExperimentTable(read->profile);
  const coz::report::Analysis analysis = coz::report::Analyze(read->profile, table);
  if (as_json) {
    const auto json = coz::report::ReportJson(read->profile, table, analysis, /*notes=*/{});
    printf("%s\n", coz::report::JsonText(json).c_str());
    return 0;
  }
  for (const coz::report::PointAnalysis& point : analysis.points) {
    for (const coz::report::LineAnalysis& line : point.lines) {
      printf("%s  %s  %s\n", table.points[point.point].name.c_str(),
             table.units[line.unit].Name().c_str(), coz::report::HeadlineText(line).c_str());
    }
  }
  return 0;
}
