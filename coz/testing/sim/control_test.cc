// Controls in simulated time: a delay that all threads owe alike takes its own time, and no more.
#include <algorithm>
#include <string>

#include "coz/base/clock.h"
#include "coz/testing/sim/accuracy.h"
#include "coz/testing/sim/random_program.h"
#include "coz/testing/sim/study_programs.h"
#include "gtest/gtest.h"

namespace coz::sim {
namespace {

constexpr double kShare = 0.2;

class ControlTest : public ::testing::TestWithParam<Kind> {};

TEST_P(ControlTest, RandomProgramsLoseTheirDelaysAndNoMore) {
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    RandomQuestion drawn = DrawQuestion(GetParam(), seed);
    drawn.question.duration_ns = 300 * kNsPerSecond;
    MachineOptions machine;
    machine.seed = seed;
    EXPECT_NEAR(ControlFactor(drawn.program, machine, drawn.question, kShare), 1, 0.03) << seed;
  }
}

INSTANTIATE_TEST_SUITE_P(All, ControlTest,
                         ::testing::Values(Kind::kSerial, Kind::kBarrier, Kind::kForkJoin,
                                           Kind::kPipeline, Kind::kMutex, Kind::kSemaphore,
                                           Kind::kRwLock, Kind::kTimedWait),
                         [](const auto& tested) {
                           std::string name(KindName(tested.param));
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST(StudyControlTest, ProgramsOfTheStudyLoseTheirDelaysAndNoMore) {
  for (const StudyProgram& study : StudyPrograms()) {
    if (study.name == Latency().name) continue;  // counts no visits
    Question question;
    question.duration_ns = 20 * kNsPerSecond;
    EXPECT_NEAR(ControlFactor(study.program, MachineOptions(), question, kShare), 1, 0.03)
        << study.name;
  }
}

}  // namespace
}  // namespace coz::sim
