#include "coz/supervisor/run/never_found.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "coz/sourcemap/scope.h"
#include "coz/supervisor/run/run_checks.h"

namespace coz::supervisor {

namespace {

// Groups whose code was loaded and never sampled, while other code was. Paths name groups within.
std::vector<std::string> GroupsWithoutSamples(const UnitIndex& units, const LiveTarget& target) {
  std::vector<std::string> without;
  if (target.unit_samples().empty() || units.rules().kind == sourcemap::UnitKind::kPath) return {};
  std::set<std::string> sampled;
  for (const auto& [unit, samples] : target.unit_samples()) {
    const UnitIndex::Unit described = units.Describe(unit);
    if (described.what.kind != sourcemap::UnitKind::kGroup || samples == 0) continue;
    sampled.insert(described.what.function);
  }
  for (size_t i = 0; i < units.rules().groups.size(); ++i) {
    const std::string& name = units.rules().groups[i].name;
    if (!units.group_has_code()[i] || sampled.count(name) != 0) continue;
    without.push_back(absl::StrFormat(
        "--group %s had no samples, for its code itself hardly runs; take in functions that it "
        "calls, with another --group %s=FUNCTION",
        name, name));
  }
  return without;
}

}  // namespace

std::vector<std::string> NeverFound(const RunOptions& options, const UnitIndex& units,
                                    const OutsidePoints& points, const LiveTarget& target,
                                    const std::string& worker) {
  std::vector<std::string> missing;
  for (size_t i = 0; i < units.group_has_code().size(); ++i) {
    if (units.group_has_code()[i]) continue;
    missing.push_back(absl::StrFormat("--group %s matched no code that was loaded",
                                      units.rules().groups[i].name));
  }
  for (std::string& group : GroupsWithoutSamples(units, target)) {
    missing.push_back(std::move(group));
  }
  for (size_t i = 0; i < units.exclude_has_code().size(); ++i) {
    if (units.exclude_has_code()[i]) continue;
    missing.push_back(absl::StrFormat("--exclude=%s matched no code that was loaded",
                                      units.rules().exclude[i].text()));
  }
  // A binary is announced by its first sample, so one that was loaded alone is not known.
  for (const std::string& pattern : options.binary_scope) {
    const sourcemap::BinaryScope scope({pattern});
    const bool is_found = std::any_of(
        units.objects().begin(), units.objects().end(),
        [&](const UnitIndex::Object& object) { return scope.Contains(object.path, true); });
    if (!is_found && pattern == kJitCode) {
      missing.push_back(
          "no profiled process has said in /tmp/perf-PID.map or a jitdump which functions it "
          "compiles; "
          "start node with --perf-basic-prof, or type jcmd PID Compiler.perfmap for java");
    } else if (!is_found) {
      missing.push_back(absl::StrFormat(
          "--binary-scope=%s matched no binary in which samples were taken%s", pattern,
          worker.empty() ? "" : absl::StrCat("; the program that ran is ", worker)));
    }
  }
  for (const std::string& pattern : options.source_scope) {
    if (HasSource(units, pattern)) continue;
    missing.push_back(
        absl::StrFormat("--source-scope=%s matched no source file of a binary in scope", pattern));
  }
  for (std::string& point : points.Missing(target)) missing.push_back(std::move(point));
  for (const std::string& line : options.points.sampled) {
    if (!units.Find(line).empty()) continue;
    missing.push_back(absl::StrFormat(
        "'%s' was not counted, for no binary in scope that was loaded has code of it; name a line "
        "with code, or widen --binary-scope and --source-scope",
        line));
  }
  return missing;
}

}  // namespace coz::supervisor
