#include "coz/report/analysis/api_table.h"

#include "gtest/gtest.h"

namespace coz::report {
namespace {

void AddColumn(uint32_t id, const std::string& function, const std::string& caller,
               profile::Profile* profile) {
  profile::ThreadCounter* counter = profile->add_thread_counter();
  counter->set_session(1);
  counter->set_id(id);
  counter->set_name(function + " from " + caller);
  counter->set_api_function(function);
  counter->set_api_caller(caller);
}

profile::Thread* AddThread(const std::string& name, profile::Profile* profile) {
  profile::Thread* thread = profile->add_thread();
  thread->set_session(1);
  thread->set_name(name);
  return thread;
}

void AddCalls(uint32_t column, uint64_t calls, uint64_t timed, uint64_t wall_ns,
              profile::Thread* thread) {
  thread->add_counter(column);
  thread->add_visits(calls);
  if (timed == 0) return;
  thread->add_timed_counter(column);
  thread->add_timed_calls(timed);
  thread->add_timed_wall_ns(wall_ns);
  thread->add_timed_cpu_ns(wall_ns / 2);
}

TEST(ApiTableTest, RowsAreByFunctionAndCallerWithTheirThreads) {
  profile::Profile profile;
  profile.add_session()->set_id(1);
  profile.add_session_end()->set_run_time_ns(1000);
  AddColumn(1, "liba.so!f", "program", &profile);
  AddColumn(2, "liba.so!f", "libb.so", &profile);
  AddColumn(3, "liba.so!g", "program", &profile);
  profile::ThreadCounter* mark = profile.add_thread_counter();  // no call
  mark->set_session(1);
  mark->set_id(4);
  mark->set_name("requests");
  profile::Thread* main = AddThread("main", &profile);
  AddCalls(1, 10, 9, 100, main);
  AddCalls(3, 7, 0, 0, main);
  AddCalls(4, 1, 0, 0, main);
  profile::Thread* worker = AddThread("worker", &profile);
  AddCalls(1, 5, 5, 300, worker);
  AddCalls(2, 1, 1, 500, worker);
  const ApiTable table = BuildApiTable(profile);
  EXPECT_EQ(table.run_ns, 1000u);
  ASSERT_EQ(table.rows.size(), 3u);
  EXPECT_EQ(table.rows[0].caller, "libb.so");
  EXPECT_EQ(table.rows[0].times.wall_ns, 500u);
  EXPECT_EQ(table.rows[1].function, "liba.so!f");
  EXPECT_EQ(table.rows[1].calls, 15u);
  EXPECT_EQ(table.rows[1].times.calls, 14u);
  ASSERT_EQ(table.rows[1].threads.size(), 2u);
  EXPECT_EQ(table.rows[1].threads[0].name, "worker");
  EXPECT_EQ(table.rows[1].threads[0].times.cpu_ns, 150u);
  EXPECT_EQ(table.rows[2].function, "liba.so!g");
  EXPECT_EQ(table.rows[2].times.calls, 0u);
}

TEST(ApiTableTest, AProfileWithoutSuchCallsHasNoRows) {
  EXPECT_TRUE(BuildApiTable(profile::Profile()).rows.empty());
}

}  // namespace
}  // namespace coz::report
