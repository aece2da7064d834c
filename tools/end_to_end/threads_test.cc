// Threads as a scope, and what each of them did: two named threads run the same line.
#include <unistd.h>

#include <cstdint>
#include <map>
#include <string>
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
using ::coz::testing::LineWith;
using ::coz::testing::Puppet;
using ::coz::testing::RunCommand;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

// Some seconds: alpha does so many rounds, and beta twice as many.
constexpr uint64_t kRounds = 2000;

struct Figures {
  uint64_t threads = 0;
  uint64_t samples = 0;
  uint64_t in_scope = 0;
  uint64_t rounds = 0;
  bool left_out = false;
};

class ThreadsTest : public testing::CozRunTest {
 protected:
  CommandResult RunNamed(const std::vector<std::string>& options) {
    return Run(options, {Puppet("named"), absl::StrCat(kRounds)});
  }

  std::map<std::string, Figures> Threads() const {
    const profile::Profile profile = Profile();
    std::map<uint32_t, std::string> counters;
    for (const auto& counter : profile.thread_counter()) counters[counter.id()] = counter.name();
    std::map<std::string, Figures> by_name;
    for (const profile::Thread& thread : profile.thread()) {
      Figures& figures = by_name[thread.name()];
      figures.threads += thread.threads();
      figures.samples += thread.samples();
      figures.in_scope += thread.samples_in_scope();
      figures.left_out = thread.left_out();
      for (int i = 0; i < thread.counter_size(); ++i) {
        if (counters[thread.counter(i)] == "rounds") figures.rounds += thread.visits(i);
      }
    }
    return by_name;
  }

  // To one counter, by the thread's name; threads without any are left out.
  std::map<std::string, uint64_t> Visits(const std::string& counter) const {
    const profile::Profile profile = Profile();
    std::map<std::string, uint64_t> by_name;
    for (const profile::ThreadCounter& named : profile.thread_counter()) {
      if (named.name() != counter) continue;
      for (const profile::Thread& thread : profile.thread()) {
        for (int i = 0; i < thread.counter_size(); ++i) {
          if (thread.counter(i) == named.id()) by_name[thread.name()] += thread.visits(i);
        }
      }
    }
    return by_name;
  }

  static uint64_t Sum(const std::map<std::string, uint64_t>& by_name) {
    uint64_t sum = 0;
    for (const auto& [name, count] : by_name) sum += count;
    return sum;
  }

  std::map<std::string, uint64_t> TimedCalls(const std::string& counter) const {
    std::map<std::string, uint64_t> by_name;
    ForEachTimed(counter, [&by_name](const profile::Thread& thread, int i) {
      by_name[thread.name()] += thread.timed_calls(i);
    });
    return by_name;
  }
  uint64_t WallNs(const std::string& counter) const {
    uint64_t sum = 0;
    ForEachTimed(counter,
                 [&sum](const profile::Thread& thread, int i) { sum += thread.timed_wall_ns(i); });
    return sum;
  }
  template <typename Visit>
  void ForEachTimed(const std::string& counter, Visit visit) const {
    const profile::Profile profile = Profile();
    for (const profile::ThreadCounter& named : profile.thread_counter()) {
      if (named.name() != counter) continue;
      for (const profile::Thread& thread : profile.thread()) {
        for (int i = 0; i < thread.timed_counter_size(); ++i) {
          if (thread.timed_counter(i) == named.id()) visit(thread, i);
        }
      }
    }
  }

  // Of units, in experiments, controls and between them.
  static uint64_t UnitSamples(const profile::Profile& profile) {
    uint64_t sum = 0;
    for (const auto* records : {&profile.experiment(), &profile.control()}) {
      for (const auto& record : *records) {
        for (const uint64_t samples : record.unit_samples()) sum += samples;
      }
    }
    for (const auto& record : profile.sample_counts()) {
      for (const uint64_t samples : record.unit_samples()) sum += samples;
    }
    return sum;
  }
  static uint64_t OtherThreadSamples(const profile::Profile& profile) {
    uint64_t sum = 0;
    for (const auto* records : {&profile.experiment(), &profile.control()}) {
      for (const auto& record : *records) sum += record.validity().other_thread_samples();
    }
    for (const auto& record : profile.sample_counts()) sum += record.other_thread_samples();
    return sum;
  }
};

// Names that change while the thread runs too: "early" becomes "beta".
TEST_F(ThreadsTest, SamplesAndVisitsAreKnownForEachName) {
  const CommandResult result = RunNamed({});
  ASSERT_EQ(result.status, 0) << result.errors;
  std::map<std::string, Figures> threads = Threads();
  EXPECT_EQ(threads["alpha"].threads, 1u);
  EXPECT_EQ(threads["alpha"].rounds, kRounds);
  EXPECT_EQ(threads["early"].rounds + threads["beta"].rounds, 2 * kRounds);
  // The name is read at samples, of which there are some in every ten rounds.
  EXPECT_GE(threads["early"].rounds, 100u);
  EXPECT_LT(threads["early"].rounds, 200u);
  EXPECT_EQ(threads["named"].rounds, 0u);  // the main thread
  EXPECT_GT(threads["beta"].samples, threads["alpha"].samples);
  EXPECT_GT(threads["alpha"].samples, threads["early"].samples);
  EXPECT_FALSE(threads["alpha"].left_out);
  uint64_t in_scope = 0;
  for (const auto& [name, figures] : threads) in_scope += figures.in_scope;
  EXPECT_EQ(in_scope, UnitSamples(Profile()));
}

// The known answer: of the line that both threads run, only alpha's samples are those of the unit,
// and only they impose delay.
TEST_F(ThreadsTest, OnlyThreadsInScopeAreSpedUp) {
  const std::string line = LineWith("named.c", "the shared line");
  const CommandResult result =
      RunNamed({"--thread=al*", absl::StrCat("--fixed-line=", line), "--fixed-speedup=50"});
  ASSERT_EQ(result.status, 0) << result.errors;
  const profile::Profile profile = Profile();
  std::map<std::string, Figures> threads = Threads();
  EXPECT_FALSE(threads["alpha"].left_out);
  EXPECT_TRUE(threads["beta"].left_out);
  EXPECT_TRUE(threads["early"].left_out);
  EXPECT_GT(threads["alpha"].in_scope, 0u);
  EXPECT_EQ(threads["beta"].in_scope, 0u);
  EXPECT_EQ(threads["early"].in_scope, 0u);
  EXPECT_GT(threads["beta"].samples, threads["alpha"].samples);
  EXPECT_EQ(UnitSamples(profile), threads["alpha"].in_scope);
  // Of the few samples in bare intervals it is not written whose they are.
  const uint64_t others =
      threads["beta"].samples + threads["early"].samples + threads["named"].samples;
  uint64_t bare = 0;
  for (const auto& interval : profile.bare_interval()) bare += interval.total_samples();
  EXPECT_LE(OtherThreadSamples(profile), others);
  EXPECT_GE(OtherThreadSamples(profile) + bare, others);
  // What was imposed is alpha's share, and nothing of beta's, which has twice as much to do.
  ASSERT_GT(profile.experiment_size(), 0);
  uint64_t selected = 0;
  uint64_t delay_ns = 0;
  for (const profile::Experiment& experiment : profile.experiment()) {
    selected += experiment.selected_samples();
    delay_ns += experiment.inserted_delay_ns();
  }
  EXPECT_LE(selected, threads["alpha"].in_scope);
  EXPECT_GT(delay_ns, 0u);
  EXPECT_LE(delay_ns, threads["alpha"].in_scope * profile.session(0).sampling_period_ns());
  ASSERT_EQ(profile.session(0).options().thread_size(), 1);
  EXPECT_EQ(profile.session(0).options().thread(0), "al*");
}

TEST_F(ThreadsTest, TheReportSaysWhichThreadsCount) {
  ASSERT_EQ(RunNamed({"--thread=alpha"}).status, 0);
  const CommandResult report = RunCommand({Coz(), "report"}, options_);
  EXPECT_THAT(report.output, HasSubstr("only what threads named alpha do is sped up"));
  EXPECT_THAT(report.output, HasSubstr("of other threads"));
  const CommandResult threads = RunCommand({Coz(), "report", "--threads"}, options_);
  EXPECT_EQ(threads.status, 0) << threads.errors;
  EXPECT_THAT(threads.output, ContainsRegex("beta [^\n]*left out by --thread"));
  EXPECT_THAT(threads.output, Not(ContainsRegex("alpha [^\n]*left out")));
  EXPECT_THAT(threads.output, ContainsRegex("rounds +6,000 "));
}

TEST_F(ThreadsTest, TheTableOfThreadsIsThereAsJson) {
  ASSERT_EQ(RunNamed({}).status, 0);
  const CommandResult result = RunCommand({Coz(), "report", "--threads", "--json"}, options_);
  ASSERT_EQ(result.status, 0) << result.errors;
  const auto table = nlohmann::json::parse(result.output);
  EXPECT_EQ(table["counters"][0], "rounds");
  EXPECT_EQ(table["total"]["visits"][0], 3 * kRounds);
  EXPECT_EQ(table["groups"][0]["name"], "beta");
  const CommandResult whole = RunCommand({Coz(), "report", "--json"}, options_);
  EXPECT_EQ(nlohmann::json::parse(whole.output)["threads"], table);
}

// No point, and none of the point's visits.
TEST_F(ThreadsTest, CallsOfAFunctionAreCountedForEachThread) {
  const CommandResult result = RunNamed({"--count=one_round"});
  ASSERT_EQ(result.status, 0) << result.errors;
  std::map<std::string, uint64_t> calls = Visits("one_round");
  EXPECT_EQ(calls["alpha"], kRounds);
  EXPECT_EQ(calls["early"] + calls["beta"], 2 * kRounds);
  EXPECT_EQ(calls["named"], 0u);
  const profile::Profile profile = Profile();
  for (const profile::ProgressPoint& point : profile.progress_point()) {
    EXPECT_EQ(point.name(), "rounds");
  }
  EXPECT_EQ(profile.session(0).options().count(0), "one_round");
}

TEST_F(ThreadsTest, EachFunctionOfAGlobIsCountedAlone) {
  const CommandResult result = RunNamed({"--count=*o*k", "--count=one_*", "--count=main"});
  ASSERT_EQ(result.status, 0) << result.errors;
  EXPECT_EQ(Visits("one_round")["alpha"], kRounds);
  EXPECT_EQ(Visits("work")["alpha"] + Visits("work")["named"], 1u);  // its name may come later
  EXPECT_EQ(Visits("main")["named"], 1u);
  EXPECT_EQ(Visits("main").size(), 1u);
}

TEST_F(ThreadsTest, VisitsToAPlaceAreCountedForEachThreadToo) {
  const CommandResult result = RunNamed({"--progress=one_round"});
  ASSERT_EQ(result.status, 0) << result.errors;
  EXPECT_EQ(Visits("one_round")["alpha"], kRounds);
}

// Counts alone are certain: a call has a time where its end was seen.
TEST_F(ThreadsTest, CallsAreTimedHoweverTheyEnd) {
  constexpr uint64_t kTimedRounds = 20000;
  std::vector<std::string> options = {"--count=Fails"};
  for (const char* name : {"Leaf", "Early", "Recurses", "Throws", "Jumps", "Round", "Forks"}) {
    options.push_back(absl::StrCat("--time=", name));
  }
  const CommandResult result = Run(options, {Puppet("timed"), absl::StrCat(kTimedRounds)});
  ASSERT_EQ(result.status, 0) << result.errors;
  EXPECT_THAT(result.errors, Not(HasSubstr("not timed")));
  EXPECT_EQ(Sum(Visits("Fails")), 2 * kTimedRounds);
  for (const char* name : {"Leaf", "Early", "Recurses", "Round"}) {
    EXPECT_EQ(Sum(TimedCalls(name)), Sum(Visits(name))) << name;
  }
  EXPECT_EQ(Sum(Visits("Round")), 2 * kTimedRounds);
  EXPECT_EQ(Sum(Visits("Recurses")), uint64_t{6} * 2 * kTimedRounds);
  for (const char* name : {"Throws", "Jumps"}) {
    EXPECT_EQ(Sum(Visits(name)), 2 * kTimedRounds) << name;
    EXPECT_EQ(Sum(TimedCalls(name)), 2 * kTimedRounds / 10 * 9) << name;
  }
  // The child returns from a call that it did not begin.
  EXPECT_EQ(Sum(Visits("Forks")), 1u);
  EXPECT_EQ(Sum(TimedCalls("Forks")), 1u);
  // What a call contains takes no longer than the call.
  const uint64_t rounds = WallNs("Round");
  EXPECT_GT(rounds, 0u);
  EXPECT_LE(WallNs("Recurses") + WallNs("Throws") + WallNs("Jumps"), rounds);
  EXPECT_LE(rounds, 2 * Profile().session_end(0).run_time_ns());
  const CommandResult report = RunCommand({Coz(), "report", "--threads"}, options_);
  EXPECT_THAT(report.output, HasSubstr("wall time"));
  EXPECT_THAT(report.output, HasSubstr("4,000 of 40,000 calls have no time"));
}

TEST_F(ThreadsTest, WhatCannotBeCountedIsRefused) {
  ExpectOneSentence(RunNamed({"--count=no_such_function"}), "--count='no_such_function'");
  ExpectOneSentence(RunNamed({"--count=named.c:30"}), "calls are counted of functions");
  ExpectOneSentence(RunNamed({"--count=one_round", "--progress=one_*"}), "is a progress point too");
}

// The program waits, so that what is to be read stays as it is.
TEST_F(ThreadsTest, ThreadsOfARunningSessionAreSeenFromOutside) {
  const std::string file = Path("done");
  nlohmann::json by_supervisor;
  nlohmann::json by_process;
  CommandResult text;
  options_.while_running = [&](pid_t supervisor) {
    while (access(file.c_str(), F_OK) != 0) usleep(5000);
    const auto threads = [](pid_t pid) {
      return RunCommand({Coz(), "threads", absl::StrCat(pid), "--json"});
    };
    by_supervisor = nlohmann::json::parse(threads(supervisor).output, nullptr, false);
    const pid_t process = by_supervisor["groups"][0]["each"][0]["pid"];
    by_process = nlohmann::json::parse(threads(process).output, nullptr, false);
    text = RunCommand({Coz(), "threads", absl::StrCat(process)});
    unlink(file.c_str());
  };
  const CommandResult result =
      Run({"--count=one_round"}, {Puppet("named"), absl::StrCat(kRounds), file});
  ASSERT_EQ(result.status, 0) << result.errors;
  for (const nlohmann::json& table : {by_supervisor, by_process}) {
    ASSERT_EQ(table["counters"].size(), 2u) << table;
    std::map<std::string, nlohmann::json> groups;
    for (const nlohmann::json& group : table["groups"]) groups[group["name"]] = group;
    EXPECT_EQ(groups["alpha"]["visits"], nlohmann::json({kRounds, kRounds}));
    EXPECT_TRUE(groups["alpha"]["end_ns"].is_null());
    EXPECT_FALSE(groups["early"]["end_ns"].is_null());
    EXPECT_GT(groups["alpha"]["cpu_ns"], 0);
    EXPECT_EQ(table["total"]["visits"][0], 3 * kRounds);
  }
  EXPECT_THAT(text.output, ContainsRegex("alpha [^\n]*runs on"));
}

TEST_F(ThreadsTest, AProcessWithoutASessionIsSaidToHaveNone) {
  const CommandResult result = RunCommand({Coz(), "threads", absl::StrCat(getpid())});
  EXPECT_NE(result.status, 0);
  EXPECT_THAT(result.errors, HasSubstr("is not being profiled"));
}

TEST_F(ThreadsTest, APatternThatMatchesNothingIsSaid) {
  const CommandResult result = RunNamed({"--thread=gamma"});
  EXPECT_THAT(result.errors, HasSubstr("--thread=gamma matched no thread; the threads were named"));
  // Nobody may have looked while the thread "early" ran.
  EXPECT_THAT(result.errors, ContainsRegex("named alpha, beta,( early,)? named, as"));
}

TEST_F(ThreadsTest, ANameThatNoThreadCanHaveIsRefused) {
  ExpectOneSentence(RunNamed({"--thread=a_name_of_17_letters"}), "--thread='a_name_of_17_le*'");
  ExpectOneSentence(RunNamed({"--thread", ""}), "names no thread");
}

}  // namespace
}  // namespace coz
