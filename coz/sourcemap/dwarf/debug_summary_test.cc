#include "coz/sourcemap/dwarf/debug_summary.h"

#include <string>

#include "coz/sourcemap/testing/fixture_files.h"
#include "gtest/gtest.h"

namespace coz::sourcemap {
namespace {

DebugSummary Summarize(const std::string& name) {
  const auto summary = SummarizeDebugInfo(FixturePath(name));
  EXPECT_TRUE(summary.ok()) << summary.status();
  return summary.ok() ? *summary : DebugSummary();
}

// Two sources; the rest of the code is start-up code of libc.
TEST(DebugSummaryTest, CountsUnitsByVersion) {
  EXPECT_EQ(Summarize("dwarf5").units_by_version, (std::map<int, uint64_t>{{5, 2}}));
  EXPECT_EQ(Summarize("dwarf4").units_by_version, (std::map<int, uint64_t>{{4, 2}}));
  EXPECT_EQ(Summarize("dwarf2").units_by_version, (std::map<int, uint64_t>{{2, 2}}));
}

TEST(DebugSummaryTest, UnitsCoverMostOfTheCodeButNotAll) {
  const DebugSummary summary = Summarize("dwarf5");
  EXPECT_GT(summary.covered_bytes, summary.code_bytes / 2);
  EXPECT_LT(summary.covered_bytes, summary.code_bytes);
}

TEST(DebugSummaryTest, ASeparateFileCoversTheBinarysCode) {
  const DebugSummary summary = Summarize("debuglink");
  EXPECT_NE(summary.path.find("fixture.debug"), std::string::npos);
  EXPECT_GT(summary.covered_bytes, summary.code_bytes / 2);
}

TEST(DebugSummaryTest, SplitUnitsCountByTheirSkeletons) {
  const DebugSummary summary = Summarize("split5");
  EXPECT_EQ(summary.units_by_version, (std::map<int, uint64_t>{{5, 2}}));
  EXPECT_GT(summary.covered_bytes, summary.code_bytes / 2);
}

TEST(DebugSummaryTest, MissingSplitFilesAreCountedAndThePackageNamed) {
  EXPECT_EQ(Summarize("split5").splits_missing, 0u);
  const DebugSummary missing = Summarize("split_missing");
  EXPECT_EQ(missing.splits_missing, 2u);
  EXPECT_NE(missing.split_missing.find("fixture.dwo"), std::string::npos) << missing.split_missing;
  EXPECT_EQ(missing.split_package, "");
  const std::string package = Summarize("split_package").split_package;
  EXPECT_NE(package.find("/fixture.dwp"), std::string::npos) << package;
}

TEST(DebugSummaryTest, WithoutDebugInformationThereIsNoSummary) {
  EXPECT_EQ(SummarizeDebugInfo(FixturePath("stripped")).status().code(),
            absl::StatusCode::kFailedPrecondition);
}

TEST(DebugSummaryTest, GccTellsWhetherItOptimized) {
  EXPECT_EQ(OptimizationOf("GNU C++17 12.2.0 -mtune=generic -g -O2 -fPIE"), Optimization::kSome);
  EXPECT_EQ(OptimizationOf("GNU C17 12.2.0 -O2 -g -O0"), Optimization::kNone);
  EXPECT_EQ(OptimizationOf("GNU C17 12.2.0 -mtune=generic -g"), Optimization::kNone);
  EXPECT_EQ(OptimizationOf("Debian clang version 14.0.6"), Optimization::kUnknown);
  EXPECT_EQ(OptimizationOf("GNU AS 2.40"), Optimization::kUnknown);
}

}  // namespace
}  // namespace coz::sourcemap
