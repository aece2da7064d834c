// Calls into libraries, by function and caller: counts are exact, however the caller's slots are
// bound and however the calls end.
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "coz/testing/coz_run.h"
#include "coz/testing/one_sentence.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace coz {
namespace {

using ::coz::testing::CommandResult;
using ::coz::testing::Coz;
using ::coz::testing::ExpectOneSentence;
using ::coz::testing::Puppet;
using ::coz::testing::RunCommand;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;

constexpr uint64_t kRounds = 2000;
constexpr uint64_t kThreads = 4;
constexpr uint64_t kCalls = kThreads * kRounds;
// Of the child; and beside and within a coroutine.
constexpr uint64_t kOtherPlain = 1000 + 2;

using FunctionAndCaller = std::pair<std::string, std::string>;

class ApiTest : public testing::CozRunTest {
 protected:
  // The puppets make no progress points and, some of them, no samples.
  CommandResult RunIt(std::vector<std::string> options, const std::vector<std::string>& program) {
    options.emplace_back("--unit=library");
    options.emplace_back("--end-to-end");
    return Run(options, program);
  }

  struct Calls {
    uint64_t all = 0;
    uint64_t timed = 0;
    uint64_t wall_ns = 0;
  };
  // Those without a call are left out. Of all threads and processes.
  std::map<FunctionAndCaller, Calls> Counted() const {
    const profile::Profile profile = Profile();
    std::map<uint32_t, FunctionAndCaller> columns;
    for (const profile::ThreadCounter& counter : profile.thread_counter()) {
      if (counter.api_function().empty()) continue;
      columns[counter.id()] = {counter.api_function(), counter.api_caller()};
    }
    std::map<FunctionAndCaller, Calls> calls;
    for (const profile::Thread& thread : profile.thread()) {
      for (int i = 0; i < thread.counter_size(); ++i) {
        const auto column = columns.find(thread.counter(i));
        if (column != columns.end()) calls[column->second].all += thread.visits(i);
      }
      for (int i = 0; i < thread.timed_counter_size(); ++i) {
        const auto column = columns.find(thread.timed_counter(i));
        if (column == columns.end()) continue;
        calls[column->second].timed += thread.timed_calls(i);
        calls[column->second].wall_ns += thread.timed_wall_ns(i);
      }
    }
    return calls;
  }
};

struct Latency {
  uint64_t arrivals = 0;
  uint64_t departures = 0;
  double in_experiments_ns = 0;
};

template <typename Record>
void AddCalls(const Record& record, std::map<uint32_t, Latency>* latencies) {
  for (const profile::PointCounts& counts : record.point()) {
    Latency& latency = (*latencies)[counts.point()];
    latency.arrivals += counts.arrivals();
    latency.departures += counts.departures();
  }
}

class ApiByBindingTest : public ApiTest, public ::testing::WithParamInterface<const char*> {};

TEST_P(ApiByBindingTest, EveryCallIsCountedOnceForItsCaller) {
  const std::string program = absl::StrCat("api_caller_", GetParam());
  const CommandResult result = RunIt({"--api=libapi.so"}, {Puppet(program), absl::StrCat(kRounds)});
  ASSERT_EQ(result.status, 0) << result.errors;
  const std::map<FunctionAndCaller, Calls> counted = Counted();
  std::map<FunctionAndCaller, uint64_t> calls;
  for (const auto& [column, figures] : counted) calls[column] = figures.all;
  // Calls within the library are none, by jumps at a function's end neither.
  const std::map<FunctionAndCaller, uint64_t> expected = {
      {{"libapi.so!ApiPlain", program}, 3 * kCalls + kOtherPlain},
      {{"libapi.so!ApiPlain", "libmiddle.so"}, kCalls},
      {{"libapi.so!ApiTail", program}, kCalls},
      {{"libapi.so!ApiInside", program}, kCalls},
      {{"libapi.so!ApiThrows", program}, kCalls},
      {{"libapi.so!ApiJumps", program}, kCalls},
      {{"libapi.so!ApiCalls", program}, kCalls + 2},
      {{"libapi.so!ApiMany", program}, kCalls},
      {{"libapi.so!ApiWaits", program}, 1},
  };
  EXPECT_EQ(calls, expected) << result.errors;
}

TEST_P(ApiByBindingTest, CallsHaveTimesWhereTheirEndsAreSeen) {
  const std::string program = absl::StrCat("api_caller_", GetParam());
  const CommandResult result = RunIt({"--api=libapi.so"}, {Puppet(program), absl::StrCat(kRounds)});
  ASSERT_EQ(result.status, 0) << result.errors;
  std::map<FunctionAndCaller, Calls> counted = Counted();
  for (const char* name : {"ApiPlain", "ApiInside"}) {
    const Calls& calls = counted[{absl::StrCat("libapi.so!", name), program}];
    EXPECT_EQ(calls.timed, calls.all) << name << result.errors;
    EXPECT_GT(calls.wall_ns, 0u) << name;
  }
  for (const char* name : {"ApiThrows", "ApiJumps"}) {
    EXPECT_EQ((counted[{absl::StrCat("libapi.so!", name), program}].timed), kCalls / 10 * 9)
        << name << result.errors;
  }
  EXPECT_EQ((counted[{"libapi.so!ApiWaits", program}].timed), 0u);
  // The one in the coroutine may have no time.
  const Calls& calls = counted[{"libapi.so!ApiCalls", program}];
  EXPECT_GE(calls.timed, calls.all - 1);
  EXPECT_LE(calls.timed, calls.all);
}

INSTANTIATE_TEST_SUITE_P(Bindings, ApiByBindingTest, ::testing::Values("lazy", "now", "noplt"));

TEST_F(ApiTest, ALibraryThatIsOpenedAndClosedIsCountedEachTime) {
  const CommandResult result =
      RunIt({"--api=libapi.so:ApiPlain"}, {Puppet("api_opener"), Puppet("libapi.so"), "5000"});
  ASSERT_EQ(result.status, 0) << result.errors;
  std::map<FunctionAndCaller, Calls> counted = Counted();
  EXPECT_EQ(counted.size(), 1u);
  // Before its code was changed, no call was made.
  EXPECT_EQ((counted[{"libapi.so!ApiPlain", "api_opener"}].all), 10000u) << result.errors;
}

TEST_F(ApiTest, EachOfManyFunctionsHasTimes) {
  const CommandResult result = RunIt({"--api=libmany.so"}, {Puppet("api_many")});
  ASSERT_EQ(result.status, 0) << result.errors;
  const std::map<FunctionAndCaller, Calls> counted = Counted();
  EXPECT_EQ(counted.size(), 200u) << result.errors;
  for (const auto& [column, calls] : counted) {
    EXPECT_EQ(calls.all, 10u) << column.first;
    EXPECT_EQ(calls.timed, 10u) << column.first;
  }
}

TEST_F(ApiTest, AFunctionIsFoundByEachOfItsNames) {
  for (const char* name : {"Many100", "OtherNameOfMany100"}) {
    const CommandResult result =
        RunIt({absl::StrCat("--api=libmany.so:", name)}, {Puppet("api_many")});
    ASSERT_EQ(result.status, 0) << result.errors;
    const std::map<FunctionAndCaller, Calls> counted = Counted();
    ASSERT_EQ(counted.size(), 1u) << result.errors;
    EXPECT_EQ(counted.begin()->first.first, absl::StrCat("libmany.so!", name));
    EXPECT_EQ(counted.begin()->second.all, 10u);
  }
}

TEST_F(ApiTest, CallsOfAFunctionAreAProgressPoint) {
  const CommandResult result = Run({"--unit=library", "--progress=api:libapi.so:ApiPlain"},
                                   {Puppet("api_caller_now"), absl::StrCat(kRounds)});
  ASSERT_EQ(result.status, 0) << result.errors;
  const profile::Profile profile = Profile();
  ASSERT_EQ(profile.progress_point_size(), 1);
  EXPECT_EQ(profile.progress_point(0).name(), "api:libapi.so:ApiPlain");
  uint64_t visits = 0;
  const auto add = [&visits](const auto& record) {
    for (const profile::PointCounts& counts : record.point()) visits += counts.visits();
  };
  for (const profile::Experiment& experiment : profile.experiment()) add(experiment);
  for (const profile::SampleCounts& counts : profile.sample_counts()) add(counts);
  for (const profile::BareInterval& interval : profile.bare_interval()) add(interval);
  EXPECT_EQ(visits, 4 * kCalls + kOtherPlain);
}

// Those that end by exceptions and longjmp spoil it not. Without delay virtual time is the wall's.
TEST_F(ApiTest, LatencyOfCallsIsByTheTimeOfEachCall) {
  constexpr uint64_t kLongRun = 20;
  const std::string program = "api_caller_now";
  const std::vector<std::string> names = {"ApiInside", "ApiThrows", "ApiJumps"};
  std::vector<std::string> options = {"--unit=library", "--api=libapi.so", "--fixed-speedup=0"};
  for (const std::string& name : names) options.push_back("--latency=api:libapi.so:" + name);
  const CommandResult result = Run(options, {Puppet(program), absl::StrCat(kLongRun * kRounds)});
  ASSERT_EQ(result.status, 0) << result.errors;
  const profile::Profile profile = Profile();
  ASSERT_EQ(profile.progress_point_size(), 3);
  std::map<uint32_t, Latency> latencies;
  for (const profile::Experiment& experiment : profile.experiment()) {
    for (const profile::PointCounts& counts : experiment.point()) {
      EXPECT_TRUE(counts.in_flight_by_times() || counts.departures() == 0);
      latencies[counts.point()].in_experiments_ns +=
          counts.in_flight_average() * static_cast<double>(experiment.effective_duration_ns());
    }
    AddCalls(experiment, &latencies);
  }
  for (const profile::SampleCounts& counts : profile.sample_counts()) AddCalls(counts, &latencies);
  for (const profile::BareInterval& bare : profile.bare_interval()) AddCalls(bare, &latencies);
  const std::map<FunctionAndCaller, Calls> counted = Counted();
  for (int i = 0; i < profile.progress_point_size(); ++i) {
    SCOPED_TRACE(names[i]);
    EXPECT_EQ(profile.progress_point(i).name(), "api:libapi.so:" + names[i]);
    const Latency& latency = latencies[profile.progress_point(i).id()];
    const Calls& calls = counted.at({"libapi.so!" + names[i], program});
    EXPECT_EQ(latency.arrivals, calls.timed);
    EXPECT_EQ(latency.departures, calls.timed);
    EXPECT_GT(latency.in_experiments_ns, 0);
    EXPECT_LE(latency.in_experiments_ns, 1.001 * static_cast<double>(calls.wall_ns));
  }
}

TEST_F(ApiTest, TheReportHasATableByFunctionAndCaller) {
  ASSERT_EQ(RunIt({"--api=libapi.so"}, {Puppet("api_caller_now"), absl::StrCat(kRounds)}).status,
            0);
  const CommandResult text = RunCommand({Coz(), "report", "--apis"}, options_);
  EXPECT_EQ(text.status, 0) << text.errors;
  EXPECT_THAT(text.output, ContainsRegex("libapi.so!ApiPlain +libmiddle.so +8,000 "));
  EXPECT_THAT(text.output, ContainsRegex("libapi.so!ApiWaits +api_caller_now +1 +-"));
  const CommandResult json = RunCommand({Coz(), "report", "--apis", "--json"}, options_);
  ASSERT_EQ(json.status, 0) << json.errors;
  const auto table = nlohmann::json::parse(json.output);
  bool is_there = false;
  for (const auto& row : table["calls"]) {
    if (row["function"] != "libapi.so!ApiPlain" || row["caller"] != "libmiddle.so") continue;
    is_there = true;
    EXPECT_EQ(row["calls"], kCalls);
    EXPECT_EQ(row["timed_calls"], kCalls);
    EXPECT_GT(row["wall_ns"], 0);
    uint64_t by_thread = 0;
    for (const auto& thread : row["threads"]) by_thread += thread["calls"].get<uint64_t>();
    EXPECT_EQ(by_thread, kCalls);
  }
  EXPECT_TRUE(is_there) << json.output;
}

TEST_F(ApiTest, WhatIsNotThereIsSaid) {
  const std::vector<std::string> program = {Puppet("api_caller_now"), "10"};
  EXPECT_THAT(RunIt({"--api=libnone.so"}, program).errors,
              HasSubstr("'libnone.so' were not counted, for no program loaded such a library"));
  EXPECT_THAT(RunIt({"--api=libappi"}, program).errors,
              HasSubstr("no program loaded such a library; the closest are: libapi.so\n"));
  EXPECT_THAT(RunIt({"--api=libc.so*:qsort"}, program).errors,
              HasSubstr("'libc.so*:qsort' were not counted, for a pattern means no library of the "
                        "system; write the whole name of the library: libc.so.6\n"));
  EXPECT_THAT(RunIt({"--api=libapi.so:None"}, program).errors,
              HasSubstr("'libapi.so:None' were not counted, for the library exports no such"));
  ExpectOneSentence(RunIt({"--api=:f"}, program), "names no library");
  ExpectOneSentence(RunIt({"--latency=api:libapi.so:ApiPlain,main"}, program),
                    "begin and end no pair");
  ExpectOneSentence(RunIt({"--latency=api::f"}, program), "names no library");
  ASSERT_EQ(RunIt({}, program).status, 0);
  EXPECT_THAT(RunCommand({Coz(), "report", "--apis"}, options_).output,
              HasSubstr("no calls into libraries"));
}

}  // namespace
}  // namespace coz
