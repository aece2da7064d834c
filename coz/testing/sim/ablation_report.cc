// Prints what each rule of the delay core is worth. It leaves out the rule and prints the mean
// absolute error of predictions, in points, and the largest growth of the error of any one figure.
// It runs in simulated time with fixed seeds. Usage: ./bazelw run //coz/testing/sim:ablation_report
// -- seconds=20 programs=10
#include <cmath>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "coz/testing/sim/accuracy.h"
#include "coz/testing/sim/arguments.h"
#include "coz/testing/sim/random_program.h"
#include "coz/testing/sim/study_programs.h"

namespace coz::sim {
namespace {

struct Rule {
  const char* name;
  std::function<void(MachineOptions*)> leave_out;
};

std::vector<Rule> Rules() {
  return {
      {"(all rules)", [](MachineOptions*) {}},
      {"mutual delays cancel", [](MachineOptions* m) { m->cancel_delays = false; }},
      {"delay follows stretches", [](MachineOptions* m) { m->spread.spreads = false; }},
      {"32 samples ahead, not 2", [](MachineOptions* m) { m->spread.most_samples_ahead = 2; }},
      {"2 samples behind, not 0", [](MachineOptions* m) { m->spread.most_samples_behind = 0; }},
      {"pays for others in progress",
       [](MachineOptions* m) { m->pay_for_stretches_in_progress = false; }},
      {"wakee takes over excess", [](MachineOptions* m) { m->publish_excess = false; }},
      {"no wait absorbs nothing", [](MachineOptions* m) { m->keep_excess_without_wait = false; }},
      {"joiner goes on after end", [](MachineOptions* m) { m->go_on_after_end = false; }},
      {"barriers pass time", [](MachineOptions* m) { m->go_on_after_arrivals = false; }},
      {"monitors pass time", [](MachineOptions* m) { m->go_on_after_release = false; }},
      {"time-outs in virtual time", [](MachineOptions* m) { m->extend_timeouts = false; }},
      {"calls pay until level", [](MachineOptions* m) { m->pauses_per_call = 1; }},
      {"spin probes", [](MachineOptions* m) { m->spin_probes = false; }},
      {"spinning is credited", [](MachineOptions* m) { m->spins_are_seen = false; }},
  };
}

// Absolute errors in points. Each rule has the same questions in the same order.
using Errors = std::vector<double>;

double MeanOf(const Errors& errors) {
  double sum = 0;
  for (const double error : errors) sum += error;
  return sum / static_cast<double>(errors.size());
}

// The most that a rule gains at any one figure.
double MostGained(const Errors& with, const Errors& without) {
  double most = 0;
  for (size_t i = 0; i < with.size(); ++i) most = std::fmax(most, without[i] - with[i]);
  return most;
}

Errors StudyErrors(const MachineOptions& machine, uint64_t period_us, uint64_t seconds) {
  std::vector<StudyProgram> programs = StudyPrograms();
  programs.push_back(SpinWait());
  Errors errors;
  for (const StudyProgram& study : programs) {
    for (uint32_t line = 0; line < kStudiedLines; ++line) {
      for (const double speedup : {0.25, 0.5, 0.75}) {
        Question question;
        question.line = line;
        question.speedup = speedup;
        question.duration_ns = seconds * kNsPerSecond;
        question.sampling_period_ns = period_us * kNsPerUs;
        errors.push_back(std::fabs(100 * Ask(study.program, machine, question).error()));
      }
    }
  }
  return errors;
}

// Leaves out programs whose input comes at its own pace: no rule predicts them (limits_test).
Errors RandomErrors(const MachineOptions& options, uint64_t programs, uint64_t seconds) {
  Errors errors;
  MachineOptions machine = options;
  for (int kind = 0; kind < kKinds; ++kind) {
    if (static_cast<Kind>(kind) == Kind::kInput) continue;
    for (uint64_t seed = 1; seed <= programs; ++seed) {
      RandomQuestion random = DrawQuestion(static_cast<Kind>(kind), seed);
      machine.seed = seed;
      random.question.duration_ns = seconds * kNsPerSecond;
      errors.push_back(std::fabs(100 * Ask(random.program, machine, random.question).error()));
    }
  }
  return errors;
}

int Report(int argc, char** argv) {
  const uint64_t seconds = Argument(argc, argv, "seconds", 20);
  const uint64_t programs = Argument(argc, argv, "programs", 10);
  std::printf(
      "| left out | study, 500 us | study, 970 us | study, slow machine | random | "
      "random, slow machine |\n|---|--:|--:|--:|--:|--:|\n");
  std::vector<Errors> with_all;
  for (const Rule& rule : Rules()) {
    MachineOptions ideal;
    ideal.fair_mutexes = false;
    rule.leave_out(&ideal);
    MachineOptions slow = ideal;  // pauses last too long, and wakes take time
    slow.pause_overshoot_ns = 60 * kNsPerUs;
    slow.wake_latency_ns = 20 * kNsPerUs;
    const std::vector<Errors> without = {
        StudyErrors(ideal, 500, seconds), StudyErrors(ideal, 970, seconds),
        StudyErrors(slow, 500, seconds), RandomErrors(ideal, programs, seconds),
        RandomErrors(slow, programs, seconds)};
    if (with_all.empty()) with_all = without;
    std::printf("| %s |", rule.name);
    for (size_t i = 0; i < without.size(); ++i) {
      std::printf(" %.2f, +%.1f |", MeanOf(without[i]), MostGained(with_all[i], without[i]));
    }
    std::printf("\n");
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace
}  // namespace coz::sim

int main(int argc, char** argv) { return coz::sim::Report(argc, argv); }
