// Whether each part of a thread's round gets its share of the samples, however threads take turns.
//
// The parts are told apart by a thread-local number, and what each may claim is its CPU time as the
// thread's own clock has it. Lengths are in no simple ratio to the period, so that phases of rounds
// move on by themselves where nothing sets them back.
#include <sched.h>
#include <unistd.h>

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>

#include "coz/base/clock.h"
#include "coz/sampler/sampler.h"
#include "coz/sampler/testing/sampler_fixture.h"
#include "coz/testing/in_child.h"

namespace coz::sampler {
namespace {

using testing::RunInChild;

constexpr uint64_t kUs = 1000;
constexpr uint64_t kPeriodNs = 930 * kUs;
constexpr int kRounds = 3000;
// Of the share that is due. 600 samples or more in the shorter part scatter by 4 % of it.
constexpr double kTolerance = 0.2;

// outcome->values: weight by part, then CPU time by part.
constexpr int kElsewhere = 0, kLong = 1, kShort = 2, kChild = 3;
constexpr int kCpuNs = 8;

thread_local int part = kElsewhere;

void CountPart(const Sample& sample) { outcome->values[part] += sample.weight; }

// Most of it in user code, where alone samples are taken. Its CPU clock is read every 100 us, so
// that a part is as long on each machine.
void RunPart(int number, uint64_t cpu_ns) {
  const uint64_t start_ns = ThreadCpuNs();
  part = number;
  uint64_t now_ns = start_ns;
  while (now_ns < start_ns + cpu_ns) {
    // By a clock that is read in user code.
    const uint64_t next_look_ns = MonotonicNowNs() + 100 * kUs;
    while (MonotonicNowNs() < next_look_ns) {
    }
    now_ns = ThreadCpuNs();
  }
  part = kElsewhere;
  outcome->values[kCpuNs + number] += now_ns - start_ns;
}

void StayOnThisCpu() {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(static_cast<unsigned>(sched_getcpu()), &one);
  sched_setaffinity(0, sizeof(one), &one);
}

std::thread CreateChild() {
  PrepareToCreateThread();
  return std::thread([] {
    StartThreadSampling();
    RunPart(kChild, 800 * kUs);
    StopThreadSampling();
  });
}

// The share of the longer part in the samples of both is that in their CPU time.
void ExpectShares() {
  const auto value = [](int index) { return static_cast<double>(outcome->values[index]); };
  const double samples = value(kLong) + value(kShort);
  const double cpu_ns = value(kCpuNs + kLong) + value(kCpuNs + kShort);
  EXPECT_NEAR(samples, cpu_ns / kPeriodNs, kTolerance * cpu_ns / kPeriodNs);
  const double due = value(kCpuNs + kShort) / cpu_ns;
  EXPECT_NEAR(value(kShort) / samples, due, kTolerance * due)
      << "long part: " << value(kLong) << " samples in " << value(kCpuNs + kLong) / 1e6
      << " ms; short part: " << value(kShort) << " in " << value(kCpuNs + kShort) / 1e6 << " ms";
}

using SamplingPhaseTest = SamplerTest;
INSTANTIATE_TEST_SUITE_P(InheritedEvent, SamplingPhaseTest,
                         ::testing::Values(SamplingSource::kPerfSigtrap), NameOfSource);

// The thread ends on the CPU where its creator then goes on.
TEST_P(SamplingPhaseTest, CreatorThatJoinsInEachRoundKeepsItsPhase) {
  ASSERT_EQ(RunInChild([] {
              StayOnThisCpu();
              Start(&CountPart, kPeriodNs);
              for (int i = 0; i < kRounds; ++i) {
                std::thread child = CreateChild();
                RunPart(kLong, 500 * kUs);
                child.join();
                RunPart(kShort, 200 * kUs);
              }
              outcome->counters = ReadSamplerCounters();
            }),
            0);
  EXPECT_EQ(outcome->counters.unkept_phases, 0u);
  ExpectShares();
}

TEST_P(SamplingPhaseTest, CreatorThatGoesOnBesideItsThreadKeepsItsPhase) {
  ASSERT_EQ(RunInChild([] {
              Start(&CountPart, kPeriodNs);
              std::thread child;
              for (int i = 0; i < kRounds; ++i) {
                if (child.joinable()) child.join();
                RunPart(kShort, 200 * kUs);
                child = CreateChild();
                RunPart(kLong, 500 * kUs);
              }
              child.join();
            }),
            0);
  ExpectShares();
}

// A pool is left alone: its threads may swap contexts, which moves no sample to where none is due.
TEST_P(SamplingPhaseTest, ThreadsOfAPoolThatTakeTurnsOnOneCpuGetTheirShares) {
  ASSERT_EQ(RunInChild([] {
              StayOnThisCpu();
              Start(&CountPart, kPeriodNs);
              std::mutex mutex;
              std::condition_variable changed;
              int turn = kLong;
              const auto work = [&](int own, int next, uint64_t cpu_ns) {
                StartThreadSampling();
                for (int i = 0; i < kRounds; ++i) {
                  std::unique_lock<std::mutex> lock(mutex);
                  changed.wait(lock, [&] { return turn == own; });
                  RunPart(own, cpu_ns);
                  turn = next;
                  changed.notify_one();
                }
                StopThreadSampling();
              };
              PrepareToCreateThread();
              std::thread first(work, kLong, kShort, 500 * kUs);
              PrepareToCreateThread();
              std::thread second(work, kShort, kLong, 200 * kUs);
              first.join();
              second.join();
            }),
            0);
  ExpectShares();
}

// Where descriptors are short the program still gets its threads.
TEST_P(SamplingPhaseTest, WithoutADescriptorThreadsAreCreatedAndCounted) {
  ASSERT_EQ(RunInChild([] {
              Start(&CountPart, kPeriodNs);
              for (int i = 0; i < 17; ++i) {
                if (i == 16) {
                  while (dup(0) >= 0) {
                  }
                }
                CreateChild().join();
              }
              outcome->counters = ReadSamplerCounters();
            }),
            0);
  EXPECT_EQ(outcome->counters.unkept_phases, 1u);
}

// The keeper is the creator's own and goes with it.
TEST_P(SamplingPhaseTest, CreatorsLeaveNoDescriptorBehind) {
  ASSERT_EQ(RunInChild([] {
              Start(&CountPart, kPeriodNs);
              for (int i = 0; i < 16; ++i) CreateChild().join();
              std::thread([] {
                StartThreadSampling();
                CreateChild().join();
                outcome->values[0] = CountDescriptorsOfPerf();
                StopThreadSampling();
              }).join();
              outcome->values[1] = CountDescriptorsOfPerf();
            }),
            0);
  EXPECT_GE(outcome->values[0], 2u);
  EXPECT_EQ(outcome->values[1], 1u) << "the inherited event";
}

}  // namespace
}  // namespace coz::sampler
