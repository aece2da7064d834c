// Everything but `coz report` that is made of a profile of unknown origin: other formats, the page, the live table, a comparison.
//
// ./bazelw build --config=fuzz //coz/report/exchange:profile_outputs_fuzzer
// bazel-bin/coz/report/exchange/profile_outputs_fuzzer NEW_FOLDER coz/report/testdata/profile_corpus
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

void Export(const coz::AnalyzedProfile& whole) {
  std::ostringstream out;
  coz::ExportCsv(whole, out);
  if (!coz::ExportPprof(whole, out).ok()) std::abort();
  coz::ExportSpeedscope(whole, out);
  coz::ExportCoz(whole.profile, whole.table, coz::CozFormat::kText, out);
  std::stringstream lines;
  coz::ExportCoz(whole.profile, whole.table, coz::CozFormat::kJsonLines, lines);
  if (const auto back = coz::ImportCoz(lines, "lines");
      !back.ok() && back.status().message().empty()) {
    std::abort();
  }
}

void Plot(const coz::AnalyzedProfile& whole) {
  const nlohmann::json data =
      coz::BuildPlotData(whole.profile, whole.table, whole.analysis, whole.stats, {});
  if (coz::PlotPage(data).empty()) std::abort();
}

void Compare(const coz::AnalyzedProfile& whole) {
  const coz::ProfileDiff diff = coz::Compare(whole, whole);
  ExpectPlain(coz::DiffText(diff, 10));
  ExpectPlain(coz::DiffMarkdown(diff, 10));
  if (coz::JsonText(coz::DiffJson(diff)).empty()) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  auto read = coz::ParseProfile(std::string(reinterpret_cast<const char*>(data), size), "fuzz");
  if (!read.ok()) return 0;
  const std::unique_ptr<const coz::AnalyzedProfile> whole =
      coz::AnalyzeWhole(std::move(read->profile));
  Export(*whole);
  Plot(*whole);
  Compare(*whole);
  for (const int columns : {1, 40, 100}) {
    for (const std::string& line : coz::LiveTable(*whole, 10, columns)) ExpectPlain(line);
  }
  return 0;
}
