#include "coz/report/analysis/api_table.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace coz::report {
namespace {

bool ComesFirst(const ApiRow& a, const ApiRow& b) {
  return std::make_tuple(b.times.wall_ns, b.calls, a.function, a.caller) <
         std::make_tuple(a.times.wall_ns, a.calls, b.function, b.caller);
}

ApiRow RowOf(const ThreadTable& threads, size_t counter) {
  ApiRow row;
  row.calls = threads.total.visits[counter];
  row.times = threads.total.times[counter];
  row.timing = threads.timing[counter];
  for (const ThreadGroup& group : threads.groups) {
    if (group.sum.visits[counter] == 0) continue;
    row.threads.push_back({group.sum.name, group.sum.visits[counter], group.sum.times[counter]});
  }
  std::sort(row.threads.begin(), row.threads.end(), [](const ApiThread& a, const ApiThread& b) {
    return std::make_tuple(b.times.wall_ns, b.calls, a.name) <
           std::make_tuple(a.times.wall_ns, a.calls, b.name);
  });
  return row;
}

}  // namespace

ApiTable BuildApiTable(const profile::Profile& profile) {
  ApiTable table;
  for (const profile::SessionEnd& end : profile.session_end()) table.run_ns += end.run_time_ns();
  std::map<std::string, std::pair<std::string, std::string>> columns;
  for (const profile::ThreadCounter& counter : profile.thread_counter()) {
    if (counter.api_function().empty()) continue;
    columns[counter.name()] = {counter.api_function(), counter.api_caller()};
  }
  if (columns.empty()) return table;
  const ThreadTable threads = BuildThreadTable(profile);
  for (size_t i = 0; i < threads.counters.size(); ++i) {
    const auto column = columns.find(threads.counters[i]);
    if (column == columns.end()) continue;
    ApiRow row = RowOf(threads, i);
    std::tie(row.function, row.caller) = column->second;
    table.rows.push_back(std::move(row));
  }
  std::sort(table.rows.begin(), table.rows.end(), ComesFirst);
  return table;
}

}  // namespace coz::report
