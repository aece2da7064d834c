// Everything but `coz report` that is made of a profile of unknown origin: other formats, the page,
// the live table, a comparison.
//
// ./bazelw build --config=fuzz //coz/report/exchange:profile_outputs_fuzzer
// bazel-bin/coz/report/exchange/profile_outputs_fuzzer NEW_FOLDER
// coz/report/testdata/profile_corpus
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <sstream>
#include <string>
#include <utility>

#include "coz/report/analysis/analyzed_profile.h"
#include "coz/report/compare/diff.h"
#include "coz/report/exchange/export_coz.h"
#include "coz/report/exchange/export_csv.h"
#include "coz/report/exchange/export_pprof.h"
#include "coz/report/exchange/export_speedscope.h"
#include "coz/report/exchange/import_coz.h"
#include "coz/report/format/profile_reader.h"
#include "coz/report/json/report_json.h"
#include "coz/report/plot/plot_data.h"
#include "coz/report/plot/plot_page.h"
#include "coz/report/text/live_table.h"
#include "nlohmann/json.hpp"

namespace {

// Whatever names a file holds, nothing that steers a terminal comes out.
void ExpectPlain(const std::string& text) {
  if (text.find('\x1b') != std::string::npos) std::abort();
}

void Export(const coz::report::AnalyzedProfile& whole) {
  std::ostringstream out;
  coz::report::ExportCsv(whole, out);
  if (!coz::report::ExportPprof(whole, out).ok()) std::abort();
  coz::report::ExportSpeedscope(whole, out);
  coz::report::ExportCoz(whole.profile, whole.table, coz::report::CozFormat::kText, out);
  std::stringstream lines;
  coz::report::ExportCoz(whole.profile, whole.table, coz::report::CozFormat::kJsonLines, lines);
  if (const auto back = coz::report::ImportCoz(lines, "lines");
      !back.ok() && back.status().message().empty()) {
    std::abort();
  }
}

void Plot(const coz::report::AnalyzedProfile& whole) {
  const nlohmann::json data =
      coz::report::BuildPlotData(whole.profile, whole.table, whole.analysis, whole.stats, {});
  if (coz::report::PlotPage(data).empty()) std::abort();
}

void Compare(const coz::report::AnalyzedProfile& whole) {
  const coz::report::ProfileDiff diff = coz::report::Compare(whole, whole);
  ExpectPlain(coz::report::DiffText(diff, 10));
  ExpectPlain(coz::report::DiffMarkdown(diff, 10));
  if (coz::report::JsonText(coz::report::DiffJson(diff)).empty()) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  auto read =
      coz::report::ParseProfile(std::string(reinterpret_cast<const char*>(data), size), "fuzz");
  if (!read.ok()) return 0;
  const std::unique_ptr<const coz::report::AnalyzedProfile> whole =
      coz::report::AnalyzeWhole(std::move(read->profile));
  Export(*whole);
  Plot(*whole);
  Compare(*whole);
  for (const int columns : {1, 40, 100}) {
    for (const std::string& line : coz::report::LiveTable(*whole, 10, columns)) ExpectPlain(line);
  }
  return 0;
}
