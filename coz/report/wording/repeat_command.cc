#include "coz/report/wording/repeat_command.h"

#include <algorithm>
#include <cstdint>
#include <iterator>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "coz/base/sampling_period.h"
#include "coz/report/analysis/session_facts.h"
#include "coz/report/format/unit_kind.h"
#include "coz/report/wording/text_layout.h"

namespace coz::report {
namespace {

constexpr uint64_t kDefaultExperimentNs = 500'000'000;

constexpr char kRunWords[] = "coz run ";
// Options of coz run that coz attach lacks, and the program.
constexpr absl::string_view kOfRunOnly[] = {"--daemon", "--follow", "--repeat", "--sampler", "---"};

// Whether the text begins with an option of coz attach.
bool HasAttachOption(absl::string_view text) {
  const auto begins = [text](absl::string_view word) { return absl::StartsWith(text, word); };
  return absl::StartsWith(text, "-") &&
         std::none_of(std::begin(kOfRunOnly), std::end(kOfRunOnly), begins);
}

using Words = std::vector<std::string>;

void AddText(absl::string_view option, absl::string_view text, Words* words) {
  if (!text.empty()) words->push_back(absl::StrCat(option, "=", Quoted(std::string(text))));
}

template <typename Texts>
void AddTexts(absl::string_view option, const Texts& texts, Words* words) {
  for (const std::string& text : texts) AddText(option, text, words);
}

void AddFlag(absl::string_view option, bool is_set, Words* words) {
  if (is_set) words->emplace_back(option);
}

// A number in another unit; 0 was not asked for.
void AddNumber(absl::string_view option, double value, Words* words) {
  if (value != 0) words->push_back(absl::StrCat(option, absl::StrFormat("=%.6g", value)));
}

double Seconds(uint64_t ns) { return static_cast<double>(ns) / 1e9; }

// Lines are the default, and groups have an option of their own.
std::string UnitKindOption(profile::UnitKind kind) {
  const bool is_said = kind != profile::UNIT_KIND_UNKNOWN && kind != profile::UNIT_KIND_LINE &&
                       kind != profile::UNIT_KIND_GROUP;
  return is_said ? UnitKindId(kind) : "";
}

void AddScopes(const profile::Options& options, Words* words) {
  const bool is_default = options.binary_scope_size() == 1 && options.binary_scope(0) == "MAIN";
  if (!is_default) AddTexts("--binary-scope", options.binary_scope(), words);
  AddTexts("--source-scope", options.source_scope(), words);
}

// What experiments are confined to.
void AddChoice(const profile::Options& options, Words* words) {
  AddScopes(options, words);
  AddTexts("--fixed-line", options.fixed_line(), words);
  if (options.fixed_virtual_speedup().empty()) return;
  const auto percent = [](std::string* out, double s) {
    absl::StrAppend(out, absl::StrFormat("%.4g", 100 * s));
  };
  words->push_back(absl::StrCat("--fixed-speedup=",
                                absl::StrJoin(options.fixed_virtual_speedup(), ",", percent)));
}

void AddSampling(const profile::Session& session, Words* words) {
  const profile::Options& options = session.options();
  if (session.sampling_period_ns() != DefaultSamplingPeriodNs(session.seed())) {
    AddNumber("--sampling-period", static_cast<double>(session.sampling_period_ns()) / 1e6, words);
  }
  if (options.min_experiment_ns() != kDefaultExperimentNs) {
    AddNumber("--experiment-length", Seconds(options.min_experiment_ns()), words);
  }
  AddText("--sampler", options.sampler(), words);
  AddText("--unwinder", options.unwinder(), words);
  AddFlag("--exclude-kernel", options.exclude_kernel(), words);
  AddFlag("--awake", options.awake(), words);
}

void AddEnds(const profile::Options& options, Words* words) {
  AddFlag("--end-to-end", options.end_to_end(), words);
  if (options.repeat() > 1) AddNumber("--repeat", options.repeat(), words);
  AddNumber("--duration", Seconds(options.duration_ns()), words);
  AddNumber("--until", 100 * options.until_width(), words);
  AddText("--follow", options.follow(), words);
  AddFlag("--daemon", options.until_last(), words);
}

bool IsAttached(const profile::Profile& profile) {
  return profile.session_size() != 0 && profile.session().rbegin()->options().attached_pid() != 0;
}

Words Command(const profile::Options& options) {
  if (options.attached_pid() == 0) return {"coz", "run"};
  Words words = {"coz", "attach"};
  AddFlag("--tree", options.attached_tree(), &words);
  return words;
}

std::string TargetOf(const profile::Session& session) {
  if (session.options().attached_pid() != 0) {
    return absl::StrCat(" ", session.options().attached_pid());
  }
  const std::string command = CommandText(session);
  return absl::StrCat(" --- ", command.empty() ? "PROGRAM ARGS" : command);
}

void AddSessionOptions(const profile::Session& session, Words* words) {
  const profile::Options& options = session.options();
  for (std::string& word : MeasuredOptions(options)) words->push_back(std::move(word));
  AddTexts("--count", options.count(), words);
  AddTexts("--time", options.time(), words);
  AddTexts("--api", options.api(), words);
  AddText("--progress-source", options.progress_source(), words);
  AddChoice(options, words);
  AddSampling(session, words);
  AddEnds(options, words);
}

// What was measured of what code, without what experiments were confined to and how long it took.
std::string UnderSameConditions(const profile::Options& options) {
  // An end-to-end run makes one experiment.
  constexpr uint32_t kRuns = 40;
  Words words = Command(options);
  for (std::string& word : MeasuredOptions(options)) words.push_back(std::move(word));
  AddText("--progress-source", options.progress_source(), &words);
  AddScopes(options, &words);
  AddText("--follow", options.follow(), &words);
  AddFlag("--end-to-end", options.end_to_end(), &words);
  const uint32_t runs = options.end_to_end() ? std::max(kRuns, options.repeat()) : options.repeat();
  if (runs > 1) AddNumber("--repeat", runs, &words);
  return absl::StrJoin(words, " ");
}

}  // namespace

std::string TargetWords(const profile::Profile& profile) {
  if (IsAttached(profile)) return TargetOf(*profile.session().rbegin());
  return absl::StrCat(" --- ", TargetCommand(profile));
}

std::string TargetCommand(const profile::Profile& profile) {
  const std::string command =
      profile.session_size() == 0 ? "" : Printable(CommandText(profile.session(0)));
  return command.empty() ? "PROGRAM ARGS" : command;
}

std::string TargetTitle(const profile::Profile& profile) {
  if (profile.session_size() == 0 || profile.session(0).command_size() == 0) return "a program";
  profile::Session session = profile.session(0);
  std::string* const program = session.mutable_command(0);
  program->erase(0, program->rfind('/') + 1);
  return Printable(CommandText(session));
}

std::vector<std::string> MeasuredOptions(const profile::Options& options) {
  Words words;
  AddText("--unit", UnitKindOption(options.unit_kind()), &words);
  AddFlag("--without-inlined-copies", options.without_inlined_copies(), &words);
  if (options.callers() > 1) AddNumber("--callers", options.callers(), &words);
  AddTexts("--group", options.group(), &words);
  AddTexts("--exclude", options.exclude(), &words);
  AddText("--given", options.given(), &words);
  AddFlag("--attribution=innermost", options.innermost_only(), &words);
  AddTexts("--thread", options.thread(), &words);
  AddTexts("--thread-group", options.thread_group(), &words);
  AddTexts("--progress", options.progress(), &words);
  AddTexts("--progress-sampled", options.progress_sampled(), &words);
  AddTexts("--latency", options.latency(), &words);
  return words;
}

std::string CommandWith(absl::string_view options, const profile::Profile& profile) {
  const char* const verb = IsAttached(profile) ? "coz attach" : "coz run";
  return absl::StrCat(verb, options.empty() ? "" : " ", options, TargetWords(profile));
}

std::string WithItsCommand(const std::string& text, const profile::Profile& profile) {
  if (!IsAttached(profile)) return text;
  std::string its;
  size_t end = 0;
  for (size_t at = text.find(kRunWords); at != std::string::npos; at = text.find(kRunWords, end)) {
    absl::StrAppend(&its, text.substr(end, at - end));
    end = at + sizeof(kRunWords) - 1;
    absl::StrAppend(
        &its, HasAttachOption(absl::string_view(text).substr(end)) ? "coz attach " : kRunWords);
  }
  return absl::StrCat(its, text.substr(end));
}

std::string CommandAgain(const profile::Session& session) {
  Words words = Command(session.options());
  AddSessionOptions(session, &words);
  return Printable(absl::StrCat(absl::StrJoin(words, " "), TargetOf(session)));
}

std::string CommandToAdd(const std::string& output, uint32_t runs,
                         const profile::Session& session) {
  profile::Session more = session;
  if (runs > 0) more.mutable_options()->set_repeat(runs);
  Words words = Command(more.options());
  words.emplace_back("--append");
  if (!output.empty()) words.push_back(absl::StrCat("-o ", Quoted(output)));
  AddSessionOptions(more, &words);
  return Printable(absl::StrCat(absl::StrJoin(words, " "), TargetOf(more)));
}

std::string RepeatCommand(const profile::Session& session) {
  const profile::Options& options = session.options();
  Words words = Command(options);
  // Each run of a series has the next seed.
  words.insert(words.begin() + 2,
               absl::StrCat("--seed=", session.seed() - uint64_t{options.repetition()}));
  AddSessionOptions(session, &words);
  return absl::StrCat(absl::StrJoin(words, " "), TargetOf(session));
}

std::string FixedUnitCommand(const profile::Options& options, const std::string& unit) {
  return absl::StrCat(UnderSameConditions(options), " --fixed-line ", Quoted(unit));
}

std::string CommandByUnit(profile::UnitKind kind, const profile::Profile& profile) {
  profile::Options options =
      profile.session_size() == 0 ? profile::Options() : profile.session(0).options();
  options.set_unit_kind(kind);
  return Printable(absl::StrCat(UnderSameConditions(options), TargetWords(profile)));
}

}  // namespace coz::report
