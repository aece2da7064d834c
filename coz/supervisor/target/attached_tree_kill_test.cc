// Coz is killed at each step of attaching to a tree of processes and of leaving it: nothing of the
// processes is lost, and they can be attached to again.
#include <signal.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "coz/attach/process_view.h"
#include "coz/sampler/sampler_status.h"
#include "coz/shared/control_block.h"
#include "coz/supervisor/target/attached_tree.h"
#include "coz/supervisor/target/mapped_code.h"
#include "coz/supervisor/target/shared_control.h"
#include "coz/testing/capabilities.h"
#include "coz/testing/process_state.h"
#include "coz/testing/resident.h"
#include "coz/testing/run_command.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace coz::supervisor {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using testing::Resident;
using testing::RunfilePath;

constexpr char kResidents[] = "coz/testing/puppets/residents";
// More than there are.
constexpr int kMostSteps = 500;

// What samples them: one source all the time, or events first and timers then.
enum class Sampled { kByEvents, kByTimers, kByBoth };

// What coz attach does, without experiments. Returns 0 where all went well.
int AttachAndLeave(pid_t pid, const AttachedProcess::Options& options, bool changes) {
  absl::StatusOr<AttachedTree> tree = AttachedTree::Prepare(pid, options);
  if (!tree.ok()) return 1;
  absl::StatusOr<SharedControl> control = SharedControl::CreateIn(tree->TakeControl());
  if (!control.ok()) return 2;
  control->block().sampling_period_ns = options.sampling_period_ns;
  control->block().follow = shared::Follow::kAll;
  if (!tree->Join(&control->block()).ok()) return 3;
  for (const std::string& refused : tree->JoinDescendants(control->fd())) {
    fprintf(stderr, "%s\n", refused.c_str());
    return 4;
  }
  if (tree->Running().size() != 3) return 5;
  options.on_step("joined");
  if (changes && !tree->ChangeToCpuTimers()) return 7;
  const bool has_timers = options.source == sampler::SamplingSource::kCpuTimer || changes;
  for (const pid_t running : tree->Running()) {
    if ((testing::TimersOf(running) != 0) != has_timers) return 8;
  }
  control->block().stop.store(1);
  return tree->Leave().ok() ? 0 : 6;
}

class AttachedTreeKillTest : public ::testing::TestWithParam<Sampled> {
 protected:
  void SetUp() override {
    if (GetParam() != Sampled::kByTimers) {
      COZ_REQUIRE_CAPABILITY(testing::MissingPerfEvents());
    }
    const std::string ready = resident_.Line();
    ASSERT_THAT(ready, HasSubstr("ready "));
    for (const auto& word : absl::StrSplit(ready.substr(6), ' ')) {
      pid_t pid = 0;
      ASSERT_TRUE(absl::SimpleAtoi(absl::StripAsciiWhitespace(word), &pid)) << ready;
      processes_.push_back(pid);
    }
    ASSERT_EQ(processes_.size(), 3u);
  }

  // In a process of its own, which is killed when it has come to step `kill_at`, from 1; 0: it is
  // not. Returns how it ended.
  int AttachKilledAt(int kill_at) {
    const pid_t coz = fork();
    if (coz == 0) {
      int step = 0;
      AttachedProcess::Options options;
      options.runtime_library = library_;
      options.sampling_period_ns = 1'000'000;
      options.source = GetParam() == Sampled::kByTimers ? sampler::SamplingSource::kCpuTimer
                                                        : sampler::SamplingSource::kPerfSigtrap;
      options.on_step = [&step, kill_at](const char*) {
        if (++step == kill_at) kill(getpid(), SIGKILL);
      };
      _exit(AttachAndLeave(resident_.pid(), options, GetParam() == Sampled::kByBoth));
    }
    int status = -1;
    EXPECT_EQ(waitpid(coz, &status, 0), coz);
    return status;
  }

  // It answers, so its threads run and its own descriptors are whole.
  void ExpectAlive() {
    for (const pid_t pid : processes_) {
      const attach::StatusFields status = attach::ReadStatus(pid);
      EXPECT_EQ(status.at("TracerPid"), "0");
      EXPECT_THAT(status.at("State"), Not(HasSubstr("t (")));
    }
    EXPECT_THAT(resident_.Ask("state\n"), HasSubstr(", a child "));
  }

  std::vector<std::string> States() const {
    std::vector<std::string> states;
    for (const pid_t pid : processes_) {
      states.push_back(testing::StateFromOutside(pid, RunfilePath(kResidents)));
    }
    return states;
  }

  std::string library_ = RealPath(RunfilePath("coz/runtime/libcoz.so"));
  Resident resident_{{RunfilePath(kResidents), "2", "1000"}};
  std::vector<pid_t> processes_{resident_.pid()};
};

INSTANTIATE_TEST_SUITE_P(Sources, AttachedTreeKillTest,
                         ::testing::Values(Sampled::kByEvents, Sampled::kByTimers,
                                           Sampled::kByBoth),
                         [](const ::testing::TestParamInfo<Sampled>& sampled) {
                           return sampled.param == Sampled::kByEvents   ? "Events"
                                  : sampled.param == Sampled::kByTimers ? "Timers"
                                                                        : "Both";
                         });

TEST_P(AttachedTreeKillTest, ProcessesGoOnAtWhateverStepCozIsKilled) {
  int kills = 0;
  for (; kills < kMostSteps; ++kills) {
    SCOPED_TRACE(kills + 1);
    const int status = AttachKilledAt(kills + 1);
    ExpectAlive();
    if (WIFEXITED(status)) {
      EXPECT_EQ(WEXITSTATUS(status), 0);
      break;
    }
    EXPECT_EQ(WTERMSIG(status), SIGKILL);
    if (HasFailure()) break;
  }
  // A stop, memory, a call and its end for each of three processes that come and go, at least.
  EXPECT_GE(kills, 3 * 2 * 4);
  EXPECT_LT(kills, kMostSteps);
  int status = -1;
  EXPECT_EQ(resident_.End(&status), "right\n");
  EXPECT_EQ(status, 0);
}

TEST_P(AttachedTreeKillTest, NothingStaysOfASessionThatIsNotKilled) {
  const std::vector<std::string> before = States();
  for (int cycle = 0; cycle < 3; ++cycle) {
    const int status = AttachKilledAt(0);
    EXPECT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 0);
    EXPECT_EQ(States(), before);
  }
  int status = -1;
  EXPECT_EQ(resident_.End(&status), "right\n");
}

}  // namespace
}  // namespace coz::supervisor
