// coz attach --tree: a program of several processes that runs already.
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/types.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "coz/attach/process_view.h"
#include "coz/testing/capabilities.h"
#include "coz/testing/coz_run.h"
#include "coz/testing/resident.h"
#include "coz/testing/run_command.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

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

class AttachTreeTest : public testing::CozRunTest {
 protected:
  void SetUp() override {
    COZ_REQUIRE_CAPABILITY(testing::MissingPerfEvents());
    std::string ready = resident_.Line();
    ASSERT_THAT(ready, HasSubstr("ready "));
    for (const auto& word : absl::StrSplit(ready.substr(6), ' ')) {
      children_.push_back(NumberOf(std::string(word)));
    }
    ASSERT_EQ(children_.size(), 2u);
  }
  CommandResult Attach(const std::vector<std::string>& coz_options, pid_t pid) {
    std::vector<std::string> arguments = {Coz(), "attach", "--experiment-length=0.1"};
    arguments.insert(arguments.end(), coz_options.begin(), coz_options.end());
    arguments.push_back(absl::StrCat(pid));
    return RunCommand(arguments, options_);
  }
  CommandResult AttachTree(const std::vector<std::string>& coz_options = {}) {
    std::vector<std::string> options = {"--tree"};
    options.insert(options.end(), coz_options.begin(), coz_options.end());
    return Attach(options, resident_.pid());
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

  Resident resident_{{Puppet("residents"), "2"}};
  std::vector<pid_t> children_;
};

TEST_F(AttachTreeTest, AllProcessesAreInOneProfileAndGoOnAsBefore) {
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

// It is not profiled, and can be attached to afterwards.
TEST_F(AttachTreeTest, ChildThatIsForkedMeanwhileGoesOn) {
  pid_t child = 0;
  options_.while_running = [&](pid_t) {
    for (int i = 0; i < 500 && child == 0; ++i) {
      usleep(10'000);
      const std::vector<attach::Mapping> mappings = attach::ReadMappings(children_.back());
      if (attach::FileNamed(mappings, "libcoz.so") == nullptr) continue;
      child = NumberOf(resident_.Ask("child\n"));
    }
  };
  EXPECT_EQ(AttachTree({"--duration=2", "--progress=work"}).status, 0);
  options_.while_running = nullptr;
  ASSERT_NE(child, 0);
  const CommandResult result = Attach({"--duration=2", "--progress=work"}, child);
  EXPECT_EQ(result.status, 0) << result.errors;
  ExpectAllWork({child}, "handed");
  ExpectAllWork({child}, "work");
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
