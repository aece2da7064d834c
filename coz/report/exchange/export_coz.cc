#include "coz/report/exchange/export_coz.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "coz/report/analysis/experiment_table.h"
#include "coz/report/exchange/valid_text.h"
#include "coz/report/format/profile.pb.h"
#include "coz/report/statistics/statistics.h"
#include "nlohmann/json.hpp"

namespace coz::report {
namespace {

using Json = nlohmann::ordered_json;

// The text format knows `selected-samples` where JSON has `selected_samples`, and has no way to
// quote.
void WriteText(const Json& record, std::ostream& out) {
  out << record["type"].get<std::string>();
  for (const auto& [key, value] : record.items()) {
    if (key == "type") continue;
    out << '\t' << absl::StrReplaceAll(key, {{"_", "-"}}) << '=';
    if (value.is_string()) {
      out << absl::StrReplaceAll(ValidText(value.get<std::string>()), {{"\t", " "}, {"\n", " "}});
    } else if (key == "speedup") {
      out << absl::StrFormat("%.2f", value.get<double>());
    } else if (value.is_number_float()) {
      // The viewer reads integers here.
      out << std::llround(value.get<double>());
    } else {
      out << value.dump();
    }
  }
  out << '\n';
}

void Write(const Json& record, CozFormat format, std::ostream& out) {
  if (format == CozFormat::kText) return WriteText(record, out);
  out << record.dump(-1, ' ', false, Json::error_handler_t::replace) << '\n';
}

Json PointRecord(const PointRow& point, const PointSeen& seen) {
  if (seen.latency != nullptr) {
    return {{"type", "latency-point"},
            {"name", point.name},
            {"arrivals", seen.latency->arrivals()},
            {"departures", seen.latency->departures()},
            {"difference", seen.latency->in_flight_average()}};
  }
  return {{"type", "throughput-point"}, {"name", point.name}, {"delta", seen.least_visits}};
}

void WriteExperiment(const ExperimentTable& table, const ExperimentRow& row, CozFormat format,
                     std::ostream& out) {
  Write({{"type", "experiment"},
         {"selected", table.units[row.unit].Name()},
         // The viewer uses the number as a key, so 0.15 must not become 0.15000000000000002.
         {"speedup", SpeedupKey(row.virtual_speedup) / 10000.0},
         {"duration", row.effective_duration_ns},
         {"selected_samples", row.selected_samples}},
        format, out);
  for (const PointSeen& seen : row.points) {
    if (seen.least_visits == 0) continue;
    Write(PointRecord(table.points[seen.point], seen), format, out);
  }
}

}  // namespace

void ExportCoz(const profile::Profile& profile, const ExperimentTable& table, CozFormat format,
               std::ostream& out) {
  uint64_t start = 0;
  for (const profile::Session& session : profile.session()) {
    if (start == 0 || session.start_unix_ns() < start) start = session.start_unix_ns();
  }
  Write({{"type", "startup"}, {"time", start}}, format, out);
  for (const ExperimentRow& row : table.experiments) {
    if (row.taints == 0) WriteExperiment(table, row, format, out);
  }
  Write({{"type", "runtime"}, {"time", table.run_time_ns}}, format, out);
  for (const UnitRow& unit : table.units) {
    if (unit.samples == 0) continue;
    Write({{"type", "samples"}, {"location", unit.Name()}, {"count", unit.samples}}, format, out);
  }
}

}  // namespace coz::report
