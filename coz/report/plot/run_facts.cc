#include "coz/report/plot/run_facts.h"

#include <algorithm>
#include <cstdint>
#include <ctime>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "coz/report/plot/plot_data.h"
#include "coz/report/text_layout.h"

namespace coz {
namespace {

using nlohmann::json;

constexpr uint64_t kDefaultExperimentNs = 500'000'000;

double Seconds(uint64_t ns) { return static_cast<double>(ns / 1'000'000) / 1e3; }

std::string Quoted(const std::string& argument) {
  const bool plain = !argument.empty() && std::all_of(argument.begin(), argument.end(), [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || absl::StrContains("_-+=./:,@%", c);
  });
  if (plain) return argument;
  return absl::StrCat("'", absl::StrReplaceAll(argument, {{"'", "'\\''"}}), "'");
}

std::string LocalTime(uint64_t unix_ns) {
  const auto seconds = static_cast<time_t>(unix_ns / 1'000'000'000);
  tm parts = {};
  char text[40] = "";
  if (localtime_r(&seconds, &parts) != nullptr)
    strftime(text, sizeof(text), "%Y-%m-%d %H:%M %Z", &parts);
  return text;
}

// "SAMPLING_SOURCE_PERF_SIGTRAP" → "perf sigtrap".
std::string InWords(absl::string_view constant, absl::string_view prefix) {
  absl::ConsumePrefix(&constant, prefix);
  return absl::StrReplaceAll(absl::AsciiStrToLower(constant), {{"_", " "}});
}

const profile::SessionEnd* EndOf(const profile::Session& session, const profile::Profile& profile) {
  for (const profile::SessionEnd& end : profile.session_end()) {
    if (end.session() == session.id()) return &end;
  }
  return nullptr;
}

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
    words->push_back(absl::StrCat(
        "--unit=", InWords(profile::UnitKind_Name(options.unit_kind()), "UNIT_KIND_")));
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
  // The default depends on the program.
  const uint64_t period = session.sampling_period_ns();
  if (period != 0) {
    words.push_back(absl::StrFormat("--sampling-period=%.4g", static_cast<double>(period) / 1e6));
  }
  const uint64_t length = options.min_experiment_ns();
  if (length != 0 && length != kDefaultExperimentNs) {
    words.push_back(absl::StrFormat("--experiment-length=%.4g", static_cast<double>(length) / 1e9));
  }
  if (options.duration_ns() != 0) {
    words.push_back(absl::StrFormat("--duration=%.6g", Seconds(options.duration_ns())));
  }
  words.push_back("---");
  for (const std::string& argument : session.command()) words.push_back(Quoted(argument));
  return absl::StrJoin(words, " ");
}

json SessionFacts(const profile::Session& session, const profile::Profile& profile) {
  const profile::SessionEnd* end = EndOf(session, profile);
  const profile::Machine& machine = session.machine();
  std::vector<std::string> command;
  for (const std::string& argument : session.command()) command.push_back(Quoted(argument));
  return {{"command", absl::StrJoin(command, " ")},
          {"folder", session.working_folder()},
          {"start", LocalTime(session.start_unix_ns())},
          {"host", machine.host()},
          {"kernel", machine.kernel()},
          {"cpu", machine.cpu_model()},
          {"cpus", machine.cpu_count()},
          {"source",
           InWords(profile::SamplingSource_Name(session.sampling_source()), "SAMPLING_SOURCE_")},
          {"fallback", session.fallback_reason()},
          {"given", session.options().given()},
          {"period_ms", static_cast<double>(session.sampling_period_ns()) / 1e6},
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
    const auto reason = static_cast<profile::Taint::Reason>(i);
    reasons.push_back(
        {InWords(profile::Taint::Reason_Name(reason), ""), analysis.taints_by_reason[i]});
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
