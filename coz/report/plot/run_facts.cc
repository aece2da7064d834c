#include "coz/report/plot/run_facts.h"

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "coz/report/analysis/session_facts.h"
#include "coz/report/wording/repeat_command.h"
#include "coz/report/wording/text_layout.h"

namespace coz::report {
namespace {

using nlohmann::json;

// To the millisecond.
double Seconds(uint64_t ns) {
  const uint64_t whole_ms = ns / 1'000'000;
  return static_cast<double>(whole_ms) / 1e3;
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
    case profile::END_REASON_PRECISION_REACHED:
      return "the intervals were as narrow as asked for";
    case profile::END_REASON_TARGET_REPLACED:
      return "the program became another one by exec";
    case profile::END_REASON_INTERRUPTED:
      return "interrupted";
    default:
      return "unknown";
  }
}

}  // namespace

json SessionFacts(const profile::Profile& profile, const profile::Session& session,
                  const profile::SessionEnd* end) {
  const profile::Machine& machine = session.machine();
  return {{"command", CommandText(session)},
          {"folder", session.working_folder()},
          {"start", LocalTime(session.start_unix_ns(), "%Y-%m-%d %H:%M %Z")},
          {"host", machine.host()},
          {"kernel", machine.kernel()},
          {"cpu", machine.cpu_model()},
          {"cpus", machine.cpu_count()},
          {"sampling", DescribeSampling(profile, session, end)},
          {"fallback", WhatSourceLacks(profile, session)},
          {"given", session.options().given()},
          // A number would lose digits in JavaScript.
          {"seed", absl::StrCat(session.seed())},
          {"seconds", end == nullptr ? json(nullptr) : json(Seconds(end->run_time_ns()))},
          {"version", session.coz_version()},
          {"end", HowItEnded(end)},
          {"again", RepeatCommand(session)}};
}

json RunFacts(const ExperimentTable& table, const Analysis& analysis) {
  uint64_t in_scope = 0;
  for (const UnitRow& unit : table.units) in_scope += unit.samples;
  return {{"seconds", Seconds(table.run_time_ns)},
          {"experiments", analysis.experiments},
          {"baselines", analysis.baselines},
          {"samples", table.samples},
          {"in_scope", in_scope},
          {"unmapped", table.unmapped_samples},
          {"lost", table.lost_samples}};
}

}  // namespace coz::report
