#include "coz/report/text/threads_text.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "coz/report/wording/text_layout.h"

namespace coz::report {
namespace {

constexpr int kIndent = 2;
constexpr int kGap = 2;
constexpr int kMostNameColumns = 40;
constexpr char kNameless[] = "(no room)";

std::string Seconds(uint64_t ns) {
  return absl::StrFormat("%.2f s", static_cast<double>(ns) / 1e9);
}

// "12,345".
std::string Grouped(uint64_t n) {
  std::string text = absl::StrCat(n);
  for (int at = static_cast<int>(text.size()) - 3; at > 0; at -= 3) {
    text.insert(static_cast<size_t>(at), ",");
  }
  return text;
}

std::string Share(uint64_t part, uint64_t whole) {
  if (whole == 0) return "";
  return absl::StrFormat("%.1f %%", 100.0 * static_cast<double>(part) / static_cast<double>(whole));
}

std::string NameOf(const ThreadRow& row) {
  return row.name.empty() ? kNameless : Printable(row.name);
}

// Groups, or all their threads.
std::vector<const ThreadRow*> RowsOf(const ThreadTable& table, bool verbose) {
  std::vector<const ThreadRow*> rows;
  for (const ThreadGroup& group : table.groups) {
    if (!verbose) rows.push_back(&group.sum);
    for (const ThreadRow& row : group.threads) {
      if (verbose) rows.push_back(&row);
    }
  }
  return rows;
}

std::string Id(const ThreadRow& row) { return row.tid == 0 ? "" : absl::StrCat(row.tid); }

std::string ThreadRows(const ThreadTable& table, const std::vector<const ThreadRow*>& rows,
                       const TextOptions& options) {
  std::vector<Align> alignment(10, Align::kRight);
  alignment.front() = alignment.back() = Align::kLeft;
  TextTable text(alignment);
  text.AddRow({"thread", options.verbose ? "id" : "", "threads", "samples", "share", "in scope",
               "CPU time", "start", "end", ""});
  const auto add = [&](const ThreadRow& row, const std::string& name, const std::string& id) {
    text.AddRow({name, id, absl::StrCat(row.threads), Grouped(row.samples),
                 Share(row.samples, table.total.samples), Share(row.samples_in_scope, row.samples),
                 Seconds(row.cpu_ns), Seconds(row.start_ns),
                 row.end_ns == 0 ? "runs on" : Seconds(row.end_ns),
                 row.left_out ? "left out by --thread" : ""});
  };
  const size_t shown = options.max_lines == 0
                           ? rows.size()
                           : std::min(rows.size(), static_cast<size_t>(options.max_lines));
  for (size_t i = 0; i < shown; ++i) {
    add(*rows[i], NameOf(*rows[i]), options.verbose ? Id(*rows[i]) : "");
  }
  if (rows.size() > 1) add(table.total, "all", "");
  std::string result = text.Render(kIndent);
  if (shown < rows.size()) {
    absl::StrAppend(&result, "  and ", rows.size() - shown, " more; for all: -n 0\n");
  }
  return result;
}

// How many of the rows have a column beside the counter's name and the sum.
size_t ColumnsThatFit(const ThreadTable& table, const std::vector<const ThreadRow*>& rows,
                      const std::vector<std::string>& heads, int name_columns, int width) {
  int left = width - kIndent - name_columns - kGap -
             std::max(3, DisplayWidth(Grouped(*std::max_element(table.total.visits.begin(),
                                                                table.total.visits.end()))));
  for (size_t i = 0; i < rows.size(); ++i) {
    int column = DisplayWidth(heads[i]);
    for (const uint64_t visits : rows[i]->visits) {
      column = std::max(column, DisplayWidth(Grouped(visits)));
    }
    left -= kGap + column;
    if (left < 0) return i;
  }
  return rows.size();
}

std::string CounterRows(const ThreadTable& table, const std::vector<const ThreadRow*>& rows,
                        const TextOptions& options) {
  const size_t shown = options.max_lines == 0 ? table.counters.size()
                                              : std::min(table.counters.size(),
                                                         static_cast<size_t>(options.max_lines));
  std::vector<std::string> names;
  int name_columns = 0;
  for (size_t i = 0; i < shown; ++i) {
    names.push_back(ShortenFunction(Printable(table.counters[i]), kMostNameColumns));
    name_columns = std::max(name_columns, DisplayWidth(names.back()));
  }
  std::vector<std::string> heads;
  for (const ThreadRow* row : rows) {
    heads.push_back(options.verbose ? absl::StrCat(NameOf(*row), " ", Id(*row)) : NameOf(*row));
  }
  const size_t columns = ColumnsThatFit(table, rows, heads, name_columns, options.width);
  std::vector<Align> alignment(columns + 2, Align::kRight);
  alignment.front() = Align::kLeft;
  TextTable text(alignment);
  std::vector<std::string> head = {"visits", "all"};
  head.insert(head.end(), heads.begin(), heads.begin() + static_cast<std::ptrdiff_t>(columns));
  text.AddRow(std::move(head));
  for (size_t i = 0; i < shown; ++i) {
    std::vector<std::string> cells = {names[i], Grouped(table.total.visits[i])};
    for (size_t j = 0; j < columns; ++j) cells.push_back(Grouped(rows[j]->visits[i]));
    text.AddRow(std::move(cells));
  }
  std::string result = text.Render(kIndent);
  if (shown < table.counters.size()) {
    absl::StrAppend(&result, "  and ", table.counters.size() - shown, " more; for all: -n 0\n");
  }
  if (columns < rows.size()) {
    absl::StrAppend(&result, "  ", rows.size() - columns,
                    " columns have no room; for all: --json, or a greater --width\n");
  }
  return result;
}

}  // namespace

std::string RenderThreads(const ThreadTable& table, const TextOptions& options) {
  if (table.groups.empty()) {
    return "The profile holds no threads: an older coz made it, or the run was cut short. Run "
           "`coz run` again\n";
  }
  const std::vector<const ThreadRow*> rows = RowsOf(table, options.verbose);
  std::string text = ThreadRows(table, rows, options);
  if (!table.counters.empty()) absl::StrAppend(&text, "\n", CounterRows(table, rows, options));
  return text;
}

}  // namespace coz::report
