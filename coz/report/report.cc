#include "coz/report/report.h"

#include <sys/ioctl.h>

#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "coz/base/command_name.h"
#include "coz/report/analysis/analysis.h"
#include "coz/report/analysis/analyzed_profile.h"
#include "coz/report/analysis/api_table.h"
#include "coz/report/analysis/experiment_table.h"
#include "coz/report/analysis/group_table.h"
#include "coz/report/analysis/quoted_gain.h"
#include "coz/report/analysis/thread_table.h"
#include "coz/report/condition/fail_condition.h"
#include "coz/report/json/apis_json.h"
#include "coz/report/json/groups_json.h"
#include "coz/report/json/report_json.h"
#include "coz/report/json/threads_json.h"
#include "coz/report/text/apis_text.h"
#include "coz/report/text/groups_text.h"
#include "coz/report/text/report_markdown.h"
#include "coz/report/text/report_notes.h"
#include "coz/report/text/report_text.h"
#include "coz/report/text/threads_text.h"
#include "coz/report/wording/nothing_measured.h"
#include "coz/report/wording/repeat_command.h"
#include "coz/report/wording/text_layout.h"
#include "coz/report/wording/typed_name.h"
#include "coz/report/wording/unit_names.h"
#include "nlohmann/json.hpp"

namespace coz::report {
namespace {

absl::Status Finish(std::ostream& out) {
  out.flush();
  if (out) return absl::OkStatus();
  return absl::UnavailableError(
      "cannot write the output: the disk is full or the reader has gone; write to another file "
      "with `> FILE`");
}

absl::StatusOr<std::vector<FailCondition>> ParseConditions(const ReportOptions& options) {
  std::vector<FailCondition> conditions;
  for (const std::string& text : options.fail_if) {
    absl::StatusOr<FailCondition> condition = FailCondition::Parse(text);
    if (!condition.ok()) return condition.status();
    conditions.push_back(*std::move(condition));
  }
  return conditions;
}

// ABORTED with a sentence for each that holds, whatever the others do; else the errors of those
// that fit nothing.
absl::Status JudgeConditions(const std::vector<FailCondition>& conditions,
                             const ReportOptions& options, const profile::Profile& profile,
                             const ExperimentTable& table, const Analysis& analysis) {
  const Suggest nothing = [](const std::string&, const std::vector<std::string>&) { return ""; };
  std::vector<std::string> sentences;
  std::vector<std::string> errors;
  absl::Status first_error;
  for (const FailCondition& condition : conditions) {
    const auto found =
        condition.Find(table, analysis, options.suggest != nullptr ? options.suggest : nothing);
    if (!found.ok()) {
      first_error.Update(found.status());
      errors.push_back(WithItsCommand(std::string(found.status().message()), profile));
    } else if (found->has_value()) {
      sentences.push_back(**found);
    }
  }
  const bool holds = !sentences.empty();
  sentences.insert(sentences.end(), errors.begin(), errors.end());
  const std::string text = absl::StrJoin(sentences, "; also, ");
  return holds ? absl::AbortedError(text) : absl::Status(first_error.code(), text);
}

void PrintThreads(const profile::Profile& profile, const ReportOptions& options,
                  std::ostream& out) {
  const ThreadTable table = BuildThreadTable(profile);
  if (options.format == ReportFormat::kJson) {
    out << JsonText(ThreadsJson(table), 1) << "\n";
    return;
  }
  const std::string text = WithCommandName(
      absl::StrCat("Threads of ", TargetTitle(profile), "\n", RenderThreads(table, options.text)));
  out << Fitted(text, options.text);
}

void PrintApis(const profile::Profile& profile, const ReportOptions& options, std::ostream& out) {
  const ApiTable table = BuildApiTable(profile);
  if (options.format == ReportFormat::kJson) {
    out << JsonText(ApisJson(table), 1) << "\n";
    return;
  }
  const std::string text =
      WithCommandName(absl::StrCat("Calls into libraries of ", TargetTitle(profile), "\n",
                                   RenderApis(table, profile, options.text)));
  out << Fitted(text, options.text);
}

// Takes the table's experiments.
void PrintGroups(AnalyzedProfile* whole, const ReportOptions& options, std::ostream& out) {
  const UnitNames names(whole->table);
  const GroupTable groups = BuildGroupTable(whole->profile, &whole->table, whole->analysis,
                                            *options.by, kQuotedSpeedup, options.text.max_lines);
  if (options.format == ReportFormat::kJson) {
    out << JsonText(GroupsJson(groups, whole->table), 1) << "\n";
    return;
  }
  const std::string text = WithCommandName(
      absl::StrCat("Causal profile of ", TargetTitle(whole->profile), " by ", GroupWord(groups.by),
                   "\n", RenderGroups(groups, whole->table, names, options.text)));
  out << Fitted(text, options.text);
}

// The text's options, with the file that commands add to.
TextOptions WithPath(const ReportOptions& options) {
  TextOptions text = options.text;
  const bool is_named = options.path != "-" && options.path != ReportOptions().path;
  if (is_named) text.path = options.path;
  return text;
}

}  // namespace

absl::Status CheckConditions(const ReportOptions& options) {
  return ParseConditions(options).status();
}

absl::Status RunReport(const ReportOptions& options, std::ostream& out, bool* measured) {
  absl::StatusOr<std::vector<FailCondition>> conditions = ParseConditions(options);
  if (!conditions.ok()) return conditions.status();
  const auto whole = ReadAndAnalyze(options.path, options.analysis);
  if (!whole.ok()) return whole.status();
  const auto& [profile, stats, table, analysis] = **whole;
  const bool has_figures = !FindNothingMeasured(profile, table, analysis).has_value();
  const bool needs_figures = (!options.threads && !options.apis) || !conditions->empty();
  if (measured != nullptr) *measured = has_figures || !needs_figures;
  // The report says why there are no figures, and no condition knows better.
  if (!has_figures) conditions->clear();
  if (options.threads) {
    PrintThreads(profile, options, out);
  } else if (options.apis) {
    PrintApis(profile, options, out);
  } else if (options.by.has_value()) {
    const absl::Status held = JudgeConditions(*conditions, options, profile, table, analysis);
    PrintGroups(whole->get(), options, out);
    const absl::Status status = Finish(out);
    return status.ok() ? held : status;
  } else if (options.format == ReportFormat::kJson) {
    const std::vector<std::string> notes = ReportNotes(profile, table, analysis, stats);
    out << JsonText(ReportJson(profile, table, analysis, notes), 1) << "\n";
  } else if (options.format == ReportFormat::kMarkdown) {
    out << WithCommandName(RenderMarkdown(profile, table, analysis, stats, options.text.max_lines));
  } else {
    const std::string text = WithCommandName(
        absl::StrCat(options.header ? RenderHeader(profile, table, analysis, stats, options.text)
                                    : RenderNotes(profile, table, analysis, stats),
                     RenderPoints(profile, table, analysis, WithPath(options))));
    out << Fitted(text, options.text);
  }
  absl::Status status = Finish(out);
  return status.ok() ? JudgeConditions(*conditions, options, profile, table, analysis) : status;
}

std::string Fitted(const std::string& text, const TextOptions& options) {
  return options.wrap ? Wrapped(text, options.width) : text;
}

void FitTerminal(int fd, TextOptions* text) {
  winsize size = {};
  if (ioctl(fd, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return;
  text->width = size.ws_col;
  text->wrap = true;
}

}  // namespace coz::report
