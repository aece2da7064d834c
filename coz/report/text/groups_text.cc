#include "coz/report/text/groups_text.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "coz/report/wording/headline.h"
#include "coz/report/wording/text_layout.h"

namespace coz::report {
namespace {

constexpr int kGroupIndent = 4;
constexpr int kMostGroupColumns = 40;

std::string GroupName(const GroupTable& groups, size_t group) {
  const std::string& name = groups.groups[group].name;
  if (name.empty()) return groups.put_together ? "(put together)" : "(unknown)";
  return ElideEnd(Printable(name), kMostGroupColumns);
}

// "1.23 ms", with the unit that has one to three digits before the point.
std::string TimeText(double ns) {
  static constexpr const char* kUnits[] = {"ns", "us", "ms", "s"};
  size_t unit = 0;
  for (; unit + 1 < std::size(kUnits) && ns >= 1000; ++unit) ns /= 1000;
  return absl::StrFormat("%.3g %s", ns, kUnits[unit]);
}

std::string SignedPercent(double fraction) {
  const std::string text = PercentText(fraction);
  return absl::StrCat(fraction > 0 && text != "0" ? "+" : "", text, " %");
}

std::string SignedGain(const Estimate& gain) {
  return absl::StrCat(gain.value > 0 ? "+" : "", WithInterval(gain));
}

std::string Probability(double p) {
  return p < 0.0001 ? "p < 0.0001" : absl::StrFormat("p = %.2g", p);
}

std::string DoesNotFit(const Fit& fit) {
  return absl::StrCat("does not fit the others, ", Probability(fit.adjusted_p_value));
}

// Those first that do not fit, then those with the most experiments.
template <typename Row>
std::vector<const Row*> Ordered(const std::vector<Row>& rows, int Row::*count) {
  std::vector<const Row*> ordered;
  ordered.reserve(rows.size());
  for (const Row& row : rows) ordered.push_back(&row);
  std::stable_sort(ordered.begin(), ordered.end(), [count](const Row* a, const Row* b) {
    if (a->fit.DoesNot() != b->fit.DoesNot()) return a->fit.DoesNot();
    return a->*count > b->*count;
  });
  return ordered;
}

size_t ShownOf(size_t rows, const TextOptions& options) {
  return options.max_lines == 0 ? rows : std::min(rows, static_cast<size_t>(options.max_lines));
}

std::string More(const GroupTable& groups, size_t hidden, size_t without) {
  std::string text;
  const std::string indent(kGroupIndent, ' ');
  if (hidden > 0) absl::StrAppend(&text, indent, "and ", hidden, " more; for all: -n 0\n");
  if (without > 0) {
    absl::StrAppend(&text, indent, without, " of ",
                    Counted(groups.groups.size(), GroupWord(groups.by)), " say too little of it\n");
  }
  return text;
}

std::string LineTable(const GroupTable& groups, const LineByGroup& line,
                      const TextOptions& options) {
  TextTable text({Align::kLeft, Align::kRight, Align::kLeft, Align::kLeft, Align::kLeft});
  text.AddRow({GroupWord(groups.by), "experiments", GainHead(), "slope", ""});
  const std::vector<const GroupLine*> rows = Ordered(line.groups, &GroupLine::experiments);
  const size_t shown = ShownOf(rows.size(), options);
  for (size_t i = 0; i < shown; ++i) {
    const GroupLine& row = *rows[i];
    text.AddRow({GroupName(groups, row.group), absl::StrCat(row.experiments), SignedGain(row.gain),
                 absl::StrFormat("%.2f %s", row.slope.value, PlusMinus(row.slope)),
                 row.fit.DoesNot() ? DoesNotFit(row.fit) : ""});
  }
  return absl::StrCat(rows.empty() ? "" : text.Render(kGroupIndent),
                      More(groups, rows.size() - shown, groups.groups.size() - rows.size()));
}

std::string PaceTable(const GroupTable& groups, const PointByGroup& point,
                      const TextOptions& options) {
  TextTable text({Align::kLeft, Align::kRight, Align::kRight, Align::kLeft, Align::kLeft});
  text.AddRow({GroupWord(groups.by), "runs", "experiments", "time per visit at 0 %", ""});
  const std::vector<const GroupPace*> rows = Ordered(point.pace, &GroupPace::baselines);
  const size_t shown = ShownOf(rows.size(), options);
  for (size_t i = 0; i < shown; ++i) {
    const GroupPace& row = *rows[i];
    const GroupRow& group = groups.groups[row.group];
    text.AddRow({GroupName(groups, row.group), absl::StrCat(group.sessions),
                 absl::StrCat(group.experiments),
                 absl::StrCat(TimeText(row.ns_per_visit.value), " (",
                              TimeText(std::max(0.0, row.ns_per_visit.low)), " to ",
                              TimeText(row.ns_per_visit.high), ")"),
                 row.fit.DoesNot() ? DoesNotFit(row.fit) : ""});
  }
  return absl::StrCat(rows.empty() ? "" : text.Render(kGroupIndent),
                      More(groups, rows.size() - shown, groups.groups.size() - rows.size()));
}

// A sentence for each comparison in which a group does not fit.
std::vector<std::string> Misfits(const GroupTable& groups, const ExperimentTable& table,
                                 const UnitNames& names) {
  std::vector<std::string> found;
  const auto start = [&](size_t group, const PointByGroup& point) {
    return absl::StrCat("  ", GroupWord(groups.by), " ", GroupName(groups, group),
                        " does not fit the others at ", Printable(table.points[point.point].name),
                        ": ");
  };
  for (const PointByGroup& point : groups.points) {
    for (const GroupPace& pace : point.pace) {
      if (!pace.fit.DoesNot()) continue;
      found.push_back(absl::StrCat(start(pace.group, point), "a visit takes ",
                                   TimeText(pace.ns_per_visit.value), " at 0 %, and ",
                                   TimeText(pace.fit.others), " elsewhere\n"));
    }
    for (const LineByGroup& line : point.lines) {
      for (const GroupLine& row : line.groups) {
        if (!row.fit.DoesNot()) continue;
        found.push_back(absl::StrCat(
            start(row.group, point), names.Place(line.unit), " is worth ",
            SignedPercent(row.gain.value), " there, ", SignedPercent(line.gain.value),
            " in all runs together, when it is ", PercentText(groups.gain_at), " % faster\n"));
      }
    }
  }
  return found;
}

std::string Summary(const GroupTable& groups, const ExperimentTable& table, const UnitNames& names,
                    const TextOptions& options) {
  std::string text;
  if (groups.put_together) {
    absl::StrAppend(&text,
                    "  this is a compact profile with too many hosts to keep each apart, so ",
                    PluralOf(GroupWord(groups.by)),
                    " cannot be told apart; merge the ordinary profiles ", "without --compact\n");
    if (groups.groups.size() < 2) return text;
  } else if (groups.groups.size() < 2) {
    return absl::StrCat("  all runs are of one ", GroupWord(groups.by),
                        ", so there is nothing to compare\n");
  }
  const std::vector<std::string> found = Misfits(groups, table, names);
  const size_t shown = ShownOf(found.size(), options);
  for (size_t i = 0; i < shown; ++i) absl::StrAppend(&text, found[i]);
  if (shown < found.size()) {
    absl::StrAppend(&text, "  and ", found.size() - shown, " more; for all: -n 0\n");
  }
  if (found.empty()) absl::StrAppend(&text, "  all fit each other\n");
  absl::StrAppend(&text, "  ", Counted(groups.groups.size(), GroupWord(groups.by)), ", ",
                  Counted(static_cast<uint64_t>(groups.comparisons), "comparison"),
                  "; in one table of 20 at most chance alone names one\n");
  return text;
}

}  // namespace

std::string RenderGroups(const GroupTable& groups, const ExperimentTable& table,
                         const UnitNames& names, const TextOptions& options) {
  std::string text = Summary(groups, table, names, options);
  for (const PointByGroup& point : groups.points) {
    absl::StrAppend(&text, "\nProgress point ", Printable(table.points[point.point].name), "\n",
                    PaceTable(groups, point, options));
    for (const LineByGroup& line : point.lines) {
      const std::string detail = names.Detail(line.unit);
      absl::StrAppend(&text, "\n  ", names.Place(line.unit), detail.empty() ? "" : "  ", detail,
                      ": ", SignedGain(line.gain), " in all runs together\n",
                      LineTable(groups, line, options));
    }
  }
  return text;
}

}  // namespace coz::report
