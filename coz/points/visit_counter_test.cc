#include "coz/points/visit_counter.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <sstream>
#include <string>
#include <thread>

#include "coz/points/code_places.h"
#include "coz/testing/capabilities.h"
#include "coz/testing/run_command.h"
#include "gtest/gtest.h"

namespace coz {
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

TEST(VisitCounterTest, ProbeCountsEveryThreadExactly) {
  const std::string program = testing::RunfilePath("coz/points/places_program");
  absl::StatusOr<std::unique_ptr<CodePlaces>> places = CodePlaces::Open(program);
  ASSERT_TRUE(places.ok());
  std::string note;
  const auto found = (*places)->Find(*ParsePointSpec("Server::Reply"), &note);
  ASSERT_TRUE(found.ok()) << found.status();
  absl::StatusOr<VisitCounter> counter =
      VisitCounter::ForProbe(program, found->front().probe_offset);
  COZ_REQUIRE_CAPABILITY(
      counter.ok() ? "" : "required uprobes, actual: " + std::string(counter.status().message()));
  const testing::CommandResult result = testing::RunCommand({program, "1000", "5"});
  EXPECT_EQ(result.status, 0);
  EXPECT_EQ(counter->Read(), 6000u);
}

}  // namespace
}  // namespace coz
