#include "coz/report/wording/unit_names.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "coz/base/call_path_name.h"
#include "coz/report/analysis/analysis.h"
#include "coz/report/format/profile.pb.h"
#include "coz/report/wording/text_layout.h"

namespace coz::report {
namespace {

// "@io" where the unit is confined to threads of the group "io".
std::string ThreadGroup(const UnitRow& unit) {
  return unit.thread_group.empty() ? "" : absl::StrCat("@", Printable(unit.thread_group));
}

std::string ShownFunction(const UnitRow& unit) {
  return Printable(WithoutAnonymous(unit.function));
}

bool IsNamed(const UnitRow& unit) {
  return unit.kind == profile::UNIT_KIND_FUNCTION || unit.kind == profile::UNIT_KIND_PATH;
}

// Of a path, each function has its part of the width.
std::string ShortenNamed(const UnitRow& unit, const std::string& name, int width,
                         const NamesApart& names) {
  if (unit.kind != profile::UNIT_KIND_PATH || DisplayWidth(name) <= width) {
    return names.Shorten(name, width);
  }
  std::vector<std::string> functions = SplitCallPath(name);
  const int count = static_cast<int>(functions.size());
  const int between = 3 * (count - 1);
  for (std::string& function : functions) {
    function = ShortenFunction(function, std::max(1, (width - between) / count));
  }
  return JoinCallPath(functions);
}

std::string UnitWord(const ExperimentTable& table) {
  constexpr absl::string_view kWords[] = {"unit",    "line",  "function",  "file",
                                          "library", "group", "call path", "wait"};
  int kind = -1;
  for (const ExperimentRow& row : table.experiments) {
    const int this_kind = table.units[row.unit].kind;
    if (kind >= 0 && kind != this_kind) return "unit";
    kind = this_kind;
  }
  return std::string(kind > 0 && kind < 8 ? kWords[kind] : "unit");
}

}  // namespace

std::string DetailHead(absl::string_view unit_word) {
  return unit_word == "function" || unit_word == "call path" ? "declared at" : "function";
}

UnitNames::UnitNames(const ExperimentTable& table) : table_(table), word_(UnitWord(table)) {
  std::vector<std::string> files;
  for (const ExperimentRow& row : table.experiments) {
    if (!table.units[row.unit].file.empty()) files.push_back(table.units[row.unit].file);
  }
  folder_ = CommonFolder(files);
  std::set<std::string> functions;
  for (const ExperimentRow& row : table.experiments) {
    functions.insert(ShownFunction(table.units[row.unit]));
  }
  for (size_t unit = 0; unit < table.units.size(); ++unit) {
    if (ShareOf(unit) >= kLeastShareOfRow) functions.insert(ShownFunction(table.units[unit]));
  }
  functions_ = NamesApart(functions);
}

std::string UnitNames::Plural() const { return PluralOf(word_); }

std::string UnitNames::Count(size_t n) const { return Counted(n, word_); }

std::string UnitNames::folder() const { return WithoutBuildFolder(folder_); }

std::string UnitNames::InFolder(std::string name) const {
  if (!absl::StartsWith(name, folder_)) return Printable(WithoutBuildFolder(name));
  name.erase(0, folder_.size());
  return Printable(folder_.empty() ? WithoutBuildFolder(name) : name);
}

bool UnitNames::IsLine(size_t unit) const {
  return table_.units[unit].kind == profile::UNIT_KIND_LINE;
}

bool UnitNames::HasFiles() const {
  return std::any_of(table_.units.begin(), table_.units.end(),
                     [](const UnitRow& unit) { return !unit.file.empty(); });
}

std::string UnitNames::Place(size_t unit) const { return PlaceOf(table_.units[unit]); }

std::string UnitNames::PlaceOf(const UnitRow& row) const {
  const std::string code = IsNamed(row) ? ShownFunction(row) : InFolder(row.CodeName());
  return absl::StrCat(code, ThreadGroup(row));
}

std::string UnitNames::Detail(size_t unit) const { return DetailOf(table_.units[unit]); }

std::string UnitNames::DetailOf(const UnitRow& row) const {
  switch (row.kind) {
    case profile::UNIT_KIND_LINE:
      return ShownFunction(row);
    case profile::UNIT_KIND_FUNCTION:
    case profile::UNIT_KIND_PATH:
      if (row.file.empty()) return "";
      return InFolder(row.line == 0 ? row.file : absl::StrCat(row.file, ":", row.line));
    case profile::UNIT_KIND_WAIT:
      if (row.file.empty()) return "no line in scope";
      return row.wait.empty() ? ShownFunction(row)
                              : absl::StrCat(ShownFunction(row), " (", Printable(row.wait), ")");
    case profile::UNIT_KIND_GROUP:
      return Printable(row.wait);
    default:
      return "";
  }
}

std::string UnitNames::ShortPlace(size_t unit, int width) const {
  const UnitRow& row = table_.units[unit];
  if (!IsNamed(row)) return ElidePath(Place(unit), width);
  const std::string group = ElideEnd(ThreadGroup(row), width / 2);
  return absl::StrCat(
      ShortenNamed(row, ShownFunction(row), width - DisplayWidth(group), functions_), group);
}

std::string UnitNames::ShortDetail(size_t unit, int width) const {
  return IsNamed(table_.units[unit]) ? ElidePath(Detail(unit), width)
                                     : functions_.Shorten(Detail(unit), width);
}

int UnitNames::SourceWidth(size_t unit) const {
  const std::string source = IsNamed(table_.units[unit]) ? Detail(unit) : Place(unit);
  return DisplayWidth(source.substr(source.rfind('/') + 1));
}

std::string UnitNames::Share(size_t unit) const {
  return table_.samples == 0 ? "?" : absl::StrFormat("%.1f %%", 100 * ShareOf(unit));
}

double UnitNames::ShareOf(size_t unit) const {
  if (table_.samples == 0) return 0;
  return static_cast<double>(table_.units[unit].samples) / static_cast<double>(table_.samples);
}

}  // namespace coz::report
