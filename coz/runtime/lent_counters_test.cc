#include "coz/runtime/lent_counters.h"

#include <sys/resource.h>
#include <unistd.h>

#include <memory>
#include <string>

#include "coz/base/reserved_descriptors.h"
#include "coz/points/visit_counter.h"
#include "coz/testing/capabilities.h"
#include "gtest/gtest.h"

namespace coz {
namespace {

__attribute__((noipa)) void Visit() { asm volatile(""); }

// The test is supervisor and program in one.
class LentCountersTest : public ::testing::Test {
 protected:
  LentCountersTest() : control_(std::make_unique<ControlBlock>()) {
    control_->supervisor_pid = getpid();
  }
  ~LentCountersTest() override {
    ForgetLentCounters();
    for (int fd = NextReservedDescriptor(0); fd >= 0; fd = NextReservedDescriptor(fd + 1)) {
      ReleaseDescriptor(fd);
      close(fd);
    }
  }

  // Lends a counter of visits for the END of pair 7 of program 3.
  std::string Lend() {
    absl::StatusOr<VisitCounter> counter = VisitCounter::ForBreakpoint(getpid(), false);
    absl::Status status = counter.status();
    if (status.ok()) status = counter->Arm(reinterpret_cast<uint64_t>(&Visit));
    if (!status.ok()) return "required breakpoints, actual: " + std::string(status.message());
    counter_ = std::make_unique<VisitCounter>(*std::move(counter));
    const std::vector<int> descriptors = counter_->Descriptors();
    LentCounters& lent = control_->lent_counters;
    for (const int fd : descriptors) lent.counters[lent.used++] = {fd, 7, PairEnd::kEnd};
    lent.image_plus_1 = 3 + 1;
    TakeLentCounters(*control_, 3);
    return NextReservedDescriptor(0) >= 0
               ? ""
               : "required room beyond the limit on descriptors and ptrace, actual: none";
  }
  bool Read(PairEnd end = PairEnd::kEnd, uint32_t point = 7) {
    return ReadLentVisits(*control_, point, end, &visits_);
  }

  std::unique_ptr<ControlBlock> control_;
  std::unique_ptr<VisitCounter> counter_;
  uint64_t visits_ = 0;
};

TEST_F(LentCountersTest, VisitsAreReadExactly) {
  COZ_REQUIRE_CAPABILITY(Lend());
  ASSERT_TRUE(Read());
  EXPECT_EQ(visits_, 0u);
  for (int i = 0; i < 5; ++i) Visit();
  ASSERT_TRUE(Read());
  EXPECT_EQ(visits_, 5u);
  EXPECT_FALSE(Read(PairEnd::kBegin));
  EXPECT_FALSE(Read(PairEnd::kEnd, 6));
}

TEST_F(LentCountersTest, WhatIsLentToAnotherProgramIsNotRead) {
  COZ_REQUIRE_CAPABILITY(Lend());
  control_->lent_counters.image_plus_1 = 4 + 1;
  EXPECT_FALSE(Read());
  control_->lent_counters.image_plus_1 = 0;
  EXPECT_FALSE(Read());
}

TEST_F(LentCountersTest, WhatIsLentToAllIsReadByEveryProgram) {
  COZ_REQUIRE_CAPABILITY(Lend());
  Visit();
  ForgetLentCounters();
  control_->lent_counters.image_plus_1 = kLentToAll;
  TakeLentCounters(*control_, 12);
  ASSERT_TRUE(Read());
  EXPECT_EQ(visits_, 1u);
  control_->lent_counters.image_plus_1 = 0;
  EXPECT_FALSE(Read());
}

TEST_F(LentCountersTest, NothingIsTakenOfWhatIsNotLent) {
  TakeLentCounters(*control_, 0);
  EXPECT_EQ(NextReservedDescriptor(0), -1);
  EXPECT_FALSE(Read());
}

// By a system call past every wrapper.
TEST_F(LentCountersTest, FileThatTookTheDescriptorsPlaceIsLeftAlone) {
  COZ_REQUIRE_CAPABILITY(Lend());
  const int copy = NextReservedDescriptor(0);
  rlimit limit;
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  const rlimit raised = {static_cast<rlim_t>(copy) + 1, limit.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &raised), 0);
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  ASSERT_EQ(write(ends[1], "12345678", 8), 8);
  ASSERT_EQ(dup2(ends[0], copy), copy);
  EXPECT_FALSE(Read());
  char text[9] = {};
  EXPECT_EQ(read(ends[0], text, 8), 8);
  EXPECT_STREQ(text, "12345678");
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
  close(ends[0]);
  close(ends[1]);
}

}  // namespace
}  // namespace coz
