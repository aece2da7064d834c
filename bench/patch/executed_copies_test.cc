#include "bench/patch/executed_copies.h"

#include "absl/strings/str_join.h"
#include "bench/patch/library_code.h"
#include "bench/patch/loaded_library.h"
#include "bench/patch/relocation_survey.h"
#include "gtest/gtest.h"

namespace coz::bench {
namespace {

constexpr size_t kPlaces = 10000;

class ExecutedCopiesTest : public testing::TestWithParam<const char*> {};

// The puppet's seed is fixed: what fails once fails again.
TEST_P(ExecutedCopiesTest, StubsDoWhatTheDisplacedInstructionsDo) {
  const absl::StatusOr<LibraryCode> library = MapLibrary(LoadedLibrary(GetParam()));
  ASSERT_TRUE(library.ok()) << library.status();
  const RelocationSurvey survey = SurveyLibrary(*library);
  EXPECT_GT(survey.functions, 3000u);
  EXPECT_EQ(survey.failed, 0u);
  const ExecutedCopies executed = ExecuteCopies(*library, kPlaces, /*seed=*/1);
  EXPECT_EQ(executed.places, kPlaces);
  EXPECT_GT(executed.kinds.jumps, kPlaces / 4);
  EXPECT_GT(executed.kinds.shared, kPlaces / 8);
  EXPECT_GT(executed.kinds.traps, kPlaces / 4);
  EXPECT_LT(executed.faults, kPlaces / 4);
  EXPECT_EQ(absl::StrJoin(executed.differences, "\n"), "");
}

INSTANTIATE_TEST_SUITE_P(Libraries, ExecutedCopiesTest,
                         testing::Values("libc.so.6", "libstdc++.so.6"),
                         [](const auto& library) -> std::string {
                           return std::string(library.param) == "libc.so.6" ? "Libc" : "Libstdcxx";
                         });

}  // namespace
}  // namespace coz::bench
