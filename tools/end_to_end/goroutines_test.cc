// Threads that switch between goroutines, as those of Go's programs do, under the coz command.
#include <cstdint>
#include <string>
#include <vector>

#include "coz/testing/coz_run.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace coz {
namespace {

using testing::CommandResult;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::Puppet;

class GoroutinesTest : public testing::CozRunTest {};

// `heavy` makes nearly all of a round, and the other thread waits for it. Of that time it owes
// nothing. Where nobody sees that, it pauses for all that is inserted.
TEST_F(GoroutinesTest, WhoWaitsForAGoroutineOwesNothing) {
  experiment_seconds_ = "0.2";
  const CommandResult result = Run({"--unit=function", "--fixed-unit=heavy", "--fixed-speedup=50"},
                                   {Puppet("goroutines"), "4"});
  EXPECT_EQ(result.status, 7) << result.errors;
  EXPECT_EQ(result.output, "done\n");
  EXPECT_THAT(result.errors, Not(HasSubstr("waits of goroutines")));
  uint64_t inserted_ns = 0;
  uint64_t paid_ns = 0;
  const profile::Profile profile = Profile();
  for (const profile::Experiment& experiment : profile.experiment()) {
    inserted_ns += experiment.inserted_delay_ns();
    paid_ns += experiment.validity().paid_ns();
  }
  EXPECT_GT(inserted_ns, 0u);
  EXPECT_LT(paid_ns, inserted_ns / 10);
}

TEST_F(GoroutinesTest, ProgramWithoutSymbolsIsToldThatItsWaitsAreNotSeen) {
  const CommandResult result = Run({"--unit=library"}, {Puppet("goroutines_stripped"), "1"});
  EXPECT_EQ(result.status, 7);
  EXPECT_EQ(result.output, "done\n");
  EXPECT_THAT(result.errors, HasSubstr("waits of goroutines are not seen"));
  EXPECT_THAT(result.errors, HasSubstr("-ldflags=-s"));
}

// Its code has no call frame information.
TEST_F(GoroutinesTest, TimeInALibraryOfGosCountsForItsCaller) {
  const CommandResult result = Run({"--unit=line"}, {Puppet("go_library"), "1.5"});
  EXPECT_EQ(result.status, 0) << result.errors;
  EXPECT_EQ(result.output, "done\n");
  uint64_t samples = 0;
  uint64_t samples_in_scope = 0;
  const profile::Profile profile = Profile();
  for (const profile::Thread& thread : profile.thread()) {
    samples += thread.samples();
    samples_in_scope += thread.samples_in_scope();
  }
  EXPECT_GT(samples, 0u);
  EXPECT_GT(samples_in_scope, samples * 8 / 10);
}

}  // namespace
}  // namespace coz
