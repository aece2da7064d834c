// Profiles made from a known model: what `coz run` would have written for a program whose answer is
// known in closed form.
//
// Shape    a Profile with one session, its units, points, experiments, samples and end
// Units    ns; virtual speedups and shares are fractions
// Errors   none
// Threads  compatible
// Signals  not async-signal-safe
// Source   docs/design/experiments.md, docs/design/statistics.md
#ifndef COZ_REPORT_TESTING_SYNTHETIC_PROFILE_H_
#define COZ_REPORT_TESTING_SYNTHETIC_PROFILE_H_

#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "coz/report/format/profile.pb.h"

namespace coz::report_testing {

struct SyntheticLine {
  std::string file = "/src/app/work.cc";
  uint32_t line = 1;
  std::string function = "Work()";
  // Share of all samples.
  double share = 0.1;
  // Time per visit falls by this share of itself when the line is sped up by 1.
  double slope = 0;
  // Overrides slope: program speedup as a function of virtual speedup.
  std::function<double(double)> program_speedup;
};

struct SyntheticOptions {
  uint64_t session = 0x1234;
  uint64_t seed = 1;
  uint64_t experiment_ns = 500'000'000;
  uint64_t cooloff_ns = 10'000'000;
  uint64_t sampling_period_ns = 1'000'000;
  // Time between two visits when nothing is sped up.
  double ns_per_visit = 1'000'000;
  // Standard deviation of an experiment's time per visit, as a share of it.
  double noise = 0.02;
  // Factor on the time per visit after so many seconds of the session; none: the program does not
  // drift.
  std::function<double(double)> drift;
  // Share of each virtual speedup that the pauses really make.
  double achieved_share = 1;
  // What other programs leave of the CPU time. All that takes CPU time takes longer by that, delay
  // too.
  double share_left = 1;
  std::string point = "requests";
  profile::ProgressPointKind kind = profile::PROGRESS_POINT_KIND_THROUGHPUT;
  // Latency pairs: time in flight per request when nothing is sped up; speedups shorten it.
  double latency_ns = 5'000'000;
  // Threads that are always running, so that samples per second are known.
  double running_threads = 1;
  // How much the one pausing thread oversleeps, as a share of an experiment's delay.
  double overslept_share = 0;
  // Share of a visit's time that samples take, and that bare intervals lack.
  double bare_share = 0;
  uint64_t bare_interval_ns = 125'000'000;
  // The time that a delay really takes, by the time that it is.
  double delay_factor = 1;
  double control_share = 0.4;  // of a control's time, its delays
};

class SyntheticProfile {
 public:
  SyntheticProfile(SyntheticOptions options, std::vector<SyntheticLine> lines);

  // One experiment of line `line` (index into lines) at the speedup.
  void AddExperiment(size_t line, double nominal_speedup);
  // `count` experiments with lines chosen by share, and speedups as the scheduler chooses them: 0
  // with probability ¼, else 5 %, 10 %, … 100 %.
  void AddRandomExperiments(int count);
  void AddBareInterval();
  void AddControl();
  // SessionEnd; without it the session looks killed.
  void End();

  profile::Profile& profile() { return profile_; }
  std::mt19937_64& random() { return random_; }
  const SyntheticOptions& options() const { return options_; }

 private:
  double ProgramSpeedup(const SyntheticLine& line, double virtual_speedup) const;
  double Drift() const {
    return options_.drift ? options_.drift(static_cast<double>(now_ns_) / 1e9) : 1;
  }
  void AddSamples(profile::Experiment* experiment, double effective_ns, double work_ratio,
                  size_t selected);

  const SyntheticOptions options_;
  const std::vector<SyntheticLine> lines_;
  std::mt19937_64 random_;
  profile::Profile profile_;
  uint64_t now_ns_ = 0;
  uint64_t total_samples_ = 0;
  uint64_t inserted_delay_ns_ = 0;
};

}  // namespace coz::report_testing

#endif  // COZ_REPORT_TESTING_SYNTHETIC_PROFILE_H_
