#include "coz/report/analysis/thread_table.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace coz::report {
namespace {

class ThreadTableTest : public ::testing::Test {
 protected:
  void AddSession(uint64_t session, const std::vector<std::string>& counters) {
    profile_.add_session()->set_id(session);
    for (size_t i = 0; i < counters.size(); ++i) {
      profile::ThreadCounter* counter = profile_.add_thread_counter();
      counter->set_session(session);
      counter->set_id(static_cast<uint32_t>(i + 1));
      counter->set_name(counters[i]);
    }
  }

  profile::Thread* AddThread(uint64_t session, const std::string& name, uint64_t samples,
                             const std::vector<uint64_t>& visits) {
    profile::Thread* thread = profile_.add_thread();
    thread->set_session(session);
    thread->set_name(name);
    thread->set_tid(++tid_);
    thread->set_threads(1);
    thread->set_start_ns(100);
    thread->set_end_ns(200);
    thread->set_samples(samples);
    thread->set_cpu_ns(samples * 1'000'000);
    for (size_t i = 0; i < visits.size(); ++i) {
      thread->add_counter(static_cast<uint32_t>(i + 1));
      thread->add_visits(visits[i]);
    }
    return thread;
  }

  profile::Profile profile_;
  int32_t tid_ = 0;
};

TEST_F(ThreadTableTest, ThreadsOfOneNameAreAGroup) {
  AddSession(1, {"f", "g"});
  AddThread(1, "worker", 10, {1, 5});
  AddThread(1, "main", 50, {0, 7});
  AddThread(1, "worker", 30, {2, 8});
  const ThreadTable table = BuildThreadTable(profile_);
  ASSERT_EQ(table.groups.size(), 2u);
  EXPECT_EQ(table.groups[0].sum.name, "main");
  const ThreadGroup& workers = table.groups[1];
  EXPECT_EQ(workers.sum.name, "worker");
  EXPECT_EQ(workers.sum.threads, 2u);
  EXPECT_EQ(workers.sum.tid, 0);
  EXPECT_EQ(workers.sum.samples, 40u);
  EXPECT_EQ(workers.sum.cpu_ns, 40'000'000u);
  ASSERT_EQ(workers.threads.size(), 2u);
  EXPECT_EQ(workers.threads[0].samples, 30u);
  // g has the most visits, so it comes first.
  EXPECT_EQ(table.counters, (std::vector<std::string>{"g", "f"}));
  EXPECT_EQ(workers.sum.visits, (std::vector<uint64_t>{13, 3}));
  EXPECT_EQ(workers.threads[0].visits, (std::vector<uint64_t>{8, 2}));
  EXPECT_EQ(table.total.threads, 3u);
  EXPECT_EQ(table.total.samples, 90u);
  EXPECT_EQ(table.total.visits, (std::vector<uint64_t>{20, 3}));
}

TEST_F(ThreadTableTest, AGroupStartsWithItsFirstThreadAndEndsWithItsLast) {
  AddSession(1, {});
  AddThread(1, "w", 1, {})->set_start_ns(50);
  AddThread(1, "w", 1, {})->set_end_ns(900);
  EXPECT_EQ(BuildThreadTable(profile_).groups[0].sum.start_ns, 50u);
  EXPECT_EQ(BuildThreadTable(profile_).groups[0].sum.end_ns, 900u);
  AddThread(1, "w", 1, {})->set_end_ns(0);  // it runs on
  EXPECT_EQ(BuildThreadTable(profile_).groups[0].sum.end_ns, 0u);
  AddThread(1, "w", 1, {})->set_end_ns(950);
  EXPECT_EQ(BuildThreadTable(profile_).groups[0].sum.end_ns, 0u);
}

TEST_F(ThreadTableTest, CountersWithoutVisitsHaveNoColumn) {
  AddSession(1, {"never", "f"});
  AddThread(1, "w", 1, {0, 3});
  const ThreadTable table = BuildThreadTable(profile_);
  EXPECT_EQ(table.counters, std::vector<std::string>{"f"});
  EXPECT_EQ(table.groups[0].threads[0].visits, std::vector<uint64_t>{3});
}

// Their counters may be numbered in another way.
TEST_F(ThreadTableTest, SessionsAreAddedUpByName) {
  AddSession(1, {"f", "g"});
  AddThread(1, "w", 1, {1, 10});
  AddSession(2, {"g", "f"});
  AddThread(2, "w", 2, {20, 2});
  const ThreadTable table = BuildThreadTable(profile_);
  EXPECT_EQ(table.counters, (std::vector<std::string>{"g", "f"}));
  ASSERT_EQ(table.groups.size(), 1u);
  EXPECT_EQ(table.groups[0].sum.visits, (std::vector<uint64_t>{30, 3}));
  EXPECT_EQ(table.groups[0].threads[0].session, 1u);
}

TEST_F(ThreadTableTest, TimesOfCallsAreAddedUpByFunction) {
  AddSession(1, {"f", "g"});
  for (const uint64_t calls : {2u, 3u}) {
    profile::Thread* thread = AddThread(1, "w", 1, {10, 20});
    thread->add_timed_counter(1);
    thread->add_timed_calls(calls);
    thread->add_timed_wall_ns(100 * calls);
    thread->add_timed_cpu_ns(10 * calls);
  }
  const ThreadTable table = BuildThreadTable(profile_);
  ASSERT_EQ(table.counters, (std::vector<std::string>{"g", "f"}));
  EXPECT_EQ(table.total.times[0].calls, 0u);
  EXPECT_EQ(table.total.times[1].calls, 5u);
  EXPECT_EQ(table.groups[0].sum.times[1].wall_ns, 500u);
  EXPECT_EQ(table.groups[0].threads[0].times[1].calls, 2u);
  EXPECT_EQ(table.total.times[1].cpu_ns, 50u);
}

TEST_F(ThreadTableTest, AProfileWithoutThreadsHasAnEmptyTable) {
  AddSession(1, {"f"});
  EXPECT_TRUE(BuildThreadTable(profile_).groups.empty());
  EXPECT_EQ(BuildThreadTable(profile_).total.threads, 0u);
}

TEST_F(ThreadTableTest, ACounterThatNobodyNamesIsLeftOut) {
  AddSession(1, {"f"});
  profile::Thread* thread = AddThread(1, "w", 1, {4});
  thread->add_counter(77);
  thread->add_visits(1000);
  EXPECT_EQ(BuildThreadTable(profile_).total.visits, std::vector<uint64_t>{4});
}

}  // namespace
}  // namespace coz::report
