#include "coz/report/exchange/export_jsonl.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "coz/report/format/unit_kind.h"
#include "coz/report/json/report_json.h"
#include "nlohmann/json.hpp"

namespace coz::report {
namespace {

using Json = nlohmann::ordered_json;

Json TextOrNull(const std::string& text) { return text.empty() ? Json() : Json(text); }

Json NumberOrNull(double value) { return std::isfinite(value) ? Json(value) : Json(); }

// Reasons why the experiment must not be used, "overcommitted,cut_short".
std::string TaintsOf(const profile::Experiment& experiment) {
  std::string taints;
  for (const profile::Taint& taint : experiment.validity().taint()) {
    const std::string name = profile::Taint::Reason_Name(taint.reason());
    absl::StrAppend(&taints, taints.empty() ? "" : ",",
                    name.empty() ? "unknown" : absl::AsciiStrToLower(name));
  }
  return taints;
}

Json UnitJson(const profile::Unit& unit) {
  return {{"unit_kind", UnitKindId(unit.kind())},
          {"file", TextOrNull(unit.file())},
          {"line", unit.line() == 0 ? Json() : Json(unit.line())},
          {"function", TextOrNull(unit.function())},
          {"thread_group", TextOrNull(unit.thread_group())}};
}

Json SessionJson(const profile::Session& session, const profile::Binary& program) {
  return {{"session", absl::StrFormat("%016x", session.id())},
          {"host", TextOrNull(session.machine().host())},
          {"kernel", TextOrNull(session.machine().kernel())},
          {"cpus", session.machine().cpu_count()},
          {"binary", TextOrNull(program.path())},
          {"build_id", TextOrNull(absl::BytesToHexString(program.build_id()))},
          {"sampling_period_ns", session.sampling_period_ns()}};
}

Json FiguresJson(const profile::Experiment& experiment, uint64_t session_start_unix_ns) {
  const uint64_t start_unix_ns = session_start_unix_ns + experiment.start_ns();
  return {{"start_unix_ms", session_start_unix_ns == 0 ? Json() : Json(start_unix_ns / 1'000'000)},
          {"virtual_speedup", NumberOrNull(experiment.virtual_speedup())},
          {"achieved_virtual_speedup", NumberOrNull(experiment.achieved_virtual_speedup())},
          {"elapsed_ns", experiment.elapsed_ns()},
          {"effective_duration_ns", experiment.effective_duration_ns()},
          {"inserted_delay_ns", experiment.inserted_delay_ns()},
          {"imposed_delay_ns", experiment.validity().imposed_ns()},
          {"pause_cpu_ns", experiment.validity().pause_cpu_ns()},
          {"selected_samples", experiment.selected_samples()},
          {"total_samples", experiment.total_samples()}};
}

Json PointJson(const profile::ProgressPoint* point, const profile::PointCounts& counts) {
  const bool is_pair = point != nullptr && point->kind() == profile::PROGRESS_POINT_KIND_LATENCY;
  return {{"point", point == nullptr ? Json() : Json(point->name())},
          {"point_kind", point == nullptr ? Json() : Json(PointKindId(point->kind()))},
          {"visits", is_pair ? Json() : Json(counts.visits())},
          {"arrivals", is_pair ? Json(counts.arrivals()) : Json()},
          {"departures", is_pair ? Json(counts.departures()) : Json()},
          {"in_flight_average", is_pair ? NumberOrNull(counts.in_flight_average()) : Json()}};
}

template <typename Map, typename Key>
const typename Map::mapped_type* FindIn(const Map& map, const Key& key) {
  const auto found = map.find(key);
  return found == map.end() ? nullptr : &found->second;
}

}  // namespace

void JsonLinesExporter::Add(const profile::Profile& records) {
  for (const profile::Session& session : records.session()) {
    sessions_[session.id()].session = session;
  }
  for (const profile::Binary& binary : records.binary()) {
    profile::Binary& program = sessions_[binary.session()].program;
    if (program.path().empty()) program = binary;
  }
  for (const profile::Unit& unit : records.unit()) units_[{unit.session(), unit.id()}] = unit;
  for (const profile::ProgressPoint& point : records.progress_point()) {
    points_[{point.session(), point.id()}] = point;
  }
  for (const profile::Experiment& experiment : records.experiment()) AddExperiment(experiment);
}

void JsonLinesExporter::AddExperiment(const profile::Experiment& experiment) {
  if (!seen_.insert({experiment.session(), experiment.index()}).second) return;
  Session& session = sessions_[experiment.session()];
  session.session.set_id(experiment.session());
  Json row = SessionJson(session.session, session.program);
  row["experiment"] = experiment.index();
  row["experiments"] = std::max(experiment.pooled(), 1u);
  const profile::Unit* unit =
      FindIn(units_, SessionAndId(experiment.session(), experiment.selected_unit()));
  row.update(UnitJson(unit == nullptr ? profile::Unit() : *unit));
  row.update(FiguresJson(experiment, session.session.start_unix_ns()));
  const std::string taints = TaintsOf(experiment);
  row["valid"] = taints.empty();
  row["taints"] = TextOrNull(taints);
  const auto write = [&](const profile::ProgressPoint* point, const profile::PointCounts& counts) {
    row.update(PointJson(point, counts));
    out_ << row.dump(-1, ' ', false, Json::error_handler_t::replace) << '\n';
  };
  for (const profile::PointCounts& counts : experiment.point()) {
    write(FindIn(points_, SessionAndId(experiment.session(), counts.point())), counts);
  }
  if (experiment.point_size() == 0) write(nullptr, profile::PointCounts());
}

}  // namespace coz::report
