// The programs of the accuracy study in simulated time, at sampling periods near that of coz run.
// There is no error of a real machine, so all error is that of the method.
#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "coz/base/clock.h"
#include "coz/testing/sim/accuracy.h"
#include "coz/testing/sim/study_programs.h"
#include "gtest/gtest.h"

namespace coz::sim {
namespace {

class StudyTest : public ::testing::TestWithParam<int> {};

// A round takes a whole millisecond, or 0.8 ms (rwlock). With the last two periods samples fall
// into the same part of a round for some forty rounds. None of the periods is within a hundredth of
// a round; samples with such a period keep step with the rounds.
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

// The same programs, whose lines wait for the outside instead of working: first one of them, then
// another.
class WaitStudyTest : public ::testing::TestWithParam<int> {};

// What is inexact: docs/design/waits-and-credit.md, "Waits as units".
double ErrorOfWaitsIn(const std::string& study) {
  // The starter never waits for the count, which is always 0 when its long wait is over.
  if (study == "count_serial") return 0.13;
  // Requests may come while the wait is in progress.
  return study == "latency" ? 0.02 : 0.01;
}

TEST_P(WaitStudyTest, IsPredictedWithinOnePoint) {
  const StudyProgram study = StudyPrograms().at(static_cast<size_t>(GetParam()));
  const double error = ErrorOfWaitsIn(study.name);
  for (uint32_t line = 0; line < kStudiedLines; ++line) {
    Program program = study.program;
    for (Code& code : program.codes) {
      for (Op& op : code) {
        if (op.kind == OpKind::kWork && op.a == line) op = {OpKind::kSleep, line, 0, op.ns, 1};
      }
    }
    KnownCosts known;
    for (const int percent : {25, 50, 75}) {
      Question question;
      question.line = line;
      question.speedup = percent / 100.0;
      question.sampling_period_ns = 975 * kNsPerUs;
      MachineOptions machine;
      machine.fair_mutexes = false;
      const Answer answer = Ask(program, machine, question, &known);
      EXPECT_NEAR(answer.predicted, answer.real, error)
          << study.name << " " << study.lines[line] << " " << percent << " %";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Programs, WaitStudyTest,
                         ::testing::Range(0, static_cast<int>(StudyPrograms().size())),
                         [](const auto& parameter) {
                           return StudyPrograms()[static_cast<size_t>(parameter.param)].name;
                         });

// Four threads commit, as PostgreSQL's processes do: one waits for the disk with the records of all
// that have come by then, and the others wait for it.
Program GroupCommit() {
  constexpr uint32_t kSyncing = 0;
  constexpr uint32_t kRecords = 1;
  constexpr uint32_t kTaken = kFirstLocalVariable;
  Program program;
  program.lines = 2;
  program.points = program.mutexes = program.conditions = 1;
  program.variables = 2;
  program.codes.resize(1);
  CodeBuilder commit(&program.codes[0]);
  commit.Work(1, 200 * kNsPerUs, 200).On(OpKind::kLock, 0).Increase(kRecords, 1);
  commit.WhileNotLess(kSyncing, 1, [](CodeBuilder& c) { c.CondWait(0, 0); });
  commit.WhileNotLess(kRecords, 1,
                      [](CodeBuilder& c) { c.Increase(kRecords, -1).Increase(kTaken, 1); });
  commit.WhileNotLess(kTaken, 1, [](CodeBuilder& c) {
    c.WhileNotLess(kTaken, 1, [](CodeBuilder& each) { each.Increase(kTaken, -1); });
    c.Increase(kSyncing, 1).On(OpKind::kUnlock, 0);
    c.WaitOutside(0, 2000 * kNsPerUs);
    c.On(OpKind::kLock, 0).Increase(kSyncing, -1).On(OpKind::kBroadcast, 0);
  });
  commit.On(OpKind::kUnlock, 0).On(OpKind::kProgress, 0).Jump(0);
  program.threads = {0, 0, 0, 0};
  return program;
}

TEST(GroupCommitTest, WaitOfOneForAllIsPredicted) {
  KnownCosts known;
  for (const int percent : {25, 50, 75}) {
    Question question;
    question.line = 0;
    question.speedup = percent / 100.0;
    const Answer answer = Ask(GroupCommit(), MachineOptions(), question, &known);
    EXPECT_GT(answer.real, 0.5 * question.speedup);
    EXPECT_NEAR(answer.predicted, answer.real, 0.01) << percent << " %";
  }
}

// A request may come while another is served. If that service ends soon, the request comes after
// its end in virtual time.
TEST(OpenLoopTest, WhatComesFromOutsideMustNotOvertakeTheLine) {
  Question question;
  question.speedup = 0.75;
  MachineOptions machine;
  EXPECT_NEAR(Ask(Latency().program, machine, question).error(), 0, 0.01);
  machine.go_on_after_release = false;
  EXPECT_NEAR(Ask(Latency().program, machine, question).error(), 0, 0.01);
  machine.pay_for_stretches_in_progress = false;
  EXPECT_GT(Ask(Latency().program, machine, question).error(), 0.03);
}

// The one that comes last in real time comes first in virtual time, and works alone afterwards.
TEST(MeetingTest, WhoGoesOnAloneMustNotGoOnBeforeTheOthersHaveCome) {
  Question question;
  question.speedup = 0.5;
  question.sampling_period_ns = 500 * kNsPerUs;
  for (const char* name : {"barrier_serial", "count_serial"}) {
    const std::vector<StudyProgram> programs = StudyPrograms();
    const auto study = std::find_if(programs.begin(), programs.end(),
                                    [name](const StudyProgram& p) { return p.name == name; });
    ASSERT_NE(study, programs.end());
    MachineOptions machine;
    EXPECT_NEAR(Ask(study->program, machine, question).error(), 0, 0.01) << name;
    machine.go_on_after_arrivals = machine.go_on_after_release = false;
    EXPECT_GT(Ask(study->program, machine, question).error(), 0.05) << name;
  }
}

// It finds the post whenever it comes.
TEST(MeetingTest, WhoTakesTheLastPostOfASemaphoreDoesNotGoOnBeforeIt) {
  Question question;
  question.sampling_period_ns = 570 * kNsPerUs;
  for (const int percent : {25, 50, 75}) {
    question.speedup = percent / 100.0;
    EXPECT_NEAR(Ask(SemaphoreThenSerial().program, MachineOptions(), question).error(), 0, 0.01)
        << percent;
  }
  MachineOptions without;
  without.go_on_after_release = false;
  EXPECT_GT(Ask(SemaphoreThenSerial().program, without, question).error(), 0.05);
}

TEST(MeetingTest, WhoPutsIntoAQueueThatIsNotFullDoesNotDependOnWhoTakesOut) {
  Question question;
  question.sampling_period_ns = 570 * kNsPerUs;
  for (const int percent : {25, 50, 75}) {
    question.speedup = percent / 100.0;
    EXPECT_NEAR(Ask(Stages().program, MachineOptions(), question).error(), 0, 0.01) << percent;
  }
}

// Threads impose delay before the samples that stand for it. What they have imposed ahead at the
// end of an experiment does not count in the next experiment.
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
