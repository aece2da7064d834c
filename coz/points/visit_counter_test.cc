#include "coz/points/visit_counter.h"

#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <thread>

#include "coz/points/code_places.h"
#include "coz/points/lost_breakpoints.h"
#include "coz/testing/capabilities.h"
#include "coz/testing/lost_breakpoint.h"
#include "coz/testing/run_command.h"
#include "gtest/gtest.h"

namespace coz::points {
namespace {

std::string MissingBreakpoints() {
  const absl::Status status = CheckBreakpoints();
  return status.ok() ? ""
                     : "required hardware breakpoints, actual: " + std::string(status.message());
}

__attribute__((noipa)) void Visit() { asm volatile(""); }
__attribute__((noipa)) void NeverVisited() { asm volatile("nop"); }

// A child that waits for a byte, visits, and waits for another.
class Visitor {
 public:
  Visitor(int visits, int threads) {
    EXPECT_EQ(pipe(commands_), 0);
    EXPECT_EQ(pipe(answers_), 0);
    pid_ = fork();
    if (pid_ == 0) Run(visits, threads);
  }
  ~Visitor() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    for (int fd : {commands_[0], commands_[1], answers_[0], answers_[1]}) close(fd);
  }
  // Lets it go on until its next stop.
  void Step() {
    char byte = 0;
    EXPECT_EQ(write(commands_[1], &byte, 1), 1);
    EXPECT_EQ(read(answers_[0], &byte, 1), 1);
  }
  pid_t pid() const { return pid_; }

 private:
  void Stop() {
    char byte = 0;
    if (write(answers_[1], &byte, 1) != 1 || read(commands_[0], &byte, 1) != 1) _exit(1);
  }
  [[noreturn]] void Run(int visits, int threads) {
    const LostBreakpointGuard guard;
    char byte = 0;
    if (read(commands_[0], &byte, 1) != 1) _exit(1);
    const auto visit = [visits] {
      for (int i = 0; i < visits; ++i) Visit();
    };
    for (;;) {
      visit();
      // Ended ones and one that lives on.
      for (int i = 0; i < threads; ++i) std::thread(visit).join();
      std::thread last([this, visit] {
        visit();
        Stop();
      });
      last.join();
    }
  }

  int commands_[2];
  int answers_[2];
  pid_t pid_;
};

TEST(VisitCounterTest, BreakpointCountsEveryThreadExactly) {
  COZ_REQUIRE_CAPABILITY(MissingBreakpoints());
  Visitor visitor(100, 20);
  absl::StatusOr<VisitCounter> counter = VisitCounter::ForBreakpoint(visitor.pid(), false);
  ASSERT_TRUE(counter.ok()) << counter.status();
  ASSERT_TRUE(counter->Arm(reinterpret_cast<uint64_t>(&Visit)).ok());
  EXPECT_EQ(counter->Read(), 0u);
  visitor.Step();
  EXPECT_EQ(counter->Read(), 2200u);
  visitor.Step();
  EXPECT_EQ(counter->Read(), 4400u);
}

// Whether a CPU minds is not known; it is never faster.
TEST(VisitCounterTest, SlowdownBesideABreakpointIsMeasured) {
  COZ_REQUIRE_CAPABILITY(MissingBreakpoints());
  EXPECT_GE(MeasureBreakpointSlowdown(), 1);
  EXPECT_LT(MeasureBreakpointSlowdown(), 1e6);
}

TEST(VisitCounterTest, BreakpointThatIsArmedLaterReachesLivingThreads) {
  COZ_REQUIRE_CAPABILITY(MissingBreakpoints());
  Visitor visitor(100, 3);
  absl::StatusOr<VisitCounter> counter = VisitCounter::ForBreakpoint(visitor.pid(), false);
  ASSERT_TRUE(counter.ok()) << counter.status();
  visitor.Step();
  EXPECT_EQ(counter->Read(), 0u);
  ASSERT_TRUE(counter->Arm(reinterpret_cast<uint64_t>(&Visit)).ok());
  visitor.Step();
  EXPECT_EQ(counter->Read(), 500u);
}

TEST(VisitCounterTest, BreakpointCountsOnlyWhileAndWhereItIsArmed) {
  COZ_REQUIRE_CAPABILITY(MissingBreakpoints());
  Visitor visitor(100, 3);
  absl::StatusOr<VisitCounter> counter = VisitCounter::ForBreakpoint(visitor.pid(), true);
  ASSERT_TRUE(counter.ok()) << counter.status();
  ASSERT_TRUE(counter->Arm(reinterpret_cast<uint64_t>(&Visit)).ok());
  visitor.Step();
  EXPECT_EQ(counter->Read(), 500u);
  counter->Disarm();
  visitor.Step();
  EXPECT_EQ(counter->Read(), 500u);
  ASSERT_TRUE(counter->Arm(reinterpret_cast<uint64_t>(&NeverVisited)).ok());
  visitor.Step();
  EXPECT_EQ(counter->Read(), 500u);
  ASSERT_TRUE(counter->Arm(reinterpret_cast<uint64_t>(&Visit)).ok());
  visitor.Step();
  EXPECT_EQ(counter->Read(), 1000u);
}

TEST(VisitCounterTest, FifthBreakpointIsRefused) {
  COZ_REQUIRE_CAPABILITY(MissingBreakpoints());
  Visitor visitor(1, 0);
  std::vector<VisitCounter> counters;
  for (int i = 0; i < kBreakpoints; ++i) {
    absl::StatusOr<VisitCounter> counter = VisitCounter::ForBreakpoint(visitor.pid(), false);
    ASSERT_TRUE(counter.ok()) << counter.status();
    counters.push_back(*std::move(counter));
  }
  const absl::Status fifth = VisitCounter::ForBreakpoint(visitor.pid(), false).status();
  EXPECT_EQ(fifth.code(), absl::StatusCode::kResourceExhausted) << fifth;
}

TEST(VisitCounterTest, ProcessThatIsGoneIsNotFound) {
  COZ_REQUIRE_CAPABILITY(MissingBreakpoints());
  EXPECT_EQ(VisitCounter::ForBreakpoint(1 << 30, false).status().code(),
            absl::StatusCode::kNotFound);
}

class ProbeTest : public ::testing::Test {
 protected:
  ProbeTest() {
    absl::StatusOr<std::unique_ptr<CodePlaces>> places = CodePlaces::Open(program_);
    std::string note;
    offset_ = (*places)
                  ->Find(*ParsePointSpec("Server::Reply"), InlinedCopies::kLeave, &note)
                  ->front()
                  .probe_offset;
  }
  static std::string Missing(const absl::StatusOr<VisitCounter>& counter) {
    return counter.ok() ? ""
                        : "required uprobes, actual: " + std::string(counter.status().message());
  }
  // 6000 visits; on one CPU alone, or on any.
  void RunProgram(int cpu = -1) {
    std::vector<std::string> command = {program_, "1000", "5"};
    if (cpu >= 0) {
      command.insert(command.begin(), {"/usr/bin/taskset", "-c", std::to_string(cpu)});
    }
    EXPECT_EQ(testing::RunCommand(command).status, 0);
  }

  const std::string program_ = testing::RunfilePath("coz/points/places_program");
  uint64_t offset_;
};

TEST_F(ProbeTest, CountsEveryThreadExactly) {
  const absl::StatusOr<VisitCounter> counter = VisitCounter::ForProbe(program_, offset_);
  COZ_REQUIRE_CAPABILITY(Missing(counter));
  RunProgram();
  EXPECT_EQ(counter->Read(), 6000u);
}

TEST_F(ProbeTest, HasACounterForEachCpu) {
  const int cpu = sched_getcpu();
  const absl::StatusOr<VisitCounter> here = VisitCounter::ForProbe(program_, offset_, {cpu});
  COZ_REQUIRE_CAPABILITY(Missing(here));
  EXPECT_EQ(here->Descriptors().size(), 1u);
  std::vector<int> others = PossibleCpus();
  others.erase(std::find(others.begin(), others.end(), cpu));
  const absl::StatusOr<VisitCounter> elsewhere =
      VisitCounter::ForProbe(program_, offset_, others.empty() ? std::vector<int>{cpu} : others);
  ASSERT_TRUE(elsewhere.ok()) << elsewhere.status();
  RunProgram(cpu);
  EXPECT_EQ(here->Read(), 6000u);
  if (!others.empty()) {
    EXPECT_EQ(elsewhere->Read(), 0u);
  }
}

// As on a machine of 64 CPUs: each counter is there and is added. This one's take the others'
// places.
TEST_F(ProbeTest, CountersOfManyCpusAreAddedUp) {
  std::vector<int> cpus;
  const std::vector<int> possible = PossibleCpus();
  for (size_t i = 0; i < 32; ++i) cpus.insert(cpus.end(), possible.begin(), possible.end());
  const absl::StatusOr<VisitCounter> counter = VisitCounter::ForProbe(program_, offset_, cpus);
  COZ_REQUIRE_CAPABILITY(Missing(counter));
  EXPECT_EQ(counter->Descriptors().size(), cpus.size());
  RunProgram();
  EXPECT_EQ(counter->Read(), 32 * 6000u);
}

TEST_F(ProbeTest, CostOfAVisitIsMeasured) {
  COZ_REQUIRE_CAPABILITY(Missing(VisitCounter::ForProbe(program_, offset_)));
  // An exception is never cheaper; an hour would be a clock that is none.
  EXPECT_GT(MeasureProbeCostNs(), 100);
  EXPECT_LT(MeasureProbeCostNs(), 3.6e12);
}

TEST_F(ProbeTest, CpuThatTheMachineHasNotIsNoCounter) {
  COZ_REQUIRE_CAPABILITY(Missing(VisitCounter::ForProbe(program_, offset_)));
  EXPECT_FALSE(VisitCounter::ForProbe(program_, offset_, {1 << 15}).ok());
  EXPECT_FALSE(VisitCounter::ForProbe(program_, offset_, {}).ok());
}

// As the kernel sends them: an exception of number 1 that has no reason, then a trap of the
// program's own.
TEST(LostBreakpointTest, EndsNoProgramThatIsGuarded) {
  const auto end_of_child = [](bool guarded, const char* trap) {
    const pid_t child = fork();
    if (child == 0) {
      std::optional<LostBreakpointGuard> guard;
      if (guarded) guard.emplace();
      if (std::string(trap) == "lost") RaiseLostBreakpoint();
      if (std::string(trap) == "int3") asm volatile("int3");
      _exit(guarded ? static_cast<int>(LostBreakpointGuard::lost()) : 100);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return status;
  };
  const int unguarded = end_of_child(false, "lost");
  EXPECT_TRUE(WIFSIGNALED(unguarded) && WTERMSIG(unguarded) == SIGTRAP) << unguarded;
  const int guarded = end_of_child(true, "lost");
  EXPECT_TRUE(WIFEXITED(guarded) && WEXITSTATUS(guarded) == 1) << guarded;
  const int own = end_of_child(true, "int3");
  EXPECT_TRUE(WIFSIGNALED(own) && WTERMSIG(own) == SIGTRAP) << own;
}

}  // namespace
}  // namespace coz::points
