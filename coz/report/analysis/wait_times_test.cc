#include "coz/report/analysis/wait_times.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "coz/report/analysis/experiment_table.h"
#include "coz/report/format/profile.pb.h"
#include "gtest/gtest.h"

namespace coz::report {
namespace {

constexpr uint64_t kMs = 1'000'000;

// A session of 100 ms, sampled each millisecond.
class WaitTimesTest : public ::testing::Test {
 protected:
  WaitTimesTest() {
    profile::Session* session = profile_.add_session();
    session->set_id(1);
    session->set_sampling_period_ns(kMs);
    session->mutable_options()->set_unit_kind(profile::UNIT_KIND_WAIT);
    profile::SessionEnd* end = profile_.add_session_end();
    end->set_session(1);
    end->set_run_time_ns(100 * kMs);
    profile::SampleCounts* counts = profile_.add_sample_counts();
    counts->set_session(1);
    counts->set_out_of_scope_samples(60);
  }

  profile::Thread* AddThread(uint64_t start_ms, uint64_t end_ms, uint64_t cpu_ms) {
    profile::Thread* thread = profile_.add_thread();
    thread->set_session(1);
    thread->set_threads(1);
    thread->set_start_ns(start_ms * kMs);
    thread->set_end_ns(end_ms * kMs);
    thread->set_cpu_ns(cpu_ms * kMs);
    return thread;
  }
  std::optional<WaitTimes> Times() const {
    return SumWaitTimes(profile_, BuildExperimentTable(profile_));
  }

  void AddOwnWait(const std::string& file, uint32_t line, const std::string& group,
                  uint64_t waited_ms) {
    profile::OwnWait* wait = profile_.mutable_session_end(0)->add_own_wait();
    wait->set_file(file);
    wait->set_line(line);
    wait->set_function("f");
    wait->set_thread_group(group);
    wait->set_waited_ns(waited_ms * kMs);
  }

  profile::Profile profile_;
};

TEST_F(WaitTimesTest, WhatIsNeitherCpuTimeNorAWaitForTheOutsideIsTheRest) {
  AddThread(0, 0, 30);  // runs on
  AddThread(20, 70, 10);
  const std::optional<WaitTimes> times = Times();
  ASSERT_TRUE(times.has_value());
  EXPECT_DOUBLE_EQ(times->lived_ns, 150 * kMs);
  EXPECT_DOUBLE_EQ(times->cpu_ns, 40 * kMs);
  EXPECT_DOUBLE_EQ(times->outside_ns, 60 * kMs);
  EXPECT_DOUBLE_EQ(times->OthersNs(), 50 * kMs);
}

TEST_F(WaitTimesTest, SamplesOfMoreTimeThanThereWasLeaveNothing) {
  AddThread(0, 50, 10);
  ASSERT_TRUE(Times().has_value());
  EXPECT_EQ(Times()->OthersNs(), 0);
}

TEST_F(WaitTimesTest, IsNotKnownWithoutThreads) { EXPECT_FALSE(Times().has_value()); }

TEST_F(WaitTimesTest, IsNotKnownWhereUnitsAreNoWaits) {
  AddThread(0, 50, 10);
  profile_.mutable_session(0)->mutable_options()->set_unit_kind(profile::UNIT_KIND_LINE);
  EXPECT_FALSE(Times().has_value());
}

TEST_F(WaitTimesTest, IsNotKnownWhereWaitsOfSomeThreadsCountAlone) {
  AddThread(0, 50, 10);
  profile_.mutable_session(0)->mutable_options()->add_thread("worker");
  EXPECT_FALSE(Times().has_value());
}

TEST_F(WaitTimesTest, IsNotKnownOfThreadsThatArePutTogether) {
  AddThread(0, 50, 10)->set_threads(2);
  EXPECT_FALSE(Times().has_value());
}

TEST_F(WaitTimesTest, IsNotKnownOfASessionWithoutAnEnd) {
  AddThread(0, 50, 10);
  profile_.clear_session_end();
  EXPECT_FALSE(Times().has_value());
}

// Files of one name, lines and groups of threads are told apart.
TEST_F(WaitTimesTest, WaitsThatAreNoUnitsAreSummedByTheirCall) {
  AddOwnWait("/src/a.cc", 7, "", 3);
  AddOwnWait("/src/b.cc", 7, "", 5);
  AddOwnWait("/src/b.cc", 8, "", 4);
  AddOwnWait("/src/a.cc", 7, "io", 2);
  AddOwnWait("/src/d/a.cc", 7, "", 1);
  AddOwnWait("/src/a.cc", 7, "", 4);
  std::vector<std::string> names;
  for (const OwnWaitRow& row : OwnWaits(profile_)) names.push_back(row.call.Name());
  EXPECT_EQ(names, (std::vector<std::string>{"/src/a.cc:7", "/src/b.cc:7", "/src/b.cc:8",
                                             "/src/a.cc:7@io", "/src/d/a.cc:7"}));
  EXPECT_EQ(OwnWaits(profile_)[0].waited_ns, 7 * kMs);
  EXPECT_EQ(OwnWaits(profile_)[0].call.function, "f");
}

TEST_F(WaitTimesTest, WaitsInAGroupOfCodeHaveItsName) {
  AddOwnWait("", 0, "", 3);
  EXPECT_EQ(OwnWaits(profile_)[0].call.Name(), "f");
}

}  // namespace
}  // namespace coz::report
