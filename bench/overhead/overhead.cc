// Prints what the profiler costs a program when it samples and inserts no delays, as a Markdown
// table.
//
//   ./bazelw run //bench:overhead -- --peer=/tmp/original/usr/bin/coz
#include <sys/utsname.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/status/statusor.h"
#include "absl/strings/str_format.h"
#include "bench/accuracy/cases.h"
#include "bench/accuracy/scheduling.h"
#include "bench/accuracy/workload.h"
#include "bench/overhead/measure.h"
#include "coz/base/unique_fd.h"
#include "coz/supervisor/target/awake_cpus.h"
#include "coz/testing/run_command.h"

namespace coz::overhead {
namespace {

struct Row {
  const char* name;
  const char* mode;
  const char* count;
  const char* unit;
  double ns_per_unit;
  bool switches_threads;
  bool is_busy;  // only then can the cost of a sample be computed
};

constexpr Row kRows[] = {
    {"CPU-bound run", "compute", "4000", "ms per ms of work", 1e6, false, true},
    {"CPU-bound run, two threads", "compute-two", "4000", "ms per ms of work", 1e6, false, true},
    {"mutex lock + unlock, uncontended", "mutex", "20000000", "ns", 1, false, false},
    {"contended hand-off, mutex and condition variable", "hand-over", "50000", "µs", 1e3, true,
     false},
    {"visit to a progress point", "visit", "300000000", "ns", 1, false, false},
    {"thread create + join", "create-join", "20000", "µs", 1e3, true, false},
    {"thread per task, 20,000 threads", "thread-per-task", "20000", "µs", 1e3, true, false},
    {"1,000 live threads, a semaphore wait and 20 µs each", "many-threads", "50000", "µs", 1e3,
     true, false},
};

// Rows of one load with several numbers of threads.
struct WideRow {
  const char* name;
  const char* mode;
  const char* count;
  const char* unit;
  double ns_per_unit;
  bool is_in_pairs;
};

constexpr WideRow kWideRows[] = {
    {"CPU-bound run", "wide-compute", "1500", "ms per ms of work", 1e6, false},
    {"mutex lock + unlock, each its own", "wide-mutex", "50000000", "ns", 1, false},
    {"visit to the same progress point", "wide-visit", "500000000", "ns", 1, false},
    {"10 µs of work, then 1 µs under one mutex", "wide-shared", "40000", "µs", 1e3, false},
    {"hand-off in pairs, mutex and condition variable", "wide-handover", "50000", "µs", 1e3, true},
};

struct Arguments {
  std::string peer;
  double sampling_period_ms =
      0.93;  // about the period that a run draws for itself (coz/base/sampling_period.h)
  int rounds = 5;
  bool realtime = false;
  bool awake = false;
  int debug_mb = 100;
  std::string folder;
  std::vector<std::string> only;
  std::vector<int> threads;  // only the rows by threads, with these numbers
};

std::string Show(const std::optional<Sample>& sample, double unit, const char* format) {
  if (!sample.has_value()) return "–";
  const auto parsed = absl::ParsedFormat<'f'>::New(format);
  return absl::StrFormat("%s [%s, %s]", absl::StrFormat(*parsed, sample->median / unit),
                         absl::StrFormat(*parsed, sample->low / unit),
                         absl::StrFormat(*parsed, sample->high / unit));
}

class Bench {
 public:
  explicit Bench(const Arguments& arguments)
      : arguments_(arguments), scratch_(testing::TemporaryFolder()) {}

  void Run() {
    PrintHead();
    const std::string steps = absl::StrFormat("%.3f", workload::CalibrateStepsPerUs());
    if (arguments_.threads.empty()) {
      MeasureAll(steps);
    } else {
      MeasureByThreads(steps);
    }
    if (!notes_.empty()) printf("\n");
    for (const std::string& note : notes_) printf("- %s\n", note.c_str());
  }

 private:
  void MeasureAll(const std::string& steps) {
    for (const Row& row : kRows) {
      if (!Wanted(row.mode)) continue;
      Measure(row, steps);
    }
    if (!arguments_.peer.empty() && Wanted("visit")) {
      notes_.push_back("the peer does not count the visits of this coz.h; its own costs more");
    }
    if (Wanted("memory")) MeasureMemory(steps);
    if (Wanted("start")) MeasureStart();
  }

  void MeasureByThreads(const std::string& steps) {
    for (const WideRow& row : kWideRows) {
      if (!Wanted(row.mode)) continue;
      std::set<int> done;
      for (int threads : arguments_.threads) {
        if (row.is_in_pairs) threads += threads % 2;
        if (!done.insert(threads).second) continue;
        Print(absl::StrFormat("%s, %d thread%s", row.name, threads, threads == 1 ? "" : "s"),
              row.unit, row.ns_per_unit,
              Compare(Variants(),
                      {Load(), row.mode, row.count, steps, absl::StrFormat("%d", threads)},
                      arguments_.rounds, [](const Figures& f) { return f.ns_per_op; }));
      }
    }
  }

  bool Wanted(const std::string& mode) const {
    return arguments_.only.empty() ||
           std::find(arguments_.only.begin(), arguments_.only.end(), mode) != arguments_.only.end();
  }

  static std::string Load() { return accuracy::RepositoryFile("bench/overhead/load"); }

  // The bare program, this profiler without delays, and the original without delays.
  std::vector<Variant> Variants() const {
    std::vector<Variant> variants = {{"bare", {}, {}, {}}};
    variants.push_back({"coz",
                        {accuracy::RepositoryFile("tools/coz"), "run", "--fixed-speedup=0",
                         absl::StrFormat("--sampling-period=%.3g", arguments_.sampling_period_ms),
                         "--output=" + scratch_ + "/profile.pb", "---"},
                        {},
                        {}});
    if (!arguments_.peer.empty()) {
      variants.push_back({"peer",
                          {arguments_.peer, "run", "--output", scratch_ + "/profile.coz",
                           "--fixed-speedup", "0", "---"},
                          {},
                          {}});
    }
    return variants;
  }

  void PrintHead() const {
    utsname names = {};
    uname(&names);
    double load[1] = {};
    getloadavg(load, 1);
    printf(
        "%ld CPUs, Linux %s, load %.1f; a sample every %.3g ms, no delays; %s; %d rounds in turn; "
        "median [least, most]\n\n",
        sysconf(_SC_NPROCESSORS_ONLN), names.release, load[0], arguments_.sampling_period_ms,
        arguments_.awake ? "idle CPUs poll" : "idle CPUs may halt", arguments_.rounds);
    printf("| what | unit | bare | coz | ratio |%s\n",
           arguments_.peer.empty() ? "" : " peer | peer's ratio |");
    printf("|---|---|--:|--:|--:|%s\n", arguments_.peer.empty() ? "" : "--:|--:|");
    fflush(stdout);
  }

  void Print(const std::string& name, const char* unit, double ns_per_unit,
             const std::vector<Result>& results) {
    const char* value_format = ns_per_unit >= 1e6 ? "%.4f" : "%.2f";
    printf("| %s | %s | %s |", name.c_str(), unit,
           Show(results[0].value, ns_per_unit, value_format).c_str());
    for (size_t i = 1; i < results.size(); ++i) {
      printf(" %s | %s |", Show(results[i].value, ns_per_unit, value_format).c_str(),
             Show(results[i].ratio, 1, "%.3f").c_str());
      if (!results[i].error.empty()) {
        notes_.push_back(name + ": " + Variants()[i].name + ": " + results[i].error);
      }
    }
    // The original has no cache.
    if (results.size() == 2 && !arguments_.peer.empty()) printf(" – | – |");
    printf("\n");
    fflush(stdout);
  }

  // The bare program with its own perf event, which shows the kernel's part of a profiler's cost.
  // With a period of 20 ms the kernel does everything except set the hardware timer, because its
  // own next tick comes sooner.
  std::vector<Variant> KernelsShare(const Row& row) const {
    const std::string period_ns =
        absl::StrFormat("%.0f", std::round(arguments_.sampling_period_ms * 1e6));
    if (row.switches_threads) {
      return {{"event", {}, {"COZ_BENCH_INHERITED_EVENT=" + period_ns}, {}},
              {"event", {}, {"COZ_BENCH_INHERITED_EVENT=20000000"}, {}}};
    }
    if (!row.is_busy) return {};
    return {{"ring", {}, {"COZ_BENCH_RING_EVENT=" + period_ns}, {}},
            {"event", {}, {"COZ_BENCH_INHERITED_EVENT=" + period_ns}, {}}};
  }

  void Measure(const Row& row, const std::string& steps) {
    std::vector<Variant> variants = Variants();
    const size_t profilers = variants.size();
    for (const Variant& event : KernelsShare(row)) variants.push_back(event);
    std::vector<Result> results =
        Compare(variants, {Load(), row.mode, row.count, steps}, arguments_.rounds,
                [](const Figures& f) { return f.ns_per_op; });
    const std::vector<Result> events(results.begin() + static_cast<ptrdiff_t>(profilers),
                                     results.end());
    if (row.switches_threads) {
      notes_.push_back(absl::StrFormat(
          "%s with a perf event that threads inherit, and no profiler: ratio %s at a period of "
          "%.3g ms, %s at 20 ms",
          row.name, Show(events[0].ratio, 1, "%.3f"), arguments_.sampling_period_ms,
          Show(events[1].ratio, 1, "%.3f")));
    }
    if (row.is_busy) {
      notes_.push_back(absl::StrFormat(
          "%s: a sample costs %s µs under coz; %s with a bare perf event, no profiler, whose "
          "samples go to a ring buffer; %s where it raises SIGTRAP, for an empty handler",
          row.name, SampleCost(row, results[0], results[1]), SampleCost(row, results[0], events[0]),
          SampleCost(row, results[0], events[1])));
    }
    for (const Result& event : events) {
      if (!event.error.empty()) notes_.push_back(std::string(row.name) + ": " + event.error);
    }
    results.resize(profilers);
    Print(row.name, row.unit, row.ns_per_unit, results);
  }

  // In µs. It is computed from the ratios, so that each run is compared with the bare run of its
  // round.
  std::string SampleCost(const Row& row, const Result& bare, const Result& sampled) const {
    if (!bare.value.has_value() || !sampled.ratio.has_value()) return "–";
    const double us =
        bare.value->median / 1e3 * (arguments_.sampling_period_ms * 1e6 / row.ns_per_unit);
    const Sample& ratio = *sampled.ratio;
    return absl::StrFormat("%.1f [%.1f, %.1f]", (ratio.median - 1) * us, (ratio.low - 1) * us,
                           (ratio.high - 1) * us);
  }

  void MeasureMemory(const std::string& steps) {
    const std::vector<std::string> load = {Load(), "compute", "1000", steps};
    Print("memory of the target, RSS", "MB", 1024,
          Compare(Variants(), load, 3, [](const Figures& f) { return f.rss_kb; }));
    Print("memory of the target, PSS", "MB", 1024,
          Compare(Variants(), load, 3, [](const Figures& f) { return f.pss_kb; }));
  }

  void MeasureStart() {
    const std::string program = LargeProgram();
    if (program.empty()) return;
    const std::string cache = scratch_ + "/cache";
    std::vector<Variant> variants = Variants();
    for (Variant& variant : variants) variant.environment = {"XDG_CACHE_HOME=" + cache};
    variants[1].before_each = [cache] { std::filesystem::remove_all(cache); };
    const auto until_main = [](const Figures& f) { return f.start_ns; };
    const auto in_all = [](const Figures& f) { return f.wall_ns; };
    const std::string size = absl::StrFormat(" with %d MB of debug info", arguments_.debug_mb);
    Print("start" + size + ", first: to main", "ms", 1e6,
          Compare(variants, {program}, 3, until_main));
    Print("start" + size + ", first: whole command", "ms", 1e6,
          Compare(variants, {program}, 3, in_all));
    variants.resize(2);
    variants[1].before_each = {};
    // Fills the cache.
    Compare(variants, {program}, 1, in_all);
    Print("start" + size + ", cached: to main", "ms", 1e6,
          Compare(variants, {program}, arguments_.rounds, until_main));
    Print("start" + size + ", cached: whole command", "ms", 1e6,
          Compare(variants, {program}, arguments_.rounds, in_all));
  }

  // The path of the large program, which is built if it is missing. Empty where that fails.
  std::string LargeProgram() {
    const std::string folder = arguments_.folder.empty() ? scratch_ : arguments_.folder;
    std::string program = folder + "/large";
    if (access(program.c_str(), X_OK) == 0) return program;
    testing::CommandOptions options;
    options.limit_s = 1800;
    const testing::CommandResult built =
        testing::RunCommand({accuracy::RepositoryFile("bench/overhead/large_program.sh"), folder,
                             absl::StrFormat("%d", arguments_.debug_mb)},
                            options);
    if (built.status == 0) return program;
    notes_.push_back("the program with much debug info could not be built: " +
                     built.errors.substr(0, 300));
    return "";
  }

  const Arguments& arguments_;
  std::string scratch_;
  std::vector<std::string> notes_;
};

int Main(int argc, char** argv) {
  Arguments arguments;
  CLI::App app("What the profiler costs a program when it samples and inserts no delays.");
  app.add_option("--peer", arguments.peer, "the original's command, to be measured beside");
  app.add_option("--sampling-period", arguments.sampling_period_ms,
                 "in ms (default 0.93); a shorter one tells better what a sample costs");
  app.add_option("--rounds", arguments.rounds, "of runs in turn (default 5)");
  app.add_option("--only", arguments.only,
                 "compute, compute-two, mutex, hand-over, visit, create-join, thread-per-task, "
                 "many-threads, "
                 "memory, start; with --threads: wide-compute, wide-mutex, wide-visit, "
                 "wide-shared, wide-handover")
      ->delimiter(',');
  app.add_option("--threads", arguments.threads,
                 "measure only how the cost grows with threads, for each of these numbers")
      ->delimiter(',')
      ->check(CLI::Range(1, 1024));
  app.add_option("--debug-mb", arguments.debug_mb, "of debug info for the start (default 100)");
  app.add_option("--folder", arguments.folder,
                 "where the program with much debug info is kept (default: a temporary one)");
  app.add_flag("--realtime", arguments.realtime,
               "run before all other programs of a shared machine (needs root)");
  bool may_halt = false;
  app.add_flag("--cpus-may-halt", may_halt, "do not keep idle CPUs from halting");
  CLI11_PARSE(app, argc, argv);
  accuracy::UseShortSlices();
  if (arguments.realtime && !accuracy::UseRealtime()) {
    fprintf(stderr, "--realtime needs the right to use SCHED_RR: run as root\n");
    return 1;
  }
  absl::StatusOr<UniqueFd> awake;
  if (!may_halt) awake = supervisor::KeepCpusAwake();
  arguments.awake = awake.ok();
  Bench(arguments).Run();
  return 0;
}

}  // namespace
}  // namespace coz::overhead

int main(int argc, char** argv) { return coz::overhead::Main(argc, argv); }
