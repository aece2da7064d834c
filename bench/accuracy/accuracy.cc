// The accuracy study. For each program and line it compares the prediction with what really
// happens, and prints a Markdown table.
//
//   ./bazelw run //bench:accuracy -- --seconds=60 --peer=/tmp/original/usr/bin/coz
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bench/accuracy/cases.h"
#include "bench/accuracy/contention.h"
#include "bench/accuracy/prediction.h"
#include "bench/accuracy/scheduling.h"
#include "bench/accuracy/truth.h"
#include "bench/accuracy/workload.h"
#include "coz/supervisor/target/awake_cpus.h"
#include "coz/testing/quota_cgroup.h"
#include "coz/testing/run_command.h"

namespace coz::accuracy {
namespace {

// Errors above this are misses, whose cause has to be named.
constexpr double kMiss = 0.05;

struct Arguments {
  PredictionOptions prediction;
  TruthOptions truth;
  std::string peer;
  std::vector<std::string> only;
  std::vector<std::string> labels;
  std::vector<double> speedups = {0.25, 0.5, 0.75};
  // Measure the truth again while the profiler samples the program and pauses nothing. This shows
  // what sampling itself changes.
  bool also_sampled = false;
  bool also_without_controls = false;
  bool also_attached = false;  // predict again in runs that coz attaches to
  bool awake = false;
  bool crowded = false;
  bool waits = false;
  bool wide = false;
  // Programs that are drawn at random, or given by a text, instead of those that are written.
  int random = 0;
  bool processes = false;
  bool pools = false;
  int first_plan = 1;
  std::vector<std::string> plans;

  bool HasSessions() const { return prediction.seconds > prediction.session_seconds; }
  double SessionSeconds() const {
    return prediction.seconds / std::ceil(prediction.seconds / prediction.session_seconds);
  }
};

// The errors of one profiler over all cases.
struct Errors {
  std::vector<double> values;
  std::string worst;
  int without_figure = 0;

  void Add(double error, const std::string& where) {
    if (values.empty() || error > *std::max_element(values.begin(), values.end())) worst = where;
    values.push_back(error);
  }
  void Print(const char* who) const {
    if (values.empty()) {
      printf("- %s: no figure\n", who);
      return;
    }
    const double mean =
        std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
    printf(
        "- %s: mean absolute error %.1f points, worst %.1f (%s), %zu figures, %d missing, %ld over "
        "%.0f points\n",
        who, 100 * mean, 100 * *std::max_element(values.begin(), values.end()), worst.c_str(),
        values.size(), without_figure,
        std::count_if(values.begin(), values.end(), [](double e) { return e > kMiss; }),
        100 * kMiss);
  }
};

double LoadAverage() {
  double load[1] = {};
  getloadavg(load, 1);
  return load[0];
}

std::string Percent(double fraction) { return absl::StrFormat("%.1f", 100 * fraction); }

std::string Show(const std::optional<report::Estimate>& estimate) {
  if (!estimate.has_value()) return "–";
  if (!std::isfinite(estimate->low)) return Percent(estimate->value);
  return absl::StrFormat("%s [%s, %s]", Percent(estimate->value), Percent(estimate->low),
                         Percent(estimate->high));
}

std::string NameOf(const Case& one_case) {
  return one_case.plan.empty() ? one_case.name : absl::StrCat(one_case.name, " ", one_case.plan);
}

// Whether it is one of those that are asked for; none: all are.
bool IsAmong(const std::vector<std::string>& wanted, const std::string& name) {
  return wanted.empty() || std::find(wanted.begin(), wanted.end(), name) != wanted.end();
}

class Study {
 public:
  explicit Study(const Arguments& arguments) : arguments_(arguments) {}

  void Run() {
    PrintHead();
    for (const Case& one_case : Cases()) {
      for (const Line& line : one_case.lines) {
        if (IsAmong(arguments_.labels, line.label)) Measure(one_case, line);
      }
    }
    PrintTail();
  }

 private:
  std::vector<Case> Cases() const {
    std::vector<Case> cases;
    for (const std::string& plan : arguments_.plans) cases.push_back(RandomCase(plan));
    RandomKind kind;
    if (arguments_.crowded) kind.shape = RandomKind::Shape::kCrowd;
    if (arguments_.pools) kind.shape = RandomKind::Shape::kPool;
    kind.is_of_processes = arguments_.processes;
    for (int i = 0; i < arguments_.random; ++i) {
      cases.push_back(RandomCase(RandomPlan(arguments_.first_plan + i, kind)));
    }
    if (!cases.empty()) return cases;
    for (const Case& one_case : AllCases()) {
      if (Wanted(one_case)) cases.push_back(one_case);
    }
    return cases;
  }

  bool Wanted(const Case& one_case) const {
    if (one_case.is_crowded != arguments_.crowded) return false;
    if (one_case.is_wide != arguments_.wide) return false;
    if (arguments_.only.empty()) return one_case.waits == arguments_.waits;
    return IsAmong(arguments_.only, one_case.name);
  }

  void PrintHead() const {
    utsname names = {};
    uname(&names);
    const double steps_per_us = arguments_.prediction.steps_per_us;
    printf("%ld CPUs, Linux %s, load %.1f; %.0f s of profiling per line; %.1f steps per us; ",
           sysconf(_SC_NPROCESSORS_ONLN), names.release, LoadAverage(),
           arguments_.prediction.seconds, steps_per_us);
    printf("work beside work on the next CPU takes %.3f times as long as alone\n\n",
           SlowdownBesideWork(steps_per_us));
    printf(
        "Placement: each thread is pinned to a CPU of its own; %s. Figures in %%; spread is over "
        "%d rounds.\n\n",
        arguments_.awake ? "idle CPUs poll" : "idle CPUs may halt", arguments_.truth.rounds);
    if (arguments_.wide) {
      printf("The programs have %d threads.\n\n", arguments_.prediction.threads > 0
                                                      ? arguments_.prediction.threads
                                                      : workload::ThreadsWithOwnCpu());
    }
    const bool peer = !arguments_.peer.empty();
    const std::string first =
        arguments_.HasSessions()
            ? absl::StrFormat(" after %.0f s | error |", arguments_.SessionSeconds())
            : "";
    const bool sampled = arguments_.also_sampled;
    const bool attached = arguments_.also_attached;
    const bool without = arguments_.also_without_controls;
    printf("| program | line | speedup | real | spread | predicted | error |%s%s%s%s%s\n",
           first.c_str(), without ? " without controls | its error |" : "",
           attached ? " attached | its error |" : "", sampled ? " sampled | error to that |" : "",
           peer ? " peer | peer's error |" : "");
    printf("|---|---|--:|--:|--:|--:|--:|%s%s%s%s%s\n", first.empty() ? "" : "--:|--:|",
           without ? "--:|--:|" : "", attached ? "--:|--:|" : "", sampled ? "--:|--:|" : "",
           peer ? "--:|--:|" : "");
    fflush(stdout);
  }

  void Measure(const Case& one_case, const Line& line) {
    TruthRounds bare(one_case, line, arguments_.speedups, arguments_.truth);
    TruthRounds sampled(one_case, line, arguments_.speedups, arguments_.truth,
                        SamplingCommand(one_case, line, arguments_.prediction));
    const int first_half = arguments_.truth.rounds - arguments_.truth.rounds / 2;
    absl::Status status = MeasureBoth(bare, sampled, first_half);
    if (!status.ok()) return Note(one_case, line, status.ToString());
    const absl::StatusOr<Prediction> own =
        PredictWithCoz(one_case, line, arguments_.speedups, arguments_.prediction);
    if (!own.ok()) Note(one_case, line, std::string(own.status().message()));
    std::optional<absl::StatusOr<Prediction>> attached;
    if (arguments_.also_attached) {
      PredictionOptions options = arguments_.prediction;
      options.attaches = true;
      attached = PredictWithCoz(one_case, line, arguments_.speedups, options);
      if (!attached->ok()) {
        Note(one_case, line, absl::StrCat("attached: ", attached->status().message()));
      }
    }
    std::optional<absl::StatusOr<Prediction>> peer;
    if (!arguments_.peer.empty()) {
      peer = PredictWithPeer(arguments_.peer, one_case, line, arguments_.speedups,
                             arguments_.prediction);
      if (!peer->ok()) Note(one_case, line, absl::StrCat("peer: ", peer->status().message()));
    }
    status = MeasureBoth(bare, sampled, arguments_.truth.rounds - first_half);
    if (!status.ok()) return Note(one_case, line, status.ToString());
    const Truth truth = bare.Result();
    NoteDisturbance(one_case, line, truth, own);
    for (size_t i = 0; i < arguments_.speedups.size(); ++i) {
      const std::string where = absl::StrFormat("%s %s at %.0f %%", NameOf(one_case), line.label,
                                                100 * arguments_.speedups[i]);
      printf("| %s | %s | %.0f | %s | %s |", NameOf(one_case).c_str(), line.label.c_str(),
             100 * arguments_.speedups[i], Percent(truth.program_speedups[i]).c_str(),
             Percent(truth.spreads[i]).c_str());
      const double real = truth.program_speedups[i];
      PrintFigure(real, FigureOf(own, &Prediction::program_speedups, i), where, &own_errors_);
      if (arguments_.HasSessions()) {
        PrintFigure(real, FigureOf(own, &Prediction::after_first_session, i), where,
                    &first_errors_);
      }
      if (arguments_.also_without_controls) {
        PrintFigure(real, FigureOf(own, &Prediction::without_controls, i), where,
                    &without_controls_errors_);
      }
      if (attached.has_value()) {
        PrintFigure(real, FigureOf(*attached, &Prediction::program_speedups, i), where,
                    &attached_errors_);
      }
      if (arguments_.also_sampled) {
        PrintSampled(sampled.Result().program_speedups[i],
                     FigureOf(own, &Prediction::program_speedups, i), where);
      }
      if (peer.has_value()) {
        PrintFigure(real, FigureOf(*peer, &Prediction::program_speedups, i), where, &peer_errors_);
      }
      printf("\n");
    }
    fflush(stdout);
  }

  absl::Status MeasureBoth(TruthRounds& bare, TruthRounds& sampled, int rounds) const {
    for (int i = 0; i < rounds; ++i) {
      absl::Status status = bare.Measure(1);
      if (status.ok() && arguments_.also_sampled) status = sampled.Measure(1);
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  }

  using Figures = std::vector<std::optional<report::Estimate>>;
  static std::optional<report::Estimate> FigureOf(const absl::StatusOr<Prediction>& prediction,
                                                  Figures Prediction::*figures, size_t i) {
    if (!prediction.ok()) return std::nullopt;
    return ((*prediction).*figures)[i];
  }

  void PrintFigure(double real, const std::optional<report::Estimate>& estimate,
                   const std::string& where, Errors* errors) {
    if (!estimate.has_value()) {
      ++errors->without_figure;
      printf(" – | – |");
      return;
    }
    const double error = estimate->value - real;
    errors->Add(std::fabs(error), where);
    printf(" %s | %+.1f |", Show(estimate).c_str(), 100 * error);
  }

  // Prints what the sampled program gains, and how far the prediction is from that.
  void PrintSampled(double sampled, const std::optional<report::Estimate>& estimate,
                    const std::string& where) {
    if (!estimate.has_value()) {
      ++sampled_errors_.without_figure;
      printf(" %s | – |", Percent(sampled).c_str());
      return;
    }
    const double error = estimate->value - sampled;
    sampled_errors_.Add(std::fabs(error), where);
    printf(" %s | %+.1f |", Percent(sampled).c_str(), 100 * error);
  }

  void Note(const Case& one_case, const Line& line, const std::string& text) {
    notes_.push_back(absl::StrFormat("%s %s: %s", NameOf(one_case), line.label, text));
  }

  void NoteDisturbance(const Case& one_case, const Line& line, const Truth& truth,
                       const absl::StatusOr<Prediction>& own) {
    const int disturbed = truth.disturbed + (own.ok() ? own->disturbed : 0);
    const int reruns = truth.reruns + (own.ok() ? own->reruns : 0);
    if (disturbed > 0) {
      Note(one_case, line,
           absl::StrFormat("%d runs stayed disturbed by other programs after %d repetitions",
                           disturbed, reruns));
    }
    if (arguments_.also_without_controls && own.ok() && own->delay_factor.has_value()) {
      const report::DelayFactor& factor = *own->delay_factor;
      Note(one_case, line,
           absl::StrFormat("delay factor %.3f (%.3f to %.3f) by %d controls, used as %.3f",
                           factor.measured.value, factor.measured.low, factor.measured.high,
                           factor.controls, factor.used));
    }
    if (own.ok() && own->tainted > 0) {
      Note(one_case, line,
           absl::StrFormat("%d of %d experiments set aside", own->tainted, own->experiments));
    }
  }

  void PrintTail() const {
    printf("\n");
    own_errors_.Print("coz");
    if (arguments_.HasSessions()) {
      first_errors_.Print(
          absl::StrFormat("coz, the first %.0f s", arguments_.SessionSeconds()).c_str());
    }
    if (arguments_.also_without_controls) without_controls_errors_.Print("coz, without controls");
    if (arguments_.also_attached) attached_errors_.Print("coz, attached");
    if (arguments_.also_sampled) {
      sampled_errors_.Print("coz, to what the program gains while it is sampled");
    }
    if (!arguments_.peer.empty()) peer_errors_.Print("peer");
    for (const std::string& note : notes_) printf("- %s\n", note.c_str());
    printf("- load average at the end: %.1f\n", LoadAverage());
  }

  const Arguments& arguments_;
  Errors own_errors_;
  Errors first_errors_;
  Errors without_controls_errors_;
  Errors attached_errors_;
  Errors sampled_errors_;
  Errors peer_errors_;
  std::vector<std::string> notes_;
};

int Main(int argc, char** argv) {
  Arguments arguments;
  bool realtime = false;
  bool may_halt = false;
  int beside = 0;
  double beside_lifetime_s = 0;
  double quota = 0;
  CLI::App app(
      "Predicted against real speedups of programs whose lines can really be made faster.");
  app.add_option("--seconds", arguments.prediction.seconds, "of profiling per line (default 60)");
  app.add_option("--session", arguments.prediction.session_seconds,
                 "longest session of the profile (default 20)");
  app.add_option("--experiment-length", arguments.prediction.experiment_seconds,
                 "of coz run (default: its own)");
  app.add_option("--sampling-period", arguments.prediction.sampling_period_ms,
                 "of coz run, in ms (default: its own)");
  app.add_option("--sampler", arguments.prediction.sampler, "of coz run (default: its own)");
  app.add_option("--keep-profiles", arguments.prediction.profiles_folder,
                 "folder in which the profile of each line stays")
      ->check(CLI::ExistingDirectory);
  app.add_option("--seconds-truth", arguments.truth.seconds_per_run, "per run (default 1)");
  app.add_option(
      "--rounds", arguments.truth.rounds,
      "of runs for the truth, half of them before the profile and half after (default 5)");
  app.add_flag(
      "--sampled", arguments.also_sampled,
      "measure as well what the shortened program gains while coz samples it and pauses nothing");
  app.add_flag("--attach", arguments.also_attached,
               "predict again in runs that are started without coz and attached to");
  app.add_option("--peer", arguments.peer, "the original's command, to be measured beside");
  app.add_option("--only", arguments.only,
                 "programs (default all but those of --crowded, --waits and --wide)")
      ->delimiter(',');
  app.add_option("--lines", arguments.labels, "labels of lines (default all)")->delimiter(',');
  app.add_option(
      "--tolerated", arguments.truth.patience.tolerated_disturbance,
      "share of a run that threads may wait for a CPU before it is repeated (default 0.02)");
  app.add_option("--reruns", arguments.truth.patience.reruns, "of a disturbed run (default 10)");
  app.add_flag("--realtime", realtime,
               "run before all other programs of a shared machine (needs root)");
  app.add_flag("--cpus-may-halt", may_halt, "do not keep idle CPUs from halting");
  app.add_flag("--crowded", arguments.crowded,
               "the programs with more threads than CPUs, with the slices that the system gives");
  app.add_option("--beside", beside,
                 "processes that compute all the time beside the programs (default 0)");
  app.add_option("--beside-lifetime", beside_lifetime_s,
                 "seconds of CPU time after which each of them is replaced (default: never)")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--quota", quota, "CPUs that a cgroup allows the programs (default: no quota)");
  app.add_flag("--without-controls", arguments.also_without_controls,
               "also what is predicted when controls are left out, and the delay factors");
  app.add_flag("--waits", arguments.waits, "the programs whose waits are made shorter");
  app.add_flag("--wide", arguments.wide,
               "the programs that have as many threads as there are CPUs for them");
  app.add_option(
         "--random", arguments.random,
         "so many programs that are drawn at random, instead of those that are written; with "
         "--crowded of more threads than CPUs")
      ->check(CLI::NonNegativeNumber);
  app.add_flag("--processes", arguments.processes, "those of --random consist of processes")
      ->needs("--random");
  app.add_flag("--pools", arguments.pools, "those of --random and --crowded are pools of workers")
      ->needs("--random", "--crowded");
  app.add_option("--first-plan", arguments.first_plan, "number of the first of them (default 1)")
      ->check(CLI::PositiveNumber);
  app.add_option("--plan", arguments.plans,
                 "of a program of programs/random.cc, a text, a number, or crowd(NUMBER), each of "
                 "which may "
                 "begin with \"processes \"; may be given repeatedly")
      ->allow_extra_args(false);
  app.add_option("--threads", arguments.prediction.threads,
                 "of the programs of --wide (default: one for each CPU but one, at least 2)")
      ->check(CLI::Range(2, 1024));
  CLI11_PARSE(app, argc, argv);
  // In a crowd, or beside others, the slices stay as they are, because their effect is measured.
  if (!arguments.crowded && beside == 0) UseShortSlices();
  if (beside > 0 || quota > 0) {
    arguments.prediction.by_curve = true;
    arguments.speedups = {0.15, 0.3, 0.45};
    arguments.truth.patience = {/*tolerated_disturbance=*/1, /*reruns=*/0};
  }
  if (realtime && !UseRealtime()) {
    fprintf(stderr, "--realtime needs the right to use SCHED_RR: run as root\n");
    return 1;
  }
  absl::StatusOr<UniqueFd> awake;
  if (!may_halt) awake = supervisor::KeepCpusAwake();
  arguments.awake = awake.ok();
  arguments.prediction.patience = arguments.truth.patience;
  arguments.prediction.scratch_folder = testing::TemporaryFolder();
  arguments.truth.steps_per_us = workload::CalibrateStepsPerUs();
  arguments.prediction.steps_per_us = arguments.truth.steps_per_us;
  arguments.truth.threads = arguments.prediction.threads;
  // The calibration is of a CPU that nobody else uses.
  const BusyNeighbours neighbours(beside, beside_lifetime_s);
  std::optional<testing::QuotaCgroup> cgroup;
  if (quota > 0 && !cgroup.emplace(quota).Enter()) {
    fprintf(stderr, "--quota: %s\n", cgroup->missing().c_str());
    return 1;
  }
  Study(arguments).Run();
  return 0;
}

}  // namespace
}  // namespace coz::accuracy

int main(int argc, char** argv) { return coz::accuracy::Main(argc, argv); }
