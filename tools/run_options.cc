#include "tools/run_options.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cmath>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "coz/base/unique_fd.h"
#include "coz/supervisor/run/until_goal.h"
#include "tools/command_line.h"
#include "tools/output_file.h"
#include "tools/seconds.h"

namespace coz {
namespace {

// Of what is too long to end, 292 years.
uint64_t ToNs(double value, double unit_ns) {
  constexpr double kMost = 9.2e18;
  return static_cast<uint64_t>(std::llround(std::min(value * unit_ns, kMost)));
}

absl::Status CompleteUntil(const std::string& text, int repeat, supervisor::RunOptions* run) {
  if (text.empty()) return absl::OkStatus();
  if (run->end_to_end && run->attach_pid != 0) {
    return absl::InvalidArgumentError(
        "--until cannot be reached with --end-to-end, which makes one experiment for the whole "
        "profile; drop one of the two");
  }
  if (run->end_to_end && repeat == 1) {
    return absl::InvalidArgumentError(
        "--until cannot be reached with --end-to-end, which makes one experiment for the whole "
        "run; add --repeat=200, say, to run the program so many times at most");
  }
  const absl::StatusOr<double> width = supervisor::ParseWidth(text);
  if (!width.ok()) return width.status();
  run->until_width = *width;
  return absl::OkStatus();
}

// A link would be followed among the mounts of coz where one asks what a process sees by it
// (/proc/PID/root).
std::string WithoutLinks(const std::string& path) {
  const UniqueFd file(open(path.c_str(), O_PATH | O_CLOEXEC));
  std::string real(PATH_MAX, '\0');
  const ssize_t bytes =
      readlink(absl::StrCat("/proc/self/fd/", file.get()).c_str(), real.data(), real.size());
  return bytes <= 0 ? path : real.substr(0, static_cast<size_t>(bytes));
}

bool WasGiven(const CLI::App& command, const std::string& option) {
  return command.get_option_no_throw(option) != nullptr && command.count(option) != 0;
}

}  // namespace

absl::Status CompleteRunArguments(const CLI::App& command, RunArguments* arguments) {
  supervisor::RunOptions& run = arguments->run;
  absl::StatusOr<std::string> library =
      FindProductFile("coz/runtime/libcoz.so", "lib/coz/libcoz.so");
  if (!library.ok()) return library.status();
  run.runtime_library = WithoutLinks(*library);
  if (command.count("--seed") != 0) run.seed = arguments->seed;
  if (arguments->experiment_s > 0) run.min_experiment_ns = ToNs(arguments->experiment_s, 1e9);
  run.duration_ns = ToNs(arguments->duration_s, 1e9);
  if (absl::Status status = CompleteUntil(arguments->until, arguments->repeat, &run);
      !status.ok()) {
    return status;
  }
  if (arguments->sampling_period_ms > 0) {
    run.sampling_period_ns = ToNs(arguments->sampling_period_ms, 1e6);
  }
  run.points.source = arguments->point_source == "breakpoint" ? supervisor::VisitSource::kBreakpoint
                      : arguments->point_source == "uprobe"   ? supervisor::VisitSource::kProbe
                                                              : supervisor::VisitSource::kBest;
  sampler::ParseSamplingSource(arguments->sampler.c_str(), &run.sampling_source);
  run.unwinder = arguments->unwinder == "eh-frame" ? 1 : arguments->unwinder == "libunwind" ? 2 : 0;
  run.follow = arguments->follow == "all"    ? shared::Follow::kAll
               : arguments->follow == "exec" ? shared::Follow::kFirst
                                             : shared::Follow::kOne;
  run.is_launcher = WasGiven(command, "--follow") && arguments->follow != "none";
  if (run.until_last && run.follow != shared::Follow::kAll) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "--daemon waits for processes that --follow=%s leaves alone; drop one of the two",
        arguments->follow));
  }
  if (run.output == "-") {
    return absl::InvalidArgumentError(
        "-o -: the profile of a run cannot go to standard output, which the program writes to; "
        "name a file with -o FILE");
  }
  absl::StatusOr<std::string> output = ExpandOutputName(run.output);
  if (!output.ok()) return output.status();
  run.output = *output;
  return CompleteUnits(arguments->units, &run);
}

bool WasInterrupted(const supervisor::RunResult& result) {
  const auto& ends = result.profile.session_end();
  return !ends.empty() && ends.rbegin()->reason() == profile::END_REASON_INTERRUPTED;
}

void AddPointOptions(CLI::App* command, RunArguments* a) {
  command->option_defaults()->group("What to measure");
  command
      ->add_option("--progress", a->run.points.progress,
                   "count visits to a line, calls of a function (name, glob or linkage name; "
                   "'libx.so*!name' of a library), or visits to a probe in the source "
                   "(usdt:PROVIDER:NAME)")
      ->allow_extra_args(false)
      ->type_name("PLACE");
  command
      ->add_option("--progress-sampled", a->run.points.sampled,
                   "count samples in a line instead of visits")
      ->allow_extra_args(false)
      ->type_name("FILE:LINE");
  command
      ->add_option(
          "--latency", a->run.points.latency,
          "measure the time between two places, each as for --progress, or mark:NAME for a "
          "COZ_PROGRESS_NAMED of the source; or, for api:LIBRARY:FUNCTION, that of calls")
      ->allow_extra_args(false)
      ->type_name("BEGIN,END");
  command->add_flag(
      "--end-to-end", a->run.end_to_end,
      "one experiment for the whole run, whose time is measured besides the program's progress "
      "points, if it has any");
}

void AddScopeOptions(CLI::App* command, RunArguments* a) {
  command->option_defaults()->group("Where");
  command
      ->add_option("-b,--binary-scope", a->run.binary_scope,
                   "binaries whose lines are experimented on; * is a wildcard (default MAIN: the "
                   "program itself; JIT: functions that the program compiles while it runs)")
      ->allow_extra_args(false)
      ->type_name("PATTERN");
  command
      ->add_option("-s,--source-scope", a->run.source_scope,
                   "source files whose lines are experimented on (default: the program's own)")
      ->allow_extra_args(false)
      ->type_name("PATTERN");
  AddUnitOptions(command, &a->units);
  command
      ->add_option("--thread", a->run.threads,
                   "experiment on threads with such a name only: what if these alone were faster? "
                   "(* or % is a wildcard; docs/threads.md)")
      ->allow_extra_args(false)
      ->type_name("NAME");
  command
      ->add_option("--thread-group", a->run.thread_groups,
                   "split each unit by the threads that run it, each with experiments and a curve "
                   "of its own; repeat it for more patterns or groups (docs/threads.md)")
      ->allow_extra_args(false)
      ->type_name("NAME=PATTERN");
}

void AddCountOption(CLI::App* command, RunArguments* a) {
  command->option_defaults()->group("What to measure");
  command
      ->add_option("--count", a->run.count,
                   "count the calls of functions for each thread (as for --progress; each function "
                   "of a glob alone); they are no progress points; shown by coz threads and coz "
                   "report --threads")
      ->allow_extra_args(false)
      ->type_name("FUNCTION");
  command
      ->add_option("--api", a->run.api,
                   "count and time calls into a library by caller: LIBRARY or LIBRARY:FUNCTION, as "
                   "libz.so or 'libz.so:inf*'; shown by coz report --apis (docs/libraries.md)")
      ->allow_extra_args(false)
      ->type_name("LIBRARY");
  command
      ->add_option("--time", a->run.time,
                   "the same, and measure wall and CPU time of the calls (docs/threads.md)")
      ->allow_extra_args(false)
      ->type_name("FUNCTION");
}

void AddFollowOption(CLI::App* command, RunArguments* a) {
  command
      ->add_option(
          "--follow", a->follow,
          "all (default): profile every process that the program starts, too; exec: the first "
          "alone, and what "
          "it becomes by exec; none: the program alone. Said explicitly, the program need not have "
          "debug information itself (env, sh -c, a script), but with none")
      ->check(CLI::IsMember({"all", "exec", "none"}));
}

void AddLengthOptions(CLI::App* command, RunArguments* a) {
  command->option_defaults()->group("How long");
  command
      ->add_option("--duration", a->duration_s,
                   "end the profile after so many seconds (or 90s, 5m, 1h); the program runs on")
      ->transform(TimesWithUnits())
      ->check(NumberIn(CLI::NonNegativeNumber))
      ->type_name("SECONDS");
  command
      ->add_option(
          "--until", a->until,
          "end the profile when the top lines' 95 % intervals of program speedup are at most "
          "so many percentage points wide, 10 say (docs/running.md); the program runs on")
      ->type_name("WIDTH");
}

void AddRepeatOptions(CLI::App* command, RunArguments* a) {
  command
      ->add_option("--repeat", a->repeat,
                   "run the program so many times into one profile; with --until, at most so many")
      ->check(CLI::Range(1, 1000000))
      ->type_name("RUNS");
  command->add_flag("--daemon", a->run.until_last,
                    "profile until the last of the processes has ended, not only the first");
}

void AddOutputOptions(CLI::App* command, RunArguments* a) {
  command->option_defaults()->group("Output");
  command
      ->add_option("-o,--output", a->run.output,
                   "profile to write (default profile.pb); %p is the process id, %h the host, "
                   "%q{NAME} a variable of the environment")
      ->type_name("FILE");
  command->add_flag("--append", a->run.append,
                    "add to an existing profile instead of keeping it as FILE.1");
  command->add_flag(
      "--live", a->run.live,
      "show a ranked table while the program runs, on the terminal's lower two thirds");
  command->add_flag("-v,--verbose", a->run.verbose, "say what each experiment did");
}

void AddExperimentOptions(CLI::App* command, RunArguments* a) {
  command->option_defaults()->group("Expert");
  AddExpertUnitOptions(command, &a->units);
  command
      ->add_option("--seed", a->seed, "seed of the choice of lines and speedups (default: random)")
      ->check(WholeNumber());
  command->add_option("--experiment-length", a->experiment_s, "shortest experiment (default 0.5)")
      ->transform(TimesWithUnits())
      ->check(NumberIn(CLI::Range(0.05, 600.0)))
      ->type_name("SECONDS");
  command
      ->add_option("--progress-source", a->point_source,
                   "how places are counted (default auto: by changed code; where code may not be "
                   "changed, by hardware breakpoints, or probes where there are more than four and "
                   "it is permitted)")
      ->check(CLI::IsMember({"auto", "breakpoint", "uprobe"}));
  command->add_flag("--awake", a->run.awake,
                    "keep idle CPUs from halting meanwhile (needs root): on a busy host, waking a "
                    "virtual machine's CPU takes long, and not always as long");
}

void AddSamplingOptions(CLI::App* command, RunArguments* a) {
  command
      ->add_option(
          "--sampling-period", a->sampling_period_ms,
          "CPU time between samples of a thread (default: from 0.85 to 1, another for each "
          "seed)")
      ->check(NumberIn(CLI::Range(0.1, 1000.0)))
      ->type_name("MS");
  command
      ->add_option("--unwinder", a->unwinder,
                   "how callers of library code are found (default auto)")
      ->check(CLI::IsMember({"auto", "eh-frame", "libunwind"}));
  command->add_flag("--exclude-kernel", a->run.exclude_kernel, "do not sample time in the kernel");
}

void AddAttachSamplerOption(CLI::App* command, RunArguments* a) {
  command
      ->add_option("--sampler", a->sampler,
                   "sampling source (default auto: perf events of threads; where these are not to "
                   "be had or cost too much, cpu-clock or cpu-timer, as coz then says)")
      ->check(CLI::IsMember({"auto", "perf-sigtrap", "cpu-clock", "cpu-timer"}));
}

void AddSamplerOption(CLI::App* command, RunArguments* a) {
  command
      ->add_option(
          "--sampler", a->sampler,
          "sampling source (default auto: the best that works; where perf events of threads cost "
          "too much, cpu-clock or cpu-timer, as coz then says)")
      ->check(CLI::IsMember({"auto", "perf-sigtrap", "perf-setsig", "cpu-clock", "cpu-timer"}));
}

}  // namespace coz
