#include "bench/accuracy/prediction.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "coz/experiment/seed.h"
#include "coz/report/analysis/analysis.h"
#include "coz/report/analysis/experiment_table.h"
#include "coz/report/format/profile_reader.h"
#include "coz/testing/run_command.h"

namespace coz::accuracy {
namespace {

std::string FixedLine(const Line& line) { return absl::StrCat(line.file, ":", LineNumber(line)); }

std::vector<std::string> CozCommand(const Case& one_case, const Line& line,
                                    const std::vector<double>& speedups,
                                    const PredictionOptions& options, const std::string& output,
                                    uint64_t seed) {
  std::vector<std::string> percents = {"0"};
  for (double s : speedups) percents.push_back(absl::StrFormat("%g", 100 * s));
  std::vector<std::string> command = {RepositoryFile("tools/coz"),
                                      options.attaches ? "attach" : "run",
                                      "--fixed-line=" + FixedLine(line)};
  if (!options.by_curve) command.push_back("--fixed-speedup=" + absl::StrJoin(percents, ","));
  for (const std::string& pattern : one_case.binary_scope) {
    command.push_back("--binary-scope=" + pattern);
  }
  if (one_case.waits) command.insert(command.end(), {"--unit=wait", "--follow=none"});
  if (options.experiment_seconds > 0) {
    command.push_back(absl::StrFormat("--experiment-length=%g", options.experiment_seconds));
  }
  if (options.sampling_period_ms > 0) {
    command.push_back(absl::StrFormat("--sampling-period=%g", options.sampling_period_ms));
  }
  if (!options.sampler.empty()) command.push_back("--sampler=" + options.sampler);
  command.insert(command.end(), {absl::StrCat("--seed=", seed), "--output=" + output});
  if (!options.attaches) command.emplace_back("---");
  return command;
}

Variant UnchangedProgram(const Case& one_case, const PredictionOptions& options) {
  Variant unchanged;
  unchanged.threads = options.threads;
  unchanged.plan = one_case.plan;
  return unchanged;
}

std::string ProfilePath(const PredictionOptions& options) {
  return options.scratch_folder + "/profile.pb";
}

absl::Status Keep(const std::string& profile, const Case& one_case, const Line& line,
                  const PredictionOptions& options) {
  if (options.profiles_folder.empty()) return absl::OkStatus();
  const std::string path =
      absl::StrCat(options.profiles_folder, "/", one_case.name, " ", line.label, ".pb");
  std::ofstream file(path, std::ios::binary);
  file << profile;
  file.close();
  if (file) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat("cannot write the profile ", path));
}

bool Matches(const report::PointRow& point, const Case& one_case) {
  return point.name == one_case.point &&
         (point.kind == profile::PROGRESS_POINT_KIND_LATENCY) == one_case.is_latency;
}

// The line's figures at the case's point, or null.
const report::LineAnalysis* FindLine(const report::Analysis& analysis,
                                     const report::ExperimentTable& table, const Case& one_case,
                                     const Line& line) {
  for (const report::PointAnalysis& point : analysis.points) {
    if (!Matches(table.points[point.point], one_case)) continue;
    for (const report::LineAnalysis& found : point.lines) {
      const report::UnitRow& unit = table.units[found.unit];
      if (unit.line == static_cast<uint32_t>(LineNumber(line)) &&
          std::filesystem::path(unit.file).filename() == line.file) {
        return &found;
      }
    }
  }
  return nullptr;
}

absl::StatusOr<Prediction> PredictionOf(const profile::Profile& profile, const Case& one_case,
                                        const Line& line, const std::vector<double>& speedups,
                                        bool by_curve) {
  const report::ExperimentTable table = report::BuildExperimentTable(profile);
  const report::Analysis analysis = report::Analyze(profile, table);
  const report::LineAnalysis* found = FindLine(analysis, table, one_case, line);
  if (found == nullptr) {
    return absl::NotFoundError(
        absl::StrFormat("the profile of %s says nothing about %s (%d experiments, %d tainted)",
                        one_case.name, line.label, analysis.experiments, analysis.tainted));
  }
  Prediction prediction;
  prediction.experiments = analysis.experiments;
  prediction.tainted = analysis.tainted;
  prediction.program_speedups.resize(speedups.size());
  for (size_t i = 0; i < speedups.size(); ++i) {
    const std::vector<report::CurvePoint>& curve = found->curve.points;
    if (by_curve && !curve.empty() && speedups[i] <= curve.back().virtual_speedup) {
      prediction.program_speedups[i] = found->curve.At(speedups[i]);
    }
    if (by_curve) continue;
    for (const report::SpeedupEstimate& estimate : found->speedups) {
      if (report::SpeedupKey(estimate.virtual_speedup) == report::SpeedupKey(speedups[i])) {
        prediction.program_speedups[i] = estimate.program_speedup;
      }
    }
  }
  if (!table.delay_factors.empty()) prediction.delay_factor = table.delay_factors[0];
  return prediction;
}

absl::StatusOr<Prediction> ReadPrediction(const std::string& merged, const Case& one_case,
                                          const Line& line, const std::vector<double>& speedups,
                                          bool by_curve) {
  absl::StatusOr<report::ReadResult> read = report::ParseProfile(merged, one_case.name);
  if (!read.ok()) return read.status();
  absl::StatusOr<Prediction> whole =
      PredictionOf(read->profile, one_case, line, speedups, by_curve);
  if (!whole.ok()) return whole;
  read->profile.clear_control();
  const absl::StatusOr<Prediction> without =
      PredictionOf(read->profile, one_case, line, speedups, by_curve);
  whole->without_controls.resize(speedups.size());
  if (without.ok()) whole->without_controls = without->program_speedups;
  return whole;
}

std::string Contents(const std::string& path) {
  std::string text;
  if (FILE* file = fopen(path.c_str(), "r")) {
    char buffer[65536];
    while (const size_t length = fread(buffer, 1, sizeof(buffer), file)) {
      text.append(buffer, length);
    }
    fclose(file);
  }
  return text;
}

// Until the process has loaded its libraries. It has not yet become the program at first.
void AwaitProgram(pid_t pid, const std::string& program) {
  constexpr int kMostLooks = 5000;
  constexpr useconds_t kLookUs = 1000;
  const std::string folder = absl::StrCat("/proc/", pid);
  for (int i = 0; i < kMostLooks; ++i) {
    std::error_code error;
    const bool is_program = std::filesystem::equivalent(folder + "/exe", program, error);
    if (is_program && absl::StrContains(Contents(folder + "/maps"), "libc.so.6")) return;
    usleep(kLookUs);
  }
}

// The program under the profiler; or alone, and the profiler attaches to it until its end.
absl::StatusOr<ProgramRun> RunProfiled(std::vector<std::string> profiler,
                                       const std::vector<std::string>& program, double seconds,
                                       const PredictionOptions& options) {
  if (!options.attaches) {
    profiler.insert(profiler.end(), program.begin(), program.end());
    return RunAndRead(profiler, seconds, options.scratch_folder);
  }
  testing::CommandResult attached;
  absl::StatusOr<ProgramRun> run =
      RunAndRead(program, seconds, options.scratch_folder, [&](pid_t pid) {
        AwaitProgram(pid, program.front());
        profiler.push_back(absl::StrCat(pid));
        testing::CommandOptions limits;
        limits.folder = options.scratch_folder;
        limits.limit_s = static_cast<int>(3 * seconds) + 20;
        attached = testing::RunCommand(profiler, limits);
      });
  if (attached.status == 0) return run;
  return absl::UnavailableError(absl::StrFormat("%s ended with status %d: %s",
                                                absl::StrJoin(profiler, " "), attached.status,
                                                attached.errors.substr(0, 300)));
}

// Repeats the run until one is undisturbed. Returns the profile of the least disturbed run.
absl::StatusOr<std::string> ProfileUndisturbed(const std::vector<std::string>& profiler,
                                               const std::vector<std::string>& program,
                                               double seconds, const std::string& output,
                                               const PredictionOptions& options,
                                               Prediction* prediction) {
  std::string best;
  double least = 0;
  for (int i = 0; i <= options.patience.reruns; ++i) {
    std::filesystem::remove(output);
    const absl::StatusOr<ProgramRun> run = RunProfiled(profiler, program, seconds, options);
    if (!run.ok()) return run.status();
    if (i == 0 || run->Disturbance() < least) {
      least = run->Disturbance();
      best = Contents(output);
    }
    if (least <= options.patience.tolerated_disturbance) return best;
    ++prediction->reruns;
  }
  ++prediction->disturbed;
  return best;
}

}  // namespace

std::vector<std::string> SamplingCommand(const Case& one_case, const Line& line,
                                         const PredictionOptions& options) {
  return CozCommand(one_case, line, {}, options, ProfilePath(options), experiment::DrawSeed());
}

absl::StatusOr<Prediction> PredictWithCoz(const Case& one_case, const Line& line,
                                          const std::vector<double>& speedups,
                                          const PredictionOptions& options) {
  Prediction disturbance;
  const std::string output = ProfilePath(options);
  const int sessions = static_cast<int>(std::ceil(options.seconds / options.session_seconds));
  const double seconds = options.seconds / sessions;
  const std::vector<std::string> program = ProgramCommand(
      ProgramPath(one_case), seconds, options.steps_per_us, UnchangedProgram(one_case, options));
  const uint64_t seed = experiment::DrawSeed();
  std::string merged;
  size_t first_session = 0;
  for (int i = 0; i < sessions; ++i) {
    // Each session gets the next seed, as with coz run --repeat.
    const std::vector<std::string> profiler =
        CozCommand(one_case, line, speedups, options, output, seed + static_cast<uint64_t>(i));
    const absl::StatusOr<std::string> profile =
        ProfileUndisturbed(profiler, program, seconds, output, options, &disturbance);
    if (!profile.ok()) return profile.status();
    merged += *profile;
    if (i == 0) first_session = merged.size();
  }
  const absl::Status kept = Keep(merged, one_case, line, options);
  if (!kept.ok()) return kept;
  absl::StatusOr<Prediction> prediction =
      ReadPrediction(merged, one_case, line, speedups, options.by_curve);
  if (!prediction.ok()) return prediction;
  prediction->reruns = disturbance.reruns;
  prediction->disturbed = disturbance.disturbed;
  if (sessions > 1) {
    const absl::StatusOr<Prediction> first =
        ReadPrediction(merged.substr(0, first_session), one_case, line, speedups, options.by_curve);
    prediction->after_first_session.resize(speedups.size());
    if (first.ok()) prediction->after_first_session = first->program_speedups;
  }
  return prediction;
}

std::map<double, PeerTotals> ParsePeerProfile(const std::string& text, const Case& one_case) {
  // The original subtracts delays from the duration in unsigned numbers. Where the delays were
  // longer than the experiment, the duration reads as centuries.
  constexpr double kTooLongNs = 24 * 3600 * 1e9;
  std::map<double, PeerTotals> totals;
  double speedup = 0;
  double duration_ns = 0;
  for (size_t start = 0; start < text.size();) {
    const size_t end = std::min(text.find('\n', start), text.size());
    const std::string line = text.substr(start, end - start);
    start = end + 1;
    const auto field = [&line](const char* name) {
      const size_t at = line.find(std::string("\t") + name + "=");
      return at == std::string::npos ? "" : line.c_str() + at + strlen(name) + 2;
    };
    const auto is = [&line](const char* kind) { return line.rfind(kind, 0) == 0; };
    if (is("experiment\t")) {
      speedup = atof(field("speedup"));
      duration_ns = atof(field("duration"));
    } else if (duration_ns > kTooLongNs ||
               std::string(field("name")).rfind(one_case.point + "\t", 0) != 0) {
      continue;
    } else if (is("throughput-point\t") && !one_case.is_latency) {
      totals[speedup].duration_ns += duration_ns;
      totals[speedup].visits += atof(field("delta"));
    } else if (is("latency-point\t") && one_case.is_latency) {
      // Little's law: W = L / lambda.
      totals[speedup].duration_ns += duration_ns * atof(field("difference"));
      totals[speedup].visits += atof(field("arrivals"));
    }
  }
  return totals;
}

absl::StatusOr<Prediction> PredictWithPeer(const std::string& peer, const Case& one_case,
                                           const Line& line, const std::vector<double>& speedups,
                                           const PredictionOptions& options) {
  Prediction prediction;
  prediction.program_speedups.resize(speedups.size());
  const std::string output = options.scratch_folder + "/profile.coz";
  const double seconds = options.seconds / static_cast<double>(speedups.size() + 1);
  std::vector<double> all = speedups;
  all.insert(all.begin(), 0);
  std::map<double, PeerTotals> totals;
  for (double speedup : all) {
    std::vector<std::string> command = {
        peer,           "run",           "--output",        output,
        "--fixed-line", FixedLine(line), "--fixed-speedup", absl::StrFormat("%g", 100 * speedup)};
    for (const std::string& pattern : one_case.binary_scope) {
      command.insert(command.end(), {"--binary-scope", pattern});
    }
    command.push_back("---");
    const absl::StatusOr<std::string> profile =
        ProfileUndisturbed(command,
                           ProgramCommand(ProgramPath(one_case), seconds, options.steps_per_us,
                                          UnchangedProgram(one_case, options)),
                           seconds, output, options, &prediction);
    if (!profile.ok()) return profile.status();
    for (const auto& [s, more] : ParsePeerProfile(*profile, one_case)) {
      totals[s].duration_ns += more.duration_ns;
      totals[s].visits += more.visits;
      ++prediction.experiments;
    }
  }
  if (totals[0].visits == 0) return absl::NotFoundError("it recorded no baseline experiment");
  const double baseline = totals[0].duration_ns / totals[0].visits;
  for (size_t i = 0; i < speedups.size(); ++i) {
    const PeerTotals& with = totals[speedups[i]];
    if (with.visits == 0) continue;
    report::Estimate estimate;
    estimate.value = 1 - with.duration_ns / with.visits / baseline;
    prediction.program_speedups[i] = estimate;
  }
  return prediction;
}

}  // namespace coz::accuracy
