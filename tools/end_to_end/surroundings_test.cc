// The report says what disturbed the program, and what to do about it.
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "coz/testing/capabilities.h"
#include "coz/testing/coz_run.h"
#include "coz/testing/quota_cgroup.h"
#include "coz/testing/run_command.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace coz {
namespace {

using ::coz::testing::CommandResult;
using ::coz::testing::Coz;
using ::coz::testing::Puppet;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// A program of a process that computes on one CPU, until it is destroyed.
class Spinner {
 public:
  explicit Spinner(int cpu) : pid_(fork()) {
    if (pid_ != 0) return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_NAME, "a_neighbour");
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    CPU_SET(static_cast<size_t>(cpu), &cpus);
    sched_setaffinity(0, sizeof(cpus), &cpus);
    for (volatile unsigned i = 0;;) i = i + 1;
  }
  ~Spinner() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  Spinner(const Spinner&) = delete;
  Spinner& operator=(const Spinner&) = delete;

 private:
  pid_t pid_;
};

int FirstCpu() {
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  sched_getaffinity(0, sizeof(cpus), &cpus);
  int cpu = 0;
  while (cpu < CPU_SETSIZE && !CPU_ISSET(static_cast<size_t>(cpu), &cpus)) ++cpu;
  return cpu;
}

class SurroundingsTest : public testing::CozRunTest {
 protected:
  // A profile of baselines only, two seconds long.
  std::vector<std::string> CozRun() const {
    return {Coz(),          "run", "--experiment-length=0.2", "--fixed-speedup=0", "---",
            Puppet("busy"), "2"};
  }
  std::string Report(const std::string& format = "--verbose") {
    return testing::RunCommand({Coz(), "report", format}, options_).output;
  }
};

TEST_F(SurroundingsTest, OtherProgramsOnItsCpusAreNoted) {
  const int cpu = FirstCpu();
  const Spinner neighbour(cpu);
  std::vector<std::string> command = {"taskset", "-c", std::to_string(cpu)};
  for (const std::string& word : CozRun()) command.push_back(word);
  const CommandResult result = testing::RunCommand(command, options_);
  ASSERT_EQ(result.output.substr(0, 6), "hello\n") << result.errors;
  // Other tests may run there, too, and those wait.
  EXPECT_THAT(Report(), AllOf(HasSubstr("note: other programs used"),
                              HasSubstr("effects are set right for"), HasSubstr("taskset")));
  EXPECT_THAT(Report("--json"), HasSubstr("other programs used"));
  const profile::Profile profile = Profile();
  ASSERT_EQ(profile.session_end_size(), 1);
  bool is_named = false;
  for (const profile::Neighbour& one : profile.session_end(0).neighbour()) {
    is_named |= one.name() == "a_neighbour";
  }
  EXPECT_TRUE(is_named) << profile.session_end(0).DebugString();
}

TEST_F(SurroundingsTest, CpuQuotaIsNotedAndItsExperimentsAreUsed) {
  // So little that the program uses it up beside other tests, too.
  const testing::QuotaCgroup quarter(0.25);
  COZ_REQUIRE_CAPABILITY(quarter.missing());
  const CommandResult result = testing::RunCommand(quarter.With(CozRun()), options_);
  ASSERT_EQ(result.output.substr(0, 6), "hello\n") << result.errors;
  EXPECT_THAT(Report(),
              AllOf(Not(HasSubstr("not used")),
                    HasSubstr("note: a quota of 0.25 CPUs (cpu.max of the cgroup) was used up")));
  EXPECT_THAT(Report("--json"), AllOf(HasSubstr("a quota of 0.25 CPUs"), HasSubstr("cpu_quota")));
  const profile::Profile profile = Profile();
  ASSERT_GT(profile.experiment_size(), 0);
  const profile::Experiment& last = profile.experiment(profile.experiment_size() - 1);
  EXPECT_NEAR(static_cast<double>(last.validity().quota_allowed_ns()),
              0.25 * static_cast<double>(last.elapsed_ns()), 1e4);
  EXPECT_GT(last.validity().quota_used_ns(), 0u);
}

// Coz keeps its ordinary priority. With a real-time one it may wait in the kernel for good, for a
// program that it keeps off the CPU and that looks at the same process in /proc.
TEST_F(SurroundingsTest, RealtimeThreadsAreNoted) {
  const CommandResult may = testing::RunCommand({"chrt", "--fifo", "1", "true"}, options_);
  COZ_REQUIRE_CAPABILITY(
      may.status == 0 ? "" : absl::StrCat("required: chrt --fifo 1; actual: ", may.errors));
  const CommandResult result = testing::RunCommand(
      {Coz(), "run", "--experiment-length=0.2", "--fixed-speedup=0", "--follow=exec", "---",
       "taskset", "-c", std::to_string(FirstCpu()), "chrt", "--fifo", "1", Puppet("busy"), "2"},
      options_);
  ASSERT_EQ(result.output.substr(0, 6), "hello\n") << result.errors;
  EXPECT_THAT(Report(), HasSubstr("of the program's threads had a real-time priority"));
}

TEST_F(SurroundingsTest, PageFaultsThatWaitForTheDiskAreNoted) {
  constexpr uint64_t kSeconds = 4;
  constexpr uint64_t kFewest = 100 * kSeconds;
  const CommandResult result =
      testing::RunCommand({Coz(), "run", "--experiment-length=0.2", "--fixed-speedup=0", "---",
                           Puppet("page_faults"), Path("mapped"), std::to_string(kSeconds)},
                          options_);
  ASSERT_EQ(result.status, 0) << result.errors;
  uint64_t faults = 0;
  ASSERT_TRUE(absl::SimpleAtoi(result.output, &faults)) << result.output;
  COZ_REQUIRE_CAPABILITY(faults >= kFewest
                             ? ""
                             : absl::StrCat("required: files on a disk, of which ", kFewest,
                                            " page faults wait; actual: ", faults));
  EXPECT_THAT(Report(), HasSubstr("page faults a second (major faults, most of page_faults)"));
  const profile::Profile profile = Profile();
  ASSERT_EQ(profile.process_size(), 1);
  EXPECT_GT(profile.process(0).major_faults(), 0u);
  EXPECT_LE(profile.process(0).major_faults(), faults);
}

TEST_F(SurroundingsTest, NothingOfThisIsSaidOfAnOrdinaryThread) {
  const CommandResult result = testing::RunCommand(CozRun(), options_);
  ASSERT_EQ(result.output.substr(0, 6), "hello\n") << result.errors;
  EXPECT_THAT(Report(), AllOf(Not(HasSubstr("real-time priority")), Not(HasSubstr("found all"))));
}

}  // namespace
}  // namespace coz
