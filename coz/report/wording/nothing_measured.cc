#include "coz/report/wording/nothing_measured.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "coz/report/analysis/analysis.h"
#include "coz/report/analysis/experiment_table.h"
#include "coz/report/analysis/programs_run.h"
#include "coz/report/analysis/session_facts.h"
#include "coz/report/wording/repeat_command.h"
#include "coz/report/wording/text_layout.h"

namespace coz::report {
namespace {

// Shorter experiments are not advised: most of their time goes into what is around them.
constexpr uint64_t kShortNs = 100'000'000;

std::optional<MissingPart> FindMissing(const profile::Profile& profile,
                                       const ExperimentTable& table, const Analysis& analysis) {
  const bool visited = std::any_of(table.points.begin(), table.points.end(),
                                   [](const PointRow& point) { return point.visits > 0; });
  if (visited && analysis.experiments > 0) return std::nullopt;
  if (FailedEarly(profile)) return MissingPart::kSuccess;
  const bool end_to_end =
      profile.session_size() > 0 &&
      std::all_of(profile.session().begin(), profile.session().end(),
                  [](const profile::Session& s) { return s.options().end_to_end(); });
  // Every program passes its end, but only an experiment counts that as a visit.
  if (!end_to_end && table.points.empty()) return MissingPart::kPoint;
  if (!end_to_end && !visited) return MissingPart::kVisit;
  if (table.samples == 0) return MissingPart::kSample;
  if (table.units.empty()) return MissingPart::kSampleInScope;
  return end_to_end ? MissingPart::kChoice : MissingPart::kExperiment;
}

// An experiment is made longer, over and over, until there are enough visits.
std::string WhatAnExperimentTakes(const NothingContext& context) {
  return context.has_short_experiments ? "an experiment goes on until a point has ten visits"
                                       : "an experiment takes a tenth of a second or more";
}

std::string OtherThanMoreTime(const NothingContext& context) {
  return context.has_short_experiments ? "name a point that is visited more often, with --progress"
                                       : "try --experiment-length=0.1";
}

// Units were waits, so CPU time gives no sample.
NothingMeasured ExplainNoWait(const NothingContext& context) {
  return {absl::StrCat("no wait for what is outside the ",
                       context.is_attached ? "process" : "program", " was seen"),
          absl::StrCat("it computes, or its threads wait for each other; measure its code with: `",
                       context.by_line, "`")};
}

// Of a process that was attached to. It is not to be started anew, nor built otherwise first.
NothingMeasured ExplainRunning(MissingPart missing, const NothingContext& context) {
  const auto typed = [](const std::string& command) { return absl::StrCat(": `", command, "`"); };
  const NextCommands& next = context.next;
  switch (missing) {
    case MissingPart::kPoint:
      return {
          "no progress point was seen",
          absl::StrCat("name a function that is called once for each unit of work (`", next.listing,
                       "` lists some), with --progress=FUNCTION", typed(next.counting))};
    case MissingPart::kVisit:
      return {"no progress point was visited",
              absl::StrCat("the process has ", Printable(absl::StrJoin(context.points, ", ")),
                           "; give it work that reaches one, or name another with "
                           "--progress=FUNCTION",
                           typed(next.counting))};
    case MissingPart::kSample:
      return {
          "no sample was taken",
          absl::StrCat("the process hardly used the CPU in that time; give it work meanwhile, or "
                       "more time, with --duration",
                       typed(next.longer))};
    case MissingPart::kSampleInScope:
      return {"no sample fell on a line in scope",
              absl::StrCat("take all code into scope, by units that need no debug information",
                           typed(next.widened))};
    case MissingPart::kChoice:
      return {"the profile ended before its line was chosen by samples of 0.1 s",
              absl::StrCat("name a line with --fixed-line=FILE:LINE, or let it take longer, with "
                           "--duration",
                           typed(next.longer))};
    default:
      break;
  }
  return {"no experiment was finished",
          absl::StrCat(WhatAnExperimentTakes(context), "; ", OtherThanMoreTime(context),
                       ", or let it take 20 s or more, with --duration", typed(next.longer))};
}

NothingMeasured ExplainAttached(MissingPart missing, const NothingContext& context) {
  NothingMeasured nothing = ExplainRunning(missing, context);
  if (context.has_ended) {
    nothing.remedy = absl::StrCat("the process has ended, so start another, whose number is PID; ",
                                  nothing.remedy);
  }
  return nothing;
}

// " that is called for each unit of work ...". `coz points` looks at the started program.
std::string PlaceOfWork(const NothingContext& context) {
  constexpr absl::string_view kOnce =
      " that is called for each unit of work (a request, a block), with --progress=FUNCTION";
  const ProgramsRun& programs = context.programs;
  if (programs.worker.empty()) {
    return absl::StrCat(kOnce, " (`coz points --- ", context.command, "` lists some)");
  }
  return absl::StrCat(" of ", Printable(programs.worker), ", which ", Printable(programs.started),
                      " ran,", kOnce);
}

NothingMeasured ExplainUnscoped(const NothingContext& context) {
  constexpr char kWhat[] = "no sample fell on a line in scope";
  if (!context.by_library.empty()) {
    return {"no sample fell on a function in scope, as its code hardly ran or has no symbols",
            absl::StrCat("install its debug symbols, or measure it as a whole: `",
                         context.by_library, "`")};
  }
  if (context.programs.worker.empty()) {
    return {kWhat, absl::StrCat("build with -g, or widen the scope: `", context.next.widened, "`")};
  }
  return {kWhat, absl::StrCat("the program that ", Printable(context.programs.started), " ran is ",
                              Printable(context.programs.worker), "; take it in with `",
                              context.next.widened, "`")};
}

NothingMeasured ExplainUnit(const NothingContext& context) {
  const std::string& worker = context.programs.worker;
  return {absl::StrCat("no binary in scope that was loaded has code of ", Printable(context.unit)),
          worker.empty() ? "name another, or widen --binary-scope and --source-scope"
                         : absl::StrCat("name another, or take in ", Printable(worker), ", which ",
                                        Printable(context.programs.started), " ran: `",
                                        context.next.again, "`")};
}

NothingMeasured ExplainRun(MissingPart missing, const NothingContext& context) {
  const std::string run = absl::StrCat("`", context.next.again, "`");
  switch (missing) {
    case MissingPart::kSuccess:
      return {context.failure, absl::StrCat("try it without coz: `", context.command, "`")};
    case MissingPart::kRuntime:
      return {"the program did not join the profile",
              "unless it says why above, it did not load the preload library: is it setuid, or "
              "does something clear LD_PRELOAD before it starts? Look with `LD_DEBUG=files "
              "PROGRAM`"};
    case MissingPart::kTable:
      return {absl::StrCat("the program knows no line of ", Printable(context.binary), ", for ",
                           context.why_no_table),
              absl::StrCat("free some memory, or narrow the scope with --binary-scope, and run ",
                           run, " again")};
    case MissingPart::kUnit:
      return ExplainUnit(context);
    case MissingPart::kPoint:
      return {"no progress point was seen",
              absl::StrCat("name a function", PlaceOfWork(context),
                           "; or put COZ_PROGRESS of coz.h there, built with -g",
                           context.programs.worker.empty() ? "" : absl::StrCat(", and run ", run),
                           "; or measure the whole run, with --end-to-end")};
    case MissingPart::kVisit:
      return {"no progress point was visited",
              absl::StrCat("the program has ", Printable(absl::StrJoin(context.points, ", ")),
                           "; give it work that reaches one, or put COZ_PROGRESS where it does its "
                           "work, and run ",
                           run, " again")};
    case MissingPart::kSample:
      return {
          "no sample was taken",
          absl::StrCat("the program hardly used the CPU, or ended too soon; let it run for some "
                       "seconds with real work: ",
                       run)};
    case MissingPart::kSampleInScope:
      return ExplainUnscoped(context);
    case MissingPart::kChoice:
      return {"the run ended before its line was chosen by the samples of its first 0.1 s",
              "run it again and again with --repeat=40, or name a line with "
              "--fixed-line=FILE:LINE"};
    case MissingPart::kExperiment:
      break;
  }
  return {"no experiment was finished",
          absl::StrCat(WhatAnExperimentTakes(context), "; let the program run for 20 s or more: ",
                       run, ", or ", OtherThanMoreTime(context))};
}

// "mpirun ended with exit status 1 after 0.12 s, before coz could profile what it started". It may
// have started programs that the runtime cannot be loaded into.
std::string FailureOf(const profile::Profile& profile, const ProgramsRun& programs) {
  if (profile.session_size() == 0) return "";
  const profile::Session& session = *profile.session().rbegin();
  const profile::SessionEnd* const end = SessionEnds(profile).Of(session);
  if (end == nullptr) return "";
  const double seconds = static_cast<double>(end->run_time_ns()) / 1e9;
  return absl::StrFormat("%s %s %d after %.*f s%s", Printable(programs.started),
                         end->exit_signal() != 0 ? "was ended by signal" : "ended with exit status",
                         end->exit_signal() != 0 ? end->exit_signal() : end->exit_status(),
                         seconds < 1 ? 2 : 1, seconds,
                         IsLauncher(session) && !programs.others_ran
                             ? ", before coz could profile what it started"
                             : "");
}

bool HasEnded(const profile::Profile& profile, const profile::Session& session) {
  const profile::SessionEnd* const end = SessionEnds(profile).Of(session);
  return end != nullptr && end->reason() == profile::END_REASON_TARGET_EXITED;
}

// Whether functions of binaries that were named are the units.
bool AreFunctionsOfNamed(const profile::Options& options) {
  const auto& scope = options.binary_scope();
  return options.unit_kind() == profile::UNIT_KIND_FUNCTION && !scope.empty() &&
         std::none_of(scope.begin(), scope.end(), [](const std::string& pattern) {
           return pattern == "MAIN" || pattern == "%" || pattern == "*";
         });
}

}  // namespace

NothingContext ContextOf(const profile::Profile& profile) {
  NothingContext context;
  context.command = TargetCommand(profile);
  context.programs = FindProgramsRun(profile);
  context.failure = FailureOf(profile, context.programs);
  const profile::Session session =
      profile.session_size() == 0 ? profile::Session() : *profile.session().rbegin();
  context.is_attached = session.options().attached_pid() != 0;
  const uint64_t experiment_ns = session.options().min_experiment_ns();
  context.has_short_experiments = experiment_ns != 0 && experiment_ns <= kShortNs;
  if (context.is_attached) context.programs.worker.clear();  // coz has started none
  context.has_ended = HasEnded(profile, session);
  context.next = NextCommandsOf(session, context.programs.worker, context.has_ended);
  if (session.options().unit_kind() == profile::UNIT_KIND_WAIT) {
    profile::Session by_line = session;
    by_line.mutable_options()->set_unit_kind(profile::UNIT_KIND_LINE);
    context.by_line = NextCommandsOf(by_line, context.programs.worker, context.has_ended).again;
  }
  if (context.programs.worker.empty() && AreFunctionsOfNamed(session.options())) {
    context.by_library = CommandByUnit(profile::UNIT_KIND_LIBRARY, profile);
  }
  return context;
}

NothingMeasured Explain(MissingPart missing, const NothingContext& context) {
  if (missing == MissingPart::kSample && !context.by_line.empty()) return ExplainNoWait(context);
  const bool is_same_for_both = missing == MissingPart::kUnit || missing == MissingPart::kRuntime ||
                                missing == MissingPart::kTable;
  return !context.is_attached || is_same_for_both ? ExplainRun(missing, context)
                                                  : ExplainAttached(missing, context);
}

std::optional<NothingMeasured> FindNothingMeasured(const profile::Profile& profile,
                                                   const ExperimentTable& table,
                                                   const Analysis& analysis) {
  const std::optional<MissingPart> missing = FindMissing(profile, table, analysis);
  if (!missing.has_value()) return std::nullopt;
  NothingContext context = ContextOf(profile);
  for (const PointRow& point : table.points) context.points.push_back(point.name);
  return Explain(*missing, context);
}

std::string OneSentence(const NothingMeasured& nothing) {
  return absl::StrCat("nothing was measured: ", nothing.what, "; ", nothing.remedy);
}

}  // namespace coz::report
