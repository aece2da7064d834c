// The head of the terminal report: facts about the run, not about lines.
#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "coz/report/analysis/analysis.h"
#include "coz/report/analysis/experiment_table.h"
#include "coz/report/analysis/session_facts.h"
#include "coz/report/format/profile.pb.h"
#include "coz/report/format/profile_reader.h"
#include "coz/report/text/report_notes.h"
#include "coz/report/text/report_text.h"
#include "coz/report/wording/repeat_command.h"
#include "coz/report/wording/text_layout.h"

namespace coz::report {
namespace {

std::string Duration(uint64_t ns) {
  const uint64_t tenths = ns / 100'000'000;
  if (tenths < 600) return absl::StrFormat("%d.%d s", tenths / 10, tenths % 10);
  const uint64_t seconds = tenths / 10;
  if (seconds < 3600) return absl::StrFormat("%d min %d s", seconds / 60, seconds % 60);
  return absl::StrFormat("%d h %d min", seconds / 3600, seconds / 60 % 60);
}

std::string Percent(uint64_t part, uint64_t whole) {
  if (whole == 0) return "0.0 %";
  return absl::StrFormat("%.1f %%", 100.0 * static_cast<double>(part) / static_cast<double>(whole));
}

std::string SessionLine(const profile::Profile& profile, const profile::Session& session,
                        const profile::SessionEnd* end) {
  const std::string start = LocalTime(session.start_unix_ns(), "%Y-%m-%d %H:%M");
  if (session.machine().cpu_count() == 0) {
    return absl::StrFormat("  %s, made by %s\n", start,
                           Printable(absl::StrCat("coz ", session.coz_version())));
  }
  return absl::StrFormat(
      "  %s, %s with %s; sampled by %s%s\n", start, Printable(session.machine().host()),
      Counted(session.machine().cpu_count(), "CPU"), DescribeSampling(profile, session, end),
      session.options().awake() ? "; idle CPUs kept awake" : "");
}

// Of the last session that has one.
std::string CalibrationLine(const profile::Profile& profile) {
  for (int i = profile.session_size(); i-- > 0;) {
    const std::string said = DescribeCalibration(profile.session(i));
    if (!said.empty()) return absl::StrCat("  ", said, "\n");
  }
  return "";
}

// "12.0 % of other threads, "; nothing without --thread.
std::string OfOtherThreads(const ExperimentTable& table) {
  if (table.other_thread_samples == 0) return "";
  return absl::StrCat(Percent(table.other_thread_samples, table.samples), " of other threads, ");
}

// The share of each group in the samples of units; nothing where they are not split.
std::string ThreadGroupsLine(const ExperimentTable& table) {
  std::map<std::string, uint64_t> samples;
  for (const UnitRow& unit : table.units) {
    if (!unit.thread_group.empty()) samples[unit.thread_group] += unit.samples;
  }
  if (samples.empty()) return "";
  std::vector<std::pair<uint64_t, std::string>> sorted;
  sorted.reserve(samples.size());
  for (const auto& [group, count] : samples) sorted.emplace_back(count, group);
  std::stable_sort(sorted.begin(), sorted.end(), std::greater<>());
  std::vector<std::string> shares;
  shares.reserve(sorted.size());
  for (const auto& [count, group] : sorted) {
    shares.push_back(absl::StrCat("@", Printable(group), " ", Percent(count, table.samples)));
  }
  return absl::StrCat("  thread groups: ", absl::StrJoin(shares, ", "), " of the samples\n");
}

}  // namespace

// "  5 processes: nginx 3, load.sh 1, wrk 1"; nothing of one process alone.
std::string ProcessesLine(const profile::Profile& profile) {
  std::map<std::string, std::set<std::pair<uint64_t, int32_t>>> by_program;
  std::set<std::pair<uint64_t, int32_t>> all;
  for (const profile::Process& process : profile.process()) {
    const std::string& path = process.program();
    const std::string name = path.substr(path.rfind('/') + 1);
    const std::pair<uint64_t, int32_t> id(process.session(), process.pid());
    by_program[name.empty() ? "?" : Printable(name)].insert(id);
    all.insert(id);
  }
  if (all.size() <= static_cast<size_t>(profile.session_size())) return "";
  std::vector<std::pair<size_t, std::string>> counts;
  counts.reserve(by_program.size());
  for (const auto& [name, ids] : by_program) counts.emplace_back(ids.size(), name);
  std::stable_sort(counts.begin(), counts.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  constexpr size_t kProgramsShown = 6;
  std::vector<std::string> words;
  for (size_t i = 0; i < counts.size() && i < kProgramsShown; ++i) {
    words.push_back(absl::StrCat(counts[i].second, " ", counts[i].first));
  }
  if (counts.size() > kProgramsShown) words.push_back("others");
  return absl::StrCat("  ", all.size(), " processes: ", absl::StrJoin(words, ", "), "\n");
}

std::string RenderHeader(const profile::Profile& profile, const ExperimentTable& table,
                         const Analysis& analysis, const ReadStats& stats,
                         const TextOptions& options) {
  std::string text = absl::StrCat("Causal profile of ", TargetTitle(profile), "\n");
  constexpr int kSessionsShown = 3;
  const SessionEnds ends(profile);
  for (int i = 0; i < std::min(profile.session_size(), kSessionsShown); ++i) {
    absl::StrAppend(&text, SessionLine(profile, profile.session(i), ends.Of(profile.session(i))));
    if (!options.verbose || profile.session(i).machine().cpu_count() == 0) continue;
    absl::StrAppend(&text, "    to make it again: ", Printable(RepeatCommand(profile.session(i))),
                    "\n");
  }
  if (profile.session_size() > kSessionsShown) {
    absl::StrAppend(
        &text, "  and ", profile.session_size() - kSessionsShown,
        profile.session_size() - kSessionsShown == 1 ? " more session\n" : " more sessions\n");
  }
  absl::StrAppend(&text, CalibrationLine(profile), ProcessesLine(profile));
  uint64_t in_scope = 0;
  for (const UnitRow& unit : table.units) in_scope += unit.samples;
  absl::StrAppend(&text, "  ", Duration(table.run_time_ns), ", ",
                  Counted(static_cast<uint64_t>(analysis.experiments), "experiment"), " (",
                  analysis.baselines, " at 0 %); ", Counted(table.samples, "sample"), ", ",
                  Percent(in_scope, table.samples), " in scope, ", OfOtherThreads(table),
                  table.lost_samples, " lost\n");
  return absl::StrCat(text, RenderNotes(profile, table, analysis, stats));
}

std::string RenderNotes(const profile::Profile& profile, const ExperimentTable& table,
                        const Analysis& analysis, const ReadStats& stats) {
  std::string text;
  std::set<std::string> given;
  for (const profile::Session& session : profile.session()) given.insert(session.options().given());
  given.erase("");
  for (const std::string& what : given) {
    const size_t equals = what.rfind('=');
    const std::string percent(absl::StripSuffix(what.substr(equals + 1), "%"));
    absl::StrAppend(&text, "  given: all figures are for a program in which ",
                    Printable(what.substr(0, equals)), " is ", Printable(percent),
                    " % faster already\n");
  }
  std::set<std::string> threads;
  for (const profile::Session& session : profile.session()) {
    threads.insert(absl::StrJoin(session.options().thread(), ", "));
  }
  threads.erase("");
  for (const std::string& patterns : threads) {
    absl::StrAppend(&text, "  threads: only what threads named ", Printable(patterns),
                    " do is sped up; samples of others count for nothing\n");
  }
  absl::StrAppend(&text, ThreadGroupsLine(table));
  for (const std::string& note : ReportNotes(profile, table, analysis, stats)) {
    absl::StrAppend(&text, "  note: ", note, "\n");
  }
  return text;
}

}  // namespace coz::report
