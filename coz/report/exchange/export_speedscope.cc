#include "coz/report/exchange/export_speedscope.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "coz/report/analysis/session_facts.h"
#include "coz/report/json/report_json.h"
#include "coz/report/wording/text_layout.h"
#include "nlohmann/json.hpp"

namespace coz::report {
namespace {

using Json = nlohmann::ordered_json;

class Frames {
 public:
  // Frames show no folder that all units are in.
  explicit Frames(const std::vector<UnitRow>& units) {
    std::vector<std::string> files;
    for (const UnitRow& unit : units) {
      if (!unit.file.empty()) files.push_back(unit.file);
    }
    folder_ = CommonFolder(files);
  }

  // The stack of a unit, outermost first.
  Json StackOf(const UnitRow& unit) {
    Json stack = Json::array();
    const std::string place = unit.Name();
    if (!unit.file.empty() && unit.file != place) {
      stack.push_back(Index(InFolder(unit.file), unit.file, 0));
    }
    if (!unit.function.empty() && unit.function != place) {
      stack.push_back(Index(WithoutAnonymous(unit.function), unit.file, 0));
    }
    stack.push_back(Index(InFolder(WithoutAnonymous(place)), unit.file, unit.line));
    return stack;
  }
  size_t Index(const std::string& name, const std::string& file, uint32_t line) {
    const auto [known, is_new] = indices_.try_emplace({name, file}, frames_.size());
    if (is_new) {
      Json frame = {{"name", name}};
      if (!file.empty()) frame["file"] = file;
      if (line != 0) frame["line"] = line;
      frames_.push_back(std::move(frame));
    }
    return known->second;
  }
  const Json& frames() const { return frames_; }

 private:
  std::string InFolder(const std::string& path) const {
    return std::string(absl::StripPrefix(path, folder_));
  }

  std::string folder_;
  std::map<std::pair<std::string, std::string>, size_t> indices_;
  Json frames_ = Json::array();
};

struct Sampled {
  Json samples = Json::array();
  Json weights = Json::array();
  int64_t sum = 0;

  void Add(Json stack, int64_t weight) {
    if (weight <= 0) return;
    samples.push_back(std::move(stack));
    weights.push_back(weight);
    sum += weight;
  }
  Json Profile(const std::string& name, const std::string& unit) const {
    return {{"type", "sampled"}, {"name", name},       {"unit", unit},      {"startValue", 0},
            {"endValue", sum},   {"samples", samples}, {"weights", weights}};
  }
};

Json CpuProfile(const AnalyzedProfile& whole, Frames* frames) {
  const int64_t period_ns = std::max(std::llround(MeanSamplingPeriodNs(whole.profile)), 1LL);
  Sampled cpu;
  uint64_t in_scope = 0;
  for (const UnitRow& unit : whole.table.units) {
    in_scope += unit.samples;
    cpu.Add(frames->StackOf(unit), static_cast<int64_t>(unit.samples) * period_ns);
  }
  const int64_t outside =
      static_cast<int64_t>(whole.table.samples) - static_cast<int64_t>(in_scope);
  cpu.Add(Json::array({frames->Index("[out of scope]", "", 0)}), outside * period_ns);
  return cpu.Profile("CPU time", "nanoseconds");
}

}  // namespace

void ExportSpeedscope(const AnalyzedProfile& whole, std::ostream& out) {
  Frames frames(whole.table.units);
  Json profiles = Json::array({CpuProfile(whole, &frames)});
  for (const PointAnalysis& point : whole.analysis.points) {
    Sampled gain;
    for (const LineAnalysis& line : point.lines) {
      if (line.verdict != Verdict::kFaster) continue;
      gain.Add(frames.StackOf(whole.table.units[line.unit]), std::llround(line.slope.value * 1000));
    }
    profiles.push_back(
        gain.Profile(absl::StrCat("program speedup at ", whole.table.points[point.point].name,
                                  ", in thousandths for each line's own"),
                     "none"));
  }
  const Json file = {{"$schema", "https://www.speedscope.app/file-format-schema.json"},
                     {"name", "coz"},
                     {"exporter", "coz"},
                     {"shared", {{"frames", frames.frames()}}},
                     {"profiles", profiles}};
  out << JsonText(file) << '\n';
}

}  // namespace coz::report
