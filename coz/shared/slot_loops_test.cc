#include "coz/shared/slot_loops.h"

#include <vector>

#include "coz/testing/zeroed_control.h"
#include "gtest/gtest.h"

namespace coz::shared {
namespace {

class SlotLoopsTest : public ::testing::Test {
 protected:
  // A slot of each state, twice.
  SlotLoopsTest() {
    for (int32_t tid = 0; tid < 6; ++tid) {
      ThreadSlot& slot = control_->threads[control_->threads_high_water++];
      slot.tid = tid;
      slot.state = static_cast<ThreadState>(tid % 3);
    }
  }

  testing::OwnedControl control_ = testing::ZeroedControl();
  std::vector<int32_t> seen_;
};

TEST_F(SlotLoopsTest, AllThreadsAreThoseOfUsedSlots) {
  ForEachThread(*control_, [this](const ThreadSlot& slot) { seen_.push_back(slot.tid); });
  EXPECT_EQ(seen_, (std::vector<int32_t>{0, 1, 2, 3, 4, 5}));
}

TEST_F(SlotLoopsTest, RunningThreadsAreNeitherFreeNorReserved) {
  const ControlBlock& control = *control_;
  ForEachRunningThread(control, [this](const ThreadSlot& slot) { seen_.push_back(slot.tid); });
  EXPECT_EQ(seen_, (std::vector<int32_t>{2, 5}));
}

TEST_F(SlotLoopsTest, ThreadsOfAProcessInAnExecDoNotPay) {
  control_->threads[5].process = 1;
  control_->processes[1].state = ProcessState::kChanging;
  ForEachPayingThread(*control_, [this](const ThreadSlot& slot) { seen_.push_back(slot.tid); });
  EXPECT_EQ(seen_, std::vector<int32_t>{2});
}

TEST_F(SlotLoopsTest, VisitorEndsTheLoop) {
  ForEachRunningThread(*control_, [this](const ThreadSlot& slot) {
    seen_.push_back(slot.tid);
    return false;
  });
  EXPECT_EQ(seen_, std::vector<int32_t>{2});
}

TEST_F(SlotLoopsTest, HighWaterMarkBeyondTheTableIsCut) {
  control_->threads_high_water = kMaxThreads + 7;  // as a broken target may leave it
  uint32_t count = 0;
  ForEachThread(*control_, [&count](const ThreadSlot&) { ++count; });
  EXPECT_EQ(count, kMaxThreads);
}

TEST_F(SlotLoopsTest, ProcessesComeWithTheirIndex) {
  control_->processes_high_water = 3;
  for (uint32_t i = 0; i < 3; ++i) control_->processes[i].pid = static_cast<int32_t>(100 + i);
  ForEachProcess(*control_, [this](const ProcessSlot& slot, uint32_t index) {
    EXPECT_EQ(&slot, &control_->processes[index]);
    seen_.push_back(slot.pid);
    return index < 1;
  });
  EXPECT_EQ(seen_, (std::vector<int32_t>{100, 101}));
}

}  // namespace
}  // namespace coz::shared
