// The coz command on real processes: the program does what it does without coz, and the profile is
// whole. Other tests check the figures.
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "coz/base/sampling_period.h"
#include "coz/report/analysis/experiment_table.h"
#include "coz/report/format/profile_reader.h"
#include "coz/shared/control_block.h"
#include "coz/testing/coz_run.h"
#include "coz/testing/run_command.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace coz {
namespace {

using ::coz::testing::CommandResult;
using ::coz::testing::Coz;
using ::coz::testing::Puppet;
using ::coz::testing::RunfilePath;
using ::testing::HasSubstr;
using ::testing::Not;

using CozTest = ::coz::testing::CozRunTest;

// The line of the loop in busy.c.
std::string Line() { return testing::LineWith("busy.c", "i < 100000"); }

TEST_F(CozTest, MakesExperimentsAndWritesThem) {
  const CommandResult result = Run({}, {Puppet("busy"), "2"});
  EXPECT_EQ(result.status, 0) << result.errors;
  EXPECT_EQ(result.output, "hello\nbye\n");
  EXPECT_THAT(result.errors, HasSubstr("coz report profile.pb"));
  const profile::Profile profile = Profile();
  EXPECT_GE(profile.experiment_size(), 3);
  ASSERT_EQ(profile.session_size(), 1);
  EXPECT_EQ(profile.session(0).command(1), "2");
  ASSERT_EQ(profile.progress_point_size(), 1);
  EXPECT_EQ(profile.progress_point(0).name(), "work");
  ASSERT_EQ(profile.session_end_size(), 1);
  EXPECT_EQ(profile.session_end(0).reason(), profile::END_REASON_TARGET_EXITED);
  for (const profile::Experiment& experiment : profile.experiment()) {
    ASSERT_EQ(experiment.point_size(), 1);
    EXPECT_GT(experiment.point(0).visits(), 0u);
    EXPECT_LE(experiment.effective_duration_ns(), experiment.elapsed_ns());
  }
}

// Of all samples in experiments.
double SpinningShare(const profile::Profile& profile) {
  uint64_t spinning = 0;
  uint64_t all = 0;
  for (const profile::Experiment& experiment : profile.experiment()) {
    spinning += experiment.validity().spinning_samples();
    all += experiment.total_samples();
  }
  EXPECT_GT(all, 300u) << "too few for a share; how many there are is up to the machine's load";
  return static_cast<double>(spinning) / static_cast<double>(all);
}

// One of two threads spins for half of the time; coz sees it by the loop's instructions, or is told
// by the program.
// A sixth of the samples where both threads have a CPU, and fewer beside other programs.
TEST_F(CozTest, SeesLoopsThatWaitOnTheirCpu) {
  constexpr double kWorthSaying = 0.05;  // as in the report's note
  const CommandResult unknown = Run({}, {Puppet("rounds"), "2"});
  EXPECT_EQ(unknown.status, 0) << unknown.errors;
  EXPECT_GT(SpinningShare(Profile()), kWorthSaying);
  EXPECT_THAT(unknown.errors, HasSubstr("loops that wait for something on their CPU"));
  EXPECT_THAT(unknown.errors, HasSubstr("such loops are above all at rounds.c:"));
  const CommandResult counted = Run({"--unit=function"}, {Puppet("rounds"), "2", "counted"});
  EXPECT_EQ(counted.status, 0) << counted.errors;
  EXPECT_GT(SpinningShare(Profile()), kWorthSaying);
  EXPECT_THAT(counted.errors, HasSubstr("such loops are above all at await (rounds.c:"));
  const CommandResult unhinted = Run({}, {Puppet("rounds"), "2", "unhinted"});
  EXPECT_EQ(unhinted.status, 0) << unhinted.errors;
  EXPECT_GT(SpinningShare(Profile()), kWorthSaying);
  const CommandResult tries = Run({}, {Puppet("rounds"), "2", "tries"});
  EXPECT_EQ(tries.status, 0) << tries.errors;
  EXPECT_GT(SpinningShare(Profile()), kWorthSaying);
  const CommandResult told = Run({}, {Puppet("rounds"), "2", "told"});
  EXPECT_EQ(told.status, 0) << told.errors;
  EXPECT_LT(SpinningShare(Profile()), 0.01);
  EXPECT_THAT(told.errors, Not(HasSubstr("loops that wait for something on their CPU")));
}

TEST_F(CozTest, FindsTheLineOfTheWork) {
  Run({}, {Puppet("busy"), "1"});
  uint64_t in_spin = 0;
  uint64_t all = 0;
  const profile::Profile profile = Profile();
  for (const profile::Experiment& experiment : profile.experiment()) {
    for (int i = 0; i < experiment.unit_id_size(); ++i) {
      all += experiment.unit_samples(i);
      for (const profile::Unit& unit : profile.unit()) {
        if (unit.id() == experiment.unit_id(i) && unit.function() == "spin") {
          in_spin += experiment.unit_samples(i);
        }
      }
    }
  }
  EXPECT_GT(all, 0u);
  EXPECT_GT(in_spin * 10, all * 9) << in_spin << " of " << all;
}

TEST_F(CozTest, PassesStandardInputOn) {
  options_.input = "one\ntwo\n";
  EXPECT_EQ(Run({}, {Puppet("busy"), "0.2"}).output, "hello\none\ntwo\nbye\n");
}

TEST_F(CozTest, EndsWithTheProgramsStatus) {
  EXPECT_EQ(Run({}, {Puppet("busy"), "0.3", "status", "7"}).status, 7);
}

TEST_F(CozTest, EndsByTheProgramsSignal) {
  const CommandResult result = Run({}, {Puppet("busy"), "0.3", "signal", "9"});
  EXPECT_EQ(result.signal, SIGKILL);
  EXPECT_EQ(Profile().session_end(0).exit_signal(), 9u);
  EXPECT_EQ(Run({}, {Puppet("busy"), "0.3", "signal", "5"}).signal, SIGTRAP);
}

TEST_F(CozTest, LeavesSignalsProcessesAndDescriptorsToTheProgram) {
  const CommandResult result = Run({}, {Puppet("citizen")});
  EXPECT_EQ(result.status, 0) << result.output << result.errors;
  EXPECT_THAT(result.output, Not(HasSubstr("FAILED")));
  EXPECT_THAT(result.output, HasSubstr("ok closes_every_descriptor"));
}

TEST_F(CozTest, FollowsAnExec) {
  Run({"--follow=exec"}, {"/bin/sh", "-c", absl::StrCat("exec ", Puppet("busy"), " 1")});
  EXPECT_GE(Profile().experiment_size(), 2);
}

TEST_F(CozTest, RunsProgramsBuiltWithTheOriginalsHeader) {
  EXPECT_EQ(testing::RunCommand({Puppet("original")}, options_).output, "alone\n");
  const CommandResult result = Run({}, {Puppet("original")});
  EXPECT_EQ(result.output, "profiled\n") << result.errors;
  const profile::Profile profile = Profile();
  EXPECT_GE(profile.experiment_size(), 3);
  std::vector<std::string> latency_points;
  std::vector<std::string> throughput_points;
  for (const profile::ProgressPoint& point : profile.progress_point()) {
    (point.kind() == profile::PROGRESS_POINT_KIND_LATENCY ? latency_points : throughput_points)
        .push_back(point.name());
  }
  EXPECT_THAT(latency_points, ::testing::ElementsAre("turn"));
  EXPECT_THAT(throughput_points,
              ::testing::UnorderedElementsAre("turns", HasSubstr("original.cc:")));
}

TEST_F(CozTest, ExperimentsOnALibraryThatIsOpenedLater) {
  Run({"--binary-scope", "libplugin.so", "--fixed-line=plugin.c:7"},
      {Puppet("host"), Puppet("libplugin.so"), "1.5"});
  const profile::Profile profile = Profile();
  EXPECT_GE(profile.experiment_size(), 3);
  ASSERT_EQ(profile.binary_size(), 1);
  EXPECT_THAT(profile.binary(0).path(), HasSubstr("libplugin.so"));
  for (const profile::Unit& unit : profile.unit()) EXPECT_EQ(unit.function(), "plugin_work");
}

TEST_F(CozTest, SaysThatNoLoadedBinaryHasTheFixedLine) {
  const CommandResult result = Run({"-b", "libplugin.so", "--fixed-line=plugin.c:1"},
                                   {Puppet("host"), Puppet("libplugin.so"), "0.3"});
  EXPECT_EQ(result.status, 0);
  EXPECT_THAT(result.errors, HasSubstr("no binary in scope that was loaded has code of"));
}

TEST_F(CozTest, LeavesOptionsAfterTheDashesToTheProgram) {
  const CommandResult result =
      testing::RunCommand({Coz(), "run", "-s", "%", "--fixed-speedup", "0,25", "---", "/bin/echo",
                           "-n", "--nonsense", "---", "--"},
                          options_);
  EXPECT_THAT(result.errors, HasSubstr("/bin/echo")) << "it has no debug information";
  const CommandResult followed =
      testing::RunCommand({Coz(), "run", "--follow=exec", "--fixed-speedup", "0,25", "---",
                           "/bin/echo", "--nonsense", "---", "--"},
                          options_);
  EXPECT_EQ(followed.output, "--nonsense --- --\n");
}

TEST_F(CozTest, SplitsItsCommandLineAtTwoOrThreeDashes) {
  const CommandResult result = testing::RunCommand(
      {Coz(), "run", "-o", "other.pb", "--", Puppet("busy"), "0.3", "status", "3"}, options_);
  EXPECT_EQ(result.status, 3) << result.errors;
  EXPECT_TRUE(std::filesystem::exists(Path("other.pb")));
}

TEST_F(CozTest, KeepsThePreviousProfile) {
  Run({}, {Puppet("busy"), "1.5"});
  const uint64_t first = Profile().session(0).id();
  Run({}, {Puppet("busy"), "1.5"});
  EXPECT_EQ(Profile("profile.pb.1").session(0).id(), first);
  EXPECT_NE(Profile().session(0).id(), first);
  Run({"--append"}, {Puppet("busy"), "1.5"});
  EXPECT_EQ(Profile().session_size(), 2);
}

TEST_F(CozTest, LetsTheProgramRunOnAfterTheDuration) {
  const CommandResult result = Run({"--duration=0.6"}, {Puppet("busy"), "1.5"});
  EXPECT_EQ(result.output, "hello\nbye\n");
  const profile::Profile profile = Profile();
  EXPECT_EQ(profile.session_end(0).reason(), profile::END_REASON_DURATION_REACHED);
  for (const profile::Experiment& experiment : profile.experiment()) {
    EXPECT_LT(experiment.start_ns(), 700'000'000u);
  }
}

TEST_F(CozTest, EndsTheProfileWhenItIsPreciseEnough) {
  const CommandResult result =
      Run({"--until=200%", "--fixed-line=" + Line()}, {Puppet("busy"), "5"});
  EXPECT_EQ(result.output, "hello\nbye\n");
  EXPECT_THAT(result.errors, HasSubstr("profiling has ended, the program runs on"));
  const profile::Profile profile = Profile();
  EXPECT_EQ(profile.session_end(0).reason(), profile::END_REASON_PRECISION_REACHED);
  EXPECT_EQ(profile.session(0).options().until_width(), 2.0);
}

TEST_F(CozTest, SaysThatTheDurationCameBeforeThePrecision) {
  const CommandResult result =
      Run({"--until=0.1", "--duration=1", "--fixed-line=" + Line()}, {Puppet("busy"), "2"});
  EXPECT_THAT(result.errors,
              HasSubstr("at its end the profile is not as precise as --until asks ("));
  EXPECT_THAT(result.errors, HasSubstr("); go on with: "));
}

TEST_F(CozTest, RefusesWidthsThatAreNone) {
  EXPECT_THAT(Run({"--until=tight"}, {Puppet("busy"), "0"}).errors, HasSubstr("--until=10"));
  EXPECT_THAT(Run({"--until=5", "--end-to-end"}, {Puppet("busy"), "0"}).errors,
              HasSubstr("--until cannot be reached with --end-to-end"));
}

TEST_F(CozTest, RepeatsItsChoicesWithTheSameSeed) {
  const auto speedups = [this] {
    Run({"--seed=42", "--fixed-line=" + Line()}, {Puppet("busy"), "1.5"});
    std::vector<double> values;
    const profile::Profile profile = Profile();
    for (const profile::Experiment& experiment : profile.experiment()) {
      values.push_back(experiment.virtual_speedup());
    }
    values.resize(std::min<size_t>(values.size(), 4));
    return values;
  };
  const std::vector<double> first = speedups();
  EXPECT_EQ(first.size(), 4u);
  EXPECT_EQ(speedups(), first);
}

TEST_F(CozTest, KeepsToTheFixedLineAndSpeedup) {
  Run({"--fixed-line=" + Line(), "--fixed-speedup=40"}, {Puppet("busy"), "1.5"});
  const profile::Profile profile = Profile();
  ASSERT_GT(profile.experiment_size(), 2);
  for (const profile::Experiment& experiment : profile.experiment()) {
    EXPECT_EQ(experiment.selected_unit(), profile.experiment(0).selected_unit());
    EXPECT_TRUE(experiment.virtual_speedup() == 0 || experiment.virtual_speedup() == 0.4);
  }
}

TEST_F(CozTest, MeasuresTheWholeRunEndToEnd) {
  Run({"--end-to-end"}, {Puppet("busy"), "1", "never"});
  const profile::Profile profile = Profile();
  ASSERT_EQ(profile.experiment_size(), 1);
  EXPECT_EQ(profile.progress_point(0).kind(), profile::PROGRESS_POINT_KIND_END_TO_END);
}

TEST_F(CozTest, SaysWhatToDoWithARunThatIsTooShortToBeMeasured) {
  const CommandResult result = Run({"--end-to-end"}, {Puppet("busy"), "0.05", "never"});
  EXPECT_THAT(result.errors, HasSubstr("the run ended before its line was chosen"));
  EXPECT_THAT(result.errors, HasSubstr("--repeat=40"));
}

// The first run finds the line by its first samples, and speeds it up in the rest of the run:
// nearly all here, and coz claims no more. The second speeds it up from the start.
TEST_F(CozTest, EndToEndSpeedsUpTheWholeRunOrSaysHowMuchOfIt) {
  Run({"--end-to-end", "--repeat=2", "--seed=2", "--fixed-speedup=50"},
      {Puppet("busy"), "0.5", "never"});
  const profile::Profile profile = Profile();
  ASSERT_EQ(profile.experiment_size(), 2);
  const report::ExperimentTable table = report::BuildExperimentTable(profile);
  for (const report::ExperimentRow& row : table.experiments) {
    uint64_t known = 0;
    row.unit_samples.ForEach([&](size_t, uint64_t samples) { known += samples; });
    EXPECT_GT(known, row.total_samples * 9 / 10) << "samples of the run outside its experiment";
    const uint64_t of_unit = row.unit_samples.Of(row.unit);
    if (row.IsBaseline() || of_unit == 0) continue;
    const double sped_up = static_cast<double>(row.selected_samples) / static_cast<double>(of_unit);
    EXPECT_NEAR(row.achieved_virtual_speedup, 0.5 * sped_up, 0.02);
  }
}

TEST_F(CozTest, RepeatsARunThatIsOneExperiment) {
  const CommandResult result =
      Run({"--end-to-end", "--repeat=4", "--seed=1", "--fixed-line=" + Line()},
          {Puppet("busy"), "0.3", "never"});
  EXPECT_EQ(result.status, 0) << result.errors;
  EXPECT_EQ(result.output, "hello\nbye\nhello\nbye\nhello\nbye\nhello\nbye\n");
  EXPECT_EQ(Profile().session_size(), 4);
  EXPECT_EQ(Profile().experiment_size(), 4);
  // A program that fails is not run again.
  const CommandResult failing =
      Run({"--end-to-end", "--repeat=4"}, {Puppet("busy"), "0.3", "status", "3"});
  EXPECT_EQ(Profile().session_size(), 1) << failing.errors;
}

TEST_F(CozTest, RepeatsShortRunsIntoOneProfile) {
  const CommandResult result = Run({"--repeat=3", "--seed=7"}, {Puppet("busy"), "0.6"});
  EXPECT_EQ(result.output, "hello\nbye\nhello\nbye\nhello\nbye\n");
  const profile::Profile profile = Profile();
  ASSERT_EQ(profile.session_end_size(), 3);
  uint64_t experiments = 0;
  for (const profile::SessionEnd& end : profile.session_end()) {
    EXPECT_GT(end.experiments(), 0u);
    experiments += end.experiments();
  }
  EXPECT_EQ(experiments, static_cast<uint64_t>(profile.experiment_size()));
  // Each run has a period of its own, by its seed; one that is given holds for all.
  for (int i = 0; i < profile.session_size(); ++i) {
    const uint64_t seed = 7 + static_cast<uint64_t>(i);
    EXPECT_EQ(profile.session(i).sampling_period_ns(), DefaultSamplingPeriodNs(seed)) << i;
  }
  Run({"--repeat=2", "--seed=7", "--sampling-period=0.5"}, {Puppet("busy"), "0.3"});
  const profile::Profile given = Profile();
  ASSERT_EQ(given.session_size(), 2);
  for (const profile::Session& session : given.session()) {
    EXPECT_EQ(session.sampling_period_ns(), 500'000u);
  }
}

// A figure needs a baseline and three speedups, of a tenth of a second at least. So no run of 0.35
// s has one alone, and not all forty are needed.
TEST_F(CozTest, RepeatsUntilTheProfileIsPreciseEnough) {
  const std::string line = "--fixed-line=" + Line();
  const CommandResult result =
      Run({"--repeat=40", "--until=60", "--seed=3", line}, {Puppet("busy"), "0.35"});
  const profile::Profile profile = Profile();
  EXPECT_GT(profile.session_size(), 1);
  EXPECT_LT(profile.session_size(), 40);
  EXPECT_EQ(profile.session_end().rbegin()->reason(), profile::END_REASON_PRECISION_REACHED);
  EXPECT_THAT(result.errors,
              HasSubstr(absl::StrCat("after ", profile.session_size(), " runs of at most 40")));
}

TEST_F(CozTest, RepeatsUntilTheRunTimeIsPreciseEnough) {
  const std::string line = "--fixed-line=" + Line();
  const CommandResult result = Run({"--end-to-end", "--repeat=60", "--until=200", "--seed=3", line},
                                   {Puppet("busy"), "0.3"});
  const profile::Profile profile = Profile();
  // A figure needs a baseline and three speedups; how many more runs it needs is chance.
  EXPECT_GE(profile.session_size(), 4);
  EXPECT_LT(profile.session_size(), 60);
  EXPECT_EQ(profile.experiment_size(), profile.session_size());
  EXPECT_THAT(result.errors, HasSubstr("the program has ended"));
}

TEST_F(CozTest, SaysThatMoreRunsAreNeeded) {
  const CommandResult result =
      Run({"--end-to-end", "--repeat=2", "--until=5"}, {Puppet("busy"), "0.3"});
  EXPECT_EQ(Profile().session_size(), 2);
  EXPECT_THAT(result.errors, HasSubstr("after 2 runs the profile is not as precise"));
}

TEST_F(CozTest, ProgramRunsOnWhereLibraryAndCommandAreOfDifferentVersions) {
  const int fd = memfd_create("block", 0);
  ASSERT_GE(fd, 0);
  ASSERT_EQ(ftruncate(fd, sizeof(shared::ControlBlock)), 0);
  const uint32_t version = shared::kControlVersion - 1;
  ASSERT_EQ(pwrite(fd, &shared::kControlMagic, sizeof(shared::kControlMagic),
                   offsetof(shared::ControlBlock, magic)),
            8);
  ASSERT_EQ(pwrite(fd, &version, sizeof(version), offsetof(shared::ControlBlock, version)), 4);
  options_.environment = {absl::StrCat(shared::kControlVariable, "=/proc/", getpid(), "/fd/", fd),
                          "LD_PRELOAD=" + RunfilePath("coz/runtime/libcoz.so")};
  const CommandResult result = testing::RunCommand({Puppet("busy"), "0.1"}, options_);
  close(fd);
  EXPECT_EQ(result.status, 0);
  EXPECT_EQ(result.output, "hello\nbye\n");
  EXPECT_THAT(result.errors, HasSubstr("coz: the program runs without the profiler: the supervisor "
                                       "is of another version; use the coz command"));
}

TEST_F(CozTest, SurvivesTheDeathOfItsProgram) {
  const CommandResult result =
      Run({"--follow=exec"},
          {"/bin/sh", "-c",
           absl::StrCat(Puppet("busy"), " 30 & pid=$!; sleep 0.1; kill -9 $pid; wait $pid; exec ",
                        Puppet("busy"), " 1 signal 9")});
  EXPECT_EQ(result.signal, SIGKILL);
  EXPECT_GE(Profile().experiment_size(), 1);
}

TEST_F(CozTest, PassesAnInterruptOnAndKeepsTheProfile) {
  options_.while_running = [](pid_t coz) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1500));  // how long somebody lets it run
    kill(coz, SIGINT);
  };
  const CommandResult result = Run({}, {Puppet("busy"), "30"});
  EXPECT_EQ(result.signal, SIGINT);
  const profile::Profile profile = Profile();
  EXPECT_GE(profile.experiment_size(), 2);
  EXPECT_EQ(profile.session_end(0).reason(), profile::END_REASON_INTERRUPTED);
  EXPECT_THAT(result.errors, HasSubstr("coz report"));
}

TEST_F(CozTest, LetsTheProgramRunOnWhenItIsKilledItself) {
  const std::string mark = Path("ended");
  options_.while_running = [](pid_t coz) {
    std::this_thread::sleep_for(std::chrono::milliseconds(700));
    kill(coz, SIGKILL);
  };
  const CommandResult result =
      Run({"--follow=exec"},
          {"/bin/sh", "-c",
           absl::StrCat("trap '' TERM; exec 3>", mark, "; ", Puppet("busy"), " 1.5; echo $? >&3")});
  EXPECT_EQ(result.signal, SIGKILL);
  std::string status;
  for (int i = 0; i < 200 && status.empty(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    std::ifstream(mark) >> status;
  }
  EXPECT_EQ(status, "0");
  EXPECT_TRUE(report::ReadProfile(Path("profile.pb")).ok());
}

TEST_F(CozTest, SamplesByEachSourceThatIsAskedFor) {
  for (const char* source : {"perf-sigtrap", "perf-setsig", "cpu-timer"}) {
    SCOPED_TRACE(source);
    Run({absl::StrCat("--sampler=", source)}, {Puppet("busy"), "1"});
    const profile::Profile profile = Profile();
    EXPECT_GE(profile.experiment_size(), 2);
    EXPECT_GT(profile.session_end(0).total_samples(), 100u);
  }
}

TEST_F(CozTest, FallsBackWherePerfIsForbidden) {
  const CommandResult result =
      testing::RunCommand({Puppet("without_perf"), absl::StrCat(EPERM), Coz(), "run",
                           "--experiment-length=0.1", "---", Puppet("busy"), "1"},
                          options_);
  EXPECT_EQ(result.status, 0);
  EXPECT_EQ(result.output, "hello\nbye\n");
  EXPECT_THAT(result.errors, HasSubstr("perf_event_open"));
  const profile::Profile profile = Profile();
  EXPECT_EQ(profile.session(0).sampling_source(), profile::SAMPLING_SOURCE_CPU_TIMER);
  EXPECT_NE(profile.session(0).fallback_reason(), "");
  EXPECT_GE(profile.experiment_size(), 2);
}

// As `SystemCallFilter=@system-service` of systemd does.
TEST_F(CozTest, DoesWithoutCallsForWhichAFilterKills) {
  const std::string calls =
      absl::StrCat(SYS_perf_event_open, ",", SYS_pidfd_open, ",", SYS_pidfd_getfd, ",", SYS_mincore,
                   ",", SYS_sched_setaffinity, ",", SYS_membarrier, ",", SYS_process_vm_readv);
  for (const char* answer : {"kill", "trap"}) {
    SCOPED_TRACE(answer);
    const CommandResult result =
        testing::RunCommand({Puppet("under_filter"), answer, calls, Coz(), "run",
                             "--experiment-length=0.1", "---", Puppet("busy"), "1"},
                            options_);
    EXPECT_EQ(result.status, 0);
    EXPECT_EQ(result.signal, 0);
    EXPECT_EQ(result.output, "hello\nbye\n");
    EXPECT_THAT(result.errors, HasSubstr("allow perf_event_open in the filter"));
    EXPECT_EQ(Profile().session(0).sampling_source(), profile::SAMPLING_SOURCE_CPU_TIMER);
    EXPECT_GE(Profile().experiment_size(), 1);
  }
}

TEST_F(CozTest, RefusesWhereAFilterKillsForACallThatItNeeds) {
  const CommandResult result =
      testing::RunCommand({Puppet("under_filter"), "kill", absl::StrCat(SYS_memfd_create), Coz(),
                           "run", "---", Puppet("busy"), "1"},
                          options_);
  EXPECT_EQ(result.status, 125);
  EXPECT_EQ(result.output, "");
  EXPECT_THAT(result.errors, HasSubstr("SystemCallFilter=memfd_create\n"));
}

TEST_F(CozTest, DoctorLooksUnderAFilterThatKills) {
  const CommandResult result =
      testing::RunCommand({Puppet("under_filter"), "kill", absl::StrCat(SYS_perf_event_open), Coz(),
                           "doctor", Puppet("busy")},
                          options_);
  EXPECT_EQ(result.signal, 0);
  EXPECT_THAT(result.output, HasSubstr("threads are sampled by CPU timers"));
}

// Whether code may be read is found out without it.
TEST_F(CozTest, CountsByJumpsWhereMincoreIsForbidden) {
  const CommandResult result = testing::RunCommand(
      {Puppet("under_filter"), absl::StrCat(EPERM), absl::StrCat(SYS_mincore), Coz(), "run",
       "--progress=spin", "--experiment-length=0.1", "---", Puppet("busy"), "1"},
      options_);
  EXPECT_EQ(result.status, 0);
  EXPECT_THAT(result.errors, Not(HasSubstr("other code there")));
  EXPECT_THAT(result.errors, Not(HasSubstr("hardware breakpoint")));
}

TEST_F(CozTest, ReportsAProfileCutInTheMiddle) {
  Run({}, {Puppet("busy"), "1.5"});
  const int whole = Profile().experiment_size();
  std::filesystem::resize_file(Path("profile.pb"),
                               std::filesystem::file_size(Path("profile.pb")) * 6 / 10);
  const CommandResult result = testing::RunCommand({Coz(), "report", "profile.pb"}, options_);
  EXPECT_EQ(result.status, 0) << result.errors;
  EXPECT_LT(Profile().experiment_size(), whole);
  EXPECT_THAT(result.output, HasSubstr("cut"));
}

TEST_F(CozTest, ExportsForTheOriginal) {
  Run({}, {Puppet("busy"), "1"});
  const CommandResult result = testing::RunCommand({Coz(), "export", "--format=coz"}, options_);
  EXPECT_EQ(result.status, 0) << result.errors;
  EXPECT_THAT(result.output, ::testing::StartsWith("{"));
  EXPECT_THAT(result.output, HasSubstr("\"throughput-point\""));
}

}  // namespace
}  // namespace coz
