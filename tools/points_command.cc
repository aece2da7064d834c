#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>

#include "CLI/App.hpp"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "coz/report/analysis/session_facts.h"
#include "coz/report/wording/text_layout.h"
#include "coz/supervisor/points/find_points.h"
#include "tools/command_line.h"
#include "tools/documentation/command_tree.h"
#include "tools/process_entry.h"
#include "tools/seconds.h"
#include "tools/session_points.h"

namespace coz {
namespace {

struct PointsArguments {
  supervisor::FindPointsOptions find;
  double duration_s = 10;
  size_t shown = 10;
  std::string source = "auto";
  SessionPointsArguments session;
};

std::string LeftOut(const supervisor::FoundPoints& found) {
  std::vector<std::string> reasons;
  if (found.too_rare != 0) {
    reasons.push_back(absl::StrFormat("%d called fewer than %g times a second", found.too_rare,
                                      points::kMinVisitsPerSecond));
  }
  if (found.unsteady != 0) {
    reasons.push_back(absl::StrFormat("%d called at no steady rate", found.unsteady));
  }
  if (found.uncounted != 0) {
    reasons.push_back(absl::StrFormat(
        "%d not counted, as %s", found.uncounted,
        found.why_uncounted.empty() ? "their code allows no jump" : found.why_uncounted));
  }
  if (found.beyond != 0) {
    reasons.push_back(absl::StrFormat("%d not counted, as so many others were", found.beyond));
  }
  return absl::StrJoin(reasons, ", ");
}

std::string Rate(const points::PointRating& rating) {
  return absl::StrFormat("%.*f", rating.visits_per_s < 100 ? 1 : 0, rating.visits_per_s);
}

std::string Percent(double share) { return absl::StrFormat("%.0f %%", 100 * share); }

size_t Rows(const std::vector<supervisor::FoundPoint>& points, size_t shown) {
  return shown == 0 ? points.size() : std::min(shown, points.size());
}

// The command that takes the options.
std::string CommandFor(const PointsArguments& arguments) {
  return arguments.find.attach_pid == 0 ? "coz run" : "coz attach";
}

void PrintCountable(const supervisor::FoundPoints& found, double elapsed_s,
                    const PointsArguments& arguments) {
  const size_t shown = arguments.shown;
  Say(absl::StrFormat("functions called at a steady rate in %.1f s, best first\n", elapsed_s));
  report::TextTable table({report::Align::kRight, report::Align::kRight, report::Align::kRight,
                           report::Align::kLeft, report::Align::kLeft});
  table.AddRow(
      {"calls/s", "varies", "samples", absl::StrCat("for ", CommandFor(arguments)), "where"});
  for (size_t i = 0; i < Rows(found.points, shown); ++i) {
    const supervisor::FoundPoint& point = found.points[i];
    table.AddRow({Rate(point.rating), Percent(point.rating.variation), Percent(point.sample_share),
                  absl::StrCat("--progress ", report::Quoted(point.name)), point.where});
  }
  absl::FPrintF(stderr, "%s\n", table.Render(2));
}

// They may well be the unit of work.
void PrintFrequent(const supervisor::FoundPoints& found, const PointsArguments& arguments) {
  const size_t shown = arguments.shown;
  const bool is_attached = arguments.find.attach_pid != 0;
  absl::FPrintF(stderr,
                "coz: called steadily, too, but so often that %s `%s` %s by `slowed` (put "
                "COZ_PROGRESS where that is too much), best first\n\n",
                is_attached ? "counting in" : "breakpoints only give estimates;",
                CommandFor(arguments),
                is_attached ? "slows the program" : "changes their code and slows the program");
  report::TextTable table({report::Align::kRight, report::Align::kRight, report::Align::kRight,
                           report::Align::kRight, report::Align::kLeft, report::Align::kLeft});
  table.AddRow({"calls/s", "varies", "samples", "slowed",
                absl::StrCat("for ", CommandFor(arguments)), "where"});
  for (size_t i = 0; i < Rows(found.frequent, shown); ++i) {
    const supervisor::FoundPoint& point = found.frequent[i];
    const double slowed = points::CountingShare(point.rating.visits_per_s, point.run_cost_ns);
    // Changed code counts exactly.
    const char* const known = is_attached ? "" : point.is_least ? ">" : "~";
    table.AddRow({absl::StrCat(known, Rate(point.rating)), Percent(point.rating.variation),
                  Percent(point.sample_share), Percent(slowed),
                  slowed <= points::kMaxCountingShare
                      ? absl::StrCat("--progress ", report::Quoted(point.name))
                      : absl::StrCat("COZ_PROGRESS in ", point.name),
                  point.where});
  }
  absl::FPrintF(stderr, "%s\n", table.Render(2));
}

// How often they are passed is not counted.
void PrintProbes(const std::vector<std::string>& probes, size_t shown) {
  if (probes.empty()) return;
  const size_t rows = shown == 0 ? probes.size() : std::min(shown, probes.size());
  std::vector<std::string> options;
  for (size_t i = 0; i < rows; ++i) {
    options.push_back(absl::StrCat("--progress ", report::Quoted(probes[i])));
  }
  Say(absl::StrFormat("the program's source has %s, which do as points, too%s\n\n  %s\n",
                      Counted(probes.size(), "probe"), rows < probes.size() ? " (all: -n 0)" : "",
                      absl::StrJoin(options, "\n  ")));
}

void PrintFound(const supervisor::FoundPoints& found, const supervisor::FindPointsOutcome& outcome,
                const PointsArguments& arguments) {
  const double elapsed_s = static_cast<double>(outcome.elapsed_ns) / 1e9;
  const std::string left_out = LeftOut(found);
  PrintProbes(found.probes, arguments.shown);
  if (found.points.empty() && found.frequent.empty()) {
    const bool is_attached = arguments.find.attach_pid != 0;
    Say(absl::StrFormat(
        "in %.1f s no function that was looked at was called at a steady rate of %g or more times "
        "a second (%s; %s); %s, %sname a line with `%s --progress=FILE:LINE`%s",
        elapsed_s, points::kMinVisitsPerSecond, Counted(found.samples, "sample"),
        left_out.empty() ? "none was in a function of the program itself"
                         : absl::StrCat("functions: ", left_out),
        outcome.children != 0  ? absl::StrFormat("look at its %s of the same program too, with "
                                                  "--tree",
                                                outcome.children == 1 ? "child" : "children")
        : outcome.program_runs ? "give it longer with --duration"
                               : "give it more to do",
        is_attached ? "or " : "", CommandFor(arguments),
        is_attached ? "" : ", or measure the whole with `coz run --end-to-end`"));
    return;
  }
  if (!found.points.empty()) PrintCountable(found, elapsed_s, arguments);
  if (!found.frequent.empty()) PrintFrequent(found, arguments);
  if (!left_out.empty()) Say(absl::StrCat("left out: ", left_out));
}

void PrintOutcome(const supervisor::FindPointsOutcome& outcome, const PointsArguments& arguments) {
  if (!outcome.found.ok()) {
    Report(outcome.found.status());
  } else {
    PrintFound(*outcome.found, outcome, arguments);
  }
  if (!outcome.program_runs) return;
  if (arguments.find.attach_pid != 0) {
    Say(absl::StrFormat("process %d runs on as before", arguments.find.attach_pid));
    return;
  }
  Say(arguments.find.stop ? "ending the program" : "the program runs on; Ctrl-C ends it");
}

bool IsOfSession(const PointsArguments& arguments) { return arguments.session.session != 0; }

// Nothing that makes no sense together.
absl::Status CheckArguments(const PointsArguments& arguments) {
  const bool changes =
      arguments.session.list || !arguments.session.add.empty() || !arguments.session.remove.empty();
  if (changes && !IsOfSession(arguments)) {
    return absl::InvalidArgumentError(
        "--add, --remove and --list are for a session that runs; write: coz points --session PID");
  }
  const supervisor::FindPointsOptions& find = arguments.find;
  if (find.attach_pid == 0 && find.attach_tree) {
    return absl::InvalidArgumentError(
        "--tree is for a process that runs already; write: coz points --pid=PID --tree");
  }
  if (find.attach_pid != 0 && (!find.command.empty() || IsOfSession(arguments))) {
    return absl::InvalidArgumentError(
        absl::StrFormat("--pid names a process that runs already; leave %s out",
                        IsOfSession(arguments) ? "--session" : "the program"));
  }
  if (find.attach_pid != 0 && (find.stop || arguments.source != "auto")) {
    return absl::InvalidArgumentError(
        find.stop ? "a process that was there before is left running; leave --stop out"
                  : "of a process that runs already calls are counted by changed code alone; leave "
                    "--progress-source out");
  }
  if (IsOfSession(arguments) && !arguments.find.command.empty()) {
    return absl::InvalidArgumentError(
        "--session is for a program that runs already; leave the program out");
  }
  return absl::OkStatus();
}

absl::Status GoToProcess(supervisor::FindPointsOptions* find) {
  const pid_t pid = find->attach_pid;
  if (pid == 0 || !IsElsewhere(pid, find->runtime_library)) return absl::OkStatus();
  const absl::StatusOr<pid_t> inside = GoWhereProcessIs(
      pid,
      absl::StrFormat("coz: the container of process %d has ended, and with it what coz did there",
                      pid),
      &find->runtime_library);
  if (inside.ok()) find->attach_pid = *inside;
  return inside.status();
}

void Execute(PointsArguments* arguments, int* exit_status) {
  if (absl::Status status = CheckArguments(*arguments); !status.ok()) {
    *exit_status = ReportUsage(status);
    return;
  }
  if (IsOfSession(*arguments)) {
    *exit_status = ChangeSessionPoints(arguments->session);
    return;
  }
  if (arguments->find.command.empty() && arguments->find.attach_pid == 0) {
    *exit_status = ReportUsage(absl::InvalidArgumentError(
        "no program was named; write: coz points --- PROGRAM ARGUMENTS, or of a process that runs "
        "already: coz points --pid=PID"));
    return;
  }
  arguments->find.duration_ns = static_cast<uint64_t>(std::llround(arguments->duration_s * 1e9));
  arguments->find.changes_code = arguments->source == "auto";
  const absl::StatusOr<std::string> library =
      FindProductFile("coz/runtime/libcoz.so", "lib/coz/libcoz.so");
  if (!library.ok()) {
    *exit_status = Report(library.status());
    return;
  }
  arguments->find.runtime_library = *library;
  arguments->find.say = [](const std::string& text) { Say(text); };
  if (absl::Status status = GoToProcess(&arguments->find); !status.ok()) {
    *exit_status = Report(status);
    return;
  }
  bool was_stopped = false;
  const absl::StatusOr<supervisor::ExitState> exit =
      supervisor::FindPoints(arguments->find, [&](const supervisor::FindPointsOutcome& outcome) {
        PrintOutcome(outcome, *arguments);
        fflush(stderr);
        was_stopped = arguments->find.stop && outcome.program_runs;
        if (!outcome.found.ok()) *exit_status = kFailure;
      });
  if (!exit.ok()) {
    *exit_status = Report(exit.status());
  } else if (!was_stopped && *exit_status == 0) {
    supervisor::ExitLike(*exit);
  }
}

}  // namespace

void AddPointsCommand(CLI::App& app, int* exit_status) {
  CLI::App* command = app.add_subcommand(
      "points",
      "run a program, or look at one that runs, and list functions that would do as progress "
      "points");
  auto arguments = std::make_shared<PointsArguments>();
  command
      ->add_option("--duration", arguments->duration_s,
                   "count calls for so long (default 10); the program then runs on to its end")
      ->transform(TimesWithUnits())
      ->check(NumberIn(CLI::Range(1.0, 86400.0)))
      ->type_name("SECONDS");
  command
      ->add_option("--pid", arguments->find.attach_pid,
                   "look at a process that runs already, and leave it as it was")
      ->check(CLI::PositiveNumber)
      ->type_name("PID");
  command->add_flag("--tree", arguments->find.attach_tree,
                    "with --pid: and at all that descend from it and run the same program, such as "
                    "the workers of a server");
  command->add_flag("--stop", arguments->find.stop,
                    "end the program after that, by SIGTERM, and by SIGKILL 5 seconds later");
  command
      ->add_option("--progress-source", arguments->source,
                   "count by changed code and breakpoints (auto, the default), or by breakpoints "
                   "alone, four functions at a time, which changes no code")
      ->check(CLI::IsMember({"auto", "breakpoint"}))
      ->type_name("SOURCE");
  command->add_option("-n,--lines", arguments->shown, "functions to list (default 10; 0 for all)")
      ->check(WholeNumber())
      ->type_name("COUNT");
  command
      ->add_option("--session", arguments->session.session,
                   "look at the points of a session that runs: of coz itself, or of its program")
      ->check(CLI::PositiveNumber)
      ->type_name("PID");
  command
      ->add_option("--add", arguments->session.add,
                   "with --session: count a place from now on, or a pair BEGIN,END (repeatable)")
      ->type_name("PLACE");
  command
      ->add_option("--remove", arguments->session.remove,
                   "with --session: count a point no more (repeatable)")
      ->type_name("PLACE");
  command->add_flag("--list", arguments->session.list, "with --session: list its points");
  command->add_option("program", arguments->find.command, "the program and its arguments")
      ->type_name("");
  SetExamples(command,
              {{"points --duration=5 --stop --- ./server", "look for five seconds"},
               {"points --pid $(pgrep -o server) --tree", "what would do in a server that runs"},
               {"points --session $(pgrep server) --add Server::Reply",
                "count a function of a program that coz profiles"}});
  command->callback([arguments, exit_status] {
    OutliveReaders();
    Execute(arguments.get(), exit_status);
  });
}

}  // namespace coz
