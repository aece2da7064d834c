#include "coz/report/json/threads_json.h"

#include <utility>
#include <vector>

#include "nlohmann/json.hpp"

namespace coz::report {
namespace {

using Json = nlohmann::ordered_json;

// Null of a counter that is not timed.
Json TimesJson(const std::vector<CallTimes>& times) {
  Json written = Json::array();
  for (const CallTimes& time : times) {
    if (time.calls == 0) {
      written.push_back(nullptr);
      continue;
    }
    written.push_back({{"calls", time.calls}, {"wall_ns", time.wall_ns}, {"cpu_ns", time.cpu_ns}});
  }
  return written;
}

// `end_ns` is null where one runs on.
Json RowJson(const ThreadRow& row) {
  return {{"name", row.name},
          {"session", row.session},
          {"pid", row.pid},
          {"tid", row.tid},
          {"threads", row.threads},
          {"start_ns", row.start_ns},
          {"end_ns", row.end_ns == 0 ? Json(nullptr) : Json(row.end_ns)},
          {"samples", row.samples},
          {"samples_in_scope", row.samples_in_scope},
          {"cpu_ns", row.cpu_ns},
          {"left_out", row.left_out},
          {"visits", row.visits},
          {"times", TimesJson(row.times)}};
}

}  // namespace

Json ThreadsJson(const ThreadTable& table) {
  Json groups = Json::array();
  for (const ThreadGroup& group : table.groups) {
    Json threads = Json::array();
    for (const ThreadRow& row : group.threads) threads.push_back(RowJson(row));
    Json written = RowJson(group.sum);
    written["each"] = std::move(threads);
    groups.push_back(std::move(written));
  }
  Json timing = Json::array();
  for (const CounterTiming& one : table.timing) {
    timing.push_back({{"timed", one.is_timed}, {"ends_in_jump", one.ends_in_jump}});
  }
  return {{"counters", table.counters},
          {"timing", std::move(timing)},
          {"total", RowJson(table.total)},
          {"groups", groups}};
}

}  // namespace coz::report
