// What a profiler predicts for one line: this profiler, and the original one by its command line
// and text output.
//
// Shape    one figure for each speedup asked for, in order; without a value where the profiler had
//          none
// Units    seconds of profiling in all; fractions
// Errors   those of RunAndRead; NOT_FOUND where the profile says nothing about the line
// Threads  safe
// Signals  none
// Source   coz/report/analysis/analysis.h; the original's libcoz/profiler.cpp for the lines it
//          writes
#ifndef COZ_BENCH_ACCURACY_PREDICTION_H_
#define COZ_BENCH_ACCURACY_PREDICTION_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/accuracy/cases.h"
#include "bench/accuracy/program_run.h"
#include "coz/report/analysis/experiment_table.h"
#include "coz/report/statistics/statistics.h"

namespace coz::accuracy {

struct PredictionOptions {
  double steps_per_us = 0;
  int threads = 0;  // of a wide program; 0: its default
  double seconds = 60;
  // The profile is made in sessions of at most this length, so that a disturbed session can be
  // repeated alone.
  double session_seconds = 20;
  // Passed on to coz run; 0: its default.
  double experiment_seconds = 0;
  double sampling_period_ms = 0;
  std::string sampler;
  // The program is started without coz, which attaches to it at once.
  bool attaches = false;
  // Other programs run beside. Pauses then make less than is asked for, so all speedups are tried
  // and figures are read from the curve.
  bool by_curve = false;
  std::string scratch_folder;
  // Where the profiles stay, one for each line; empty: nowhere.
  std::string profiles_folder;
  Patience patience;
};

struct Prediction {
  std::vector<std::optional<report::Estimate>> program_speedups;
  // The same from the first session alone; empty where there was only one.
  std::vector<std::optional<report::Estimate>> after_first_session;
  // The same without the profile's controls, and what these tell.
  std::vector<std::optional<report::Estimate>> without_controls;
  std::optional<report::DelayFactor> delay_factor;
  int experiments = 0;
  int tainted = 0;
  int reruns = 0;
  int disturbed = 0;
};

// A command that samples a program and inserts no delay. The program's own command is appended to
// it.
std::vector<std::string> SamplingCommand(const Case& one_case, const Line& line,
                                         const PredictionOptions& options);

absl::StatusOr<Prediction> PredictWithCoz(const Case& one_case, const Line& line,
                                          const std::vector<double>& speedups,
                                          const PredictionOptions& options);

// `peer` is the original's command. Its fixed-line mode takes one speedup per run.
absl::StatusOr<Prediction> PredictWithPeer(const std::string& peer, const Case& one_case,
                                           const Line& line, const std::vector<double>& speedups,
                                           const PredictionOptions& options);

// Figures of the original's text profile: the time (or time in flight) and the visits of a point,
// added up by speedup.
struct PeerTotals {
  double duration_ns = 0;
  double visits = 0;
};
std::map<double, PeerTotals> ParsePeerProfile(const std::string& text, const Case& one_case);

}  // namespace coz::accuracy

#endif  // COZ_BENCH_ACCURACY_PREDICTION_H_
