// Points of a process that coz attaches to: changed code counts them, and is as before afterwards.
#include <signal.h>
#include <sys/types.h>

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "coz/attach/process_view.h"
#include "coz/points/visit_counter.h"
#include "coz/testing/capabilities.h"
#include "coz/testing/coz_session.h"
#include "coz/testing/resident.h"
#include "coz/testing/run_command.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace coz {
namespace {

using testing::CommandResult;
using testing::Coz;
using ::testing::HasSubstr;
using testing::Puppet;
using testing::Resident;

constexpr int64_t kThreads = 4;
constexpr int64_t kWarmUp = 40;  // turns of all threads together
constexpr char kPair[] = "begin_turn,end_turn";

class AttachPointsTest : public testing::CozSessionTest {
 protected:
  void SetUp() override {
    COZ_REQUIRE_CAPABILITY(testing::MissingPerfEvents());
    CozSessionTest::SetUp();
    StartPuppet({Puppet("paced")});
  }
  void StartPuppet(const std::vector<std::string>& command) {
    paced_ = std::make_unique<Resident>(command);
    ASSERT_EQ(paced_->Line(), "ready\n");
    bytes_ = paced_->Ask("bytes\n");
    state_ = paced_->Ask("state\n");
  }

  // A session that can be asked when this returns. Its points are counted by then.
  void Attach(const std::vector<std::string>& options) {
    std::vector<std::string> command = {Coz(), "attach", "--experiment-length=0.1",
                                        "--unit=function"};
    command.insert(command.end(), options.begin(), options.end());
    command.push_back(absl::StrCat(paced_->pid()));
    StartSession(command);
  }

  void Turn(int64_t rounds) { EXPECT_NE(paced_->Ask(absl::StrCat("run ", rounds, "\n")), ""); }
  // Each thread gets its counters by a sample or at its next wait. A request that is under way
  // then ends without its begin.
  void WarmUp() { Turn(kWarmUp / kThreads); }
  void ExpectAsBefore() {
    EXPECT_EQ(paced_->Ask("bytes\n"), bytes_);
    EXPECT_EQ(paced_->Ask("state\n"), state_);
  }
  // Of one of its functions, as the profile's threads have it.
  static uint64_t Calls(const profile::Profile& profile, const std::string& function) {
    uint64_t calls = 0;
    for (const profile::ThreadCounter& counter : profile.thread_counter()) {
      if (counter.name() != function) continue;
      for (const profile::Thread& thread : profile.thread()) {
        for (int i = 0; i < thread.counter_size(); ++i) {
          if (thread.counter(i) == counter.id()) calls += thread.visits(i);
        }
      }
    }
    return calls;
  }

  static uint64_t TimedCalls(const profile::Profile& profile) {
    uint64_t calls = 0;
    for (const profile::Thread& thread : profile.thread()) {
      for (const uint64_t timed : thread.timed_calls()) calls += timed;
    }
    return calls;
  }

  std::unique_ptr<Resident> paced_;
  std::string bytes_;
  std::string state_;
};

int Cycles() {
  const char* given = getenv("COZ_ATTACH_CYCLES");
  return given == nullptr ? 20 : atoi(given);
}

// By a jump, by an int3, and with the number of requests under way.
TEST_F(AttachPointsTest, CountsExactlyAndLeavesCodeAsItWasInTwentyCycles) {
  constexpr int64_t kRounds = 2000;
  size_t mappings = 0;
  for (int cycle = 0; cycle < Cycles(); ++cycle) {
    SCOPED_TRACE(cycle);
    Attach({"--progress=turn", "--progress=looped", absl::StrCat("--latency=", kPair), "-o",
            absl::StrCat("cycle", cycle, ".pb")});
    EXPECT_NE(paced_->Ask("bytes\n"), bytes_);
    EXPECT_EQ(Visits("turn"), 0);
    WarmUp();
    EXPECT_EQ(Visits("turn"), kWarmUp);
    EXPECT_EQ(Visits("looped"), kWarmUp);
    const int64_t requests = Visits(kPair);
    EXPECT_GE(requests, kWarmUp - kThreads);
    EXPECT_LE(requests, kWarmUp);
    Turn(kRounds);
    EXPECT_EQ(Visits("turn"), kWarmUp + kRounds * kThreads);
    EXPECT_EQ(Visits("looped"), kWarmUp + kRounds * kThreads);
    EXPECT_EQ(Visits(kPair), requests + kRounds * kThreads);
    EXPECT_THAT(Points({"--list"}).output, HasSubstr("jump to a stub"));
    EXPECT_THAT(Points({"--list"}).output, HasSubstr("int3"));
    EndSession();
    ExpectAsBefore();
    Turn(kRounds);
    if (cycle == 1) mappings = attach::ReadMappings(paced_->pid()).size();
  }
  EXPECT_LE(attach::ReadMappings(paced_->pid()).size(), mappings + 2);
  int status = -1;
  EXPECT_EQ(paced_->End(&status),
            absl::StrCat(Cycles() * (kWarmUp + 2 * kRounds * kThreads), "\n"));
  EXPECT_EQ(status, 0);
}

// Four threads call the functions at any moment in which their code is changed or restored. They
// look at each result.
TEST_F(AttachPointsTest, CodeComesAndGoesWhileThreadsRunIt) {
  for (int cycle = 0; cycle < Cycles(); ++cycle) {
    SCOPED_TRACE(cycle);
    ASSERT_EQ(paced_->Ask("start\n"), "started\n");
    Attach({"--progress=turn", "--progress=looped", absl::StrCat("--latency=", kPair), "-o",
            absl::StrCat("cycle", cycle, ".pb")});
    EXPECT_NE(paced_->Ask("bytes\n"), bytes_);
    ASSERT_NE(paced_->Ask("stop\n"), "");
    const int64_t turns = Visits("turn");
    const int64_t loops = Visits("looped");
    Turn(1000);
    EXPECT_EQ(Visits("turn"), turns + 1000 * kThreads);
    EXPECT_EQ(Visits("looped"), loops + 1000 * kThreads);
    ASSERT_EQ(paced_->Ask("start\n"), "started\n");
    EndSession();
    ExpectAsBefore();
    ASSERT_NE(paced_->Ask("stop\n"), "");
  }
  int status = -1;
  EXPECT_NE(paced_->End(&status), "");
  EXPECT_EQ(status, 0);
}

TEST_F(AttachPointsTest, PointsComeAndGo) {
  Attach({});
  EXPECT_EQ(paced_->Ask("bytes\n"), bytes_) << "nothing is counted";
  const CommandResult added = Points({"--add=turn", absl::StrCat("--add=", kPair)});
  ASSERT_EQ(added.status, 0) << added.errors;
  WarmUp();
  const int64_t requests = Visits(kPair);
  Turn(1000);
  EXPECT_EQ(Visits("turn"), kWarmUp + 1000 * kThreads);
  EXPECT_EQ(Visits(kPair), requests + 1000 * kThreads);
  ASSERT_EQ(Points({"--remove=turn", absl::StrCat("--remove=", kPair)}).status, 0);
  EXPECT_EQ(paced_->Ask("bytes\n"), bytes_);
  Turn(1000);
  ASSERT_EQ(Points({absl::StrCat("--add=", kPair)}).status, 0);
  Turn(1000);
  EXPECT_EQ(Visits(kPair), 1000 * kThreads);
  EndSession();
  ExpectAsBefore();
}

TEST_F(AttachPointsTest, CallsOfEachThreadAreThoseOfTheSession) {
  for (int cycle = 0; cycle < 2; ++cycle) {
    const std::string output = absl::StrCat("cycle", cycle, ".pb");
    Attach({"--count=turn", "--time=served", "--progress=end_turn", "-o", output});
    WarmUp();
    Turn(3000);
    EXPECT_EQ(Visits("end_turn"), kWarmUp + 3000 * kThreads);
    EndSession();
    ExpectAsBefore();
    const profile::Profile profile = Profile(output);
    // Calls of the first warm-up are those of no thread.
    for (const char* function : {"turn", "served", "end_turn"}) {
      EXPECT_GE(Calls(profile, function), 3000 * uint64_t{kThreads}) << function;
      EXPECT_LE(Calls(profile, function), 3000 * uint64_t{kThreads} + uint64_t{kWarmUp})
          << function;
    }
    EXPECT_GE(TimedCalls(profile), 3000 * uint64_t{kThreads});
    EXPECT_LE(TimedCalls(profile), 3000 * uint64_t{kThreads} + uint64_t{kWarmUp});
  }
}

TEST_F(AttachPointsTest, ProgramRunsOnWhereCozIsKilledAndTheNextOneRestoresItsCode) {
  Attach({"--progress=turn", "--progress=looped"});
  Turn(1000);
  kill(session_->pid(), SIGKILL);
  session_.reset();
  EXPECT_NE(paced_->Ask("bytes\n"), bytes_);
  Turn(1000);
  Attach({"--progress=end_turn"});
  Turn(1000);
  EXPECT_EQ(Visits("end_turn"), 1000 * kThreads);
  EndSession();
  EXPECT_EQ(paced_->Ask("bytes\n"), bytes_);
}

// Where libc itself has blocked all signals, an int3 would end the process.
TEST_F(AttachPointsTest, CodeOfLibcStays) {
  Attach({"--progress=libc.so*!getenv"});
  EXPECT_THAT(Points({"--list"}).output, HasSubstr("hardware breakpoint"));
  EXPECT_THAT(Points({"--add=libc.so*!setenv"}).errors, HasSubstr("blocks SIGTRAP inside"));
  EndSession();
  ExpectAsBefore();
}

// An int3 would end it.
// The changed code goes on counting, for nobody.
TEST_F(AttachPointsTest, ChangesOfACozThatWasKilledAreTakenOver) {
  for (const std::string next : {"turn", "looped"}) {
    SCOPED_TRACE(next);
    Attach({"--progress=turn", absl::StrCat("--latency=", kPair)});
    EXPECT_NE(paced_->Ask("bytes\n"), bytes_);
    session_.reset();  // by SIGKILL
    EXPECT_NE(paced_->Ask("bytes\n"), bytes_);
    Turn(100);
    Attach({absl::StrCat("--progress=", next)});
    EXPECT_EQ(Visits(next), 0);
    WarmUp();
    Turn(500);
    EXPECT_EQ(Visits(next), kWarmUp + 500 * kThreads);
    EXPECT_EQ(Visits("begin_turn"), -1);
    EndSession();
    ExpectAsBefore();
  }
}

TEST_F(AttachPointsTest, ThreadsThatGetNoSamplesAreCounted) {
  const absl::Status breakpoints = points::CheckBreakpoints();
  COZ_REQUIRE_CAPABILITY(
      breakpoints.ok() ? ""
                       : absl::StrCat("required breakpoints, actual: ", breakpoints.message()));
  StartPuppet({Puppet("paced"), "blocking"});
  const CommandResult result =
      RunCommand({Coz(), "attach", "--unit=function", "--duration=1",
                  "--progress-source=breakpoint", "--progress=turn", absl::StrCat(paced_->pid())},
                 options_);
  EXPECT_THAT(result.errors, HasSubstr("1 thread blocks SIGTRAP"));
  ExpectAsBefore();
}

// Signals that are blocked in each thread.
std::multiset<std::string> BlockedSignals(pid_t pid) {
  std::multiset<std::string> masks;
  for (const pid_t tid : attach::ReadThreads(pid)) {
    masks.insert(attach::ReadThreadStatus(pid, tid).at("SigBlk"));
  }
  return masks;
}

TEST_F(AttachPointsTest, ThreadThatBlocksTheSignalLetsItInMeanwhile) {
  StartPuppet({Puppet("paced"), "blocking"});
  Turn(1);  // until then libc blocks signals in new threads
  const std::multiset<std::string> before = BlockedSignals(paced_->pid());
  EXPECT_EQ(before.count("0000000000000000"), kThreads + 1u) << "the fifth blocks signals";
  Attach({"--progress=turn"});
  EXPECT_NE(paced_->Ask("bytes\n"), bytes_);
  EXPECT_THAT(Points({"--list"}).output, HasSubstr("jump to a stub"));
  EXPECT_EQ(BlockedSignals(paced_->pid()).count("0000000000000000"), kThreads + 1u);
  EndSession();
  ExpectAsBefore();
  EXPECT_EQ(BlockedSignals(paced_->pid()), before);
}

// The kernel gives such a thread back the mask that it had before it waited.
TEST_F(AttachPointsTest, CodeStaysWhereAThreadWaitsForTheSignal) {
  StartPuppet({Puppet("paced"), "waiting"});
  Attach({"--progress=turn"});
  EXPECT_EQ(paced_->Ask("bytes\n"), bytes_);
  EXPECT_THAT(Points({"--list"}).output, HasSubstr("hardware breakpoint"));
  EXPECT_THAT(Points({"--add=end_turn"}).errors, HasSubstr("blocks SIGTRAP"));
  EndSession();
  ExpectAsBefore();
}

}  // namespace
}  // namespace coz
