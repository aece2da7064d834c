#include "bench/overhead/measure.h"

#include <gtest/gtest.h>

#include "bench/accuracy/cases.h"
#include "coz/testing/capabilities.h"

namespace coz::overhead {
namespace {

TEST(CompareTest, RelatesEachVariantToTheBareRunOfItsRound) {
  const std::vector<Variant> variants = {
      {"bare", {"sh", "-c", "echo load: ns_per_op=10"}, {}, {}},
      {"profiled", {"sh", "-c", "echo load: ns_per_op=$NS"}, {"NS=25"}, {}},
  };
  const std::vector<Result> results =
      Compare(variants, {}, 3, [](const Figures& f) { return f.ns_per_op; });
  ASSERT_TRUE(results[1].ratio.has_value());
  EXPECT_DOUBLE_EQ(results[1].value->median, 25);
  EXPECT_DOUBLE_EQ(results[1].ratio->median, 2.5);
  EXPECT_DOUBLE_EQ(results[0].ratio->median, 1);
}

TEST(CompareTest, KeepsWhatAFailedVariantSaid) {
  const std::vector<Variant> variants = {{"bare", {"sh", "-c", "echo oops >&2; exit 3"}, {}, {}}};
  const std::vector<Result> results =
      Compare(variants, {}, 2, [](const Figures& f) { return f.ns_per_op; });
  EXPECT_FALSE(results[0].value.has_value());
  EXPECT_NE(results[0].error.find("status 3"), std::string::npos);
  EXPECT_NE(results[0].error.find("oops"), std::string::npos);
}

class LoadTest : public ::testing::TestWithParam<const char*> {};

TEST_P(LoadTest, Runs) {
  std::string error;
  const std::string count = std::string(GetParam()) == "many-threads" ? "1000" : "20";
  const std::optional<Figures> figures = RunOnce(
      {accuracy::RepositoryFile("bench/overhead/load"), GetParam(), count, "10"}, {}, &error);
  ASSERT_TRUE(figures.has_value()) << error;
  EXPECT_GT(figures->ns_per_op, 0);
  EXPECT_GT(figures->rss_kb, 0);
}

INSTANTIATE_TEST_SUITE_P(All, LoadTest,
                         ::testing::Values("compute", "mutex", "hand-over", "visit", "create-join",
                                           "thread-per-task", "many-threads"),
                         [](const auto& parameter) {
                           std::string name = parameter.param;
                           for (char& c : name) c = c == '-' ? '_' : c;
                           return name;
                         });

class WideLoadTest : public ::testing::TestWithParam<const char*> {};

TEST_P(WideLoadTest, RunsWithAnyNumberOfThreads) {
  for (const char* threads : {"1", "2", "5"}) {
    std::string error;
    const std::optional<Figures> figures =
        RunOnce({accuracy::RepositoryFile("bench/overhead/load"), GetParam(), "20", "10", threads},
                {}, &error);
    ASSERT_TRUE(figures.has_value()) << threads << " threads: " << error;
    EXPECT_GT(figures->ns_per_op, 0) << threads << " threads";
  }
}

INSTANTIATE_TEST_SUITE_P(All, WideLoadTest,
                         ::testing::Values("wide-compute", "wide-mutex", "wide-visit",
                                           "wide-shared", "wide-handover"),
                         [](const auto& parameter) {
                           std::string name = parameter.param;
                           for (char& c : name) c = c == '-' ? '_' : c;
                           return name;
                         });

TEST(BareEventTest, SamplesTheLoadEitherWay) {
  COZ_REQUIRE_CAPABILITY(testing::MissingKernelPerfEvents());
  for (const char* variable : {"COZ_BENCH_RING_EVENT", "COZ_BENCH_INHERITED_EVENT"}) {
    std::string error;
    const std::optional<Figures> figures =
        RunOnce({accuracy::RepositoryFile("bench/overhead/load"), "compute-two", "100", "100"},
                {std::string(variable) + "=100000"}, &error);
    ASSERT_TRUE(figures.has_value()) << variable << ": " << error;
    // Two times ten million steps take at least 4 ms.
    EXPECT_GE(figures->samples, 30) << variable;
  }
}

}  // namespace
}  // namespace coz::overhead
