// The report says what disturbed the program, and what to do about it.
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "coz/testing/capabilities.h"
#include "coz/testing/coz_run.h"
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

// A cgroup with a quota of half a CPU, as long as it lives.
class HalfCpu {
 public:
  HalfCpu() {
    const std::string name = absl::StrCat("/coz_surroundings_test_", getpid());
    folder_ = absl::StrCat("/sys/fs/cgroup/cpu", name);  // cgroup v1
    missing_ = Make("cpu.cfs_quota_us", "50000");
    if (missing_.empty()) return;
    folder_ = absl::StrCat("/sys/fs/cgroup", name);  // cgroup v2
    missing_ = Make("cpu.max", "50000 100000");
  }
  ~HalfCpu() { rmdir(folder_.c_str()); }
  HalfCpu(const HalfCpu&) = delete;
  HalfCpu& operator=(const HalfCpu&) = delete;

  const std::string& missing() const { return missing_; }
  // The command, run within.
  std::vector<std::string> With(std::vector<std::string> command) const {
    std::vector<std::string> all = {"/bin/sh", "-c", "echo $$ > \"$0\" && exec \"$@\"",
                                    folder_ + "/cgroup.procs"};
    all.insert(all.end(), command.begin(), command.end());
    return all;
  }

 private:
  // Empty: it is there. Else "required …, actual …".
  std::string Make(const std::string& file, const std::string& quota) {
    const std::string required = absl::StrCat("required: to make ", folder_, " with ", file);
    if (mkdir(folder_.c_str(), 0755) != 0) {
      return absl::StrCat(required, "; actual: ", strerror(errno));
    }
    std::ofstream out(folder_ + "/" + file);
    out << quota << std::flush;
    if (out.good()) return "";
    rmdir(folder_.c_str());
    return absl::StrCat(required, "; actual: no such file, or it is not for us to write");
  }

  std::string folder_;
  std::string missing_;
};

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
  EXPECT_THAT(Report(), AllOf(HasSubstr("note: other programs used"),
                              HasSubstr("they left its threads"), HasSubstr("taskset")));
  EXPECT_THAT(Report("--json"), HasSubstr("other programs used"));
  const profile::Profile profile = Profile();
  ASSERT_EQ(profile.session_end_size(), 1);
  bool is_named = false;
  for (const profile::Neighbour& one : profile.session_end(0).neighbour()) {
    is_named |= one.name() == "a_neighbour";
  }
  EXPECT_TRUE(is_named) << profile.session_end(0).DebugString();
}

TEST_F(SurroundingsTest, CpuQuotaIsNotedAndItsExperimentsAreNotUsed) {
  const HalfCpu half;
  COZ_REQUIRE_CAPABILITY(half.missing());
  const CommandResult result = testing::RunCommand(half.With(CozRun()), options_);
  ASSERT_EQ(result.output.substr(0, 6), "hello\n") << result.errors;
  EXPECT_THAT(Report(), AllOf(HasSubstr("stopped by a CPU quota"),
                              HasSubstr("note: a quota of 0.5 CPUs (cpu.max of the cgroup)")));
  EXPECT_THAT(Report("--json"), AllOf(HasSubstr("a quota of 0.5 CPUs"), HasSubstr("cpu_quota")));
}

// Coz goes before the program, which would leave it no CPU; other programs have the other CPUs.
TEST_F(SurroundingsTest, RealtimeThreadsAreNoted) {
  const CommandResult may = testing::RunCommand({"chrt", "--fifo", "2", "true"}, options_);
  COZ_REQUIRE_CAPABILITY(
      may.status == 0 ? "" : absl::StrCat("required: chrt --fifo 2; actual: ", may.errors));
  const CommandResult result =
      testing::RunCommand({"taskset", "-c", std::to_string(FirstCpu()), "chrt", "--fifo", "2",
                           Coz(), "run", "--experiment-length=0.2", "--fixed-speedup=0",
                           "--follow=exec", "---", "chrt", "--fifo", "1", Puppet("busy"), "2"},
                          options_);
  ASSERT_EQ(result.output.substr(0, 6), "hello\n") << result.errors;
  EXPECT_THAT(Report(), HasSubstr("of the program's threads had a real-time priority"));
}

TEST_F(SurroundingsTest, NothingOfThisIsSaidOfAnOrdinaryThread) {
  const CommandResult result = testing::RunCommand(CozRun(), options_);
  ASSERT_EQ(result.output.substr(0, 6), "hello\n") << result.errors;
  EXPECT_THAT(Report(), AllOf(Not(HasSubstr("real-time priority")), Not(HasSubstr("found all"))));
}

}  // namespace
}  // namespace coz
