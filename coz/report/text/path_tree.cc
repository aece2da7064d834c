#include "coz/report/text/path_tree.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "coz/report/wording/path_tree_rows.h"
#include "coz/report/wording/text_layout.h"

namespace coz::report {
namespace {

// What the other columns take.
constexpr int kFiguresWidth = 46;
constexpr int kLeastName = 16;

std::string ShownPathPart(const PathTreeRow& row, int width) {
  const int room = std::max(kLeastName, width - 2 * row.depth);
  switch (row.part) {
    case PathPart::kFunction:
      return ShortenFunction(row.name, width);
    case PathPart::kCaller:
      return absl::StrCat("< ", ShortenFunction(row.name, room - 2));
    case PathPart::kNoCaller:
      return ElideEnd("called by no function in scope", room);
    case PathPart::kThreadGroup:
      return ElideEnd(row.name, room);
  }
  return row.name;
}

double PathPercent(uint64_t part, uint64_t whole) {
  return whole == 0 ? 0 : 100 * static_cast<double>(part) / static_cast<double>(whole);
}

}  // namespace

std::string PathTreeText(const ExperimentTable& table, const std::map<size_t, PathFigures>& figures,
                         int width) {
  const std::vector<PathTreeRow> tree =
      PathTreeRows(table, [&figures](size_t unit) { return figures.count(unit) != 0; });
  if (tree.empty()) return "";
  const int name_width = std::max(kLeastName, width - kFiguresWidth);
  TextTable rows({Align::kLeft, Align::kRight, Align::kLeft, Align::kLeft});
  for (const PathTreeRow& row : tree) {
    const auto known = row.unit.has_value() ? figures.find(*row.unit) : figures.end();
    const bool is_known = known != figures.end();
    rows.AddRow({absl::StrCat(std::string(2 * static_cast<size_t>(row.depth), ' '),
                              ShownPathPart(row, name_width)),
                 absl::StrFormat("%.1f %%", PathPercent(row.samples, table.samples)),
                 is_known ? known->second.gain : "", is_known ? known->second.verdict : ""});
  }
  return absl::StrCat("  By function and who calls it, with the samples of all its paths:\n",
                      rows.Render(4));
}

}  // namespace coz::report
