#include "coz/report/json/groups_json.h"

#include <cmath>
#include <utility>

#include "coz/report/format/unit_kind.h"
#include "coz/report/json/report_json.h"
#include "nlohmann/json.hpp"

namespace coz::report {
namespace {

using Json = nlohmann::ordered_json;

Json Figure(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

Json EstimateJson(const Estimate& estimate) {
  return {{"value", Figure(estimate.value)},
          {"low", Figure(estimate.low)},
          {"high", Figure(estimate.high)}};
}

void AddFit(const Fit& fit, const char* others, Json* row) {
  (*row)[others] = Figure(fit.others);
  (*row)["p_value"] = Figure(fit.p_value);
  (*row)["adjusted_p_value"] = Figure(fit.adjusted_p_value);
  (*row)["fits"] = std::isnan(fit.adjusted_p_value) ? Json(nullptr) : Json(!fit.DoesNot());
}

Json PaceJson(const GroupPace& pace) {
  Json row = {{"group", pace.group},
              {"baselines", pace.baselines},
              {"ns_per_visit", EstimateJson(pace.ns_per_visit)}};
  AddFit(pace.fit, "others_ns_per_visit", &row);
  return row;
}

Json LineJson(const LineByGroup& line) {
  Json groups = Json::array();
  for (const GroupLine& group : line.groups) {
    Json row = {{"group", group.group},
                {"experiments", group.experiments},
                {"slope", EstimateJson(group.slope)},
                {"gain", EstimateJson(group.gain)}};
    AddFit(group.fit, "others_slope", &row);
    groups.push_back(std::move(row));
  }
  return {{"unit", line.unit}, {"gain", EstimateJson(line.gain)}, {"groups", groups}};
}

}  // namespace

Json GroupsJson(const GroupTable& table, const ExperimentTable& names) {
  Json groups = Json::array();
  for (const GroupRow& group : table.groups) {
    groups.push_back(
        {{"name", group.name}, {"sessions", group.sessions}, {"experiments", group.experiments}});
  }
  Json units = Json::array();
  for (const UnitRow& unit : names.units) {
    units.push_back({{"kind", UnitKindId(unit.kind)},
                     {"name", unit.Name()},
                     {"file", unit.file},
                     {"line", unit.line},
                     {"function", unit.function}});
  }
  Json points = Json::array();
  for (const PointByGroup& point : table.points) {
    Json pace = Json::array();
    for (const GroupPace& one : point.pace) pace.push_back(PaceJson(one));
    Json lines = Json::array();
    for (const LineByGroup& line : point.lines) lines.push_back(LineJson(line));
    const PointRow& row = names.points[point.point];
    points.push_back(
        {{"name", row.name}, {"kind", PointKindId(row.kind)}, {"pace", pace}, {"lines", lines}});
  }
  return {{"schema", "coz-groups"},
          {"schema_version", kReportJsonSchemaVersion},
          {"by", GroupWord(table.by)},
          {"gain_at", table.gain_at},
          {"put_together", table.put_together},
          {"comparisons", table.comparisons},
          {"error_rate", kGroupErrorRate},
          {"groups", groups},
          {"units", units},
          {"points", points}};
}

}  // namespace coz::report
