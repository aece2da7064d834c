// coz points --session: points come and go while the program runs.

#include <sys/types.h>

#include <algorithm>
#include <cstdint>
#include <future>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "coz/testing/coz_session.h"
#include "coz/testing/one_sentence.h"
#include "coz/testing/run_command.h"
#include "coz/testing/whole_run.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace coz {
namespace {

using testing::CommandResult;
using testing::Coz;
using ::testing::HasSubstr;
using testing::Puppet;
using testing::VisitsInRun;

class SessionPointsTest : public testing::CozSessionTest {
 protected:
  // A session of the puppet `asked`, which can be asked when this returns.
  void Start(const std::vector<std::string>& options = {}) {
    std::vector<std::string> command = {Coz(), "run", "--experiment-length=0.1"};
    command.insert(command.end(), options.begin(), options.end());
    command.insert(command.end(), {"---", Puppet("asked")});
    StartSession(command);
  }

  // Waits until the point has more visits than that.
  void AwaitVisits(const std::string& point, int64_t more_than) {
    for (int tries = 0; tries < 1000 && Visits(point) <= more_than; ++tries) {
    }
    EXPECT_GT(Visits(point), more_than) << point;
  }

  // Without one there is no report.
  void AwaitExperiment() {
    for (int tries = 0; tries < 2000 && Profile().experiment_size() == 0; ++tries) {
      Points({"--list"});
    }
    EXPECT_GT(Profile().experiment_size(), 0);
  }

  void End() {
    int status = -1;
    session_->End(&status);
    EXPECT_EQ(status, 0);
  }

  static std::vector<profile::PointChange> ChangesOf(const profile::Profile& profile,
                                                     const std::string& name) {
    std::vector<profile::PointChange> changes;
    for (const profile::PointChange& change : profile.point_change()) {
      for (const profile::ProgressPoint& point : profile.progress_point()) {
        if (point.id() == change.point() && point.name() == name) changes.push_back(change);
      }
    }
    return changes;
  }
};

TEST_F(SessionPointsTest, PlaceCountsFromWhenItIsAddedToWhenItIsRemoved) {
  Start();
  EXPECT_EQ(Visits("turn"), -1);
  const CommandResult added = Points({"--add=turn"});
  ASSERT_EQ(added.status, 0) << added.errors;
  EXPECT_THAT(added.errors, HasSubstr("'turn' is counted by jump to a stub"));
  AwaitVisits("turn", 1000);
  const CommandResult removed = Points({"--remove=turn"});
  ASSERT_EQ(removed.status, 0) << removed.errors;
  EXPECT_EQ(Visits("turn"), -1);
  AwaitVisits("turns", Visits("turns") + 1000);
  const CommandResult again = Points({"--add=turn", "--list"});
  ASSERT_EQ(again.status, 0) << again.errors;
  AwaitVisits("turn", 2000);
  AwaitExperiment();
  End();
  const profile::Profile profile = Profile();
  const std::vector<profile::PointChange> changes = ChangesOf(profile, "turn");
  ASSERT_EQ(changes.size(), 3u);
  EXPECT_TRUE(changes[0].added());
  EXPECT_FALSE(changes[1].added());
  EXPECT_TRUE(changes[2].added());
  EXPECT_LT(changes[0].at_ns(), changes[1].at_ns());
  EXPECT_LT(changes[1].at_ns(), changes[2].at_ns());
  // What was passed while it was not there is not counted.
  EXPECT_GT(VisitsInRun(profile, "turn"), 2000u);
  EXPECT_LT(VisitsInRun(profile, "turn") + 1000, VisitsInRun(profile, "turns"));
  const CommandResult report = testing::RunCommand({Coz(), "report", "profile.pb"}, options_);
  EXPECT_THAT(report.output, HasSubstr("it was there from "));
}

TEST_F(SessionPointsTest, PointOfTheCommandLineIsRemoved) {
  Start({"--progress=turn", "--latency=begin_request,finish_request"});
  AwaitVisits("turn", 0);
  EXPECT_EQ(Visits("begin_request,finish_request"), 0);
  ASSERT_EQ(Points({"--remove=turn", "--remove=begin_request,finish_request"}).status, 0);
  EXPECT_EQ(Visits("turn"), -1);
  EXPECT_EQ(Visits("begin_request,finish_request"), -1);
  End();
  const std::vector<profile::PointChange> changes = ChangesOf(Profile(), "turn");
  ASSERT_EQ(changes.size(), 1u);
  EXPECT_FALSE(changes[0].added());
}

// A request is under way when the pair is added, when it is removed, and when it is added again.
TEST_F(SessionPointsTest, EndWithoutItsBeginIsNotCounted) {
  Start();
  const std::string pair = "begin_request,finish_request";
  constexpr int kRounds = 3;
  for (int round = 0; round < kRounds; ++round) {
    session_->Ask("begin\n");
    const CommandResult added = Points({absl::StrCat("--add=", pair)});
    ASSERT_EQ(added.status, 0) << added.errors;
    session_->Ask("finish\n");
    EXPECT_EQ(Visits(pair), 0);
    for (int request = 0; request < 3; ++request) {
      session_->Ask("begin\n");
      session_->Ask("finish\n");
    }
    EXPECT_EQ(Visits(pair), 3);
    session_->Ask("begin\n");
    ASSERT_EQ(Points({absl::StrCat("--remove=", pair)}).status, 0);
    session_->Ask("finish\n");
  }
  End();
  const profile::Profile profile = Profile();
  EXPECT_EQ(testing::DeparturesInRun(profile, pair), 3u * kRounds);
  // It has had the same slots each time.
  const auto slots = std::count_if(
      profile.thread_counter().begin(), profile.thread_counter().end(),
      [](const profile::ThreadCounter& counter) { return counter.name() == "begin_request"; });
  EXPECT_EQ(slots, 1);
}

// Both places of the probe count, while its semaphore is raised.
TEST_F(SessionPointsTest, ProbeInTheSourceIsCounted) {
  Start();
  EXPECT_EQ(session_->Ask("wanted\n"), "0\n");
  const CommandResult added = Points({"--add=usdt:ask*:turn*"});
  ASSERT_EQ(added.status, 0) << added.errors;
  EXPECT_THAT(added.errors, HasSubstr("is counted by 2 "));
  EXPECT_NE(session_->Ask("wanted\n"), "0\n");
  AwaitVisits("usdt:ask*:turn*", 1000);
  ASSERT_EQ(Points({"--remove=usdt:ask*:turn*"}).status, 0);
  EXPECT_EQ(session_->Ask("wanted\n"), "0\n");
  testing::ExpectOneSentence(Points({"--add=usdt:asked:turn"}),
                             "the closest are: usdt:asked:turned", 125);
  testing::ExpectOneSentence(Points({"--add=usdt:asked"}), "write usdt:PROVIDER:NAME", 125);
  End();
}

TEST_F(SessionPointsTest, ProbeOfTheCommandLineCountsEachTurn) {
  Start({"--progress=usdt:asked:turned"});
  AwaitVisits("usdt:asked:turned", 100);
  End();
  const profile::Profile profile = Profile();
  EXPECT_EQ(VisitsInRun(profile, "usdt:asked:turned"), VisitsInRun(profile, "turns"));
  EXPECT_EQ(profile.point_change_size(), 0);
}

TEST_F(SessionPointsTest, TwoClientsAreBothServed) {
  Start();
  auto first = std::async(std::launch::async, [this] { return Points({"--add=turn"}); });
  auto second = std::async(std::launch::async, [this] { return Points({"--add=begin_request"}); });
  EXPECT_EQ(first.get().status, 0);
  EXPECT_EQ(second.get().status, 0);
  session_->Ask("begin\n");
  EXPECT_EQ(Visits("begin_request"), 1);
  AwaitVisits("turn", 0);
  // Of two that ask for the same, one is told so.
  auto third = std::async(std::launch::async, [this] { return Points({"--remove=turn"}); });
  auto fourth = std::async(std::launch::async, [this] { return Points({"--remove=turn"}); });
  const CommandResult one = third.get();
  const CommandResult other = fourth.get();
  EXPECT_EQ((one.status == 0) + (other.status == 0), 1) << one.errors << other.errors;
  EXPECT_THAT(one.errors + other.errors, HasSubstr("is not counted in this session"));
  End();
}

TEST_F(SessionPointsTest, WhatCannotBeDoneIsSaidInASentence) {
  Start({"--progress=turn"});
  const auto expect = [this](const std::string& option, const std::string& part) {
    testing::ExpectOneSentence(Points({option}), part, 125);
  };
  expect("--add=turn", "'turn' is counted already");
  expect("--add=begin_reqest", "the closest are: begin_request");
  expect("--add=libm.so!sin", "has loaded a binary libm.so");
  expect("--add=asked.c:", "has no line number");
  expect("--add=api:libc.so.6:write", " run --progress=api:libc.so.6:write --- ");
  expect("--add=tur?", "a place that 'turn' counts already");
  expect("--add=turn,turn", "counts already");
  expect("--add=begin_request,begin_request", "one place");
  expect("--remove=tirn", "the closest are: turn");
  expect("--remove=turns", "is not counted in this session");
  // Nothing of that has changed the session.
  AwaitVisits("turn", Visits("turn"));
  EXPECT_EQ(Points({"--add=begin_request,finish_request"}).status, 0);
  End();
}

TEST_F(SessionPointsTest, SessionThatHasEndedIsNoSession) {
  Start();
  const std::string session = absl::StrCat("--session=", session_->pid());
  End();
  testing::ExpectOneSentence(
      testing::RunCommand({Coz(), "points", session, "--add=turn"}, options_),
      "belongs to no session of coz", 125);
}

TEST_F(SessionPointsTest, OptionsThatMakeNoSenseTogetherAreRefused) {
  const CommandResult lone = testing::RunCommand({Coz(), "points", "--add=turn"}, options_);
  EXPECT_EQ(lone.status, 2);
  EXPECT_THAT(lone.errors, HasSubstr("are for a session that runs"));
  const CommandResult both =
      testing::RunCommand({Coz(), "points", "--session=1", "---", Puppet("asked")}, options_);
  EXPECT_EQ(both.status, 2);
  EXPECT_THAT(both.errors, HasSubstr("leave the program out"));
}

}  // namespace
}  // namespace coz
