// Prints the real program speedup of each program of the study in simulated time, and the error of
// its prediction, at 25, 50 and 75 %. Usage: ./bazelw run //coz/testing/sim:study_report --
// name=value ... with period_us=, seconds=, seed=, spread=, fair=, overshoot_us=, cost_us= and
// latency_us= as in accuracy_report. in_progress=0 switches off the rule
// MachineOptions::pay_for_stretches_in_progress. After the mean error it prints the same for a
// program that spins, which is not part of the mean: with spin probes, with regular samples only,
// and with a loop that has no hint.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "coz/testing/sim/accuracy.h"
#include "coz/testing/sim/study_programs.h"

namespace coz::sim {
namespace {

struct Errors {
  double sum = 0;
  double worst = 0;
  int count = 0;

  void Add(double error) {
    sum += std::fabs(error);
    worst = std::fmax(worst, std::fabs(error));
    ++count;
  }
};

// Prints a program's figures for each line and speedup.
void PrintStudy(const StudyProgram& study, const MachineOptions& machine, Question question,
                Errors* errors) {
  for (uint32_t line = 0; line < kStudiedLines; ++line) {
    std::printf("%-13s %-10s", study.name.c_str(), study.lines[line].c_str());
    for (const int percent : {25, 50, 75}) {
      question.line = line;
      question.speedup = percent / 100.0;
      const Answer answer = Ask(study.program, machine, question);
      errors->Add(100 * answer.error());
      std::printf("  %5.1f %+5.1f", 100 * answer.real, 100 * answer.error());
    }
    std::printf("\n");
  }
}

int Report(int argc, char** argv) {
  const auto argument = [&](const std::string& name, uint64_t otherwise) {
    for (int i = 1; i < argc; ++i) {
      const std::string text = argv[i];
      if (text.rfind(name + "=", 0) == 0) {
        return static_cast<uint64_t>(std::strtoull(text.c_str() + name.size() + 1, nullptr, 10));
      }
    }
    return otherwise;
  };
  MachineOptions machine;
  machine.seed = argument("seed", 1);
  machine.pause_overshoot_ns = argument("overshoot_us", 0) * kNsPerUs;
  machine.pause_cost_ns = argument("cost_us", 0) * kNsPerUs;
  machine.wake_latency_ns = argument("latency_us", 0) * kNsPerUs;
  machine.spread.spreads = argument("spread", 1) != 0;
  machine.fair_mutexes = argument("fair", 0) != 0;
  machine.pay_for_stretches_in_progress = argument("in_progress", 1) != 0;
  machine.go_on_after_arrivals = argument("arrivals", 1) != 0;
  machine.go_on_after_release = argument("release", 1) != 0;
  Question question;
  question.duration_ns = argument("seconds", 60) * kNsPerSecond;
  question.sampling_period_ns = argument("period_us", 500) * kNsPerUs;
  Errors errors;
  for (const StudyProgram& study : StudyPrograms()) PrintStudy(study, machine, question, &errors);
  std::printf("mean absolute error %.2f, worst %.2f\n", errors.sum / errors.count, errors.worst);
  Errors of_crowds;
  MachineOptions small = machine;
  small.cpus = static_cast<uint32_t>(argument("cpus", 2));
  small.scheduling = argument("fair_class", 1) != 0 ? Scheduling::kFair : Scheduling::kFifo;
  small.time_slice_ns = argument("slice_us", small.time_slice_ns / kNsPerUs) * kNsPerUs;
  for (const StudyProgram& study : CrowdedPrograms()) {
    PrintStudy(study, small, question, &of_crowds);
  }
  std::printf("of crowds %.2f, worst %.2f\n", of_crowds.sum / of_crowds.count, of_crowds.worst);
  Errors of_spinning;
  StudyProgram spinning = SpinWait();
  PrintStudy(spinning, machine, question, &of_spinning);
  spinning.name = "regular";
  machine.spin_probes = false;
  PrintStudy(spinning, machine, question, &of_spinning);
  spinning.name = "without hint";
  machine.spins_are_seen = false;
  PrintStudy(spinning, machine, question, &of_spinning);
  return 0;
}

}  // namespace
}  // namespace coz::sim

int main(int argc, char** argv) { return coz::sim::Report(argc, argv); }
