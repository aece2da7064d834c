// The programs of the accuracy study in virtual time, at a sampling period about that of coz run:
// what a machine adds is left out, so what is left is the error of the method.
#include <map>
#include <string>

#include "coz/base/clock.h"
#include "coz/testing/sim/accuracy.h"
#include "coz/testing/sim/study_programs.h"
#include "gtest/gtest.h"

namespace coz::sim {
namespace {

class StudyTest : public ::testing::TestWithParam<int> {};

// The programs' rounds take a whole millisecond, or 0.8 (rwlock): with the last two periods samples
// fall into the same part of them for some forty rounds. They are not in step with the next, which
// is as long to a hundredth.
TEST_P(StudyTest, IsPredictedWithinOnePoint) {
  const StudyProgram study = StudyPrograms().at(static_cast<size_t>(GetParam()));
  KnownCosts known;
  for (const uint64_t period_us : {430, 570, 780, 975}) {
    for (uint32_t line = 0; line < kStudiedLines; ++line) {
      for (const int percent : {25, 50, 75}) {
        Question question;
        question.line = line;
        question.speedup = percent / 100.0;
        question.sampling_period_ns = period_us * kNsPerUs;
        MachineOptions machine;
        machine.fair_mutexes = false;
        const Answer answer = Ask(study.program, machine, question, &known);
        EXPECT_NEAR(answer.predicted, answer.real, 0.01)
            << study.name << " " << study.lines[line] << " " << percent << " %, " << period_us
            << " us";
      }
    }
  }
}

// A request that comes while another is served comes later in virtual time than when that service
// is over, where it ends soon.
TEST(OpenLoopTest, WhatComesFromOutsideMustNotOvertakeTheLine) {
  Question question;
  question.speedup = 0.75;
  MachineOptions machine;
  EXPECT_NEAR(Ask(Latency().program, machine, question).error(), 0, 0.01);
  machine.pay_for_stretches_in_progress = false;
  EXPECT_GT(Ask(Latency().program, machine, question).error(), 0.03);
}

// Delay is imposed ahead of the samples that it stands for, and what is ahead at the end of an
// experiment is no part of the next.
TEST_P(StudyTest, ExperimentsKeepTheirDelayToThemselves) {
  const StudyProgram study = StudyPrograms().at(static_cast<size_t>(GetParam()));
  for (uint32_t line = 0; line < kStudiedLines; ++line) {
    experiment::SchedulerOptions options;
    options.seed = 7;
    options.sampling_period_ns = 570 * kNsPerUs;
    options.fixed_units = {line};
    options.fixed_speedups = {0, 0.25, 0.75};
    std::map<double, double> achieved;
    std::map<double, int> experiments;
    for (const experiment::ExperimentRecord& record :
         RunExperiments(study.program, MachineOptions(), options, 0, 120 * kNsPerSecond)) {
      achieved[record.virtual_speedup] += record.achieved_virtual_speedup;
      ++experiments[record.virtual_speedup];
      if (record.virtual_speedup == 0) {
        EXPECT_EQ(record.inserted_delay_ns, 0u);
      }
    }
    for (const auto& [speedup, sum] : achieved) {
      EXPECT_NEAR(sum / experiments[speedup], speedup, 0.02)
          << study.name << " " << study.lines[line];
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, StudyTest,
                         ::testing::Range(0, static_cast<int>(StudyPrograms().size())),
                         [](const auto& program) {
                           return StudyPrograms()[static_cast<size_t>(program.param)].name;
                         });

}  // namespace
}  // namespace coz::sim
