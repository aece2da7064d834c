#include "coz/report/text/threads_text.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "coz/report/text/call_figures.h"
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
                 ShareOf(row.samples, table.total.samples),
                 ShareOf(row.samples_in_scope, row.samples), Seconds(row.cpu_ns),
                 Seconds(row.start_ns), row.end_ns == 0 ? "runs on" : Seconds(row.end_ns),
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

// A table with a line for each counter, and a column for each row of threads beside the sum.
struct CounterTable {
  std::string head;
  std::vector<size_t> counters;
  std::string (*cell)(const ThreadRow& row, size_t counter);
};

std::string VisitsCell(const ThreadRow& row, size_t counter) {
  return Grouped(row.visits[counter]);
}
std::string WallCell(const ThreadRow& row, size_t counter) {
  return row.times[counter].calls == 0 ? "-" : CallSeconds(row.times[counter].wall_ns);
}
std::string CpuCell(const ThreadRow& row, size_t counter) {
  return row.times[counter].calls == 0 ? "-" : CallSeconds(row.times[counter].cpu_ns);
}

// A function of a library is named with it, and with who calls.
std::string ColumnName(const std::string& counter) {
  const std::string name = Printable(counter);
  return absl::StrContains(name, "!") ? name : ShortenFunction(name, kMostNameColumns);
}

// How many of the columns have room.
size_t ColumnsThatFit(const std::vector<std::vector<std::string>>& lines, int width) {
  int left = width - kIndent;
  for (size_t column = 0; column < lines.front().size(); ++column) {
    int widest = 0;
    for (const auto& line : lines) widest = std::max(widest, DisplayWidth(line[column]));
    left -= (column == 0 ? 0 : kGap) + widest;
    // The counter's name and the sum are there in any case.
    if (left < 0 && column >= 2) return column;
  }
  return lines.front().size();
}

std::string RenderCounters(const CounterTable& shown, const ThreadTable& table,
                           const std::vector<const ThreadRow*>& rows, const TextOptions& options) {
  const size_t count = options.max_lines == 0 ? shown.counters.size()
                                              : std::min(shown.counters.size(),
                                                         static_cast<size_t>(options.max_lines));
  std::vector<std::vector<std::string>> lines = {{shown.head, "all"}};
  for (const ThreadRow* row : rows) {
    lines[0].push_back(options.verbose ? absl::StrCat(NameOf(*row), " ", Id(*row)) : NameOf(*row));
  }
  for (size_t i = 0; i < count; ++i) {
    const size_t counter = shown.counters[i];
    std::vector<std::string>& line = lines.emplace_back();
    line = {ColumnName(table.counters[counter]), shown.cell(table.total, counter)};
    for (const ThreadRow* row : rows) line.push_back(shown.cell(*row, counter));
  }
  const size_t columns = ColumnsThatFit(lines, options.width);
  std::vector<Align> alignment(columns, Align::kRight);
  alignment.front() = Align::kLeft;
  TextTable text(alignment);
  for (std::vector<std::string>& line : lines) {
    line.resize(columns);
    text.AddRow(std::move(line));
  }
  std::string result = text.Render(kIndent);
  if (count < shown.counters.size()) {
    absl::StrAppend(&result, "  and ", shown.counters.size() - count, " more; for all: -n 0\n");
  }
  if (columns < rows.size() + 2) {
    absl::StrAppend(&result, "  ", rows.size() + 2 - columns,
                    " columns have no room; for all: --json, or a greater --width\n");
  }
  return result;
}

// Of calls whose end was not seen, or whose time ends with a jump.
std::string UntimedText(const ThreadTable& table, const std::vector<size_t>& timed) {
  std::string text;
  std::vector<std::string> jumping;
  for (const size_t counter : timed) {
    if (table.timing[counter].ends_in_jump) jumping.push_back(Printable(table.counters[counter]));
    const uint64_t calls = table.total.visits[counter];
    const uint64_t ended = table.total.times[counter].calls;
    if (ended >= calls) continue;
    absl::StrAppend(&text, "  ", Printable(table.counters[counter]), ": ", Grouped(calls - ended),
                    " of ", Grouped(calls),
                    " calls have no time, as they were open at the end, or were left by an "
                    "exception or longjmp\n");
  }
  if (jumping.empty()) return text;
  return absl::StrCat(text, "  ", absl::StrJoin(jumping, ", "),
                      jumping.size() == 1 ? " ends" : " end",
                      " in a jump to another function, whose time is not in it\n");
}

std::string CounterTexts(const ThreadTable& table, const std::vector<const ThreadRow*>& rows,
                         const TextOptions& options) {
  CounterTable visits = {"visits", {}, VisitsCell};
  std::vector<size_t> timed;
  for (size_t i = 0; i < table.counters.size(); ++i) {
    visits.counters.push_back(i);
    if (table.timing[i].is_timed) timed.push_back(i);
  }
  std::string text = absl::StrCat("\n", RenderCounters(visits, table, rows, options));
  if (timed.empty()) return text;
  absl::StrAppend(&text, "\n", RenderCounters({"wall time", timed, WallCell}, table, rows, options),
                  "\n", RenderCounters({"CPU time", timed, CpuCell}, table, rows, options),
                  UntimedText(table, timed));
  return text;
}

}  // namespace

std::string RenderThreads(const ThreadTable& table, const TextOptions& options) {
  if (table.groups.empty()) {
    return "The profile holds no threads: an older coz made it, or the run was cut short. Run "
           "`coz run` again\n";
  }
  const std::vector<const ThreadRow*> rows = RowsOf(table, options.verbose);
  std::string text = ThreadRows(table, rows, options);
  if (!table.counters.empty()) absl::StrAppend(&text, CounterTexts(table, rows, options));
  return text;
}

}  // namespace coz::report
