#include "coz/report/text/path_tree.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "coz/base/call_path_name.h"
#include "coz/report/format/profile.pb.h"
#include "coz/report/wording/text_layout.h"

namespace coz::report {
namespace {

// Paths with fewer of the samples have no row unless they have figures.
constexpr double kSeenShare = 0.005;
// What the other columns take.
constexpr int kFiguresWidth = 46;
constexpr int kLeastName = 16;

struct Node {
  uint64_t samples = 0;        // of all paths through it
  std::optional<size_t> unit;  // of the path that ends here
  std::map<std::string, Node> callers;
};

using NamedNode = std::pair<const std::string, Node>;

class Tree {
 public:
  Tree(const ExperimentTable& table, const std::map<size_t, PathFigures>& figures, int width)
      : table_(table), figures_(figures), name_width_(std::max(kLeastName, width - kFiguresWidth)) {
    for (size_t unit = 0; unit < table.units.size(); ++unit) Add(unit);
  }

  std::string Render() {
    AddRows(root_, 0);
    return rows_.Render(4);
  }

 private:
  void Add(size_t unit) {
    const UnitRow& row = table_.units[unit];
    if (row.kind != profile::UNIT_KIND_PATH) return;
    const double seen = kSeenShare * static_cast<double>(table_.samples);
    if (static_cast<double>(row.samples) < seen && figures_.count(unit) == 0) return;
    Node* node = &root_;
    std::vector<std::string> parts = SplitCallPath(row.function);
    if (!row.thread_group.empty()) parts.push_back(absl::StrCat("@", row.thread_group));
    for (const std::string& part : parts) {
      node = &node->callers[part];
      node->samples += row.samples;
    }
    node->unit = unit;
  }

  void AddRows(const Node& node, int depth) {
    std::vector<const NamedNode*> callers;
    for (const NamedNode& caller : node.callers) callers.push_back(&caller);
    std::stable_sort(callers.begin(), callers.end(), [](const NamedNode* a, const NamedNode* b) {
      return a->second.samples > b->second.samples;
    });
    for (const NamedNode* caller : callers) {
      const bool is_leaf = caller->second.callers.empty();
      AddRow(depth, ShownName(caller->first, depth), caller->second.samples,
             is_leaf ? caller->second.unit : std::nullopt);
      if (!is_leaf && caller->second.unit.has_value()) {
        const size_t unit = *caller->second.unit;
        AddRow(depth + 1, ElideEnd("called by no function in scope", RoomAt(depth + 1)),
               table_.units[unit].samples, unit);
      }
      AddRows(caller->second, depth + 1);
    }
  }

  std::string ShownName(const std::string& function, int depth) const {
    const std::string name = Printable(WithoutAnonymous(function));
    if (depth == 0) return ShortenFunction(name, name_width_);
    if (name.front() == '@') return ElideEnd(name, RoomAt(depth));
    return absl::StrCat("< ", ShortenFunction(name, RoomAt(depth) - 2));
  }

  int RoomAt(int depth) const { return std::max(kLeastName, name_width_ - 2 * depth); }

  void AddRow(int depth, const std::string& name, uint64_t samples, std::optional<size_t> unit) {
    const double share = table_.samples == 0 ? 0
                                             : 100 * static_cast<double>(samples) /
                                                   static_cast<double>(table_.samples);
    const auto known = unit.has_value() ? figures_.find(*unit) : figures_.end();
    const bool is_known = known != figures_.end();
    rows_.AddRow({absl::StrCat(std::string(2 * static_cast<size_t>(depth), ' '), name),
                  absl::StrFormat("%.1f %%", share), is_known ? known->second.gain : "",
                  is_known ? known->second.verdict : ""});
  }

  const ExperimentTable& table_;
  const std::map<size_t, PathFigures>& figures_;
  const int name_width_;
  Node root_;
  TextTable rows_{{Align::kLeft, Align::kRight, Align::kLeft, Align::kLeft}};
};

}  // namespace

std::string PathTreeText(const ExperimentTable& table, const std::map<size_t, PathFigures>& figures,
                         int width) {
  const bool has_paths =
      std::any_of(table.units.begin(), table.units.end(),
                  [](const UnitRow& unit) { return unit.kind == profile::UNIT_KIND_PATH; });
  if (!has_paths) return "";
  return absl::StrCat("  By function and who calls it, with the samples of all its paths:\n",
                      Tree(table, figures, width).Render());
}

}  // namespace coz::report
