#include "coz/report/plot/run_facts.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "coz/report/plot/plot_data.h"
#include "coz/report/report_json.h"
#include "coz/report/report_notes.h"
#include "coz/report/session_facts.h"
#include "coz/report/text_layout.h"

namespace coz {
namespace {

using nlohmann::json;

constexpr uint64_t kDefaultExperimentNs = 500'000'000;

double Seconds(uint64_t ns) { return static_cast<double>(ns / 1'000'000) / 1e3; }

std::string HowItEnded(const profile::SessionEnd* end) {
  if (end == nullptr) return "cut short, or still running";
  switch (end->reason()) {
    case profile::END_REASON_TARGET_EXITED:
      if (end->exit_signal() != 0) {
        return absl::StrCat("the program was ended by signal ", end->exit_signal());
      }
      return absl::StrCat("the program ended with exit status ", end->exit_status());
    case profile::END_REASON_DURATION_REACHED:
      return "the time asked for was over";
    case profile::END_REASON_PRECISION_REACHED:
      return "the intervals were as narrow as asked for";
    case profile::END_REASON_INTERRUPTED:
      return "interrupted";
    case profile::END_REASON_SUPERVISOR_ERROR:
      return absl::StrCat("coz stopped on an error: ", end->error());
    default:
      return "unknown";
  }
}

// What is sped up: see docs/units.md.
void AddUnitOptions(const profile::Options& options, std::vector<std::string>* words) {
  if (options.unit_kind() != profile::UNIT_KIND_UNKNOWN &&
      options.unit_kind() != profile::UNIT_KIND_LINE) {
    words->push_back(absl::StrCat("--unit=", UnitKindId(options.unit_kind())));
  }
  if (options.without_inlined_copies()) words->push_back("--without-inlined-copies");
  for (const std::string& group : options.group()) {
    words->push_back(absl::StrCat("--group=", Quoted(group)));
  }
  for (const std::string& pattern : options.exclude()) {
    words->push_back(absl::StrCat("--exclude=", Quoted(pattern)));
  }
  if (!options.given().empty()) {
    words->push_back(absl::StrCat("--given=", Quoted(options.given())));
  }
  if (options.innermost_only()) words->push_back("--attribution=innermost");
}

}  // namespace

std::string RepeatCommand(const profile::Session& session) {
  const profile::Options& options = session.options();
  std::vector<std::string> words = {"coz", "run", absl::StrCat("--seed=", session.seed())};
  AddUnitOptions(options, &words);
  for (const std::string& pattern : options.binary_scope()) {
    if (pattern != "MAIN") words.push_back(absl::StrCat("--binary-scope=", Quoted(pattern)));
  }
  for (const std::string& pattern : options.source_scope()) {
    words.push_back(absl::StrCat("--source-scope=", Quoted(pattern)));
  }
  for (const std::string& line : options.fixed_line()) {
    words.push_back(absl::StrCat("--fixed-line=", Quoted(line)));
  }
  if (options.fixed_virtual_speedup_size() > 0) {
    const auto percent = [](std::string* out, double s) {
      absl::StrAppend(out, absl::StrFormat("%.4g", 100 * s));
    };
    words.push_back(absl::StrCat("--fixed-speedup=",
                                 absl::StrJoin(options.fixed_virtual_speedup(), ",", percent)));
  }
  if (options.end_to_end()) words.push_back("--end-to-end");
  // Said explicitly, it holds for a lone thread too.
  const uint64_t period = session.sampling_period_ns();
  if (period != 0 && session.lone_thread_period_ns() == 0) {
    words.push_back(absl::StrFormat("--sampling-period=%.4g", static_cast<double>(period) / 1e6));
  }
  const uint64_t length = options.min_experiment_ns();
  if (length != 0 && length != kDefaultExperimentNs) {
    words.push_back(absl::StrFormat("--experiment-length=%.4g", static_cast<double>(length) / 1e9));
  }
  if (options.duration_ns() != 0) {
    words.push_back(absl::StrFormat("--duration=%.6g", Seconds(options.duration_ns())));
  }
  return absl::StrCat(absl::StrJoin(words, " "), " --- ", CommandText(session));
}

json SessionFacts(const profile::Session& session, const profile::SessionEnd* end) {
  const profile::Machine& machine = session.machine();
  return {{"command", CommandText(session)},
          {"folder", session.working_folder()},
          {"start", LocalTime(session.start_unix_ns(), "%Y-%m-%d %H:%M %Z")},
          {"host", machine.host()},
          {"kernel", machine.kernel()},
          {"cpu", machine.cpu_model()},
          {"cpus", machine.cpu_count()},
          {"source", absl::StrReplaceAll(SourceId(session.sampling_source()), {{"_", " "}})},
          {"fallback", session.fallback_reason()},
          {"given", session.options().given()},
          {"period_ms", static_cast<double>(TimeBetweenSamplesNs(session, end)) / 1e6},
          {"kernel_samples", session.kernel_samples_included()},
          // A number would lose digits in JavaScript.
          {"seed", absl::StrCat(session.seed())},
          {"seconds", end == nullptr ? json(nullptr) : json(Seconds(end->run_time_ns()))},
          {"version", session.coz_version()},
          {"end", HowItEnded(end)},
          {"again", RepeatCommand(session)}};
}

json RunFacts(const profile::Profile& profile, const ExperimentTable& table,
              const Analysis& analysis) {
  uint64_t in_scope = 0;
  for (const UnitRow& unit : table.units) in_scope += unit.samples;
  json reasons = json::array();
  for (int i = 0; i < profile::Taint::Reason_ARRAYSIZE; ++i) {
    if (analysis.taints_by_reason[i] == 0) continue;
    reasons.push_back({TaintWords(i), analysis.taints_by_reason[i]});
  }
  return {{"seconds", Seconds(TotalRunTimeNs(profile))},
          {"experiments", analysis.experiments},
          {"baselines", analysis.baselines},
          {"samples", table.samples},
          {"in_scope", in_scope},
          {"unmapped", table.unmapped_samples},
          {"lost", table.lost_samples},
          {"not_used", analysis.tainted},
          {"reasons", reasons}};
}

}  // namespace coz
