// Each accuracy program accepts its options and visits its progress point.
#include <gtest/gtest.h>

#include <map>
#include <ostream>
#include <string>

#include "bench/accuracy/cases.h"
#include "bench/accuracy/prediction.h"
#include "bench/accuracy/program_run.h"
#include "coz/testing/run_command.h"

namespace coz::accuracy {
void PrintTo(const Case& one_case, std::ostream* out) { *out << one_case.name; }

namespace {

Variant Shortened(const std::string& label, double scale) {
  Variant variant;
  variant.label = label;
  variant.scale = scale;
  return variant;
}

class ProgramsTest : public ::testing::TestWithParam<Case> {};

TEST_P(ProgramsTest, VisitsItsPointAsItIs) {
  const absl::StatusOr<ProgramRun> run =
      RunAndRead(ProgramCommand(ProgramPath(GetParam()), 0.1, 20), 0.1);
  ASSERT_TRUE(run.ok()) << run.status();
  EXPECT_GT(run->visits, 1);
  EXPECT_EQ(run->latency_ns > 0, GetParam().is_latency);
}

TEST_P(ProgramsTest, VisitsItsPointWithEachLineShortened) {
  for (const Line& line : GetParam().lines) {
    const absl::StatusOr<ProgramRun> run = RunAndRead(
        ProgramCommand(ProgramPath(GetParam()), 0.1, 20, Shortened(line.label, 0.25)), 0.1);
    ASSERT_TRUE(run.ok()) << run.status();
    EXPECT_GT(run->visits, 1) << line.label;
  }
}

TEST_P(ProgramsTest, VisitsItsPointWithOtherNumbersOfThreadsWhereItIsWide) {
  if (!GetParam().is_wide) return;
  for (const int threads : {2, 3, 8}) {
    Variant variant;
    variant.threads = threads;
    const absl::StatusOr<ProgramRun> run =
        RunAndRead(ProgramCommand(ProgramPath(GetParam()), 0.1, 20, variant), 0.1);
    ASSERT_TRUE(run.ok()) << threads << " threads: " << run.status();
    EXPECT_GT(run->visits, 1) << threads << " threads";
  }
}

TEST_P(ProgramsTest, RefusesALabelItDoesNotHave) {
  EXPECT_EQ(
      testing::RunCommand(ProgramCommand(ProgramPath(GetParam()), 0.1, 20, Shortened("none", 0.5)))
          .status,
      2);
}

TEST_P(ProgramsTest, HasEachLabelOnOneLineOfItsSource) {
  for (const Line& line : GetParam().lines) EXPECT_GT(LineNumber(line), 0) << line.label;
}

INSTANTIATE_TEST_SUITE_P(AllCases, ProgramsTest, ::testing::ValuesIn(AllCases()),
                         [](const auto& parameter) { return parameter.param.name; });

class RandomProgramTest : public ::testing::TestWithParam<RandomKind> {};

TEST_P(RandomProgramTest, EndsWhateverIsDrawn) {
  for (int number = 1; number <= 12; ++number) {
    Variant variant = Shortened("a", 0.5);
    variant.plan = RandomPlan(number, GetParam());
    const absl::StatusOr<ProgramRun> run =
        RunAndRead(ProgramCommand(ProgramPath(RandomCase(variant.plan)), 0.02, 20, variant), 0.02);
    ASSERT_TRUE(run.ok()) << "plan " << variant.plan << ": " << run.status();
    EXPECT_GT(run->visits, 1) << "plan " << variant.plan;
  }
}

std::vector<RandomKind> RandomKinds() {
  using Shape = RandomKind::Shape;
  std::vector<RandomKind> kinds;
  for (const Shape shape : {Shape::kPair, Shape::kCrowd, Shape::kPool}) {
    for (const bool is_of_processes : {false, true}) {
      RandomKind kind;
      kind.shape = shape;
      kind.is_of_processes = is_of_processes;
      kinds.push_back(kind);
    }
  }
  return kinds;
}

INSTANTIATE_TEST_SUITE_P(AllKinds, RandomProgramTest, ::testing::ValuesIn(RandomKinds()));

TEST(PeerProfileTest, AddsUpExperimentsOfOneSpeedup) {
  Case one_case;
  one_case.point = "items";
  const std::map<double, PeerTotals> totals = ParsePeerProfile(
      "startup\ttime=1\n"
      "experiment\tselected=a.cc:1\tspeedup=0\tduration=100\tselected-samples=1\n"
      "throughput-point\tname=items\tdelta=10\n"
      "throughput-point\tname=other\tdelta=99\n"
      "experiment\tselected=a.cc:1\tspeedup=0.5\tduration=60\tselected-samples=1\n"
      "throughput-point\tname=items\tdelta=10\n"
      "experiment\tselected=a.cc:1\tspeedup=0\tduration=300\tselected-samples=1\n"
      "throughput-point\tname=items\tdelta=30\n",
      one_case);
  ASSERT_EQ(totals.size(), 2u);
  EXPECT_EQ(totals.at(0).duration_ns, 400);
  EXPECT_EQ(totals.at(0).visits, 40);
  EXPECT_EQ(totals.at(0.5).duration_ns, 60);
}

// Such a profile comes of two threads that an idle thread joins: delays of 1.6 s in an experiment
// of 0.5 s.
TEST(PeerProfileTest, LeavesOutExperimentsShorterThanNothing) {
  Case one_case;
  one_case.point = "pairs";
  const std::map<double, PeerTotals> totals = ParsePeerProfile(
      "experiment\tselected=a.cc:1\tspeedup=0.75\tduration=18446744072609551616\tselected-samples="
      "1\n"
      "throughput-point\tname=pairs\tdelta=10\n"
      "experiment\tselected=a.cc:1\tspeedup=0.75\tduration=50\tselected-samples=1\n"
      "throughput-point\tname=pairs\tdelta=20\n",
      one_case);
  ASSERT_EQ(totals.size(), 1u);
  EXPECT_EQ(totals.at(0.75).duration_ns, 50);
  EXPECT_EQ(totals.at(0.75).visits, 20);
}

}  // namespace
}  // namespace coz::accuracy
