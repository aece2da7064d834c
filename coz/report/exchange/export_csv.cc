#include "coz/report/exchange/export_csv.h"

#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "coz/report/exchange/valid_text.h"
#include "coz/report/format/unit_kind.h"
#include "coz/report/json/report_json.h"

namespace coz::report {
namespace {

using Row = std::vector<std::string>;

const Row kColumns = {"point",
                      "point_kind",
                      "unit_kind",
                      "file",
                      "line",
                      "function",
                      "thread_group",
                      "samples",
                      "sample_share",
                      "verdict",
                      "slope",
                      "slope_low",
                      "slope_high",
                      "q_value",
                      "virtual_speedup",
                      "experiments",
                      "visits",
                      "program_speedup",
                      "program_speedup_low",
                      "program_speedup_high"};

std::string Number(double value) {
  return std::isfinite(value) ? absl::StrFormat("%.6g", value) : "";
}

std::string Quoted(const std::string& text) {
  // A cell that begins with one of these is a formula to spreadsheets.
  const bool is_formula = !text.empty() && (text[0] == '=' || text[0] == '@');
  if (!is_formula && text.find_first_of(",\"\r\n") == std::string::npos) return text;
  return absl::StrCat("\"", is_formula ? "'" : "", absl::StrReplaceAll(text, {{"\"", "\"\""}}),
                      "\"");
}

void Write(Row row, std::ostream& out) {
  row.resize(kColumns.size());
  for (size_t i = 0; i < row.size(); ++i) out << (i == 0 ? "" : ",") << Quoted(ValidText(row[i]));
  out << "\r\n";
}

Row UnitCells(const ExperimentTable& table, const PointRow& point, size_t index) {
  const UnitRow& unit = table.units[index];
  const double share = table.samples == 0
                           ? std::nan("")
                           : static_cast<double>(unit.samples) / static_cast<double>(table.samples);
  return {point.name,
          PointKindId(point.kind),
          UnitKindId(unit.kind),
          unit.file,
          unit.line == 0 ? "" : absl::StrCat(unit.line),
          unit.function,
          unit.thread_group,
          absl::StrCat(unit.samples),
          Number(share)};
}

}  // namespace

void ExportCsv(const AnalyzedProfile& whole, std::ostream& out) {
  Write(kColumns, out);
  for (const PointAnalysis& analysis : whole.analysis.points) {
    const PointRow& point = whole.table.points[analysis.point];
    for (const LineAnalysis& line : analysis.lines) {
      Row head = UnitCells(whole.table, point, line.unit);
      for (std::string cell :
           {std::string(VerdictId(line.verdict)), Number(line.slope.value), Number(line.slope.low),
            Number(line.slope.high), Number(line.q_value)}) {
        head.push_back(std::move(cell));
      }
      for (const SpeedupEstimate& s : line.speedups) {
        Row row = head;
        for (std::string cell : {Number(s.virtual_speedup), absl::StrCat(s.experiments),
                                 Number(std::nearbyint(s.visits)), Number(s.program_speedup.value),
                                 Number(s.program_speedup.low), Number(s.program_speedup.high)}) {
          row.push_back(std::move(cell));
        }
        Write(std::move(row), out);
      }
    }
    for (const LineSetAside& line : analysis.set_aside) {
      Row row = UnitCells(whole.table, point, line.unit);
      row.push_back(absl::StrCat("set_aside:", SetAsideId(line.reason)));
      Write(std::move(row), out);
    }
  }
}

}  // namespace coz::report
