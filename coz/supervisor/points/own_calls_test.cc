#include "coz/supervisor/points/own_calls.h"

#include <map>
#include <string>
#include <vector>

#include "coz/base/go_moment.h"
#include "coz/testing/run_command.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace coz::supervisor {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string Puppet(const std::string& name) {
  return testing::RunfilePath("coz/testing/puppets/" + name);
}

TEST(FindOwnCallsTest, FindsTheSystemCallAndEachMomentOfTheScheduler) {
  std::string why;
  std::map<uint32_t, int> moments;
  int calls = 0;
  for (const OwnCall& call : FindOwnCalls(Puppet("goroutines"), &why)) {
    EXPECT_EQ(call.plans.best.way, patch::Way::kJump) << call.place.code.name;
    if (call.edge.kind == PlaceEdge::Kind::kOwnCall) {
      ++calls;
      EXPECT_TRUE(call.plans.best.replaces_call);
      EXPECT_GT(call.place.code.file_offset, call.place.code.function_offset);
    } else {
      ++moments[call.edge.argument];
      // Not at the comparison of the stack pointer.
      EXPECT_EQ(call.plans.best.offset, 4u) << call.place.code.name;
    }
  }
  EXPECT_EQ(why, "");
  EXPECT_EQ(calls, 1);
  const auto of = [&moments](GoMoment moment) { return moments[static_cast<uint32_t>(moment)]; };
  EXPECT_EQ(of(GoMoment::kParks), 2);
  EXPECT_EQ(of(GoMoment::kYields), 3);
  EXPECT_EQ(of(GoMoment::kEnds), 1);
  EXPECT_EQ(of(GoMoment::kReady), 1);
  EXPECT_EQ(of(GoMoment::kExecute), 1);
  EXPECT_EQ(of(GoMoment::kServes), 1);
  EXPECT_EQ(of(GoMoment::kPolls), 1);
  EXPECT_EQ(of(GoMoment::kHalts), 2);
}

TEST(FindOwnCallsTest, SaysWhyNot) {
  std::string why;
  EXPECT_THAT(FindOwnCalls(Puppet("goroutines_stripped"), &why), IsEmpty());
  EXPECT_THAT(why, HasSubstr("no symbols"));
  EXPECT_THAT(FindOwnCalls("/no/such/program", &why), IsEmpty());
  EXPECT_THAT(why, HasSubstr("/no/such/program"));
}

// Without a function that the scheduler needs, none of them is of use. System calls are.
TEST(FindOwnCallsTest, TakesAllOfTheSchedulerOrNothing) {
  std::string why;
  const std::vector<OwnCall> calls = FindOwnCalls(Puppet("goroutines_of_another_version"), &why);
  ASSERT_EQ(calls.size(), 1u);
  EXPECT_EQ(calls[0].edge.kind, PlaceEdge::Kind::kOwnCall);
  EXPECT_THAT(why, HasSubstr("unknown version"));
}

}  // namespace
}  // namespace coz::supervisor
