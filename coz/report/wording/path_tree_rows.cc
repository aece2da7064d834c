#include "coz/report/wording/path_tree_rows.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "coz/base/call_path_name.h"
#include "coz/report/format/profile.pb.h"
#include "coz/report/wording/text_layout.h"

namespace coz::report {
namespace {

constexpr double kLeastPathShare = 0.005;

struct PathNode {
  uint64_t samples = 0;
  std::optional<size_t> unit;
  std::map<std::string, PathNode> callers;
};

using NamedPathNode = std::pair<const std::string, PathNode>;

PathPart PathPartAt(int depth, const std::string& name) {
  if (depth == 0) return PathPart::kFunction;
  return name.front() == '@' ? PathPart::kThreadGroup : PathPart::kCaller;
}

class PathTree {
 public:
  PathTree(const ExperimentTable& table, const std::function<bool(size_t)>& has_figures)
      : table_(table) {
    const double seen = kLeastPathShare * static_cast<double>(table.samples);
    for (size_t unit = 0; unit < table.units.size(); ++unit) {
      const UnitRow& row = table.units[unit];
      if (row.kind != profile::UNIT_KIND_PATH) continue;
      if (static_cast<double>(row.samples) >= seen || has_figures(unit)) Add(unit, row);
    }
  }

  std::vector<PathTreeRow> Rows() {
    AddRows(root_, 0);
    return std::move(rows_);
  }

 private:
  void Add(size_t unit, const UnitRow& row) {
    std::vector<std::string> parts = SplitCallPath(row.function);
    if (!row.thread_group.empty()) parts.push_back(absl::StrCat("@", row.thread_group));
    PathNode* node = &root_;
    for (const std::string& part : parts) {
      node = &node->callers[part];
      node->samples += row.samples;
    }
    node->unit = unit;
  }

  void AddRows(const PathNode& node, int depth) {
    std::vector<const NamedPathNode*> callers;
    for (const NamedPathNode& caller : node.callers) callers.push_back(&caller);
    std::stable_sort(callers.begin(), callers.end(),
                     [](const NamedPathNode* a, const NamedPathNode* b) {
                       return a->second.samples > b->second.samples;
                     });
    for (const NamedPathNode* named : callers) {
      const auto& [name, caller] = *named;
      const bool is_leaf = caller.callers.empty();
      rows_.push_back({depth, PathPartAt(depth, name), Printable(WithoutAnonymous(name)),
                       caller.samples, is_leaf ? caller.unit : std::nullopt});
      if (!is_leaf && caller.unit.has_value()) {
        rows_.push_back(
            {depth + 1, PathPart::kNoCaller, "", table_.units[*caller.unit].samples, caller.unit});
      }
      AddRows(caller, depth + 1);
    }
  }

  const ExperimentTable& table_;
  PathNode root_;
  std::vector<PathTreeRow> rows_;
};

}  // namespace

std::vector<PathTreeRow> PathTreeRows(const ExperimentTable& table,
                                      const std::function<bool(size_t unit)>& has_figures) {
  return PathTree(table, has_figures).Rows();
}

}  // namespace coz::report
