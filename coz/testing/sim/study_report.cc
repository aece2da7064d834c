// Prints what really comes of each program of the study in virtual time, and the error of what is predicted, at 25, 50 and 75 %.
// Usage: ./bazelw run //coz/testing/sim:study_report -- name=value ... with period_us=, seconds=, seed=, hold=, fair=, overshoot_us=,
// cost_us= and latency_us= as in accuracy_report.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "coz/testing/sim/accuracy.h"
#include "coz/testing/sim/study_programs.h"

namespace coz::sim {
namespace {

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
  machine.hold_delays = argument("hold", 1) != 0;
  machine.fair_mutexes = argument("fair", 0) != 0;
  double sum = 0;
  double worst = 0;
  int count = 0;
  for (const StudyProgram& study : StudyPrograms()) {
    for (uint32_t line = 0; line < kStudiedLines; ++line) {
      std::printf("%-13s %-10s", study.name.c_str(), study.lines[line].c_str());
      for (const int percent : {25, 50, 75}) {
        Question question;
        question.line = line;
        question.speedup = percent / 100.0;
        question.duration_ns = argument("seconds", 60) * kNsPerSecond;
        question.sampling_period_ns = argument("period_us", 500) * kNsPerUs;
        const Answer answer = Ask(study.program, machine, question);
        const double error = 100 * answer.error();
        sum += std::fabs(error);
        worst = std::fmax(worst, std::fabs(error));
        ++count;
        std::printf("  %5.1f %+5.1f", 100 * answer.real, error);
      }
      std::printf("\n");
    }
  }
  std::printf("mean absolute error %.2f, worst %.2f\n", sum / count, worst);
  return 0;
}

}  // namespace
}  // namespace coz::sim

int main(int argc, char** argv) { return coz::sim::Report(argc, argv); }
