#include "coz/shared/lent_counters.h"

#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "coz/base/reserved_descriptors.h"
#include "coz/points/visit_counter.h"
#include "coz/testing/capabilities.h"
#include "coz/testing/zeroed_control.h"
#include "gtest/gtest.h"

namespace coz::shared {
namespace {

__attribute__((noipa)) void Visit() { asm volatile(""); }

// The test is supervisor and program in one.
class LentCountersTest : public ::testing::Test {
 protected:
  LentCountersTest() : control_(testing::ZeroedControl()) { control_->supervisor_pid = getpid(); }
  ~LentCountersTest() override {
    ForgetLentCounters();
    for (int fd = NextReservedDescriptor(0); fd >= 0; fd = NextReservedDescriptor(fd + 1)) {
      ReleaseDescriptor(fd);
      close(fd);
    }
  }

  // Another counter of visits for the END of pair 7, with what was counted before.
  std::string Lend(uint64_t visits_before = 0) {
    absl::Status status = points::CheckBreakpoints();
    absl::StatusOr<points::VisitCounter> counter =
        points::VisitCounter::ForBreakpoint(getpid(), false);
    if (status.ok()) status = counter.status();
    if (status.ok()) status = counter->Arm(reinterpret_cast<uint64_t>(&Visit));
    if (!status.ok()) return "required breakpoints, actual: " + std::string(status.message());
    counters_.push_back(*std::move(counter));
    LentCounters& lent = control_->lent_counters;
    lent.version = lent.version + 1;
    for (const int fd : counters_.back().Descriptors()) {
      uint64_t event = 0;
      ioctl(fd, PERF_EVENT_IOC_ID, &event);
      LentCounter& entry = lent.counters[lent.used++];
      entry.fd = fd;
      entry.event = event;
      entry.visits_before = visits_before;
      entry.point = 7;
      entry.end = PairEnd::kEnd;
    }
    lent.version = lent.version + 1;
    return "";
  }
  std::string LendAndTake() {
    std::string missing = Lend();
    if (!missing.empty()) return missing;
    TakeLentCounters(*control_);
    return NextReservedDescriptor(0) >= 0
               ? ""
               : "required room beyond the limit on descriptors and ptrace, actual: none";
  }
  bool Read(PairEnd end = PairEnd::kEnd, uint32_t point = 7) {
    return ReadLentVisits(*control_, point, end, &visits_);
  }
  static int Copies() {
    int copies = 0;
    for (int fd = NextReservedDescriptor(0); fd >= 0; fd = NextReservedDescriptor(fd + 1)) ++copies;
    return copies;
  }

  testing::OwnedControl control_;
  std::vector<points::VisitCounter> counters_;
  uint64_t visits_ = 0;
};

TEST_F(LentCountersTest, VisitsAreReadExactly) {
  COZ_REQUIRE_CAPABILITY(LendAndTake());
  ASSERT_TRUE(Read());
  EXPECT_EQ(visits_, 0u);
  for (int i = 0; i < 5; ++i) Visit();
  ASSERT_TRUE(Read());
  EXPECT_EQ(visits_, 5u);
  EXPECT_FALSE(Read(PairEnd::kBegin));
  EXPECT_FALSE(Read(PairEnd::kEnd, 6));
}

// The test visits in both programs' name.
TEST_F(LentCountersTest, CounterOfAProgramThatCameLaterIsReadToo) {
  COZ_REQUIRE_CAPABILITY(LendAndTake());
  Visit();
  ASSERT_EQ(Lend(), "");
  Visit();
  ASSERT_TRUE(Read());
  EXPECT_EQ(visits_, 3u);
  EXPECT_EQ(Copies(), 2);
}

TEST_F(LentCountersTest, CounterOfAProgramThatHasEndedIsGivenBackAndItsVisitsStay) {
  COZ_REQUIRE_CAPABILITY(LendAndTake());
  ASSERT_EQ(Lend(), "");
  Visit();
  ASSERT_TRUE(Read());
  ASSERT_EQ(Copies(), 2);
  LentCounters& lent = control_->lent_counters;
  lent.version = lent.version + 2;
  lent.counters[0].fd = -1;
  lent.counters[0].visits_before = 40;
  Visit();
  ASSERT_TRUE(Read());
  EXPECT_EQ(visits_, 42u);
  EXPECT_EQ(Copies(), 1);
}

TEST_F(LentCountersTest, WhatWasCountedBeforeIsAdded) {
  COZ_REQUIRE_CAPABILITY(LendAndTake());
  ASSERT_EQ(Lend(100), "");
  Visit();
  ASSERT_TRUE(Read());
  EXPECT_EQ(visits_, 102u);
}

TEST_F(LentCountersTest, NothingIsReadWhileTheTableIsWritten) {
  COZ_REQUIRE_CAPABILITY(LendAndTake());
  control_->lent_counters.version = control_->lent_counters.version + 1;
  EXPECT_FALSE(Read());
  control_->lent_counters.version = control_->lent_counters.version + 1;
  EXPECT_TRUE(Read());
}

// The supervisor has closed it and opened another at its number.
TEST_F(LentCountersTest, AnotherEventAtTheNumberIsNotTakenForIt) {
  COZ_REQUIRE_CAPABILITY(LendAndTake());
  LentCounters& lent = control_->lent_counters;
  lent.version = lent.version + 2;
  lent.counters[0].event = lent.counters[0].event + 1;
  EXPECT_FALSE(Read());
  EXPECT_EQ(Copies(), 0);
  lent.version = lent.version + 2;
  lent.counters[0].event = lent.counters[0].event - 1;
  EXPECT_TRUE(Read());
}

TEST_F(LentCountersTest, NothingIsTakenOfWhatIsNotLent) {
  TakeLentCounters(*control_);
  EXPECT_EQ(NextReservedDescriptor(0), -1);
  EXPECT_FALSE(Read());
}

// As for probes on a machine of 32 CPUs, or a pair on one of 16.
TEST_F(LentCountersTest, CountersOfAllCpusAreAddedUp) {
  COZ_REQUIRE_CAPABILITY(LendAndTake());
  LentCounters& lent = control_->lent_counters;
  lent.version = lent.version + 2;
  const LentCounter& first = lent.counters[0];
  for (; lent.used < kMaxLentCounters; ++lent.used) {
    LentCounter& entry = lent.counters[lent.used];
    entry.fd = first.fd.load();
    entry.event = first.event.load();
    entry.point = 7;
    entry.end = PairEnd::kEnd;
  }
  Visit();
  ASSERT_TRUE(Read());
  EXPECT_EQ(visits_, kMaxLentCounters);
  EXPECT_EQ(Copies(), static_cast<int>(kMaxLentCounters));
}

TEST_F(LentCountersTest, ThreadsReadAllVisitsOrNothingWhileProgramsComeAndGo) {
  COZ_REQUIRE_CAPABILITY(LendAndTake());
  ASSERT_EQ(Lend(), "");
  for (int i = 0; i < 10; ++i) Visit();
  // Two counters of ten visits: the second is there, or its ten are counted before.
  std::atomic<bool> stop{false};
  std::atomic<uint64_t> reads{0};
  std::atomic<uint64_t> wrong{0};
  constexpr int kReaders = 3;
  std::vector<std::thread> readers;
  readers.reserve(kReaders);
  for (int i = 0; i < kReaders; ++i) {
    readers.emplace_back([&] {
      while (!stop) {
        uint64_t visits = 0;
        if (!ReadLentVisits(*control_, 7, PairEnd::kEnd, &visits)) continue;
        ++reads;
        if (visits != 20) ++wrong;
      }
    });
  }
  LentCounters& lent = control_->lent_counters;
  const int fd = lent.counters[1].fd;
  for (int change = 0; change < 1000 || reads < 1000; ++change) {
    lent.version = lent.version + 1;
    const bool ends = change % 2 == 0;
    lent.counters[1].fd = ends ? -1 : fd;
    lent.counters[1].visits_before = ends ? 10 : 0;
    lent.version = lent.version + 1;
    std::this_thread::yield();
  }
  stop = true;
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(wrong, 0u) << "of " << reads;
}

// By a system call past every wrapper.
TEST_F(LentCountersTest, FileThatTookTheDescriptorsPlaceIsLeftAlone) {
  COZ_REQUIRE_CAPABILITY(LendAndTake());
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
}  // namespace coz::shared
