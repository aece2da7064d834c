#include "coz/supervisor/run/run_profile.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <functional>
#include <memory>
#include <utility>

#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "coz/base/inherited_filter.h"
#include "coz/base/sampling_period.h"
#include "coz/base/terminal.h"
#include "coz/experiment/seed.h"
#include "coz/points/point_spec.h"
#include "coz/supervisor/points/api_functions.h"
#include "coz/supervisor/points/counted_functions.h"
#include "coz/supervisor/points/outside_points.h"
#include "coz/supervisor/run/earlier_profiles.h"
#include "coz/supervisor/run/launcher_hint.h"
#include "coz/supervisor/run/one_run.h"
#include "coz/supervisor/run/open_output.h"
#include "coz/supervisor/run/run_checks.h"
#include "coz/supervisor/run/session_description.h"
#include "coz/supervisor/run/thread_patterns.h"
#include "coz/supervisor/run/unit_checks.h"
#include "coz/supervisor/target/attached_process.h"
#include "coz/supervisor/target/attached_tree.h"
#include "coz/supervisor/target/awake_cpus.h"
#include "coz/supervisor/target/file_limit.h"
#include "coz/supervisor/target/shared_control.h"
#include "coz/supervisor/units/unit_index.h"

namespace coz::supervisor {
namespace {

// How far the reading of debug information is, on a terminal.
std::function<void(double)> ReadingProgress() {
  if (!CanDrawOn(STDERR_FILENO)) return nullptr;
  return [](double fraction) {
    absl::FPrintF(stderr, "\rcoz: reading debug information %3.0f %%", fraction * 100);
    if (fraction >= 1) absl::FPrintF(stderr, "\r\x1b[K");
    fflush(stderr);
  };
}

// What a filter forbids without which there is no profile.
absl::Status WhyNotUnderFilter(const RunOptions& options) {
  const FilteredCalls& calls = CallsOfInheritedFilter();
  if (!calls.needed.empty()) {
    return absl::FailedPreconditionError(absl::StrFormat(
        "a filter of system calls that coz has inherited (seccomp) would end it where it calls %s; "
        "allow that in the filter, in a unit of systemd with: SystemCallFilter=%s",
        absl::StrReplaceAll(calls.needed, {{" ", ", "}}), calls.needed));
  }
  if (options.attach_pid == 0) return absl::OkStatus();
  const bool cannot_read = (calls.deadly & CallBit(SYS_process_vm_readv)) != 0;
  if (!cannot_read && !IsFiltered(SYS_ptrace)) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrFormat(
      "cannot attach to process %d: a filter of system calls that coz has inherited (seccomp) "
      "forbids %s; run coz outside of the container or service that it is in, or start the "
      "program with: coz run --- PROGRAM",
      options.attach_pid, cannot_read ? "process_vm_readv" : "ptrace"));
}

// The control block; for a process that is attached to, in memory that it can map.
absl::StatusOr<SharedControl> MakeControl(const RunOptions& options,
                                          std::unique_ptr<AttachedTree>* attached) {
  if (options.attach_pid == 0) return SharedControl::Create();
  AttachedProcess::Options attached_options;
  attached_options.runtime_library = options.runtime_library;
  attached_options.sampling_period_ns = options.sampling_period_ns;
  attached_options.exclude_kernel = options.exclude_kernel;
  // Clocks of the CPUs come once the process has joined.
  attached_options.source = options.sampling_source == sampler::SamplingSource::kCpuClock
                                ? sampler::SamplingSource::kPerfSigtrap
                                : options.sampling_source;
  absl::StatusOr<AttachedTree> tree = AttachedTree::Prepare(options.attach_pid, attached_options);
  if (!tree.ok()) return tree.status();
  *attached = std::make_unique<AttachedTree>(*std::move(tree));
  return SharedControl::CreateIn((*attached)->TakeControl());
}

absl::StatusOr<std::unique_ptr<CountedFunctions>> PrepareCounted(const RunOptions& options,
                                                                 const std::string& program) {
  CountedFunctionOptions counted;
  counted.count = options.count;
  counted.time = options.time;
  counted.api = options.api;
  counted.points = options.points.progress;
  counted.runtime_library = options.runtime_library;
  for (const std::string& text : options.points.latency) {
    if (IsCallLatency(text)) counted.latencies.push_back(text);
    const auto pair = points::SplitPair(text);
    if (!pair.ok()) continue;
    counted.points.push_back(pair->first);
    counted.points.push_back(pair->second);
  }
  return CountedFunctions::Prepare(counted, program, options.is_launcher);
}

// Completes the options for a process that runs already.
absl::Status DescribeAttached(RunOptions* options) {
  absl::StatusOr<RunningProgram> program =
      FindRunningProgram(options->attach_pid, options->runtime_library);
  if (!program.ok()) return program.status();
  options->command = program->command;
  options->follow = options->attach_tree ? shared::Follow::kAll : shared::Follow::kOne;
  if (!options->seed) options->seed = experiment::DrawSeed();
  if (options->sampling_period_ns == 0) {
    options->sampling_period_ns = DefaultSamplingPeriodNs(*options->seed);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<RunResult> RunProfile(const RunOptions& asked, Series series) {
  RunOptions options = asked;
  if (absl::Status status = WhyNotUnderFilter(options); !status.ok()) return status;
  if (options.attach_pid != 0) {
    if (absl::Status room = MakeRoomToAttach(options.attach_pid); !room.ok()) return room;
    if (absl::Status status = DescribeAttached(&options); !status.ok()) return status;
  }
  if (options.command.empty()) {
    return absl::InvalidArgumentError("no program was named; write: coz run --- PROGRAM ARGUMENTS");
  }
  if (options.live && !CanDrawOn(STDERR_FILENO)) {
    return absl::FailedPreconditionError(absl::StrFormat(
        "--live draws on a terminal, and standard error is none%s; leave it out, and follow the "
        "profile from another terminal with: coz watch %s",
        isatty(STDERR_FILENO) == 1 ? " that knows how (TERM is dumb or not set)" : "",
        options.output));
  }
  absl::StatusOr<std::string> program = FindProgram(options.command.front());
  if (!program.ok()) return program.status();
  if (absl::Status status = CheckProgram(options, *program); !status.ok()) {
    return WithCommandForWorker(std::move(status), options, series);
  }
  if (absl::Status status = CheckThreadPatterns(options.threads); !status.ok()) return status;
  const absl::StatusOr<std::vector<ThreadGroup>> thread_groups =
      ParseThreadGroups(options.thread_groups);
  if (!thread_groups.ok()) return thread_groups.status();
  UnitIndex units{sourcemap::BinaryScope(BinaryScopeOf(options)),
                  sourcemap::SourceScope(options.source_scope), options.units};
  units.LeaveOut(options.runtime_library);
  units.SplitByThreadGroup(NamesOf(*thread_groups));
  if (absl::Status status = units.Prepare(*program, ReadingProgress(), options.is_launcher);
      !status.ok()) {
    return WithCommandForWorker(std::move(status), options, series);
  }
  if (absl::Status status = CheckScopes(options, *program, units); !status.ok()) return status;
  if (absl::Status status = CheckUnits(options, units); !status.ok()) return status;
  if (absl::Status status = CheckSampledLines(options, units); !status.ok()) return status;
  OutsidePointOptions points = options.points;
  points.runtime_library = options.runtime_library;
  absl::StatusOr<std::unique_ptr<OutsidePoints>> outside = OutsidePoints::Prepare(
      points, *program, options.is_launcher, options.follow == shared::Follow::kAll);
  if (!outside.ok()) return WithCommandForPoints(outside.status(), options, series);
  absl::StatusOr<std::unique_ptr<CountedFunctions>> counted = PrepareCounted(options, *program);
  if (!counted.ok()) return counted.status();
  absl::StatusOr<UniqueFd> awake;
  if (options.awake) awake = KeepCpusAwake(options.awake_device);
  if (options.awake && !awake.ok()) return awake.status();
  absl::StatusOr<OpenedOutput> opened = OpenOutput(options, *program, series);
  if (!opened.ok()) return opened.status();
  // Last, as a process that runs is stopped for it.
  std::unique_ptr<AttachedTree> attached;
  absl::StatusOr<SharedControl> control = MakeControl(options, &attached);
  if (!control.ok()) {
    GiveBackEarlier(options.output, opened->earlier);
    return control.status();
  }
  Run run(options, std::move(series), *std::move(control), std::move(units), *std::move(outside),
          *std::move(counted));
  const absl::Status started = attached != nullptr
                                   ? run.Join(std::move(attached), std::move(opened->writer))
                                   : run.Start(*program, std::move(opened->writer));
  if (!started.ok()) {
    GiveBackEarlier(options.output, opened->earlier);
    return started;
  }
  run.Loop();
  RunResult result = run.Finish();
  result.left = run.Leave();
  result.earlier = std::move(opened->earlier);
  return result;
}

bool SettleProfiles(const EarlierProfiles& earlier, const std::string& output,
                    bool has_experiments) {
  if (earlier.last.empty()) return false;
  if (has_experiments) {
    SettleEarlier(output);
  } else {
    GiveBackEarlier(output, earlier);
  }
  return !has_experiments;
}

}  // namespace coz::supervisor
