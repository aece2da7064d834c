// The claim of accuracy_test, tested with a thousand threads.
#include <algorithm>
#include <string>

#include "coz/base/clock.h"
#include "coz/testing/sim/accuracy.h"
#include "coz/testing/sim/random_program.h"
#include "gtest/gtest.h"

namespace coz::sim {
namespace {

constexpr uint32_t kThreads = 1000;
constexpr double kTolerance = 0.01;

MachineOptions CpuForEach(uint64_t seed = 1) {
  MachineOptions machine;
  machine.cpus = 2 * kThreads;
  machine.seed = seed;
  return machine;
}

// At 3 s errors are within half of the tolerance. A pipeline is off by a constant number of items,
// because its queues have to fill first, so it runs longer.
uint64_t DurationNs(Kind kind) { return (kind == Kind::kPipeline ? 8 : 3) * kNsPerSecond; }

class CrowdTest : public ::testing::TestWithParam<Kind> {};

TEST_P(CrowdTest, RandomProgramsSideBySideArePredicted) {
  for (uint64_t seed = 1; seed <= 2; ++seed) {
    RandomQuestion drawn = DrawQuestion(GetParam(), seed, kThreads);
    drawn.question.duration_ns = DurationNs(GetParam());
    const Answer answer = Ask(drawn.program, CpuForEach(seed), drawn.question);
    EXPECT_NEAR(answer.predicted, answer.real, kTolerance) << "seed " << seed;
    EXPECT_TRUE(answer.experiment.taints.empty()) << "seed " << seed;
    // Where each task has a thread, some of the threads have ended at any time.
    EXPECT_GT(answer.experiment.mean_live_threads,
              GetParam() == Kind::kForkJoin ? kThreads / 2 : kThreads - 1);
  }
}

INSTANTIATE_TEST_SUITE_P(All, CrowdTest,
                         ::testing::Values(Kind::kSerial, Kind::kBarrier, Kind::kForkJoin,
                                           Kind::kPipeline, Kind::kMutex, Kind::kSemaphore,
                                           Kind::kRwLock, Kind::kTimedWait),
                         [](const auto& tested) {
                           std::string name(KindName(tested.param));
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

// All threads meet at one barrier. Every other thread is slower, because it also works in line 1.
Program OneBarrier() {
  Program program;
  program.lines = 2;
  program.points = 1;
  program.barriers = {kThreads};
  for (uint32_t i = 0; i < kThreads; ++i) {
    program.codes.emplace_back();
    CodeBuilder code(&program.codes.back());
    code.Work(0, 30 * kNsPerMs, 200);
    if (i % 2 == 0) code.Work(1, 20 * kNsPerMs, 200);
    code.On(OpKind::kBarrier, 0);
    if (i == 0) code.On(OpKind::kProgress, 0);
    code.Jump(0);
    program.threads.push_back(i);
  }
  return program;
}

// A thread per task, in rounds. Every other task is longer, because it also works in line 1. The
// creator works in line 2.
Program OneCreator() {
  Program program;
  program.lines = 3;
  program.points = 1;
  program.codes.resize(3);
  CodeBuilder(&program.codes[1]).Work(0, 30 * kNsPerMs, 200);
  CodeBuilder(&program.codes[2]).Work(0, 30 * kNsPerMs, 200).Work(1, 20 * kNsPerMs, 200);
  CodeBuilder creator(&program.codes[0]);
  creator.Work(2, 10 * kNsPerMs, 200);
  for (uint32_t i = 0; i + 1 < kThreads; ++i) creator.Spawn(1 + i % 2, i);
  for (uint32_t i = 0; i + 1 < kThreads; ++i) creator.Join(i);
  creator.On(OpKind::kProgress, 0).Jump(0);
  program.threads = {0};
  return program;
}

// Half of the threads produce in line 0. The others consume in lines 1 and 2 and are slower.
Program OneQueue() {
  Program program;
  program.lines = 3;
  program.points = 1;
  const BoundedQueue queue = BoundedQueue::In(program, 64);
  program.codes.resize(2);
  CodeBuilder producer(&program.codes[0]);
  producer.Work(0, 30 * kNsPerMs, 200);
  queue.Put(producer);
  producer.Jump(0);
  CodeBuilder consumer(&program.codes[1]);
  queue.Take(consumer);
  consumer.Work(1, 25 * kNsPerMs, 200).Work(2, 10 * kNsPerMs, 200);
  consumer.On(OpKind::kProgress, 0).Jump(0);
  for (uint32_t i = 0; i < kThreads; ++i) program.threads.push_back(i % 2);
  return program;
}

// Asks about a speedup by half, at the sampling period that coz run uses for programs with threads.
// A count of rounds is exact to one round, and a round takes some 50 ms. Hence the long duration
// where all threads take part in one round.
Answer AskHalf(const Program& program, const MachineOptions& machine, experiment::UnitId line,
               uint64_t duration_ns, KnownCosts* known = nullptr) {
  Question question;
  question.line = line;
  question.speedup = 0.5;
  question.warmup_ns = kNsPerSecond;
  question.duration_ns = duration_ns;
  question.sampling_period_ns = 500 * kNsPerUs;
  return Ask(program, machine, question, known);
}

// Expects a right prediction for each line of the program.
void ExpectPredicted(const Program& program, uint64_t duration_ns) {
  KnownCosts known;
  for (experiment::UnitId line = 0; line < program.lines; ++line) {
    const Answer answer = AskHalf(program, CpuForEach(), line, duration_ns, &known);
    EXPECT_NEAR(answer.predicted, answer.real, kTolerance) << "line " << line;
    EXPECT_TRUE(answer.experiment.taints.empty());
  }
}

TEST(ThousandThreadsTest, AtOneBarrierArePredicted) {
  ExpectPredicted(OneBarrier(), 8 * kNsPerSecond);
}

TEST(ThousandThreadsTest, OfOneCreatorArePredicted) {
  ExpectPredicted(OneCreator(), 8 * kNsPerSecond);
}

TEST(ThousandThreadsTest, AtOneQueueArePredicted) { ExpectPredicted(OneQueue(), 4 * kNsPerSecond); }

TEST(ThousandThreadsTest, WithoutCancellingStandStillInOneLine) {
  MachineOptions machine = CpuForEach();
  machine.cancel_delays = false;
  const Answer answer = AskHalf(OneBarrier(), machine, 0, 4 * kNsPerSecond);
  EXPECT_GT(static_cast<double>(answer.experiment.inserted_delay_ns),
            0.95 * static_cast<double>(answer.experiment.elapsed_ns));
}

}  // namespace
}  // namespace coz::sim
