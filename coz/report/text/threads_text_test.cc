#include "coz/report/text/threads_text.h"

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace coz::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

ThreadRow Row(const std::string& name, int32_t tid, uint64_t samples,
              const std::vector<uint64_t>& visits) {
  ThreadRow row;
  row.name = name;
  row.tid = tid;
  row.threads = 1;
  row.start_ns = 250'000'000;
  row.end_ns = 1'500'000'000;
  row.samples = samples;
  row.samples_in_scope = samples / 2;
  row.cpu_ns = samples * 1'000'000;
  row.visits = visits;
  row.times.resize(visits.size());
  return row;
}

// Two threads named "io", and one named "main" that runs on and is left out.
ThreadTable SmallTable() {
  ThreadTable table;
  table.counters = {"ns::Read(int)", "f"};
  table.timing.resize(2);
  ThreadGroup io;
  io.threads = {Row("io", 11, 800, {1234567, 3}), Row("io", 12, 100, {10, 0})};
  io.sum = Row("io", 0, 900, {1234577, 3});
  io.sum.threads = 2;
  ThreadGroup main;
  main.threads = {Row("main", 10, 100, {0, 1})};
  main.threads[0].end_ns = 0;
  main.threads[0].left_out = true;
  main.sum = main.threads[0];
  table.groups = {io, main};
  table.total = Row("", 0, 1000, {1234577, 4});
  table.total.threads = 3;
  return table;
}

TEST(ThreadsTextTest, ShowsARowForEachNameAndOneForAll) {
  EXPECT_EQ(RenderThreads(SmallTable(), {}),
            "  thread  threads  samples    share  in scope  CPU time   start      end\n"
            "  io            2      900   90.0 %    50.0 %    0.90 s  0.25 s   1.50 s\n"
            "  main          1      100   10.0 %    50.0 %    0.10 s  0.25 s  runs on  left out by "
            "--thread\n"
            "  all           3    1,000  100.0 %    50.0 %    1.00 s  0.25 s   1.50 s\n"
            "\n"
            "  visits               all         io  main\n"
            "  ns::Read(int)  1,234,577  1,234,577     0\n"
            "  f                      4          3     1\n");
}

TEST(ThreadsTextTest, ShowsEachThreadWhereItIsVerbose) {
  TextOptions options;
  options.verbose = true;
  const std::string text = RenderThreads(SmallTable(), options);
  EXPECT_THAT(text, HasSubstr("  io      11        1      800"));
  EXPECT_THAT(text, HasSubstr("  io      12        1      100"));
  EXPECT_THAT(text, HasSubstr("io 11"));
}

TEST(ThreadsTextTest, SaysWhatHasNoRoom) {
  ThreadTable table = SmallTable();
  for (int i = 0; i < 30; ++i) {
    ThreadGroup group;
    group.threads = {Row(absl::StrCat("thread number ", i), i, 0, {1, 1})};
    group.sum = group.threads[0];
    table.groups.push_back(group);
  }
  const std::string text = RenderThreads(table, {});
  EXPECT_THAT(text, HasSubstr("  and 12 more; for all: -n 0\n"));
  EXPECT_THAT(text, HasSubstr(" columns have no room; for all: --json, or a greater --width\n"));
  TextOptions all;
  all.max_lines = 0;
  all.width = 1000;
  EXPECT_THAT(RenderThreads(table, all), Not(HasSubstr("for all")));
  EXPECT_THAT(RenderThreads(table, all), HasSubstr("thread number 29"));
}

TEST(ThreadsTextTest, NamesAreMadeHarmless) {
  ThreadTable table = SmallTable();
  table.groups[1].sum.name = "a\x1b[31mb";
  EXPECT_THAT(RenderThreads(table, {}), Not(HasSubstr("\x1b")));
  table.groups[1].sum.name = "";
  EXPECT_THAT(RenderThreads(table, {}), HasSubstr("(no room)"));
}

TEST(ThreadsTextTest, ShowsTheTimesOfFunctionsThatAreTimed) {
  ThreadTable table = SmallTable();
  table.timing[1].is_timed = true;
  table.total.times[1] = {3, 2'500'000'000, 1'250'000'000};
  table.groups[0].sum.times[1] = {3, 2'500'000'000, 1'250'000'000};
  const std::string text = RenderThreads(table, {});
  EXPECT_THAT(text, HasSubstr("\n"
                              "  wall time    all     io  main\n"
                              "  f          2.5 s  2.5 s     -\n"
                              "\n"
                              "  CPU time     all      io  main\n"
                              "  f         1.25 s  1.25 s     -\n"
                              "  f: 1 of 4 calls have no time, as they were open at the end"));
}

TEST(ThreadsTextTest, SaysThatAllCallsAreWithoutATime) {
  ThreadTable table = SmallTable();
  EXPECT_THAT(RenderThreads(table, {}), Not(HasSubstr("no time"))) << "only counted";
  table.timing[1].is_timed = true;
  EXPECT_THAT(RenderThreads(table, {}), HasSubstr("  f: 4 of 4 calls have no time, as they were"));
}

TEST(ThreadsTextTest, SaysWhichTimesEndWithAJump) {
  ThreadTable table = SmallTable();
  table.timing[1] = {true, true};
  EXPECT_THAT(RenderThreads(table, {}),
              HasSubstr("\n  f ends in a jump to another function, whose time is not in it\n"));
  table.timing[0] = {true, true};
  EXPECT_THAT(RenderThreads(table, {}), HasSubstr("  ns::Read(int), f end in a jump to another"));
}

TEST(ThreadsTextTest, SaysThatThereAreNone) {
  EXPECT_THAT(RenderThreads(ThreadTable(), {}), HasSubstr("holds no threads"));
}

}  // namespace
}  // namespace coz::report
