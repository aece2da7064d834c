// coz attach: a program that runs already is profiled, and goes on as it was.
#include <signal.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "coz/attach/process_view.h"
#include "coz/testing/capabilities.h"
#include "coz/testing/coz_run.h"
#include "coz/testing/one_sentence.h"
#include "coz/testing/process_state.h"
#include "coz/testing/resident.h"
#include "coz/testing/run_command.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace coz {
namespace {

using testing::CallSlotsOf;
using testing::CommandResult;
using testing::Coz;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::Not;
using testing::Puppet;
using testing::Resident;
using testing::SlotsIntoLibrary;

constexpr char kEvents[] = "perf-sigtrap";
constexpr char kTimers[] = "cpu-timer";

class AttachTest : public testing::CozRunTest {
 protected:
  CommandResult Attach(pid_t pid, const std::vector<std::string>& coz_options = {}) {
    std::vector<std::string> arguments = {Coz(), "attach", "--experiment-length=0.1"};
    arguments.insert(arguments.end(), coz_options.begin(), coz_options.end());
    arguments.push_back(absl::StrCat(pid));
    return RunCommand(arguments, options_);
  }
  std::string Refusal(pid_t pid) {
    const CommandResult result = Attach(pid, {"--duration=1"});
    EXPECT_NE(result.status, 0);
    EXPECT_NE(result.status, 3) << "it was attached to: " << result.errors;
    EXPECT_THAT(result.errors, HasSubstr(absl::StrCat("process ", pid)));
    return result.errors;
  }
};

// By each source of samples.
class AttachSourceTest : public AttachTest, public ::testing::WithParamInterface<const char*> {
 protected:
  void SetUp() override {
    if (GetParam() == std::string(kEvents)) COZ_REQUIRE_CAPABILITY(testing::MissingPerfEvents());
  }
  CommandResult AttachBySource(pid_t pid, std::vector<std::string> coz_options) {
    coz_options.push_back(absl::StrCat("--sampler=", GetParam()));
    return Attach(pid, coz_options);
  }
};
INSTANTIATE_TEST_SUITE_P(Sources, AttachSourceTest, ::testing::Values(kEvents, kTimers),
                         [](const ::testing::TestParamInfo<const char*>& source) {
                           return source.param == std::string(kEvents) ? "Events" : "Timers";
                         });

std::vector<std::string> TwoPairs() { return {Puppet("resident"), "4"}; }

TEST_P(AttachSourceTest, LinesAreSampledAndExperimentsAreMade) {
  Resident resident(TwoPairs());
  ASSERT_EQ(resident.Line(), "ready\n");
  const CommandResult result = AttachBySource(resident.pid(), {"--duration=4"});
  EXPECT_EQ(result.status, 0) << result.errors;
  const profile::Profile profile = Profile();
  EXPECT_GT(profile.experiment_size(), 0);
  ASSERT_FALSE(profile.session().empty());
  EXPECT_EQ(profile.session().begin()->sampling_source(),
            GetParam() == std::string(kTimers) ? profile::SAMPLING_SOURCE_CPU_TIMER
                                               : profile::SAMPLING_SOURCE_PERF_SIGTRAP);
  std::set<std::string> functions;
  for (const profile::Unit& unit : profile.unit()) functions.insert(unit.function());
  EXPECT_EQ(functions.count("make"), 1u) << result.errors;
  uint64_t visits = 0;
  uint64_t imposed = 0;
  uint64_t paid = 0;
  for (const profile::Experiment& experiment : profile.experiment()) {
    for (const profile::PointCounts& point : experiment.point()) visits += point.visits();
    imposed += experiment.inserted_delay_ns();
    paid += experiment.validity().paid_ns();
  }
  EXPECT_GT(visits, 0u) << "the mark was visited before without the profiler";
  EXPECT_GT(imposed, 0u);
  EXPECT_GT(paid, 0u) << "nobody has paused";
  int status = -1;
  EXPECT_EQ(resident.End(&status), "right\n");
  EXPECT_EQ(status, 0);
}

TEST_P(AttachSourceTest, LeavesDispositionsDescriptorsAndSlotsAsTheyWere) {
  Resident resident(TwoPairs());
  ASSERT_EQ(resident.Line(), "ready\n");
  // Once, so that lazily bound slots of what it prints are bound.
  resident.Ask("state\n");
  const std::string before = resident.Ask("state\n");
  const auto slots = testing::BoundSlotsOf(resident.pid(), Puppet("resident"));
  EXPECT_GT(slots.size(), 5u);
  size_t wrapped = 0;
  size_t timers = 0;
  const size_t wanted_timers = GetParam() == std::string(kTimers) ? 5 : 0;
  options_.while_running = [&](pid_t) {
    for (int i = 0; i < 200 && (wrapped == 0 || timers != wanted_timers); ++i) {
      usleep(20'000);
      timers = testing::TimersOf(resident.pid());
      wrapped = SlotsIntoLibrary(resident.pid(), CallSlotsOf(resident.pid(), Puppet("resident")));
    }
  };
  for (int cycle = 0; cycle < 2; ++cycle) {
    wrapped = 0;
    const CommandResult result = AttachBySource(resident.pid(), {"--duration=1"});
    EXPECT_EQ(result.status, 0) << result.errors;
    EXPECT_THAT(result.errors, HasSubstr("runs on as before"));
    EXPECT_GE(wrapped, 5u) << "pthread calls were not wrapped";
    EXPECT_EQ(timers, wanted_timers) << "one for each thread";
    EXPECT_EQ(testing::TimersOf(resident.pid()), 0u);
    const auto slots_after = CallSlotsOf(resident.pid(), Puppet("resident"));
    EXPECT_THAT(slots_after, IsSupersetOf(slots));
    EXPECT_EQ(SlotsIntoLibrary(resident.pid(), slots_after), 0u);
    EXPECT_EQ(resident.Ask("state\n"), before);
  }
  int status = -1;
  EXPECT_EQ(resident.End(&status), "right\n");
}

TEST_F(AttachTest, AddressesDoNotGrowInTwentyCycles) {
  COZ_REQUIRE_CAPABILITY(testing::MissingPerfEvents());
  Resident resident(TwoPairs());
  ASSERT_EQ(resident.Line(), "ready\n");
  const auto address_space_kb = [&resident] {
    return std::stoul(attach::ReadStatus(resident.pid()).at("VmSize"));
  };
  const size_t before_kb = address_space_kb();
  size_t mappings = 0;
  for (int cycle = 0; cycle < 20; ++cycle) {
    const CommandResult result =
        Attach(resident.pid(), {"--duration=0.3", "-o", absl::StrCat("cycle", cycle, ".pb")});
    ASSERT_TRUE(result.status == 0 || result.status == 3) << result.errors;
    // The library stays, and what threads know by address.
    EXPECT_LT(address_space_kb(), before_kb + 100'000) << "a server may limit it";
    if (cycle == 0) mappings = attach::ReadMappings(resident.pid()).size();
  }
  // libc may have grown its heap by a mapping or two.
  EXPECT_LE(attach::ReadMappings(resident.pid()).size(), mappings + 2);
  int status = -1;
  EXPECT_EQ(resident.End(&status), "right\n");
}

// Who traces the process, once what coz has forked to ask for the right to trace has ended, too.
std::string TracerInTheEnd(pid_t pid) {
  std::string tracer;
  for (int i = 0; i < 500 && tracer != "0"; ++i) {
    if (i > 0) usleep(10'000);
    tracer = attach::ReadStatus(pid).at("TracerPid");
  }
  return tracer;
}

TEST_P(AttachSourceTest, ProgramGoesOnWhereverCozIsKilled) {
  Resident resident(TwoPairs());
  ASSERT_EQ(resident.Line(), "ready\n");
  const std::string before = resident.Ask("state\n");
  constexpr useconds_t kStepUs = 15'000;
  for (useconds_t after_us = 0; after_us < 20 * kStepUs; after_us += kStepUs) {
    options_.while_running = [after_us](pid_t coz) {
      usleep(after_us);
      kill(coz, SIGKILL);
    };
    const CommandResult killed = AttachBySource(resident.pid(), {"--duration=30"});
    EXPECT_EQ(killed.signal, SIGKILL) << killed.errors;
    EXPECT_EQ(TracerInTheEnd(resident.pid()), "0");
    const attach::StatusFields status = attach::ReadStatus(resident.pid());
    EXPECT_THAT(status.at("State"), Not(HasSubstr("t (")));
    EXPECT_THAT(resident.Ask("state\n"), HasSubstr("SIGTRAP")) << "its threads go on";
  }
  options_.while_running = nullptr;
  const CommandResult result = AttachBySource(resident.pid(), {"--duration=1"});
  EXPECT_EQ(result.status, 0) << result.errors;
  const std::string after = resident.Ask("state\n");
  EXPECT_EQ(after, before);
  EXPECT_EQ(testing::TimersOf(resident.pid()), 0u);
  int status = -1;
  EXPECT_EQ(resident.End(&status), "right\n");
}

TEST_F(AttachTest, CountsCallsOfAFunctionThatIsNotMarked) {
  COZ_REQUIRE_CAPABILITY(testing::MissingPerfEvents());
  Resident resident(TwoPairs());
  ASSERT_EQ(resident.Line(), "ready\n");
  const CommandResult result = Attach(resident.pid(), {"--duration=2", "--progress=make"});
  if (absl::StrContains(result.errors, "breakpoint")) GTEST_SKIP() << result.errors;
  EXPECT_EQ(result.status, 0) << result.errors;
  uint32_t id = 0;
  const profile::Profile profile = Profile();
  for (const profile::ProgressPoint& point : profile.progress_point()) {
    if (point.name() == "make") id = point.id();
  }
  uint64_t visits = 0;
  for (const profile::Experiment& experiment : profile.experiment()) {
    for (const profile::PointCounts& point : experiment.point()) {
      if (point.point() == id) visits += point.visits();
    }
  }
  EXPECT_GT(visits, 0u) << result.errors;
}

TEST_F(AttachTest, RefusesWhatItCannotAttachTo) {
  {
    Resident dead({Puppet("resident"), "0"});
    kill(dead.pid(), SIGKILL);
    siginfo_t info;
    waitid(P_PID, static_cast<id_t>(dead.pid()), &info, WEXITED | WNOWAIT);
    EXPECT_THAT(Refusal(dead.pid()), HasSubstr("it has ended"));
  }
  {
    Resident stopped({Puppet("resident"), "0"});
    stopped.Line();
    kill(stopped.pid(), SIGSTOP);
    siginfo_t info;
    waitid(P_PID, static_cast<id_t>(stopped.pid()), &info, WSTOPPED | WNOWAIT);
    EXPECT_THAT(Refusal(stopped.pid()), HasSubstr("kill -CONT"));
  }
  {
    Resident traced({Puppet("resident"), "0"});
    traced.Line();
    ASSERT_EQ(ptrace(PTRACE_SEIZE, traced.pid(), nullptr, nullptr), 0);
    EXPECT_THAT(Refusal(traced.pid()), HasSubstr("traces it"));
  }
  Resident fixed({Puppet("busy_static"), "60"});
  while (attach::ReadStatus(fixed.pid()).at("Name") != "busy_static") usleep(1000);
  EXPECT_THAT(Refusal(fixed.pid()), HasSubstr("statically linked"));
  constexpr pid_t kNobody = (1 << 22) + 1;  // above the kernel's largest number
  EXPECT_THAT(Refusal(kNobody), HasSubstr("there is none of this number"));
}

TEST_F(AttachTest, TimersSampleWherePerfEventsAreForbidden) {
  Resident resident(TwoPairs());
  ASSERT_EQ(resident.Line(), "ready\n");
  const auto attach = [&](const std::string& sampler) {
    return RunCommand(
        {Puppet("without_perf"), absl::StrCat(EACCES), Coz(), "attach", "--experiment-length=0.1",
         "--duration=2", sampler, absl::StrCat(resident.pid())},
        options_);
  };
  const CommandResult refused = attach("--sampler=perf-sigtrap");
  EXPECT_NE(refused.status, 0);
  EXPECT_THAT(refused.errors, HasSubstr("perf_event_open is not permitted"));
  EXPECT_THAT(refused.errors, HasSubstr("--sampler=cpu-timer"));
  const CommandResult result = attach("--sampler=auto");
  EXPECT_EQ(result.status, 0) << result.errors;
  EXPECT_THAT(result.errors, HasSubstr("threads are sampled by CPU timers"));
  EXPECT_GT(Profile().experiment_size(), 0);
  EXPECT_EQ(testing::TimersOf(resident.pid()), 0u);
  int status = -1;
  EXPECT_EQ(resident.End(&status), "right\n");
}

TEST_F(AttachTest, NamesTheLimitWhereItMayOpenFewFiles) {
  COZ_REQUIRE_CAPABILITY(testing::MissingPerfEvents());
  Resident resident(TwoPairs());
  ASSERT_EQ(resident.Line(), "ready\n");
  const auto limited = [&](const char* limit) {
    return RunCommand(
        {"/bin/bash", "-c", absl::StrCat("ulimit ", limit, "; exec \"$0\" \"$@\""), Coz(), "attach",
         "--experiment-length=0.1", "--duration=1", absl::StrCat(resident.pid())},
        options_);
  };
  for (const char* few : {"-n 16", "-n 24"}) {
    const CommandResult refused = limited(few);
    testing::ExpectOneSentence(refused, "Too many open files; coz needs some descriptors");
    EXPECT_THAT(refused.errors, HasSubstr("ulimit -n 64"));
  }
  EXPECT_EQ(limited("-S -n 16").status, 0) << "it may raise that";
  EXPECT_EQ(limited("-n 64").status, 0);
  int status = -1;
  EXPECT_EQ(resident.End(&status), "right\n");
}

TEST_F(AttachTest, OptionsOfCozRunAreRefusedWithWhatToDoInstead) {
  testing::ExpectOneSentence(Attach(4711, {"--follow=all"}), "attach --tree 4711", 2);
  testing::ExpectOneSentence(Attach(4711, {"--repeat=3"}), "attach --append 4711", 2);
  testing::ExpectOneSentence(Attach(4711, {"--daemon"}), "attach --tree 4711", 2);
  EXPECT_EQ(Attach(4711, {"--sampler=perf-setsig"}).status, 2);
}

TEST_F(AttachTest, NamesItselfWhereItsProfileCannotBeWritten) {
  Resident resident(TwoPairs());
  ASSERT_EQ(resident.Line(), "ready\n");
  std::ofstream(options_.folder + "/text") << "no profile";
  const auto refusal = [&](const std::string& file) {
    return Attach(resident.pid(), {"--duration=1", "--append", "-o", file}).errors;
  };
  const std::string to_file = absl::StrCat(" attach -o FILE ", resident.pid(), "`");
  EXPECT_THAT(refusal("nowhere/a.pb"), HasSubstr(to_file));
  EXPECT_THAT(refusal("text"), HasSubstr(to_file));
  EXPECT_THAT(refusal("/"), HasSubstr(absl::StrCat(" attach -o /profile.pb ", resident.pid())));
}

// Nothing can be undone in a process that is stopped. coz says so, and waits until it is told once
// more to end.
TEST_F(AttachTest, SaysThatAStoppedProcessCannotBeLeft) {
  COZ_REQUIRE_CAPABILITY(testing::MissingPerfEvents());
  Resident resident(TwoPairs());
  ASSERT_EQ(resident.Line(), "ready\n");
  std::atomic<bool> has_ended{false};
  std::thread teller;
  options_.while_running = [&](pid_t coz) {
    teller = std::thread([&, coz] {
      const auto knows_coz = [&] {
        return attach::FileNamed(attach::ReadMappings(resident.pid()), "libcoz.so") != nullptr;
      };
      while (!has_ended && !knows_coz()) usleep(1000);
      kill(resident.pid(), SIGSTOP);
      for (; !has_ended; usleep(50'000)) kill(coz, SIGTERM);
    });
  };
  const CommandResult result = Attach(resident.pid(), {"--duration=30"});
  has_ended = true;
  teller.join();
  EXPECT_THAT(result.errors, HasSubstr(absl::StrCat("kill -CONT ", resident.pid())));
  kill(resident.pid(), SIGCONT);
  options_.while_running = nullptr;
  EXPECT_EQ(Attach(resident.pid(), {"--duration=1"}).status, 0) << "it is mended";
  int status = -1;
  EXPECT_EQ(resident.End(&status), "right\n");
}

// Nobody has asked for the coz that was killed, as where the first process of a container does not.
TEST_F(AttachTest, AKilledCozIsGoneBeforeItsParentHasNoticed) {
  COZ_REQUIRE_CAPABILITY(testing::MissingPerfEvents());
  Resident resident(TwoPairs());
  ASSERT_EQ(resident.Line(), "ready\n");
  CommandResult again;
  options_.while_running = [&](pid_t coz) {
    const auto is_profiled = [&] {
      return SlotsIntoLibrary(resident.pid(), CallSlotsOf(resident.pid(), Puppet("resident"))) != 0;
    };
    for (int i = 0; i < 500 && !is_profiled(); ++i) usleep(10'000);
    kill(coz, SIGKILL);
    testing::CommandOptions others = options_;
    others.while_running = nullptr;
    again = RunCommand({Coz(), "attach", "--experiment-length=0.1", "--duration=1", "-o",
                        "again.pb", absl::StrCat(resident.pid())},
                       others);
  };
  EXPECT_EQ(Attach(resident.pid(), {"--duration=30"}).signal, SIGKILL);
  EXPECT_EQ(again.status, 0) << again.errors;
  int status = -1;
  EXPECT_EQ(resident.End(&status), "right\n");
}

TEST_F(AttachTest, RefusesAProcessThatIsInAProfile) {
  COZ_REQUIRE_CAPABILITY(testing::MissingPerfEvents());
  Resident resident(TwoPairs());
  ASSERT_EQ(resident.Line(), "ready\n");
  std::string refusal;
  options_.while_running = [&](pid_t) {
    for (int i = 0; i < 200; ++i) {
      usleep(20'000);
      if (SlotsIntoLibrary(resident.pid(), CallSlotsOf(resident.pid(), Puppet("resident"))) != 0)
        break;
    }
    usleep(100'000);
    testing::CommandOptions options;
    options.folder = testing::TemporaryFolder();
    refusal =
        RunCommand({Coz(), "attach", "--duration=1", absl::StrCat(resident.pid())}, options).errors;
  };
  EXPECT_EQ(Attach(resident.pid(), {"--duration=2"}).status, 0);
  EXPECT_THAT(refusal, HasSubstr("another coz profiles it"));
  int status = -1;
  EXPECT_EQ(resident.End(&status), "right\n");
}

}  // namespace
}  // namespace coz
