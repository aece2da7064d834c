#include "coz/shared/control_mapping.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "coz/base/unique_fd.h"
#include "coz/shared/carry_over.h"
#include "coz/shared/control_block.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace coz::shared {
namespace {

using ::testing::HasSubstr;

class ControlMappingTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(FormatControl(fd_.get())); }

  template <typename Value>
  void Write(size_t offset, Value value) {
    ASSERT_EQ(pwrite(fd_.get(), &value, sizeof(value), static_cast<off_t>(offset)),
              static_cast<ssize_t>(sizeof(value)));
  }
  void ExpectOtherVersion() {
    const MappedControl mapped = MapControl(fd_.get(), sizeof(ControlBlock));
    EXPECT_EQ(mapped.control, nullptr);
    EXPECT_EQ(mapped.fault, MapFault::kOtherVersion);
  }

  UniqueFd fd_{memfd_create("block", MFD_CLOEXEC)};
};

TEST_F(ControlMappingTest, FormattedBlockIsMappedWithAllElseZero) {
  const MappedControl mapped = MapControl(fd_.get());
  ASSERT_NE(mapped.control, nullptr);
  EXPECT_EQ(mapped.fault, MapFault::kNone);
  EXPECT_EQ(mapped.control->supervisor_pid, 0);
  EXPECT_EQ(mapped.control->ledger.selection.load(), 0u);
  EXPECT_EQ(mapped.control->threads_high_water.load(), 0u);
  munmap(mapped.control, kControlMappingBytes);
}

TEST_F(ControlMappingTest, TwoMappingsAreTheSameMemory) {
  const MappedControl one = MapControl(fd_.get(), sizeof(ControlBlock));
  const MappedControl other = MapControl(fd_.get());
  ASSERT_NE(one.control, nullptr);
  ASSERT_NE(other.control, nullptr);
  one.control->heartbeat_ns = 77;
  EXPECT_EQ(other.control->heartbeat_ns.load(), 77u);
  munmap(one.control, sizeof(ControlBlock));
  munmap(other.control, kControlMappingBytes);
}

TEST_F(ControlMappingTest, SlotsLieAtThePlacesThatTheProcessHas) {
  const MappedControl file = MapControl(fd_.get(), sizeof(ControlBlock));
  for (int i = 0; i < 4; ++i) file.control->threads[i].tid = i + 1;
  const UniqueFd before(memfd_create("before", MFD_CLOEXEC));
  ASSERT_TRUE(FormatControl(before.get()));
  ControlBlock* const at = MapControl(before.get()).control;
  ASSERT_NE(at, nullptr);
  SlotPlaces places = {};
  places.used = 3;
  places.number_at[0] = 3;
  places.number_at[1] = 2;
  places.number_at[2] = 1;
  ASSERT_TRUE(PlaceControl(fd_.get(), places, at));
  EXPECT_EQ(at->threads[0].tid, 3);
  EXPECT_EQ(at->threads[1].tid, 2);
  EXPECT_EQ(at->threads[2].tid, 1);
  EXPECT_EQ(at->threads[3].tid, 4);
  at->threads[0].tid = 33;
  at->heartbeat_ns = 77;
  EXPECT_EQ(file.control->threads[2].tid, 33) << "it is the same memory";
  EXPECT_EQ(file.control->heartbeat_ns, 77u);
  munmap(at, kControlMappingBytes);
  munmap(file.control, sizeof(ControlBlock));
}

TEST_F(ControlMappingTest, OtherMagicIsRefused) {
  Write(offsetof(ControlBlock, magic), kControlMagic + 1);
  ExpectOtherVersion();
}

TEST_F(ControlMappingTest, OtherVersionIsRefused) {
  Write(offsetof(ControlBlock, version), kControlVersion - 1);
  ExpectOtherVersion();
}

TEST_F(ControlMappingTest, OtherSizeInTheHeadIsRefused) {
  Write(offsetof(ControlBlock, bytes), uint64_t{sizeof(ControlBlock) + 4096});
  ExpectOtherVersion();
}

TEST_F(ControlMappingTest, ShorterFileIsRefused) {
  ASSERT_EQ(ftruncate(fd_.get(), sizeof(ControlBlock) - 1), 0);
  ExpectOtherVersion();
}

TEST_F(ControlMappingTest, LongerFileIsMapped) {
  ASSERT_EQ(ftruncate(fd_.get(), sizeof(ControlBlock) + 4096), 0);  // a line table lies behind
  const MappedControl mapped = MapControl(fd_.get());
  EXPECT_NE(mapped.control, nullptr);
  if (mapped.control != nullptr) munmap(mapped.control, kControlMappingBytes);
}

TEST_F(ControlMappingTest, NoFileIsToldFromAnotherVersion) {
  EXPECT_EQ(MapControl(-1).fault, MapFault::kNoFile);
}

TEST_F(ControlMappingTest, WhatMayNotBeOpenedIsNotSaidToBeElsewhere) {
  for (const int error : {EACCES, EPERM}) {
    EXPECT_THAT(Explain(MapFault::kNoFile, error),
                HasSubstr("more capabilities; start coz itself"));
  }
  EXPECT_THAT(Explain(MapFault::kNoFile, ENOENT), HasSubstr("in another container?"));
}

TEST_F(ControlMappingTest, MemoryThatIsNotToBeHadIsToldFromAnotherVersion) {
  EXPECT_EQ(MapControl(fd_.get(), uint64_t{1} << 60).fault, MapFault::kNoMemory);
}

// The kernel counts what is mapped, used or not.
TEST_F(ControlMappingTest, LimitOnTheAddressSpaceIsNamed) {
  const std::string path = "/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(fd_.get());
  const auto map_within_limit = [&path] {
    setenv(kControlVariable, path.c_str(), 1);
    const rlimit limit = {1 << 20, 1 << 20};
    setrlimit(RLIMIT_AS, &limit);
    _exit(MapControlBlock() == nullptr ? 0 : 1);
  };
  EXPECT_EXIT(map_within_limit(), ::testing::ExitedWithCode(0),
              "RLIMIT_AS.; raise it with: ulimit -v unlimited");
}

}  // namespace
}  // namespace coz::shared
