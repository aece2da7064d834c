#include "coz/report/plot/thread_facts.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "absl/strings/str_format.h"
#include "coz/report/analysis/thread_table.h"
#include "coz/report/text/call_figures.h"
#include "coz/report/wording/text_layout.h"

namespace coz::report {
namespace {

using nlohmann::json;

// Names of threads, and those of them that have a column.
constexpr size_t kMaxRows = 200;
constexpr size_t kMaxColumns = 12;

std::string InSeconds(uint64_t ns) {
  return absl::StrFormat("%.2f s", static_cast<double>(ns) / 1e9);
}

json Row(const ThreadRow& row, const std::string& name, uint64_t all_samples) {
  return {name,
          Grouped(row.threads),
          Grouped(row.samples),
          ShareOf(row.samples, all_samples),
          ShareOf(row.samples_in_scope, row.samples),
          InSeconds(row.cpu_ns),
          InSeconds(row.start_ns),
          row.end_ns == 0 ? "runs on" : InSeconds(row.end_ns),
          row.left_out ? "left out by --thread" : ""};
}

std::string NameOf(const ThreadRow& row) {
  return row.name.empty() ? "(no room)" : Printable(row.name);
}

bool IsTimed(const ThreadRow& row, size_t counter) {
  return counter < row.times.size() && row.times[counter].calls != 0;
}

std::string Visits(const ThreadRow& row, size_t counter) { return Grouped(row.visits[counter]); }
std::string Wall(const ThreadRow& row, size_t counter) {
  return IsTimed(row, counter) ? CallSeconds(row.times[counter].wall_ns) : "-";
}
std::string Cpu(const ThreadRow& row, size_t counter) {
  return IsTimed(row, counter) ? CallSeconds(row.times[counter].cpu_ns) : "-";
}

// A row for each counter; null where there is none. `timed`: of those that have times.
json CounterTable(const char* head, const ThreadTable& table, bool timed,
                  std::string (*cell)(const ThreadRow& row, size_t counter)) {
  json rows = json::array();
  for (size_t counter = 0; counter < table.counters.size(); ++counter) {
    if (timed && !IsTimed(table.total, counter)) continue;
    json row = {Printable(table.counters[counter]), cell(table.total, counter)};
    for (size_t i = 0; i < std::min(table.groups.size(), kMaxColumns); ++i) {
      row.push_back(cell(table.groups[i].sum, counter));
    }
    rows.push_back(std::move(row));
  }
  return rows.empty() ? json(nullptr) : json({{"head", head}, {"rows", std::move(rows)}});
}

}  // namespace

json ThreadFacts(const profile::Profile& profile) {
  const ThreadTable table = BuildThreadTable(profile);
  if (table.groups.empty()) return nullptr;
  json rows = json::array();
  json names = json::array();
  for (const ThreadGroup& group : table.groups) {
    const std::string name = NameOf(group.sum);
    if (rows.size() < kMaxRows) rows.push_back(Row(group.sum, name, table.total.samples));
    if (names.size() < kMaxColumns) names.push_back(name);
  }
  const size_t more = table.groups.size() - rows.size();
  if (table.groups.size() > 1) rows.push_back(Row(table.total, "all", table.total.samples));
  json tables = json::array();
  for (const json& counters :
       {CounterTable("Visits", table, false, Visits), CounterTable("Wall time", table, true, Wall),
        CounterTable("CPU time", table, true, Cpu)}) {
    if (!counters.is_null()) tables.push_back(counters);
  }
  return {{"rows", rows}, {"more", more}, {"names", names}, {"tables", tables}};
}

}  // namespace coz::report
