#include "coz/supervisor/target/process_watch.h"

#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "coz/testing/zeroed_control.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace coz::supervisor {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class ProcessWatchTest : public ::testing::Test {
 protected:
  shared::ProcessSlot& AddProcess(pid_t pid) {
    shared::ProcessSlot& slot = control_->processes[control_->processes_high_water++];
    slot.pid = pid;
    slot.image = ++images_;
    slot.state = shared::ProcessState::kRunning;
    return slot;
  }

  testing::OwnedControl control_ = testing::ZeroedControl();
  ProcessWatch watch_{control_.get()};
  uint32_t images_ = 0;
};

TEST_F(ProcessWatchTest, NamesTheProgramOfAProcessThatRuns) {
  snprintf(control_->modules[0].path, sizeof(control_->modules[0].path), "/bin/served");
  AddProcess(getpid()).program = 1;
  watch_.Poll();
  EXPECT_THAT(watch_.Running(), ElementsAre(getpid()));
  ASSERT_EQ(watch_.processes().size(), 1u);
  EXPECT_EQ(watch_.processes()[0].program, "/bin/served");
}

TEST_F(ProcessWatchTest, ANumberThatNoProcessHasIsNone) {
  for (const pid_t pid : {0, -1, -getpid()}) AddProcess(pid);
  watch_.Poll();
  EXPECT_THAT(watch_.Running(), IsEmpty());
  EXPECT_THAT(watch_.processes(), IsEmpty());
  EXPECT_EQ(watch_.live(), 0);
}

TEST_F(ProcessWatchTest, APathWithoutAnEndIsNoLongerThanItsRoom) {
  memset(&control_->modules[0].path[0], 'a', sizeof(control_->modules[0].path));
  memset(&control_->modules[0].table_offset, 'b', sizeof(uint64_t));
  AddProcess(getpid()).program = 1;
  watch_.Poll();
  ASSERT_EQ(watch_.processes().size(), 1u);
  EXPECT_EQ(watch_.processes()[0].program, std::string(shared::kModulePathBytes, 'a'));
}

TEST(ParseMajorFaultsTest, IsTheTwelfthField) {
  EXPECT_EQ(ParseMajorFaults("7 (a ) (b) S 1 7 7 0 -1 4194304 99 98 41 40 30 4\n"), 41u);
  for (const char* text : {"", "7", "7 (a", "7 (a) S 1 7 7 0 -1 4194304 99 98",
                           "7 (a) S 1 7 7 0 -1 4194304 99 98 many 40"}) {
    EXPECT_FALSE(ParseMajorFaults(text).has_value()) << text;
  }
}

TEST_F(ProcessWatchTest, CountsPageFaultsSinceTheFirstLook) {
  const std::string root = ::testing::TempDir() + "/faults";
  const std::string folder = absl::StrCat(root, "/proc/", getpid());
  std::filesystem::create_directories(folder);
  ProcessWatch watch(control_.get(), root);
  shared::ProcessSlot& slot = AddProcess(getpid());
  watch.Poll();
  watch.CountPageFaults(1000);  // where nothing can be read
  uint64_t now_ns = 2000;
  const auto look = [&](int faults) {
    std::ofstream(folder + "/stat") << "7 (a) S 1 7 7 0 -1 4194304 99 98 " << faults << " 40\n";
    watch.CountPageFaults(now_ns);
    now_ns += 1000;
  };
  for (const int faults : {300, 310, 305, 335}) look(faults);
  EXPECT_EQ(watch.processes()[0].major_faults, 40u) << "and none for what went back";
  EXPECT_EQ(watch.processes()[0].major_faults_ns, 3000u);
  slot.image = 2;  // it becomes another program, which reads itself from the disk
  watch.Poll();
  for (const int faults : {435, 440}) look(faults);
  ASSERT_EQ(watch.processes().size(), 2u);
  EXPECT_EQ(watch.processes()[0].major_faults, 40u);
  EXPECT_EQ(watch.processes()[1].major_faults, 5u);
  EXPECT_EQ(watch.processes()[1].major_faults_ns, 1000u);
}

TEST_F(ProcessWatchTest, KeepsTheFirstProgramsAndCountsAll) {
  shared::ProcessSlot& slot = AddProcess(getpid());
  constexpr size_t kPrograms = ProcessWatch::kMostKept + 200;
  for (size_t i = 0; i < kPrograms; ++i) {
    slot.image = static_cast<uint32_t>(i);
    watch_.Poll();
  }
  EXPECT_EQ(watch_.processes().size(), ProcessWatch::kMostKept);
  EXPECT_EQ(watch_.seen(), kPrograms);
  EXPECT_THAT(watch_.Running(), ElementsAre(getpid()));
}

}  // namespace
}  // namespace coz::supervisor
