// Everything that `coz report` does to a file of unknown origin: reading, the table, statistics,
// text and JSON.
//
// ./bazelw build --config=fuzz //coz/report:profile_reader_fuzzer
// bazel-bin/coz/report/profile_reader_fuzzer -rss_limit_mb=1024 NEW_FOLDER
// coz/report/testdata/profile_corpus
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "coz/report/analysis/analysis.h"
#include "coz/report/analysis/experiment_table.h"
#include "coz/report/format/profile_reader.h"
#include "coz/report/json/report_json.h"
#include "coz/report/text/report_notes.h"
#include "coz/report/text/report_text.h"
#include "nlohmann/json.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  const auto read = coz::report::ParseProfile(bytes, "fuzz");
  if (!read.ok()) {
    if (read.status().message().empty()) std::abort();
    return 0;
  }
  const coz::report::ReadStats& stats = read->stats;
  if (stats.bytes != size || stats.truncated_bytes + stats.unreadable_bytes > size) std::abort();
  const coz::report::ExperimentTable table = coz::report::BuildExperimentTable(read->profile);
  const coz::report::Analysis analysis = coz::report::Analyze(read->profile, table);
  for (const coz::report::PointAnalysis& point : analysis.points) {
    for (const coz::report::LineAnalysis& line : point.lines) {
      if (line.unit >= table.units.size() || line.best >= line.speedups.size()) std::abort();
    }
  }
  const std::string header = coz::report::RenderHeader(read->profile, table, analysis, stats);
  const std::string text = coz::report::RenderPoints(read->profile, table, analysis, {});
  // Whatever names a file holds, nothing that steers a terminal comes out.
  if ((header + text).find('\x1b') != std::string::npos) std::abort();
  const auto notes = coz::report::ReportNotes(read->profile, table, analysis, stats);
  if (coz::report::JsonText(coz::report::ReportJson(read->profile, table, analysis, notes)).empty())
    std::abort();
  return 0;
}
