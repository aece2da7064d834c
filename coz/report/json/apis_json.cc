#include "coz/report/json/apis_json.h"

#include <utility>

#include "nlohmann/json.hpp"

namespace coz::report {
namespace {

using Json = nlohmann::ordered_json;

void AddFigures(uint64_t calls, const CallTimes& times, Json* written) {
  (*written)["calls"] = calls;
  (*written)["timed_calls"] = times.calls;
  // Null where no end was seen.
  (*written)["wall_ns"] = times.calls == 0 ? Json(nullptr) : Json(times.wall_ns);
  (*written)["cpu_ns"] = times.calls == 0 ? Json(nullptr) : Json(times.cpu_ns);
}

}  // namespace

Json ApisJson(const ApiTable& table) {
  Json calls = Json::array();
  for (const ApiRow& row : table.rows) {
    Json written = {{"function", row.function}, {"caller", row.caller}};
    AddFigures(row.calls, row.times, &written);
    written["ends_in_jump"] = row.timing.ends_in_jump;
    Json threads = Json::array();
    for (const ApiThread& thread : row.threads) {
      Json one = {{"name", thread.name}};
      AddFigures(thread.calls, thread.times, &one);
      threads.push_back(std::move(one));
    }
    written["threads"] = std::move(threads);
    calls.push_back(std::move(written));
  }
  return {{"run_ns", table.run_ns}, {"calls", std::move(calls)}};
}

}  // namespace coz::report
