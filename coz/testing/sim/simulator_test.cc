#include "coz/testing/sim/simulator.h"

#include "coz/base/clock.h"
#include "gtest/gtest.h"

namespace coz::sim {
namespace {

class SimulatorTest : public ::testing::Test {
 protected:
  SimulatorTest() {
    program_.lines = 3;
    program_.points = 2;
  }

  // Appends a thread. The builder is valid until the next thread is appended.
  CodeBuilder Thread() {
    program_.codes.emplace_back();
    program_.threads.push_back(static_cast<uint32_t>(program_.codes.size() - 1));
    return CodeBuilder(&program_.codes.back());
  }
  uint64_t Visits(uint64_t duration_ns, uint32_t point = 0) {
    simulator_ = std::make_unique<Simulator>(program_, machine_);
    simulator_->RunUntil(duration_ns);
    return simulator_->points()[point].visits;
  }

  Program program_;
  MachineOptions machine_;
  std::unique_ptr<Simulator> simulator_;
};

TEST_F(SimulatorTest, WorkTakesItsTime) {
  Thread().Work(0, 3 * kNsPerMs).Work(1, 7 * kNsPerMs).On(OpKind::kProgress, 0).Jump(0);
  EXPECT_EQ(Visits(kNsPerSecond), 100u);
  EXPECT_EQ(simulator_->line_cpu_ns()[0], 300 * kNsPerMs);
  EXPECT_EQ(simulator_->line_cpu_ns()[1], 700 * kNsPerMs);
}

TEST_F(SimulatorTest, AFasterLineTakesLess) {
  Thread().Work(0, 3 * kNsPerMs).Work(1, 7 * kNsPerMs).On(OpKind::kProgress, 0).Jump(0);
  machine_.faster_line = 1;
  machine_.faster_by = 1;
  EXPECT_EQ(Visits(300 * kNsPerMs), 100u);
}

TEST_F(SimulatorTest, ThreadsShareTooFewCpus) {
  for (int i = 0; i < 4; ++i) Thread().Work(0, 10 * kNsPerMs).On(OpKind::kProgress, 0).Jump(0);
  machine_.cpus = 2;
  EXPECT_NEAR(static_cast<double>(Visits(10 * kNsPerSecond)), 2000, 4);
  EXPECT_EQ(simulator_->Snapshot().runnable_threads, 4);
}

TEST_F(SimulatorTest, SleepsAndWaitsUseNoCpu) {
  Thread().Work(0, 2 * kNsPerMs).Sleep(8 * kNsPerMs).On(OpKind::kProgress, 0).Jump(0);
  machine_.cpus = 1;
  Thread().Work(1, 5 * kNsPerMs).On(OpKind::kProgress, 1).Jump(0);
  Visits(10 * kNsPerSecond);
  EXPECT_NEAR(static_cast<double>(simulator_->line_cpu_ns()[1]), 8e9, 5e8);
}

TEST_F(SimulatorTest, AMutexExcludes) {
  program_.mutexes = 1;
  for (int i = 0; i < 3; ++i) {
    Thread()
        .On(OpKind::kLock, 0)
        .Work(0, 10 * kNsPerMs)
        .On(OpKind::kUnlock, 0)
        .On(OpKind::kProgress, 0)
        .Jump(0);
  }
  EXPECT_EQ(Visits(3 * kNsPerSecond), 300u);
  machine_.fair_mutexes = false;
  EXPECT_EQ(Visits(3 * kNsPerSecond), 300u);
}

TEST_F(SimulatorTest, ABoundedQueueLetsTheSlowerSideSetThePace) {
  const BoundedQueue queue = BoundedQueue::In(program_, 2);
  CodeBuilder producer = Thread();
  producer.Work(0, 2 * kNsPerMs);
  queue.Put(producer);
  producer.On(OpKind::kProgress, 1).Jump(0);
  CodeBuilder consumer = Thread();
  queue.Take(consumer);
  consumer.Work(1, 5 * kNsPerMs).On(OpKind::kProgress, 0).Jump(0);
  EXPECT_NEAR(static_cast<double>(Visits(kNsPerSecond)), 200, 1);
  EXPECT_NEAR(static_cast<double>(simulator_->points()[1].visits), 202, 2);
}

TEST_F(SimulatorTest, ABarrierWaitsForTheSlowest) {
  program_.barriers = {3};
  for (uint64_t i = 1; i <= 3; ++i) {
    Thread().Work(0, i * 10 * kNsPerMs).On(OpKind::kBarrier, 0).On(OpKind::kProgress, 0).Jump(0);
  }
  EXPECT_EQ(Visits(3 * kNsPerSecond + 1), 300u);
}

TEST_F(SimulatorTest, ASemaphoreCounts) {
  program_.semaphores = {2};
  for (int i = 0; i < 4; ++i) {
    Thread()
        .On(OpKind::kSemWait, 0)
        .Work(0, 10 * kNsPerMs)
        .On(OpKind::kSemPost, 0)
        .On(OpKind::kProgress, 0)
        .Jump(0);
  }
  EXPECT_NEAR(static_cast<double>(Visits(kNsPerSecond)), 200, 1);
}

TEST_F(SimulatorTest, ReadersShareAndWritersDoNot) {
  program_.rwlocks = 1;
  for (int i = 0; i < 4; ++i) {
    Thread()
        .On(OpKind::kReadLock, 0)
        .Work(0, 10 * kNsPerMs)
        .On(OpKind::kRwUnlock, 0)
        .On(OpKind::kProgress, 0)
        .Jump(0);
  }
  EXPECT_NEAR(static_cast<double>(Visits(kNsPerSecond)), 400, 4);
  for (Code& code : program_.codes) code[0].kind = OpKind::kWriteLock;
  EXPECT_NEAR(static_cast<double>(Visits(kNsPerSecond)), 100, 1);
}

TEST_F(SimulatorTest, ATimedWaitEndsBySignalOrTime) {
  program_.mutexes = program_.conditions = 1;
  Thread()
      .On(OpKind::kLock, 0)
      .CondWait(0, 0, 10 * kNsPerMs)
      .On(OpKind::kUnlock, 0)
      .On(OpKind::kProgress, 0)
      .Jump(0);
  EXPECT_EQ(Visits(kNsPerSecond), 100u);
  Thread().Work(0, 4 * kNsPerMs).On(OpKind::kSignal, 0).Jump(0);
  EXPECT_EQ(Visits(kNsPerSecond), 250u);
}

TEST_F(SimulatorTest, ThreadsAreCreatedAndJoined) {
  program_.codes.emplace_back();
  CodeBuilder(&program_.codes[0]).Work(0, 10 * kNsPerMs).On(OpKind::kProgress, 1);
  Thread().Spawn(0, 0).Spawn(0, 1).Join(0).Join(1).On(OpKind::kProgress, 0).Jump(0);
  EXPECT_EQ(Visits(kNsPerSecond), 100u);
  EXPECT_EQ(simulator_->points()[1].visits, 200u);
  EXPECT_EQ(simulator_->Snapshot().live_threads, 3);
}

TEST_F(SimulatorTest, ASpinUsesItsCpu) {
  program_.variables = 1;
  Thread().SpinUntil(1, 0, 1).Increase(0, -1).On(OpKind::kProgress, 0).Jump(0);
  Thread().Work(0, 10 * kNsPerMs).Increase(0, 1).Jump(0);
  EXPECT_EQ(Visits(kNsPerSecond), 100u);
  EXPECT_EQ(simulator_->line_cpu_ns()[1], kNsPerSecond);
}

TEST_F(SimulatorTest, InputPacesItsReader) {
  program_.inputs = {{20 * kNsPerMs, 0}};
  Thread().On(OpKind::kReadInput, 0).Work(0, 5 * kNsPerMs).On(OpKind::kProgress, 0).Jump(0);
  EXPECT_EQ(Visits(kNsPerSecond - kNsPerMs), 49u);
}

TEST_F(SimulatorTest, ADeadlockIsSeen) {
  program_.mutexes = 1;
  Thread().On(OpKind::kLock, 0).On(OpKind::kLock, 0);
  Visits(kNsPerSecond);
  EXPECT_TRUE(simulator_->deadlocked());
}

TEST_F(SimulatorTest, SamplesComeWithCpuTime) {
  machine_.sampling_period_ns = kNsPerMs;
  Thread().Work(0, 30 * kNsPerMs).Sleep(50 * kNsPerMs).Work(1, 20 * kNsPerMs).Jump(0);
  Visits(10 * kNsPerSecond);
  const std::vector<uint64_t> samples = simulator_->TakeLineSamples();
  EXPECT_NEAR(static_cast<double>(samples[0]), 3000, 100);
  EXPECT_NEAR(static_cast<double>(samples[1]), 2000, 100);
  EXPECT_EQ(simulator_->Snapshot().total_samples, 5000u);
}

TEST_F(SimulatorTest, ASelectedLineDelaysTheOtherThreadsAndNotItsOwn) {
  machine_.sampling_period_ns = kNsPerMs;
  Thread().Work(0, 10 * kNsPerMs).On(OpKind::kProgress, 0).Jump(0);
  Thread().Work(1, 10 * kNsPerMs).On(OpKind::kProgress, 1).Jump(0);
  simulator_ = std::make_unique<Simulator>(program_, machine_);
  simulator_->Select(0, kNsPerMs / 2, 10 * kNsPerSecond);
  simulator_->RunUntil(10 * kNsPerSecond);
  EXPECT_EQ(simulator_->points()[0].visits, 1000u);
  EXPECT_NEAR(static_cast<double>(simulator_->points()[1].visits), 500, 1);
  const experiment::TargetSnapshot snapshot = simulator_->Snapshot();
  EXPECT_EQ(snapshot.selected_samples, 10000u);
  EXPECT_EQ(snapshot.global_delay_ns, snapshot.selected_samples / 1 * kNsPerMs / 2);
}

TEST_F(SimulatorTest, DelaysEndAtTheDeadline) {
  machine_.sampling_period_ns = kNsPerMs;
  Thread().Work(0, 10 * kNsPerMs).Jump(0);
  simulator_ = std::make_unique<Simulator>(program_, machine_);
  simulator_->Select(0, 1000, kNsPerSecond);
  simulator_->RunUntil(3 * kNsPerSecond);
  EXPECT_NEAR(static_cast<double>(simulator_->Snapshot().global_delay_ns), 1e6, 2000);
  EXPECT_EQ(simulator_->Snapshot().selected_samples, 3000u);
}

}  // namespace
}  // namespace coz::sim
