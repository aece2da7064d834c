#include "coz/supervisor/units/perf_map_watch.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "coz/base/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace coz::supervisor {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr uint32_t kImage = 3;

sourcemap::UnitRules Functions() {
  sourcemap::UnitRules rules;
  rules.kind = sourcemap::UnitKind::kFunction;
  return rules;
}

// The process of the tests is the profiled one.
class PerfMapWatchTest : public ::testing::Test {
 protected:
  PerfMapWatchTest() : PerfMapWatchTest(Functions()) {}
  explicit PerfMapWatchTest(sourcemap::UnitRules rules)
      : units_(sourcemap::BinaryScope({"JIT"}), {}, std::move(rules)) {
    unlink(path_.c_str());
    shared::ControlBlock& block = control_.block();
    block.processes_high_water = 2;
    Enter(0, getpid(), 1);
  }
  ~PerfMapWatchTest() override { unlink(path_.c_str()); }

  void Enter(uint32_t slot, pid_t pid, pid_t parent_pid) {
    shared::ProcessSlot& process = control_.block().processes[slot];
    process.pid = pid;
    process.parent_pid = parent_pid;
    process.image = kImage;
    process.state = shared::ProcessState::kRunning;
  }

  void Append(const std::string& text) { std::ofstream(path_, std::ios::app) << text; }
  void WriteAnew(const std::string& text) { std::ofstream(path_, std::ios::trunc) << text; }

  void Poll() { watch_.Poll(control_, now_ns_ += kNsPerSecond); }

  // What the process finds: the name of the unit, "out of scope" or "unknown".
  std::string At(uint64_t address, uint32_t slot = 0) {
    const shared::ProcessSlot& process = control_.block().processes[slot];
    if (process.jit_code == 0) return "unknown";
    void* const mapped = mmap(nullptr, sizeof(shared::JitCode), PROT_READ, MAP_SHARED,
                              control_.fd(), static_cast<off_t>(process.jit_code.load()));
    EXPECT_NE(mapped, MAP_FAILED);
    uint32_t unit = 0;
    const bool is_known =
        shared::FindJitUnit(*static_cast<const shared::JitCode*>(mapped),
                            shared::JitOwner(process.pid, process.image), address, &unit);
    munmap(mapped, sizeof(shared::JitCode));
    if (!is_known) return "unknown";
    return unit == shared::kNoUnit ? "out of scope" : units_.Describe(unit).what.Name();
  }

  const std::string path_ = absl::StrFormat("/tmp/perf-%d.map", getpid());
  SharedControl control_ = *SharedControl::Create();
  UnitIndex units_;
  PerfMapWatch watch_{&units_};
  uint64_t now_ns_ = kNsPerSecond;
};

TEST_F(PerfMapWatchTest, FunctionsAreUnitsAsTheMapGrows) {
  Poll();
  EXPECT_EQ(At(0x100), "unknown");
  Append("100 10 JS:^hot /a.js:1:1\n200 10 JS:*wa");
  Poll();
  EXPECT_EQ(At(0x100), "hot");
  EXPECT_EQ(At(0x10f), "hot");
  EXPECT_EQ(At(0x110), "unknown");
  EXPECT_EQ(At(0x200), "unknown");
  Append("rm /a.js:2:1\n300 20 JS:*hot /a.js:1:1\n300 8 JS:*emit node:events:1:1\n");
  Poll();
  EXPECT_EQ(At(0x200), "warm");
  EXPECT_EQ(At(0x300), "out of scope");
  EXPECT_EQ(At(0x310), "hot");
  EXPECT_THAT(units_.Find("hot"), ::testing::SizeIs(1));
  EXPECT_THAT(watch_.TakeWarnings(), IsEmpty());
}

TEST_F(PerfMapWatchTest, MapThatIsWrittenAnewHoldsAlone) {
  WriteAnew("100 10 first\n");
  Poll();
  EXPECT_EQ(At(0x100), "first");
  WriteAnew("200 10 second\n300 10 third\n");
  Poll();
  EXPECT_EQ(At(0x100), "unknown");
  EXPECT_EQ(At(0x200), "second");
}

TEST_F(PerfMapWatchTest, ChildOfForkHasTheCodeOfItsParent) {
  WriteAnew("100 10 f\n");
  Poll();
  const pid_t child = fork();
  if (child == 0) {
    for (;;) pause();
  }
  Enter(1, child, getpid());
  Poll();
  EXPECT_EQ(At(0x100, 1), "f");
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
}

// Its number is all that the target writes.
TEST_F(PerfMapWatchTest, ProcessThatIsNotProfiledHasNoCode) {
  WriteAnew("100 10 f\n");
  Poll();
  Enter(1, getppid(), getpid());
  Poll();
  EXPECT_EQ(control_.block().processes[1].jit_code.load(), 0u);
}

TEST_F(PerfMapWatchTest, MapOfAnEarlierProcessIsNotUsed) {
  WriteAnew("100 10 f\n");
  const timespec long_ago[2] = {{1000, 0}, {1000, 0}};
  ASSERT_EQ(utimensat(AT_FDCWD, path_.c_str(), long_ago, 0), 0);
  Poll();
  EXPECT_EQ(At(0x100), "unknown");
}

TEST_F(PerfMapWatchTest, DamagedLinesAreNamedOnce) {
  WriteAnew("nonsense\n100 10 f\n");
  Poll();
  EXPECT_EQ(At(0x100), "f");
  EXPECT_THAT(watch_.TakeWarnings(), ElementsAre(HasSubstr("no \"START SIZE NAME\"")));
  Append("more nonsense\n");
  Poll();
  EXPECT_THAT(watch_.TakeWarnings(), IsEmpty());
}

TEST_F(PerfMapWatchTest, WhatIsNoFileIsNotRead) {
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  Poll();
  EXPECT_THAT(watch_.TakeWarnings(), ElementsAre(HasSubstr("is no file of the process's user")));
  unlink(path_.c_str());
  ASSERT_EQ(symlink("/proc/self/stat", path_.c_str()), 0);
  Poll();
  EXPECT_EQ(At(0x100), "unknown");
}

TEST_F(PerfMapWatchTest, ThereIsRoomForSoManyRanges) {
  std::string text;
  for (uint32_t i = 0; i < shared::kMaxJitRanges + 10; ++i) {
    absl::StrAppendFormat(&text, "%x 1 f\n", 16 * (i + 1));
  }
  WriteAnew(text);
  Poll();
  EXPECT_EQ(At(16), "f");
  EXPECT_THAT(watch_.TakeWarnings(), ElementsAre(HasSubstr("more functions than coz has room")));
}

class PerfMapGroupsTest : public PerfMapWatchTest {
 protected:
  PerfMapGroupsTest() : PerfMapWatchTest(Rules()) {}

  static sourcemap::UnitRules Rules() {
    sourcemap::UnitRules rules = Functions();
    rules.groups.push_back({"text", {sourcemap::UnitPattern("text/%.js")}});
    rules.exclude.emplace_back("Sum.of");
    return rules;
  }
};

TEST_F(PerfMapGroupsTest, PatternsMatchFilesAndFunctions) {
  WriteAnew(
      "100 10 JS:*split /app/text/a.js:1:1\n200 10 int Sum.of(int)\n300 10 int Sum.all(int)\n");
  Poll();
  EXPECT_EQ(At(0x100), "text");
  EXPECT_EQ(At(0x200), "out of scope");
  EXPECT_EQ(At(0x300), "Sum.all(int)");
  EXPECT_THAT(units_.group_has_code(), ElementsAre(true));
  EXPECT_THAT(units_.exclude_has_code(), ElementsAre(true));
}

}  // namespace
}  // namespace coz::supervisor
