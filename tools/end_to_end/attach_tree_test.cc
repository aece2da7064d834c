// coz attach --tree: a program of several processes that runs already.
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "coz/attach/process_view.h"
#include "coz/testing/capabilities.h"
#include "coz/testing/coz_session.h"
#include "coz/testing/process_state.h"
#include "coz/testing/resident.h"
#include "coz/testing/run_command.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace coz {
namespace {

using testing::CommandResult;
using testing::Coz;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::Puppet;
using testing::Resident;

pid_t NumberOf(const std::string& text) {
  pid_t pid = 0;
  EXPECT_TRUE(absl::SimpleAtoi(absl::StripAsciiWhitespace(text), &pid)) << text;
  return pid;
}

// What threads of one process have done.
struct Done {
  uint64_t samples = 0;
  uint64_t visits = 0;
};

constexpr char kEvents[] = "perf-sigtrap";
constexpr char kTimers[] = "cpu-timer";

class AttachTreeTest : public testing::CozSessionTest {
 protected:
  void SetUp() override {
    if (sampler_ == kEvents) COZ_REQUIRE_CAPABILITY(testing::MissingPerfEvents());
    CozSessionTest::SetUp();
    std::string ready = resident_.Line();
    ASSERT_THAT(ready, HasSubstr("ready "));
    for (const auto& word : absl::StrSplit(ready.substr(6), ' ')) {
      children_.push_back(NumberOf(std::string(word)));
    }
    ASSERT_EQ(children_.size(), 2u);
  }
  CommandResult Attach(const std::vector<std::string>& coz_options, pid_t pid) {
    std::vector<std::string> arguments = {Coz(), "attach", "--experiment-length=0.1",
                                          "--sampler=" + sampler_};
    arguments.insert(arguments.end(), coz_options.begin(), coz_options.end());
    arguments.push_back(absl::StrCat(pid));
    return RunCommand(arguments, options_);
  }
  CommandResult AttachTree(const std::vector<std::string>& coz_options = {}) {
    std::vector<std::string> options = {"--tree"};
    options.insert(options.end(), coz_options.begin(), coz_options.end());
    return Attach(options, resident_.pid());
  }
  // A session that can be asked when this returns.
  void BeginSession(const std::vector<std::string>& coz_options) {
    std::vector<std::string> command = {Coz(), "attach", "--experiment-length=0.1",
                                        "--sampler=" + sampler_};
    command.insert(command.end(), coz_options.begin(), coz_options.end());
    command.push_back(absl::StrCat(resident_.pid()));
    StartSession(command);
  }
  // Whether a thread of process `pid` has had a sample by now, as the coz says that profiles it.
  static bool IsSampled(pid_t pid, pid_t coz) {
    const CommandResult asked =
        testing::RunCommand({Coz(), "threads", "--json", absl::StrCat(coz)});
    const nlohmann::json table = nlohmann::json::parse(asked.output, nullptr, false);
    if (table.is_discarded()) return false;
    for (const nlohmann::json& group : table["groups"]) {
      for (const nlohmann::json& thread : group["each"]) {
        if (thread["pid"] == pid && thread["samples"] > 0) return true;
      }
    }
    return false;
  }
  static bool AwaitSamples(pid_t pid, pid_t coz) {
    for (int tries = 0; tries < 500; ++tries) {
      if (IsSampled(pid, coz)) return true;
    }
    return false;
  }
  bool AwaitSamples(pid_t pid) { return AwaitSamples(pid, session_->pid()); }
  // The first process becomes the program anew once the profile has begun.
  void BecomeAnother(pid_t coz) {
    const auto begun = [coz] {
      return testing::RunCommand({Coz(), "points", absl::StrCat("--session=", coz), "--list"})
          .status;
    };
    for (int tries = 0; tries < 1000 && begun() != 0; ++tries) {
    }
    EXPECT_EQ(resident_.Ask(absl::StrCat("become ", Puppet("residents"), "\n")), "ready\n");
  }
  std::string NewsOfExec(const std::string& attach) const {
    return absl::StrCat("process ", resident_.pid(),
                        " has become another program by exec, and is no longer profiled; attach "
                        "again with: ",
                        Coz(), " ", attach, " ", resident_.pid());
  }
  // By process, with visits to the named point.
  std::map<pid_t, Done> DoneByProcess(const std::string& point) {
    std::map<pid_t, Done> done;
    const profile::Profile profile = Profile();
    std::map<uint32_t, std::string> names;
    for (const profile::ThreadCounter& counter : profile.thread_counter()) {
      names[counter.id()] = counter.name();
    }
    for (const profile::Thread& thread : profile.thread()) {
      Done& process = done[thread.pid()];
      process.samples += thread.samples();
      for (int i = 0; i < thread.counter_size(); ++i) {
        if (names[thread.counter(i)] == point) process.visits += thread.visits(i);
      }
    }
    return done;
  }
  void ExpectAllWork(const std::vector<pid_t>& processes, const std::string& point) {
    const std::map<pid_t, Done> done = DoneByProcess(point);
    for (const pid_t pid : processes) {
      ASSERT_EQ(done.count(pid), 1u) << pid << " is not in the profile";
      EXPECT_GT(done.at(pid).samples, 0u) << pid;
      EXPECT_GT(done.at(pid).visits, 0u) << pid;
    }
  }
  static std::string StateOf(pid_t pid) {
    return testing::StateFromOutside(pid, Puppet("residents"));
  }
  std::vector<pid_t> All() const {
    std::vector<pid_t> all = children_;
    all.push_back(resident_.pid());
    return all;
  }
  void ExpectRightEnd() {
    int status = -1;
    EXPECT_EQ(resident_.End(&status), "right\n");
    EXPECT_EQ(status, 0);
  }

  std::string sampler_ = kEvents;
  Resident resident_{{Puppet("residents"), "2"}};
  std::vector<pid_t> children_;
};

// By each source of samples.
class AttachTreeSourceTest : public AttachTreeTest,
                             public ::testing::WithParamInterface<const char*> {
 protected:
  AttachTreeSourceTest() { sampler_ = GetParam(); }
};
INSTANTIATE_TEST_SUITE_P(Sources, AttachTreeSourceTest, ::testing::Values(kEvents, kTimers),
                         [](const ::testing::TestParamInfo<const char*>& source) {
                           return source.param == std::string(kEvents) ? "Events" : "Timers";
                         });

TEST_P(AttachTreeSourceTest, AllProcessesAreInOneProfileAndGoOnAsBefore) {
  const std::string before = resident_.Ask("state\n");
  const CommandResult result = AttachTree({"--duration=2"});
  EXPECT_EQ(result.status, 0) << result.errors;
  EXPECT_THAT(result.errors, HasSubstr("3 processes are in the profile"));
  EXPECT_THAT(result.errors, HasSubstr("3 processes run on as before"));
  EXPECT_GT(Profile().experiment_size(), 0);
  ExpectAllWork(All(), "handed");
  EXPECT_EQ(resident_.Ask("state\n"), before);
  ExpectRightEnd();
}

// Where processes were attached to alone before, their threads have slots of the same numbers.
TEST_F(AttachTreeTest, ProcessesThatWereAttachedToAloneJoinTogether) {
  for (const pid_t pid : All()) {
    const CommandResult alone = Attach({"--duration=0.3", "--progress=work"}, pid);
    ASSERT_TRUE(alone.status == 0 || alone.status == 3) << alone.errors;
  }
  // Forked from one that was attached to.
  children_.push_back(NumberOf(resident_.Ask("child\n")));
  for (int cycle = 0; cycle < 3; ++cycle) {
    const CommandResult result = AttachTree({"--duration=2", "--progress=work"});
    EXPECT_EQ(result.status, 0) << result.errors;
    EXPECT_THAT(result.errors, HasSubstr("4 processes are in the profile"));
    ExpectAllWork(All(), "handed");
    ExpectAllWork(All(), "work");
  }
  ExpectRightEnd();
}

TEST_P(AttachTreeSourceTest, ChildThatIsForkedMeanwhileIsInTheProfile) {
  const std::string first_before = StateOf(resident_.pid());
  const std::string before = StateOf(children_[0]);
  for (int cycle = 0; cycle < 3; ++cycle) {
    SCOPED_TRACE(cycle);
    // A profile without a finished experiment does not replace one that has some.
    unlink(Path("profile.pb").c_str());
    BeginSession({"--tree", "--progress=work"});
    children_.push_back(NumberOf(resident_.Ask("child\n")));
    EXPECT_TRUE(AwaitSamples(children_.back()));
    const size_t threads = 3;
    EXPECT_EQ(testing::TimersOf(children_.back()), sampler_ == kTimers ? threads : 0);
    EndSession();
    ExpectAllWork(All(), "handed");
    ExpectAllWork(All(), "work");
    for (const pid_t child : children_) EXPECT_EQ(StateOf(child), before) << child;
    EXPECT_EQ(StateOf(resident_.pid()), first_before);
  }
  ExpectRightEnd();
}

// Each visit counts, however short a child lives, and also where its parent was made meanwhile.
TEST_F(AttachTreeTest, VisitsOfShortChildrenAreCountedExactly) {
  constexpr int kChildren = 50;
  for (int cycle = 0; cycle < 2; ++cycle) {
    SCOPED_TRACE(cycle);
    BeginSession({"--tree", "--progress=once"});
    EXPECT_EQ(resident_.Ask(absl::StrCat("short ", kChildren, "\n")),
              absl::StrCat(kChildren, "\n"));
    EXPECT_EQ(Visits("short"), 10 * kChildren);
    EXPECT_EQ(Visits("once"), kChildren);
    EndSession();
  }
  ExpectRightEnd();
}

// Each of them is another program soon, which has no handler of samples.
TEST_P(AttachTreeSourceTest, ChildrenThatBecomeOtherProgramsAreLeftAlone) {
  constexpr int kChildren = 50;
  BeginSession({"--tree", "--progress=work"});
  EXPECT_EQ(resident_.Ask(absl::StrCat("true ", kChildren, "\n")), absl::StrCat(kChildren, "\n"));
  const pid_t fixed = NumberOf(resident_.Ask(absl::StrCat("exec ", Puppet("busy_static"), "\n")));
  while (attach::ReadStatus(fixed).at("Name") != "busy_static") {
  }
  EndSession();
  EXPECT_EQ(kill(fixed, SIGKILL), 0);
  ExpectRightEnd();
}

TEST_P(AttachTreeSourceTest, OtherProgramsGetTheEnvironmentThatTheChildHasMade) {
  BeginSession({"--tree", "--progress=work"});
  EXPECT_EQ(resident_.Ask("told 20\n"), "20\n");
  EndSession();
  ExpectRightEnd();
}

// Its code counts for nobody, and is as before. It can be attached to afterwards.
TEST_F(AttachTreeTest, WithoutTheOptionAChildIsNotInTheProfile) {
  const std::string before = StateOf(children_[0]);
  BeginSession({"--progress=work"});
  const pid_t child = NumberOf(resident_.Ask("child\n"));
  children_.push_back(child);
  EXPECT_EQ(resident_.Ask("short 5\n"), "5\n");
  EXPECT_EQ(Visits("short"), 0);
  EXPECT_TRUE(AwaitSamples(resident_.pid()));
  EXPECT_NE(StateOf(resident_.pid()), StateOf(child));
  EXPECT_EQ(StateOf(child), before);
  EndSession();
  EXPECT_EQ(DoneByProcess("work").size(), 1u);
  const CommandResult result = Attach({"--duration=2", "--progress=work"}, child);
  EXPECT_EQ(result.status, 0) << result.errors;
  ExpectAllWork({child}, "handed");
  ExpectAllWork({child}, "work");
  ExpectRightEnd();
}

TEST_P(AttachTreeSourceTest, EndsWhereTheProcessBecomesAnotherProgram) {
  options_.while_running = [this](pid_t coz) { BecomeAnother(coz); };
  const CommandResult result = Attach({"--duration=60"}, resident_.pid());
  EXPECT_THAT(result.errors, HasSubstr(NewsOfExec("attach")));
  EXPECT_THAT(result.errors, Not(HasSubstr("as before")));
  const profile::Profile profile = Profile();
  ASSERT_EQ(profile.session_end_size(), 1);
  EXPECT_EQ(profile.session_end(0).reason(), profile::END_REASON_TARGET_REPLACED);
  EXPECT_EQ(profile.session_end(0).processes_replaced(), 1u);
  ExpectRightEnd();
}

TEST_P(AttachTreeSourceTest, OthersStayInTheProfileWhereOneBecomesAnotherProgram) {
  options_.while_running = [this](pid_t coz) {
    BecomeAnother(coz);
    EXPECT_TRUE(AwaitSamples(children_[0], coz));
    kill(coz, SIGINT);
  };
  const CommandResult result = AttachTree();
  EXPECT_THAT(result.errors, HasSubstr(NewsOfExec("attach --tree")));
  EXPECT_THAT(result.errors, HasSubstr("2 processes run on as before"));
  ExpectRightEnd();
}

// Its children find that out, and are not sampled by anybody.
TEST_P(AttachTreeSourceTest, ChildThatIsForkedAfterCozWasKilledGoesOn) {
  BeginSession({"--tree", "--progress=work"});
  const pid_t orphan = NumberOf(resident_.Ask("child\n"));
  kill(session_->pid(), SIGKILL);
  session_.reset();
  const pid_t child = NumberOf(resident_.Ask("child\n"));
  EXPECT_EQ(resident_.Ask("short 5\n"), "5\n");
  children_.insert(children_.end(), {orphan, child});
  BeginSession({"--tree", "--progress=work"});
  for (const pid_t pid : All()) EXPECT_TRUE(AwaitSamples(pid)) << pid;
  EndSession();
  ExpectAllWork(All(), "handed");
  ExpectRightEnd();
}

TEST_F(AttachTreeTest, ChildThatCannotBeAttachedToIsNamed) {
  const pid_t fixed = NumberOf(resident_.Ask(absl::StrCat("exec ", Puppet("busy_static"), "\n")));
  while (attach::ReadStatus(fixed).at("Name") != "busy_static") usleep(1000);
  ASSERT_EQ(ptrace(PTRACE_SEIZE, children_[0], nullptr, nullptr), 0);
  const CommandResult result = AttachTree({"--duration=1"});
  EXPECT_EQ(result.status, 0) << result.errors;
  EXPECT_THAT(result.errors, HasSubstr(absl::StrCat("process ", fixed, " (busy_static)")));
  EXPECT_THAT(result.errors, HasSubstr("statically linked"));
  EXPECT_THAT(result.errors, HasSubstr(absl::StrCat("process ", children_[0], " (residents)")));
  EXPECT_THAT(result.errors, HasSubstr("2 processes are in the profile"));
  ExpectAllWork({resident_.pid(), children_[1]}, "handed");
  kill(fixed, SIGKILL);
  // This one's threads are told from the traced one's, which ends with its tracer only.
  kill(children_[0], SIGKILL);
}

TEST_F(AttachTreeTest, ChildThatDiesMeanwhileDoesNoHarm) {
  constexpr useconds_t kStepUs = 40'000;
  for (useconds_t after_us = 0; after_us < 5 * kStepUs; after_us += kStepUs) {
    const pid_t child = NumberOf(resident_.Ask("child\n"));
    options_.while_running = [after_us, child](pid_t) {
      usleep(after_us);
      kill(child, SIGKILL);
    };
    const CommandResult result = AttachTree({"--duration=1"});
    EXPECT_EQ(result.status, 0) << result.errors;
    EXPECT_THAT(result.errors, Not(HasSubstr("is not profiled")));
    EXPECT_THAT(result.errors, HasSubstr("3 processes run on as before"));
    ExpectAllWork(All(), "handed");
  }
  ExpectRightEnd();
}

// A shell that waits for the program that it has started.
TEST_F(AttachTreeTest, FirstProcessNeedsNoDebugInformation) {
  const pid_t shell = fork();
  if (shell == 0) {
    setpgid(0, 0);
    execl("/bin/sh", "sh", "-c", "\"$0\" 100; true", Puppet("busy").c_str(), nullptr);
    _exit(127);
  }
  const std::string its_children = absl::StrFormat("/proc/%d/task/%d/children", shell, shell);
  pid_t busy = 0;
  while (!(std::ifstream(its_children) >> busy) || attach::ReadStatus(busy)["Name"] != "busy") {
  }
  const CommandResult result = Attach({"--tree", "--duration=1"}, shell);
  EXPECT_EQ(result.status, 0) << result.errors;
  EXPECT_GT(DoneByProcess("work")[busy].samples, 0u);
  EXPECT_GT(DoneByProcess("work")[busy].visits, 0u);
  kill(-shell, SIGKILL);
  waitpid(shell, nullptr, 0);
  ExpectRightEnd();
}

TEST_F(AttachTreeTest, FirstProcessThatRefusesEndsTheCommand) {
  const pid_t fixed = NumberOf(resident_.Ask(absl::StrCat("exec ", Puppet("busy_static"), "\n")));
  while (attach::ReadStatus(fixed).at("Name") != "busy_static") usleep(1000);
  const CommandResult result = Attach({"--tree", "--duration=1"}, fixed);
  EXPECT_NE(result.status, 0);
  EXPECT_NE(result.status, 3);
  EXPECT_THAT(result.errors, HasSubstr("statically linked"));
  kill(fixed, SIGKILL);
  ExpectRightEnd();
}

}  // namespace
}  // namespace coz
